import fc from 'fast-check';
import { beforeAll, describe, expect, it } from 'vitest';
import { timeOfId } from '#shared/kernel/ids.ts';
import { OUTCOMES } from '#shared/kernel/inference.ts';
import { newId } from '#shared/kernel/system/new-id.ts';
import { listReceipts, type ReceiptPageRequest } from '#shared/ledger/postgres/receipt-list.ts';
import { sumUpAnew } from '#shared/ledger/postgres/usage-anew.ts';
import { createTestDatabase } from '#test/support/database.ts';
import { runs } from '#test/support/depth.ts';
import { forAllAsync } from '#test/support/for-all.ts';
import {
  integrateAll,
  makeReceipt,
  submitReceipts,
  type SubmittedReceipt,
} from '#test/support/ledger.ts';
import { FILL, INTEGRATE } from '#test/support/synthetic-receipts.ts';

const database = await createTestDatabase();
const receipts = database.poolAs('docket_receipts');
/** One connection, which reports what it has read when it is asked to. */
const api = database.poolAs('docket_api', 1);
const HOUR = 3_600_000;
const START = Date.UTC(2026, 10, 18, 12);
const MODELS = ['llama', 'mistral', 'qwen'];
const REGIONS = ['eu-west', 'eu-north'];
const KEYS = ['key_1', 'key_2'];

describe('a list of receipts', () => {
  const all: SubmittedReceipt[] = [];

  /** Receipts of forty hours, each fifth of them degraded and estimated again in an hour that has nothing else. */
  async function submit(count: number, hours: number): Promise<void> {
    for (let i = 0; i < count; i += 1) {
      const at = START + hours * HOUR + ((i * 7_919) % (40 * 60)) * 60_000;
      const isDegraded = i % 5 === 0;
      const first = makeReceipt('org_a', {
        id: newId('rcpt', at),
        // The last model is one of a few hours only.
        model: MODELS[at > START + (hours + 3) * HOUR ? i % 2 : 2]!,
        region: REGIONS[i % 3 === 0 ? 1 : 0]!,
        tier: isDegraded ? 'degraded' : 'audit',
        kind: isDegraded ? 'degraded' : 'inference',
        key: KEYS[i % 7 === 0 ? 1 : 0]!,
        outcome: OUTCOMES[i % 4 === 0 ? 2 : 0],
      });
      await submitReceipts(receipts, [first]);
      all.push(first);
      if (!isDegraded) continue;
      const revision = makeReceipt('org_a', {
        ...first,
        id: newId('rcpt', START + (hours + 50 + i) * HOUR),
        tier: 'audit',
        kind: 'recalculated',
        supersedes: first.id,
      });
      await submitReceipts(receipts, [revision]);
      all.push(revision);
      await database
        .poolAs('docket_recalculation', 1)
        .query(
          'insert into receipt_revision (original_id, revision_id, org_id) values ($1, $2, $3)',
          [first.id, revision.id, 'org_a'],
        );
    }
  }

  beforeAll(async () => {
    // What is summed up, what is not summed up (yet), and what waits.
    await submit(90, 0);
    await integrateAll(database.poolAs('docket_ledger'));
    await submit(20, 200);
    await database.pool.query(INTEGRATE, ['org_a']);
    await database.pool.query('delete from receipt_pending');
    await submit(20, 300);
    await submitReceipts(receipts, [makeReceipt('org_b', { model: 'llama', region: 'eu-west' })]);
    all.sort((a, b) => (a.id < b.id ? -1 : 1));
  });

  const maybe = <T>(values: readonly T[]) =>
    fc.option(fc.constantFrom(...values), { nil: undefined });
  const hour = fc.option(fc.integer({ min: -1, max: 400 }), { nil: undefined });

  it('has every receipt that fits once and in order, for any question and wherever they lie', async () => {
    await forAllAsync(
      [
        fc.record({
          model: maybe([...MODELS, 'none']),
          region: maybe([...REGIONS, 'none']),
          tier: maybe(['audit', 'degraded', 'none']),
          key: maybe([...KEYS, 'key_none']),
          outcome: maybe(OUTCOMES),
          kind: maybe(['inference', 'degraded', 'recalculated'] as const),
          from: hour,
          to: hour,
        }),
        fc.constantFrom('asc', 'desc'),
        fc.integer({ min: 1, max: 12 }),
        fc.integer({ min: 1, max: 20 }),
      ],
      { numRuns: runs(100) },
      async ({ from, to, ...filter }, order, limit, lookedAtMax) => {
        const span = {
          ...(from !== undefined && { from: START + from * HOUR }),
          ...(to !== undefined && { to: START + to * HOUR }),
        };
        const given = Object.entries(filter).filter(([, value]) => value !== undefined);
        const request = { orgId: 'org_a', order, limit, ...Object.fromEntries(given), ...span };
        const seen: string[] = [];
        for (let after: string | undefined; ; after = seen.at(-1)) {
          const asked: ReceiptPageRequest = { ...request, ...(after !== undefined && { after }) };
          const { items, hasMore } = await listReceipts(api, asked, lookedAtMax);
          expect(items.length).toBe(hasMore ? limit : Math.min(limit, items.length));
          seen.push(...items.map(({ entry_id }) => entry_id));
          if (!hasMore) break;
        }
        const ids = all
          .filter((receipt) =>
            given.every(([name, value]) => receipt[name as keyof typeof filter] === value),
          )
          .map(({ id }) => id)
          .filter((id) => timeOfId(id) >= (span.from ?? 0) && timeOfId(id) < (span.to ?? Infinity));
        expect(seen).toEqual(order === 'asc' ? ids : ids.toReversed());
      },
    );
  });
});

describe('what a search reads', () => {
  const COUNT = 8_000;
  /** What is read without knowing where to look, the hour of the one that fits, and the few receipts of others between them. */
  const BUDGET = 2_000 + COUNT / 30 / 24 + 300;

  beforeAll(async () => {
    // What the planner knows is older than this organisation, as it is of one that has come since.
    await database.pool.query('analyze');
    await database.pool.query(FILL, [START, COUNT, 1, COUNT, 'org_many']);
    // Of the oldest of all, and of one in the middle.
    await submitReceipts(receipts, [
      makeReceipt('org_many', { id: newId('rcpt', START - 29 * 24 * HOUR), model: 'rare' }),
      makeReceipt('org_many', { id: newId('rcpt', START - 15 * 24 * HOUR), model: 'rarer' }),
    ]);
    await database.pool.query(INTEGRATE, ['org_many']);
    await database.pool.query('delete from receipt_pending');
    while (await sumUpAnew(database.poolAs('docket_ledger'), COUNT * 2));
  });

  /** What has been read of receipts, by whichever way. */
  async function entriesRead(): Promise<number> {
    await api.query('select pg_stat_force_next_flush()');
    const { rows } = await api.query<{ read: string }>(
      `with body as (select oid from pg_class where relkind = 'r' and relname like 'ledger_body%')
       select sum(pg_stat_get_tuples_returned(oid)) as read
       from (select oid from body union all select indexrelid from pg_index join body on oid = indrelid) r`,
    );
    return Number(rows[0]!.read);
  }

  it.each([
    ['nothing fits a model', { model: 'none' }, 0],
    ['many fit a model and a region, and none both', { model: 'model-1', region: 'us-east' }, 0],
    ['one that fits lies far back', { model: 'rare' }, 1],
    ['one that fits lies in the middle', { model: 'rarer' }, 1],
  ])(
    'is a part of the receipts, however many there are, where %s',
    async (_name, filter, found) => {
      for (const order of ['asc', 'desc'] as const) {
        const before = await entriesRead();
        const page = await listReceipts(api, { orgId: 'org_many', limit: 25, order, ...filter });
        const read = (await entriesRead()) - before;
        expect(page.items).toHaveLength(found);
        expect(read).toBeGreaterThan(0);
        expect(read).toBeLessThan(BUDGET);
      }
    },
  );
});
