/** What was issued in format 1 verifies, recomputes and exports for ever: a frozen corpus, made by its last release. */
import { hash } from 'node:crypto';
import { chmodSync, cpSync, mkdtempSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { verifyPack } from '#cli/verify/verify-pack.ts';
import type { LedgerKind } from '#shared/ledger/entries.ts';
import { packLineage } from '#shared/lineage/pack-lineage.ts';
import { loadMethodologies } from '#shared/methodology/files/methodologies.ts';
import { rebuildInput } from '#shared/methodology/rebuild.ts';
import { recompute } from '#shared/methodology/recompute.ts';
import { NO_DERIVATIONS, wholeMeasurement } from '#shared/receipts/derivation.ts';
import { parseReceipt } from '#shared/receipts/parse.ts';
import { statedMeasurement } from '#shared/receipts/reread.ts';
import { trustedKeysOf } from '#shared/receipts/signing/trust.ts';
import { verifyReceipt } from '#shared/receipts/verify.ts';
import { createTestDatabase } from '#test/support/database.ts';
import { submitReceipts } from '#test/support/ledger.ts';
import { PackLab } from '#test/support/packs.ts';
import { verifyWithPython } from '#test/support/pack-script.ts';

const CORPUS = join(import.meta.dirname, '../vectors/format-1');
const read = (...path: string[]): Buffer => readFileSync(join(CORPUS, ...path));

interface Expected {
  organisation: string;
  receipts: {
    name: string;
    id: string;
    kind: LedgerKind;
    index: number;
    supersedes: string | null;
    sha256: string;
    lineageSha256: string;
    verdict: string;
    recomputed: 'reproduced' | 'no_measurement';
  }[];
  packs: { name: string; firstIndex: number; lastIndex: number; verdict: string }[];
}

const expected = JSON.parse(read('expected.json').toString()) as Expected;
const didJson = read('did.json').toString();
const methodologies = loadMethodologies();

describe('a receipt of format 1', () => {
  it.for(expected.receipts)('$name: verifies, byte for byte', ({ name, id, sha256, verdict }) => {
    const bytes = read('receipts', `${name}.json`);
    expect(hash('sha256', bytes)).toBe(sha256);
    const found = verifyReceipt(bytes, trustedKeysOf(didJson), Date.now());
    expect([found.code, found.message]).toEqual([verdict, expect.anything()]);
    expect(found.document?.id).toMatch(new RegExp(`/${id}$`));
    expect(found.canonical).toBe(bytes.toString());
  });

  it.for(expected.receipts)('$name: recomputes to the last character', ({ name, recomputed }) => {
    const { measurement } = parseReceipt(read('receipts', `${name}.json`)).document;
    if (measurement === undefined) return expect(recomputed).toBe('no_measurement');
    const stated = statedMeasurement(wholeMeasurement(measurement, NO_DERIVATIONS));
    const { id, version } = stated.methodology;
    const methodology = methodologies.methodology(id, version)!;
    expect(recompute(rebuildInput(stated.inputs), methodology, stated).differences).toEqual([]);
  });

  it.for(expected.receipts)('$name: has the lineage that it had', (receipt) => {
    const bytes = read('receipts', `${receipt.name}.json`);
    const { document } = parseReceipt(bytes);
    const log = `gateway.example/log/${expected.organisation}`;
    const own = { bytes, document, log, index: receipt.index };
    const lineage = packLineage(methodologies, own, 1);
    expect(hash('sha256', lineage)).toBe(receipt.lineageSha256);
  });

  it('every file of the corpus is looked at', () => {
    const named = expected.receipts.map(({ name }) => `${name}.json`);
    expect(readdirSync(join(CORPUS, 'receipts')).toSorted()).toEqual(named.toSorted());
  });
});

describe('a pack of format 1', () => {
  it.for(expected.packs)('$name: both verifiers find it good', async ({ name, verdict }) => {
    const path = join(CORPUS, `${name}.zip`);
    const found = await verifyPack(path, { didJson, now: Date.now() });
    expect([found.code, found.message]).toEqual([verdict, expect.anything()]);
    expect((await verifyWithPython(path, join(CORPUS, 'did.json'))).code).toBe(0);
  });
});

it('receipts of format 1 are exported by this release, and both verifiers find the pack good', async () => {
  const database = await createTestDatabase();
  const directory = mkdtempSync(join(tmpdir(), 'docket-format-1-'));
  cpSync(join(CORPUS, 'keys'), join(directory, 'keys'), { recursive: true });
  for (const purpose of readdirSync(join(CORPUS, 'keys'))) {
    chmodSync(join(directory, 'keys', purpose), 0o700);
    chmodSync(join(directory, 'keys', purpose, 'active.pem'), 0o600);
  }
  const lab = new PackLab(database.pool, directory);
  expect(lab.documents.didDocument()).toBe(didJson);
  for (const { name, id, kind, supersedes } of expected.receipts) {
    const body = read('receipts', `${name}.json`);
    const receipt = { id, orgId: expected.organisation, kind, body };
    await submitReceipts(lab.pool, [supersedes === null ? receipt : { ...receipt, supersedes }]);
    if (supersedes !== null) {
      await lab.pool.query(
        'insert into receipt_revision (original_id, revision_id, org_id) values ($1, $2, $3)',
        [supersedes, id, expected.organisation],
      );
    }
    await lab.integrate();
  }
  const path = join(directory, 'pack.zip');
  const last = expected.receipts.length - 1;
  await lab.pack(path, { firstIndex: 0, lastIndex: last, checkpointSize: last + 1 });
  const found = await verifyPack(path, { didJson, now: Date.now() });
  expect([found.code, found.message]).toEqual(['good', expect.anything()]);
  const trust = join(directory, 'did.json');
  writeFileSync(trust, didJson);
  expect((await verifyWithPython(path, trust)).code).toBe(0);
});
