import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'vitest';
import { fieldLines } from '#cli/print.ts';
import { packSaid } from '#cli/verify/pack-words.ts';
import { verifyPack } from '#cli/verify/verify-pack.ts';
import { SCRIPT_GOOD, verifyWithPython } from './pack-script.ts';
import type { PackLab } from './packs.ts';

/**
 * Packs the whole ledger: both verifiers find the pack good, and every lineage document in it is made again. Returns what each
 * says of it.
 */
export async function expectGoodPack(
  lab: PackLab,
  directory: string,
): Promise<{ typescript: string; python: string }> {
  const checkpointSize = await lab.integrate();
  const path = join(directory, 'whole.zip');
  await lab.pack(path, { firstIndex: 0, lastIndex: checkpointSize - 1, checkpointSize });
  const trust = join(directory, 'did.json');
  const didJson = lab.documents.didDocument();
  writeFileSync(trust, didJson);
  const verdict = await verifyPack(path, { didJson, now: Date.now() });
  expect([verdict.code, verdict.message]).toEqual(['good', expect.any(String)]);
  expect(verdict.lineage!.remade).toBe(verdict.lineage!.documents);
  const python = await verifyWithPython(path, trust);
  expect([python.code, python.output]).toEqual([0, expect.stringMatching(SCRIPT_GOOD)]);
  const { facts } = packSaid(verdict, { trusted: 'did.json', file: path, script: '' });
  return { typescript: fieldLines(facts), python: python.output };
}
