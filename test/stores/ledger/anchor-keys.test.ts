import { beforeEach, describe, expect, it } from 'vitest';
import { anchorIndexAt, reportCompromise } from '#shared/ledger/postgres/anchor-keys.ts';
import { createAnchorReader, type ProvenKeyEvent } from '#shared/ledger/postgres/anchor-reader.ts';
import { publishCheckpoints } from '#shared/ledger/postgres/checkpoints.ts';
import { systemSurroundings } from '#shared/kernel/system/surroundings.ts';
import { formatAnchorEntry } from '#shared/ledger/anchor-entries.ts';
import { leafHash } from '#shared/ledger/hashing.ts';
import { judgeKey, keyIntervals, type KnownKey } from '#shared/ledger/key-events.ts';
import { parseProof, proofHolds } from '#shared/ledger/proof-text.ts';
import { OPERATOR } from '#test/support/accounts.ts';
import { createAnchorWriter, knownKey } from '#test/support/anchor.ts';
import { createTestDatabase, type TestDatabase } from '#test/support/database.ts';
import {
  integrateAll,
  makeCheckpointMemory,
  makeCheckpointSigner,
  makeReceipt,
  makeReceipts,
  originOf,
  submitReceipts,
} from '#test/support/ledger.ts';

let database: TestDatabase;
let worker: ReturnType<TestDatabase['poolAs']>;
let operator: ReturnType<TestDatabase['poolAs']>;
let reader: ReturnType<typeof createAnchorReader>;
let writer = createAnchorWriter();
const signer = makeCheckpointSigner();
let memory = makeCheckpointMemory();

beforeEach(async () => {
  database = await createTestDatabase();
  worker = database.poolAs('docket_ledger', 4);
  operator = database.poolAs('docket_operator', 1);
  reader = createAnchorReader(database.poolAs('docket_api', 2));
  writer = createAnchorWriter();
  memory = makeCheckpointMemory();
});

const publish = (): Promise<unknown> =>
  publishCheckpoints(worker, { signer, memory, originOf, limit: 100, intervalMs: 0 });

async function grow(orgId: string, count = 1): Promise<void> {
  await submitReceipts(database.pool, makeReceipts(orgId, count));
  await integrateAll(worker);
  await publish();
}

const report = (compromise: { key: string; from?: number }): Promise<void> =>
  reportCompromise(operator, systemSurroundings, { ...compromise, actor: OPERATOR });

const told = (events: readonly ProvenKeyEvent[]): unknown[] =>
  events.map(({ index, event }) => [index, event.event, event.key]);
const retiredNow = (key: KnownKey): KnownKey => ({ ...key, state: 'retired', since: Date.now() });

describe('key events', () => {
  it('a key is in the log, with a proof, before anything that it signed is anchored', async () => {
    const [old, next] = [knownKey('receipts'), knownKey('receipts')];
    await grow('org_a');
    await writer.turn(worker, { keys: [old] });
    await writer.turn(worker, { keys: [old, { ...next, state: 'next' }] });
    await grow('org_a');
    await writer.turn(worker, { keys: [old, { ...next, state: 'next' }] });
    const events = await reader.keyEvents();
    expect(told(events)).toEqual([
      [0, 'added', old.key],
      [2, 'added', next.key],
    ]);
    for (const { entry, event, index, proof } of events) {
      expect(entry).toBe(formatAnchorEntry(event));
      const parsed = parseProof(proof!);
      expect(parsed.index).toBe(index);
      expect(proofHolds(parsed, leafHash(Buffer.from(entry)))).toBe(true);
    }
  });

  it('key events are written before there is any organisation, and once', async () => {
    const keys = [knownKey('packs')];
    await Promise.all(Array.from({ length: 6 }, () => writer.turn(worker, { keys })));
    expect((await writer.turn(worker, { keys })).keyEvents).toEqual([]);
    expect(told(await reader.keyEvents())).toEqual([[0, 'added', keys[0]!.key]]);
  });

  it('a key is retired only when everything that it may have signed is anchored', async () => {
    const [old, active] = [knownKey('receipts'), knownKey('receipts')];
    await grow('org_a');
    await writer.turn(worker, { keys: [old, active] });
    const keys = [retiredNow(old), active];
    const retired = async (retireAfterMs = 0): Promise<number> => {
      const { keyEvents } = await writer.turn(worker, { keys, retireAfterMs });
      return keyEvents.length;
    };
    expect(await retired(60_000), 'signers may still be at work').toBe(0);
    const late = makeReceipt('org_a');
    await submitReceipts(database.pool, [late]);
    await database.pool.query(`update receipt_pending set submitted_at = now() - interval '1 day'`);
    expect(await retired(), 'a promise waits').toBe(0);
    await integrateAll(worker);
    await database.pool.query(`alter table ledger_entry disable trigger user`);
    await database.pool.query(
      `update ledger_entry set integrated_at = now() - interval '1 day' where entry_id = $1`,
      [late.id],
    );
    expect(await retired(), 'an entry is not signed').toBe(0);
    await publish();
    const { heads, keyEvents } = await writer.turn(worker, { keys });
    // In one writing: the heads that have its last receipt, then its retirement.
    expect(keyEvents.map(({ index, event }) => [index, event.event])).toEqual([
      [heads!.index + 1, 'retired'],
    ]);
    const interval = keyIntervals(await reader.keyEvents()).get(old.key);
    expect(judgeKey(interval, 'receipts', heads!.index)).toBe('good');
    expect(judgeKey(interval, 'receipts', heads!.index + 2)).toBe('retired');
  });

  it('a receipt in quarantine keeps its key from being retired', async () => {
    const old = knownKey('receipts');
    await writer.turn(worker, { keys: [old] });
    await submitReceipts(database.pool, [makeReceipt('org_a', { leafHash: Buffer.alloc(32) })]);
    await integrateAll(worker);
    await database.pool.query(
      `update ledger_quarantine set submitted_at = now() - interval '1 day'`,
    );
    expect((await writer.turn(worker, { keys: [retiredNow(old)] })).keyEvents).toEqual([]);
    await database.pool.query('delete from ledger_quarantine');
    expect((await writer.turn(worker, { keys: [retiredNow(old)] })).keyEvents).toHaveLength(1);
  });

  it('a revoked key is good up to its event, unless an operator says from which index on it is not', async () => {
    const key = knownKey('receipts');
    const keys = [key];
    for (let i = 0; i < 3; i += 1) {
      await grow('org_a');
      await writer.turn(worker, { keys });
    }
    // 0: added, then heads at 1, 2, 3.
    const revoked: KnownKey[] = [{ ...key, state: 'revoked', since: Date.now() }];
    await writer.turn(worker, { keys: revoked });
    const judged = async (): Promise<string[]> => {
      const interval = keyIntervals(await reader.keyEvents()).get(key.key);
      return [1, 2, 3, 5].map((at) => judgeKey(interval, 'receipts', at));
    };
    expect(await judged()).toEqual(['good', 'good', 'good', 'compromised']);
    await report({ key: key.key, from: 2 });
    await writer.turn(worker, { keys: revoked });
    expect(await judged()).toEqual(['good', 'compromised', 'compromised', 'compromised']);
    const last = (await reader.keyEvents()).at(-1)!;
    expect(last.event).toMatchObject({ event: 'compromised', from: 2 });
    expect((await writer.turn(worker, { keys: revoked })).keyEvents).toEqual([]);
  });

  it('an operator can only report a compromise of a known key, from an index that the log has', async () => {
    const key = knownKey('checkpoints');
    await expect(report({ key: key.key })).rejects.toMatchObject({
      code: 'signing_key_not_found',
    });
    await writer.turn(worker, { keys: [key] });
    await expect(report({ key: key.key, from: 9 })).rejects.toMatchObject({
      code: 'invalid_from',
    });
    await report({ key: key.key });
    const { keyEvents } = await writer.turn(worker, { keys: [key] });
    expect(keyEvents).toMatchObject([{ index: 1, event: { event: 'compromised', from: 1 } }]);
    for (const statement of [
      `insert into anchor_entry (index, leaf_hash, body) values (9, sha256('x'), 'x')`,
      'delete from anchor_pending',
    ]) {
      await expect(operator.query(statement), statement).rejects.toThrow('permission denied');
    }
  });

  it('a moment has a place in the anchor log', async () => {
    const start = Date.now() - 1_000;
    await grow('org_a');
    await writer.turn(worker, { keys: [knownKey('receipts')] });
    expect(await anchorIndexAt(operator, start)).toBe(1);
    expect(await anchorIndexAt(operator, Date.now() + 60_000)).toBe(2);
  });
});
