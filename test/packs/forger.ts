/** A pack of every kind of receipt, and the tools to forge it and to see that no verifier is deceived. */
import { mkdtempSync, readFileSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'vitest';
import { verifyPack } from '#cli/verify/verify-pack.ts';
import type { PackProblemCode } from '#shared/packs/problem.ts';
import { createKeptDatabase } from '#test/support/database.ts';
import { SCRIPT_GOOD, verifyWithPython } from '#test/support/pack-script.ts';
import { PackLab } from '#test/support/packs.ts';
import { ForgedPack, type Loose, type Repair } from './tampering.ts';

// Made once for all files of a process: none of them changes what is in it.
const database = await createKeptDatabase();
export const directory = mkdtempSync(join(tmpdir(), 'docket-tamper-'));
export const lab = new PackLab(database.pool, directory);
/** With the rights of the exports process. */
export const exportsPool = database.poolAs('docket_exports', 1);
export const GOOD_PACK = join(directory, 'good.zip');
export const TRUST = join(directory, 'did.json');
export const FIRST = 20;
export const LAST = 119;

await makeGoodPack();

async function makeGoodPack(): Promise<void> {
  await lab.issue(60);
  await lab.integrate();
  const degraded = await lab.issue(10, 'degraded');
  await lab.issue(3, 'refused');
  await lab.integrate();
  // A model that is served in another way has another derivation: revisions bring one of their own.
  lab.footprint = { ref: 'llama-3.1-8b', batch: 32 };
  const inside = await lab.revise(degraded.slice(0, 4));
  await lab.issue(60);
  await lab.integrate();
  lab.footprint = { ref: 'llama-3.1-8b', batch: 16 };
  await lab.revise([...degraded.slice(4, 7), inside[0]!]);
  await lab.issue(20);
  const size = await lab.integrate();
  await lab.pack(GOOD_PACK, { firstIndex: FIRST, lastIndex: LAST, checkpointSize: size });
  writeFileSync(TRUST, lab.documents.didDocument());
}

let made = 0;
/** A number that no file of this test has yet. */
export const nextNumber = (): number => (made += 1);
export const newPath = (): string => join(directory, `forged-${nextNumber()}.zip`);

/** Both refuse, say so, and do not stumble. */
export async function expectRefused(
  path: string,
  code: PackProblemCode | readonly PackProblemCode[],
  trust: string = TRUST,
): Promise<void> {
  const didJson = readFileSync(trust, 'utf8');
  const verdict = await verifyPack(path, { didJson, now: Date.now() });
  expect([verdict.code, verdict.place, verdict.message]).toEqual([
    typeof code === 'string' ? code : expect.toBeOneOf([...code]),
    expect.anything(),
    expect.anything(),
  ]);
  expect(verdict.verdict).toBe('bad');
  const python = await verifyWithPython(path, trust);
  expect(python.output).toMatch(/^BAD {2}/);
  expect(python.code).toBe(1);
}

/** `docket verify` refuses what verify.py does not look at, and says that it does not. */
export async function expectLeftToDocket(path: string, code: PackProblemCode): Promise<void> {
  const didJson = readFileSync(TRUST, 'utf8');
  const verdict = await verifyPack(path, { didJson, now: Date.now() });
  expect([verdict.code, verdict.message]).toEqual([code, expect.anything()]);
  const python = await verifyWithPython(path, TRUST);
  expect(python).toEqual({ code: 0, output: expect.stringMatching(SCRIPT_GOOD) as unknown });
}

/** Forges a pack: the edit, then as much repair as the forger is capable of. */
export async function forge(
  edit: (pack: ForgedPack) => void,
  repair: Repair,
  editSeal?: (seal: Loose) => void,
): Promise<string> {
  const pack = new ForgedPack(GOOD_PACK);
  edit(pack);
  if (repair === 'checksums') pack.repair();
  if (repair === 'seal') pack.repair(lab.signer('packs'), editSeal);
  const path = newPath();
  await pack.write(path);
  return path;
}

export const receiptLines = (pack: ForgedPack, edit: (lines: string[]) => string[]): void =>
  pack.lines(pack.shard('receipts'), edit);

export type Edit = (pack: ForgedPack) => void;
