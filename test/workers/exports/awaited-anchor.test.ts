/** Exports wait for what the service asks others to attest, for a while, and say what has not come. */
import { mkdirSync, mkdtempSync, readFileSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { fieldLines } from '#cli/print.ts';
import { packSaid } from '#cli/verify/pack-words.ts';
import { verifyPack } from '#cli/verify/verify-pack.ts';
import { createWitness } from '#shared/ledger/http/witness.ts';
import { createAttestationStore } from '#shared/ledger/postgres/anchor-attestations.ts';
import { systemSurroundings } from '#shared/kernel/system/surroundings.ts';
import { createDirectoryStore } from '#shared/packs/files/directory.ts';
import { ANCHOR_WAIT_S, createExportJobs } from '#shared/packs/postgres/export-jobs.ts';
import { createExportRegistry } from '#shared/packs/postgres/exports.ts';
import { loadSigningKeys } from '#shared/receipts/signing/files/key-files.ts';
import { verifyCosignature } from '#shared/ledger/cosignatures.ts';
import { startAuthority, startWitness } from '#test/support/attestors.ts';
import { createTestDatabase } from '#test/support/database.ts';
import { createBuilder } from '#test/support/export-runs.ts';
import { verifyWithPython } from '#test/support/pack-script.ts';
import { ORG, PackLab } from '#test/support/packs.ts';
import { attest } from '#workers/ledger/attest.ts';
import type { LedgerEvents } from '#workers/ledger/events.ts';
import { createTimestampAuthority } from '#shared/ledger/http/timestamp-authority.ts';

const database = await createTestDatabase();
const directory = mkdtempSync(join(tmpdir(), 'docket-awaited-'));
const packs = join(directory, 'packs');
mkdirSync(packs);
const lab = new PackLab(database.pool, directory);
const pool = database.poolAs('docket_exports');
const asked = { timestamp: true, witnesses: ['witness.example/one'] };
const builder = createBuilder(lab, pool, createDirectoryStore(packs), { asked });
const jobs = createExportJobs(pool, systemSurroundings);
const registry = createExportRegistry(database.poolAs('docket_operator'), systemSurroundings);
const create = () => registry.create(ORG, {}, { kind: 'operator', id: 'test' });

/** What both verifiers say of the anchor of a pack. */
async function said(id: string) {
  const file = join(packs, `${id}.zip`);
  const trust = join(directory, 'did.json');
  const didJson = lab.documents.didDocument();
  writeFileSync(trust, didJson);
  const verdict = await verifyPack(file, { didJson, now: Date.now() });
  expect([verdict.code, verdict.message]).toEqual(['good', expect.any(String)]);
  const python = await verifyWithPython(file, trust);
  expect(python.code).toBe(0);
  const { facts } = packSaid(verdict, { trusted: '', file, script: '' });
  const { anchor } = verdict.seal!.credentialSubject;
  return { anchor, bytes: readFileSync(file), texts: [fieldLines(facts), python.output] };
}

it('an export waits for a timestamp and its witnesses without holding a builder, says after its time what it lacks, and a later one takes the better anchor, whose pack has the same bytes from then on', async () => {
  await lab.anchor();
  await lab.issue(3);
  await lab.integrate();
  await lab.anchor();
  const first = await create();
  await builder.run(first.id);
  expect(builder.said).toEqual([['waiting', first.id]]);
  expect(await registry.get(ORG, first.id)).toMatchObject({ status: 'queued', done: 0 });
  // Others have their turn; and it is due again after some seconds.
  expect(await jobs.due(10)).toEqual([]);
  await pool.query(`update export set not_before = not_before - interval '1 minute'`);
  expect(await jobs.due(10)).toEqual([first.id]);
  await database.pool.query(
    `update export set created_at = created_at - make_interval(secs => $1)`,
    [ANCHOR_WAIT_S],
  );
  await builder.runDue();
  expect(builder.said.slice(1)).toEqual([
    ['started', first.id],
    ['ready', first.id],
  ]);
  const bare = await said(first.id);
  const lacks = ['a timestamp', 'a cosignature of witness.example/one'];
  expect(bare.anchor).toMatchObject({ lacks, timestamps: 0 });
  for (const text of bare.texts)
    expect(text).toMatch(
      /anchor lacks:? +a timestamp, a cosignature of witness\.example\/one: the/,
    );

  const [key] = loadSigningKeys(lab.keysDir).filter(({ purpose }) => purpose === 'anchor');
  const witness = await startWitness('witness.example/one', key!.publicKey);
  const authority = await startAuthority();
  await attest({
    store: createAttestationStore(database.pool),
    authorities: [createTimestampAuthority(authority.url)],
    witnesses: [createWitness(witness.setting, verifyCosignature)],
    events: { attested() {}, attestationFailed() {} } as unknown as LedgerEvents,
  });
  // Not the one that lacks something, though it was finished within the hour.
  const second = await create();
  expect(second.id).not.toBe(first.id);
  await builder.run(second.id);
  const better = await said(second.id);
  expect(better.anchor).toMatchObject({ timestamps: 1 });
  expect(better.anchor).not.toHaveProperty('lacks');
  for (const text of better.texts) expect(text).not.toContain('anchor lacks');
  expect(better.bytes.equals(bare.bytes)).toBe(false);

  // The anchor grows, and nothing that is better comes.
  expect((await create()).id).toBe(second.id);
  await lab.issue(1);
  await lab.integrate();
  await lab.anchor();
  const again = await registry.create(
    ORG,
    { checkpointSize: first.checkpointSize, firstIndex: 0, lastIndex: first.lastIndex },
    { kind: 'operator', id: 'test' },
  );
  expect(again.id).toBe(second.id);
  await database.pool.query(`update export set finished_at = finished_at - interval '2 hours'`);
  const third = await registry.create(
    ORG,
    { checkpointSize: first.checkpointSize },
    { kind: 'operator', id: 'test' },
  );
  await builder.run(third.id);
  expect((await said(third.id)).bytes.equals(better.bytes)).toBe(true);
});

it('a service that asks nothing of others waits for nothing', async () => {
  const plain = createBuilder(lab, pool, createDirectoryStore(packs));
  const { id } = await create();
  await plain.run(id);
  expect(plain.said).toEqual([
    ['started', id],
    ['ready', id],
  ]);
});
