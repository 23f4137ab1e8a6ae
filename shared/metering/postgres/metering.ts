import type { Pool, PoolClient } from 'pg';
import { execute, queryRow, queryRows, statement } from '#shared/kernel/postgres/statement.ts';
import { inTransaction } from '#shared/kernel/postgres/transaction.ts';
import { type BodyArchive, createBodyArchive } from '#shared/ledger/postgres/body-archive.ts';
import {
  newestOfChain,
  REVISABLE,
  REVISABLE_COLUMNS,
  type RevisableReceipt,
  revisableOf,
  withBodies,
} from '#shared/receipts/postgres/revisable.ts';
import type { Attribution, Run } from '../attribution.ts';
import type { MeteredEnergy } from '../energy.ts';
import { type MeteredRecord, spanRecord } from '../interval.ts';
import type { AcceleratorReading, Reading } from '../reading.ts';

/** What was decided about the time between two readings. */
interface Settlement {
  energy: MeteredEnergy;
  attribution: Attribution;
  record: MeteredRecord;
}

/**
 * Decides about the interval between two readings, given the requests that ran in it and the power at which its accelerators
 * idled last, in microwatts. Undefined where its energy is not known.
 */
export type Settle = (
  readings: readonly [Reading, Reading],
  runs: readonly Run[],
  idleUw: bigint | undefined,
) => Settlement | undefined;

/** A request whose energy is known, with the newest receipt of it. */
export interface OwedMeasurement {
  /** Of its first receipt. */
  receiptId: string;
  current: RevisableReceipt;
  /** Microjoules over all intervals in which it ran. */
  energyUj: bigint;
  /** The interval in which it ran, or the span of several. */
  metered: { from: number; to: number; digest: string };
}

const READINGS = statement(
  { read_at: 'timestamptz', accelerators: 'text' },
  `select read_at, accelerators::text as accelerators from meter_reading
   where endpoint = $1 and read_at <= to_timestamp($2::float8 / 1000) order by read_at limit 2`,
);

const LAST_READING = statement(
  { read_at: 'timestamptz', accelerators: 'text' },
  `select read_at, accelerators::text as accelerators from meter_reading where endpoint = $1 order by read_at desc limit 1`,
);

const ADD_READING = statement(
  {},
  `insert into meter_reading (endpoint, read_at, accelerators)
   values ($1, to_timestamp($2::float8 / 1000), $3::jsonb) on conflict do nothing`,
);

const DROP_READING = statement(
  {},
  `delete from meter_reading where endpoint = $1 and read_at = $2`,
);

/** An hour is the longest that a stream may take. Those of which an earlier interval is missing take their share all the same. */
const RUNS = statement(
  { receipt_id: 'text', began_at: 'timestamptz', ended_at: 'timestamptz', weight: 'int8' },
  `select receipt_id, began_at, ended_at, weight from metered_request
   where endpoint = $1 and began_at < $3 and began_at > $2::timestamptz - interval '2 hours'
     and greatest(ended_at, began_at + interval '1 millisecond') > $2 and state in ('waiting', 'unmeasured')
   order by receipt_id for update`,
);

/** The last interval of a day in which nothing ran. */
const IDLE = statement(
  { energy_uj: 'numeric?', ms: 'float8' },
  `select energy_uj, extract(epoch from to_at - from_at)::float8 * 1000 as ms from metered_record
   where endpoint = $1 and energy_uj = idle_uj and from_at between $2::timestamptz - interval '1 day' and $2
   order by from_at desc limit 1`,
);

const ADD_INTERVAL = statement(
  {},
  `insert into metered_record (digest, endpoint, from_at, to_at, energy_uj, idle_uj, body)
   values ($1, $2, $3, $4, $5::numeric, $6::numeric, convert_to($7, 'UTF8'))`,
);

const ADD_SHARES = statement(
  {},
  `update metered_request r set energy_uj = r.energy_uj + s.energy_uj, metered_from = coalesce(r.metered_from, $3)
   from unnest($1::text[], $2::numeric[]) as s (receipt_id, energy_uj) where r.receipt_id = s.receipt_id`,
);

/** Of an interval whose energy is not known: the requests that ran in it keep their estimates. */
const UNMEASURED = statement(
  {},
  `update metered_request set state = 'unmeasured' where receipt_id = any ($1::text[]) and state = 'waiting'`,
);

/** Those that ended are done; those that had begun before their first share were not metered whole. */
const ENDED = statement(
  {},
  `update metered_request set state = case when metered_from <= began_at then 'attributed' else 'unmeasured' end
   where receipt_id = any ($1::text[]) and ended_at <= $2 and state = 'waiting'`,
);

/**
 * What came after its time was settled, and what no meter counted for a day. Intervals of an endpoint do not overlap: the
 * one that began last ended last.
 */
const MISSED = statement(
  {},
  `update metered_request r set state = 'unmeasured' where state = 'waiting' and metered_from is null and (
     ended_at < now() - interval '1 day'
     or ended_at <= (select m.to_at from metered_record m where m.endpoint = r.endpoint and m.energy_uj is not null
                     order by m.from_at desc limit 1))`,
);

const OLD_READINGS = statement(
  {},
  `delete from meter_reading where read_at < now() - interval '1 day'`,
);

/** A revision names the leaf that it revises, so what is not in the ledger yet waits. */
const OWED = statement(
  {
    receipt_id: 'text',
    endpoint: 'text',
    began_at: 'timestamptz',
    ended_at: 'timestamptz',
    energy_uj: 'numeric',
    ...REVISABLE,
    index: 'int8',
  },
  `select r.receipt_id, r.endpoint, r.began_at, r.ended_at, r.energy_uj, ${REVISABLE_COLUMNS}, e.index
   from (select * from metered_request where state = 'attributed' and receipt_id > $2 order by receipt_id limit $1) r
   cross join lateral (
     select ${newestOfChain('r.org_id', 'r.receipt_id')} as id) tip
   join ledger_body b on b.entry_id = tip.id
   join ledger_entry e on e.entry_id = tip.id
   order by r.receipt_id`,
);

const INTERVALS = statement(
  { digest: 'text', from_at: 'timestamptz', to_at: 'timestamptz' },
  `select digest, from_at, to_at from metered_record
   where endpoint = $1 and energy_uj is not null and from_at < $3 and to_at > $2 and from_at > $2::timestamptz - interval '1 hour'
   order by from_at`,
);

const ADD_SPAN = statement(
  {},
  `insert into metered_record (digest, endpoint, from_at, to_at, body)
   values ($1, $2, $3, $4, convert_to($5, 'UTF8')) on conflict do nothing`,
);

const MEASURED = statement(
  {},
  `update metered_request r set state = 'measured', revision_id = m.revision_id
   from unnest($1::text[], $2::text[]) as m (receipt_id, revision_id)
   where r.receipt_id = m.receipt_id and r.state = 'attributed'`,
);

const NOT_MEASURED = statement(
  {},
  `update metered_request set state = 'unmeasured' where receipt_id = $1 and state = 'attributed'`,
);

export type MeteringStore = ReturnType<typeof createMeteringStore>;

/** What meters said and who ran meanwhile, for the role `docket_recalculation`. */
export function createMeteringStore(
  pool: Pool,
  archive: BodyArchive = createBodyArchive(undefined),
) {
  return {
    async lastReading(endpoint: string): Promise<Reading | undefined> {
      const row = await queryRow(pool, LAST_READING, [endpoint]);
      return row === undefined ? undefined : readingOf(row);
    },
    async addReading(endpoint: string, { at, accelerators }: Reading): Promise<void> {
      await execute(pool, ADD_READING, [endpoint, at, JSON.stringify(accelerators)]);
    },
    /**
     * Settles the oldest interval of an endpoint that ended before a time, in one transaction: its record, the share of each
     * request, and what is complete with it. Two processes that try settle it once.
     * @returns whether there was one, and whether its energy was known
     */
    settleOldest: (
      endpoint: string,
      endedBefore: number,
      decide: Settle,
    ): Promise<'settled' | 'unmetered' | 'none'> =>
      inTransaction(pool, (client) => settleOldest(client, endpoint, endedBefore, decide)),
    /** Gives up on requests whose intervals were settled without them. @returns how many */
    async dropMissed(): Promise<number> {
      await execute(pool, OLD_READINGS);
      return execute(pool, MISSED);
    },
    /** Requests after this one whose receipts can be revised now. */
    async owed(limit: number, after: string): Promise<OwedMeasurement[]> {
      const rows = await withBodies(pool, archive, await queryRows(pool, OWED, [limit, after]));
      return Promise.all(
        rows.map(async (row) => ({
          receiptId: row.receipt_id,
          energyUj: BigInt(row.energy_uj),
          current: revisableOf(row),
          metered: await intervalOf(pool, row.endpoint, row.began_at, row.ended_at),
        })),
      );
    },
    /** Writes down which receipts have their revision. */
    async measured(done: readonly { receiptId: string; revisionId: string }[]): Promise<void> {
      const ids = done.map(({ receiptId }) => receiptId);
      await execute(pool, MEASURED, [ids, done.map(({ revisionId }) => revisionId)]);
    },
    async notMeasured(receiptId: string): Promise<void> {
      await execute(pool, NOT_MEASURED, [receiptId]);
    },
  };
}

async function settleOldest(
  client: PoolClient,
  endpoint: string,
  endedBefore: number,
  decide: Settle,
): Promise<'settled' | 'unmetered' | 'none'> {
  await client.query('select pg_advisory_xact_lock(hashtextextended($1, 0))', [
    `docket meter ${endpoint}`,
  ]);
  const [first, second] = await queryRows(client, READINGS, [endpoint, endedBefore]);
  if (first === undefined || second === undefined) return 'none';
  const times = [first.read_at, second.read_at];
  const rows = await queryRows(client, RUNS, [endpoint, ...times]);
  const runs = rows.map((row): Run => ({
    receiptId: row.receipt_id,
    from: row.began_at.getTime(),
    to: row.ended_at.getTime(),
    weight: Number(row.weight),
  }));
  const idle = await queryRow(client, IDLE, [endpoint, first.read_at]);
  const idleUw =
    idle?.energy_uj == null
      ? undefined
      : (BigInt(idle.energy_uj) * 1_000n) / BigInt(Math.round(idle.ms));
  const settled = decide([readingOf(first), readingOf(second)], runs, idleUw);
  const ids = runs.map(({ receiptId }) => receiptId);
  if (settled === undefined) await execute(client, UNMEASURED, [ids]);
  else {
    const { energy, attribution, record } = settled;
    const { idleUj, shares } = attribution;
    const amounts = [String(energy.energyUj), String(idleUj)];
    await execute(client, ADD_INTERVAL, [
      record.digest,
      endpoint,
      ...times,
      ...amounts,
      record.text,
    ]);
    const shared = [
      shares.map((share) => share.receiptId),
      shares.map((share) => String(share.energyUj)),
    ];
    await execute(client, ADD_SHARES, [...shared, first.read_at]);
    await execute(client, ENDED, [ids, second.read_at]);
  }
  await execute(client, DROP_READING, [endpoint, first.read_at]);
  return settled === undefined ? 'unmetered' : 'settled';
}

/** What a receipt names: the interval in which it ran, or the span of several, which is written down first. */
async function intervalOf(
  pool: Pool,
  endpoint: string,
  began: Date,
  ended: Date,
): Promise<OwedMeasurement['metered']> {
  // A call without a duration ran for a millisecond.
  const end = new Date(Math.max(ended.getTime(), began.getTime() + 1));
  const intervals = await queryRows(pool, INTERVALS, [endpoint, began, end]);
  const [first, last] = [intervals[0]!, intervals.at(-1)!];
  const range = { from: first.from_at.getTime(), to: last.to_at.getTime() };
  if (intervals.length === 1) return { ...range, digest: first.digest };
  const span = spanRecord(
    endpoint,
    intervals.map(({ digest }) => digest),
  );
  await execute(pool, ADD_SPAN, [span.digest, endpoint, first.from_at, last.to_at, span.text]);
  return { ...range, digest: span.digest };
}

function readingOf(row: { read_at: Date; accelerators: string }): Reading {
  const accelerators = JSON.parse(row.accelerators) as Record<string, AcceleratorReading>;
  return { at: row.read_at.getTime(), accelerators };
}
