/** fsck of a database that was put back to an older state: sound in itself, and less than was published. */
import { beforeEach, describe, expect, it } from 'vitest';
import { createAuditLog } from '#shared/accounts/postgres/audit.ts';
import { systemSurroundings } from '#shared/kernel/system/surroundings.ts';
import { createWitness } from '#shared/ledger/http/witness.ts';
import { auditLogOf } from '#shared/ledger/origins.ts';
import { publishAuditHeads } from '#shared/ledger/postgres/audit-checkpoints.ts';
import { publishCheckpoints } from '#shared/ledger/postgres/checkpoints.ts';
import { verifyCosignature } from '#shared/ledger/cosignatures.ts';
import { examinePublished, examineWitnesses } from '#cli/fsck/published.ts';
import { createAnchorWriter } from '#test/support/anchor.ts';
import { startWitness } from '#test/support/attestors.ts';
import { createTestDatabase, type TestDatabase } from '#test/support/database.ts';
import {
  collectFindings,
  integrateAll,
  makeCheckpointMemory,
  makeCheckpointSigner,
  makeReceipts,
  originOf,
  type SubmittedReceipt,
  submitReceipts,
  tamper,
} from '#test/support/ledger.ts';

const signer = makeCheckpointSigner();
const anchorSigner = makeCheckpointSigner();
/** What survives when a database is put back. */
let memory = makeCheckpointMemory();
let database: TestDatabase;
const first = makeReceipts('org_a', 5);

beforeEach(async () => {
  memory = makeCheckpointMemory();
  database = await createTestDatabase();
  await grow(database, first);
});

/** What a restore brings back: another database that ends where this one began. */
async function restore(): Promise<TestDatabase> {
  const restored = await createTestDatabase();
  await grow(restored, first, makeCheckpointMemory());
  return restored;
}

async function grow(
  into: TestDatabase,
  receipts: readonly SubmittedReceipt[],
  kept = memory,
): Promise<void> {
  const worker = into.poolAs('docket_ledger', 4);
  await submitReceipts(into.pool, receipts);
  await integrateAll(worker);
  await publishCheckpoints(worker, { signer, memory: kept, originOf, limit: 10, intervalMs: 0 });
}

async function act(into: TestDatabase, details: Record<string, string> = {}): Promise<void> {
  const log = createAuditLog(into.poolAs('docket_api', 1), systemSurroundings);
  const actor = { kind: 'operator', id: 'ada' } as const;
  await log.append({ orgId: 'org_a', action: 'key.issued', actor, details });
}

const publishAudit = (into: TestDatabase) =>
  publishAuditHeads(into.poolAs('docket_ledger', 2), {
    signer,
    memory,
    originOf: (orgId) => `gateway.example/${auditLogOf(orgId)}`,
    limit: 10,
  });

const recall = (logs: readonly string[]) => memory.recall(logs);

const examine = (of: TestDatabase, orgId?: string) =>
  examinePublished(
    of.poolAs('docket_operator', 1),
    { remembered: new Map(memory.heads), recall },
    orgId,
  );

describe('fsck of what was published [survives.restore]', () => {
  it('names every log that is less than what was published, which is sound in itself', async () => {
    await grow(database, [...makeReceipts('org_a', 1_229), ...makeReceipts('org_new', 1)]);
    await act(database);
    await publishAudit(database);
    await createAnchorWriter(anchorSigner, memory).turn(database.poolAs('docket_ledger', 4));
    const restored = await restore();

    expect(
      await collectFindings(restored.poolAs('docket_operator', 1), { signatures: null }),
    ).toEqual([expect.objectContaining({ kind: 'signatures_unchecked' })]);
    const behind = { kind: 'behind', severity: 'loss', subject: 'log' };
    expect(await examine(restored)).toEqual([
      { ...behind, orgId: 'anchor', detail: '1 entry published, 0 here, as Redis remembers.' },
      { ...behind, orgId: 'audit/org_a', detail: '1 entry published, 0 here, as Redis remembers.' },
      {
        ...behind,
        orgId: 'org_a',
        detail: '1,234 entries published, 5 here, as Redis remembers.',
      },
      { ...behind, orgId: 'org_new', detail: '1 entry published, 0 here, as Redis remembers.' },
    ]);
    const ofOne = await examine(restored, 'org_a');
    expect(ofOne.map(({ orgId }) => orgId)).toEqual(['audit/org_a', 'org_a']);
    expect(await examine(database)).toEqual([]);
  });

  it('names logs that have grown otherwise since they were put back, however large they are', async () => {
    await grow(database, makeReceipts('org_a', 3));
    await act(database, { key: 'the one' });
    await publishAudit(database);
    const restored = await restore();
    await grow(restored, makeReceipts('org_a', 9));
    await act(restored, { key: 'another' });
    expect(await examine(restored)).toEqual([
      {
        kind: 'grown_otherwise',
        severity: 'loss',
        orgId: 'audit/org_a',
        subject: 'log',
        detail: 'The root of the 1 entry published is not that of those here, as Redis remembers.',
      },
      expect.objectContaining({ kind: 'grown_otherwise', orgId: 'org_a' }),
    ]);
  });

  it('finds nothing in a log that has grown on from what is remembered', async () => {
    const known = makeCheckpointMemory();
    await act(database);
    await publishAudit(database);
    for (const [log, head] of memory.heads) known.heads.set(log, head);
    await grow(database, makeReceipts('org_a', 300));
    await act(database);
    const { heads: remembered } = known;
    const db = database.poolAs('docket_operator', 1);
    expect(await examinePublished(db, { remembered, recall })).toEqual([]);
  });

  it('says that a memory which was emptied shows nothing', async () => {
    memory.heads.clear();
    expect(await examine(database)).toEqual([
      expect.objectContaining({
        kind: 'memory_behind',
        severity: 'note',
        detail: expect.stringMatching(
          /less than is published here of org_a: it was emptied/,
        ) as string,
      }),
    ]);
  });

  it('names a log that is less than what is anchored of it, when Redis has nothing', async () => {
    await createAnchorWriter(anchorSigner, memory).turn(database.poolAs('docket_ledger', 4));
    memory.heads.clear();
    await tamper(
      database.pool,
      `update ledger_head set size = 3, checkpoint_size = 0, usage_size = 0 where org_id = 'org_a'`,
    );
    expect(await examine(database, 'org_a')).toEqual([
      expect.objectContaining({
        kind: 'behind',
        detail: '5 entries published, 3 here, as the anchor log has it.',
      }),
    ]);
  });
});

describe('fsck by witnesses [survives.restore]', () => {
  it('learns from a witness that more was published, or something else, and says which could not be asked', async () => {
    const worker = database.poolAs('docket_ledger', 4);
    const witness = await startWitness('witness.example/w1', anchorSigner.publicKey);
    const client = createWitness(witness.setting, verifyCosignature);
    const db = database.poolAs('docket_operator', 1);
    const look = () => examineWitnesses(db, [client]);
    expect(await look()).toEqual([expect.objectContaining({ kind: 'witness_unasked' })]);

    await createAnchorWriter(anchorSigner, memory).turn(worker);
    expect(await look()).toEqual([]);
    const { rows } = await database.pool.query<{ root: Buffer }>(
      `select root from ledger_checkpoint where org_id = 'anchor'`,
    );
    witness.seen = { size: 1, root: rows[0]!.root };
    expect(await look()).toEqual([]);
    expect(witness.statuses).toEqual([409, 200]);

    witness.seen = { size: 1_234, root: Buffer.alloc(32) };
    expect(await look()).toEqual([
      {
        kind: 'behind',
        severity: 'loss',
        orgId: 'anchor',
        subject: 'log',
        detail: '1,234 entries published, 1 here, as witness.example/w1 has signed.',
      },
    ]);
    expect(witness.seen.size).toBe(1_234);

    witness.seen = { size: 1, root: Buffer.alloc(32) };
    expect(await look()).toEqual([expect.objectContaining({ kind: 'grown_otherwise' })]);

    witness.down = true;
    expect(await look()).toEqual([
      expect.objectContaining({
        kind: 'witness_unasked',
        severity: 'note',
        subject: 'witness witness.example/w1',
      }),
    ]);
  });
});
