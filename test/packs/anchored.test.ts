/** Packs with an anchor: keys that were retired or lost still count for what is older, and for nothing else. */
import { mkdtempSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { verifyPack } from '#cli/verify/verify-pack.ts';
import {
  activeKey,
  type KeyPurpose,
  loadSigningKeys,
} from '#shared/receipts/signing/files/key-files.ts';
import { revokeSigningKey, rotateSigningKey } from '#shared/receipts/signing/files/rotation.ts';
import { createReceiptSigner } from '#shared/receipts/signing/signer.ts';
import type { PackProblemCode } from '#shared/packs/problem.ts';
import { tmpdir } from 'node:os';
import { createTestDatabase } from '#test/support/database.ts';
import { PackLab } from '#test/support/packs.ts';
import { SCRIPT_GOOD, verifyWithPython } from '#test/support/pack-script.ts';
import { ForgedPack } from './tampering.ts';

let lab: PackLab;
let directory: string;
let made = 0;

async function openLab(): Promise<void> {
  const database = await createTestDatabase();
  directory = mkdtempSync(join(tmpdir(), 'docket-anchored-'));
  lab = new PackLab(database.pool, directory);
  await lab.anchor();
}

async function pack(firstIndex: number, size: number): Promise<string> {
  const path = join(directory, `pack-${(made += 1)}.zip`);
  await lab.pack(path, { firstIndex, lastIndex: size - 1, checkpointSize: size });
  return path;
}

/** Both verifiers agree, with the keys as they are published now. */
async function expectVerdict(path: string, code: 'good' | PackProblemCode): Promise<void> {
  const didJson = lab.documents.didDocument();
  const verdict = await verifyPack(path, { didJson, now: Date.now() });
  expect([verdict.code, verdict.message]).toEqual([code, expect.anything()]);
  const trust = join(directory, 'did.json');
  writeFileSync(trust, didJson);
  const python = await verifyWithPython(path, trust);
  expect(python.output).toMatch(code === 'good' ? SCRIPT_GOOD : /^BAD {2}/);
  expect(python.code).toBe(code === 'good' ? 0 : 1);
}

/** The key that signs is another now. Returns what the old one can still do in wrong hands. */
function rotate(purpose: KeyPurpose): { thumbprint: string; privateKeyPem: string } {
  const { thumbprint, privateKeyPem } = activeKey(loadSigningKeys(lab.keysDir), purpose);
  rotateSigningKey(lab.keysDir, purpose, Date.now(), { publishedBeforeUseMs: 0 });
  rotateSigningKey(lab.keysDir, purpose, Date.now() + 1, { publishedBeforeUseMs: 0 });
  return { thumbprint, privateKeyPem: privateKeyPem! };
}

describe('an anchored pack', () => {
  beforeEach(openLab);

  it('is good, and says where its head is anchored', async () => {
    await lab.issue(30);
    const size = await lab.integrate();
    await lab.anchor();
    const path = await pack(5, size);
    await expectVerdict(path, 'good');
    const verdict = await verifyPack(path, {
      didJson: lab.documents.didDocument(),
      now: Date.now(),
    });
    expect(verdict.anchored).toMatchObject({ size: 30, timestamps: [] });
  });

  it('has the same bytes again when ledger and anchor have grown', async () => {
    await lab.issue(30);
    const size = await lab.integrate();
    await lab.anchor();
    const first = readFileSync(await pack(5, size));
    await lab.issue(3);
    await lab.integrate();
    await lab.anchor();
    expect(readFileSync(await pack(5, size)).equals(first)).toBe(true);
  });

  it('is good before its newest receipts are anchored', async () => {
    await lab.issue(10);
    await lab.integrate();
    await lab.anchor();
    await lab.issue(10);
    await expectVerdict(await pack(0, await lab.integrate()), 'good');
  });
});

describe('a key that was retired', () => {
  beforeEach(openLab);

  it('counts for what was anchored before', async () => {
    await lab.issue(20);
    await lab.integrate();
    await lab.anchor();
    rotate('receipts');
    rotate('checkpoints');
    await lab.issue(20);
    await lab.integrate();
    await lab.anchor();
    await lab.anchor();
    await lab.issue(5);
    const size = await lab.integrate();
    await lab.anchor();
    await expectVerdict(await pack(0, size), 'good');
  });

  it('and for nothing that came later', async () => {
    await lab.issue(20);
    await lab.integrate();
    await lab.anchor();
    const { privateKeyPem } = rotate('receipts');
    await lab.anchor();
    await lab.anchor();
    const thief = createReceiptSigner({ privateKeyPem, did: lab.issuer.did });
    await lab.issue(3, 'measured', undefined, thief);
    const size = await lab.integrate();
    await lab.anchor();
    await expectVerdict(await pack(0, size), 'key_outside_interval');
  });
});

describe('a key in other hands', () => {
  beforeEach(openLab);

  it('counts for what was anchored before it was known, though did.json says that it was revoked', async () => {
    await lab.issue(20);
    await lab.integrate();
    await lab.anchor();
    const { thumbprint } = rotate('receipts');
    await lab.issue(5);
    await lab.integrate();
    await lab.anchor();
    revokeSigningKey(lab.keysDir, 'receipts', thumbprint, Date.now());
    await lab.anchor();
    await lab.issue(5);
    const size = await lab.integrate();
    await lab.anchor();
    await expectVerdict(await pack(0, size), 'good');
  });

  it('a stolen key does not count for what the thief logs afterwards, of any date', async () => {
    await lab.issue(20);
    await lab.integrate();
    await lab.anchor();
    const { thumbprint, privateKeyPem } = rotate('receipts');
    await lab.anchor();
    revokeSigningKey(lab.keysDir, 'receipts', thumbprint, Date.now());
    await lab.anchor();
    const thief = createReceiptSigner({ privateKeyPem, did: lab.issuer.did });
    await lab.issue(1, 'measured', undefined, thief);
    const size = await lab.integrate();
    await lab.anchor();
    await expectVerdict(await pack(0, size), 'key_outside_interval');
  });

  it('is refused by a pack that is older than the news', async () => {
    await lab.issue(20);
    const size = await lab.integrate();
    await lab.anchor();
    const path = await pack(0, size);
    const { thumbprint } = rotate('receipts');
    revokeSigningKey(lab.keysDir, 'receipts', thumbprint, Date.now());
    await expectVerdict(path, 'key_revoked');
  });
});

describe('what a pack says of the anchor', () => {
  let rotated: string;
  beforeAll(async () => {
    await openLab();
    await lab.issue(20);
    await lab.integrate();
    await lab.anchor();
    const { thumbprint } = rotate('receipts');
    revokeSigningKey(lab.keysDir, 'receipts', thumbprint, Date.now());
    await lab.anchor();
    await lab.issue(5);
    const size = await lab.integrate();
    await lab.anchor();
    rotated = await pack(0, size);
    await expectVerdict(rotated, 'good');
  });
  const EVENTS = 'data/keys/events.ndjson';

  it.each<[string, (pack: ForgedPack) => void, PackProblemCode]>([
    [
      'without the news of a lost key',
      (p) => {
        p.lines(EVENTS, (lines) => lines.slice(0, -1));
        p.files.delete(p.shard('anchor/keys'));
      },
      'key_revoked',
    ],
    ['without events', (p) => p.files.delete(EVENTS), 'extra_file'],
    [
      'with an edited event',
      (p) => p.lines(EVENTS, (lines) => lines.with(0, lines[0]!.replace('"receipts', '"packsxxx'))),
      'anchor_invalid',
    ],
    [
      'with events in another order',
      (p) => p.lines(EVENTS, (lines) => lines.toReversed()),
      'anchor_invalid',
    ],
    [
      'without the proof of how far a key goes',
      (p) => p.files.delete(p.shard('anchor/keys')),
      'key_outside_interval',
    ],
    [
      'with a later proof of it',
      (p) => p.set(p.shard('anchor/keys'), p.text('data/anchor/head.json')),
      'anchor_invalid',
    ],
    [
      'with the head of another ledger',
      (p) =>
        p.set(
          'data/anchor/head.json',
          p.text('data/anchor/head.json').replaceAll('org_01', 'org_02'),
        ),
      'anchor_invalid',
    ],
  ])('%s is refused', async (_name, edit, code) => {
    const forged = new ForgedPack(rotated);
    edit(forged);
    forged.repair(lab.signer('packs'));
    const path = join(directory, `forged-${(made += 1)}.zip`);
    await forged.write(path);
    await expectVerdict(path, code);
  });
});
