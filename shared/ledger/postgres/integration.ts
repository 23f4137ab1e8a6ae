import type { Pool, PoolClient } from 'pg';
import {
  execute,
  queryRow,
  queryRows,
  type Row,
  statement,
} from '#shared/kernel/postgres/statement.ts';
import { inTransaction, type Queryable } from '#shared/kernel/postgres/transaction.ts';
import { LEDGER_KINDS } from '../entries.ts';
import {
  appendEntries,
  haltLogs,
  keepPlansByIndex,
  type LockedHead,
  lockHeads,
  type SoundRow,
} from './append.ts';

/** Why a promise could not be kept. */
type QuarantineReason = 'body_missing' | 'body_altered' | 'already_integrated' | 'refused';

/** The result of one batch. Quarantined receipts and halted logs need a person. */
export interface IntegrationResult {
  /** Promises that were taken; equal to the limit when more may be waiting. */
  claimed: number;
  integrated: number;
  quarantined: QuarantinedReceipt[];
  halted: { orgId: string; reason: string }[];
  /** The largest receipt id among the promises taken. */
  newest?: string;
}

interface QuarantinedReceipt {
  receiptId: string;
  orgId: string;
  reason: QuarantineReason;
  detail: string | null;
}

/** The state of a batch under way. */
interface Batch {
  client: PoolClient;
  heads: Map<string, LockedHead>;
  integrated: number;
  quarantined: QuarantinedReceipt[];
  broken: Map<string, string>;
}

/**
 * Turns up to `limit` promises into ledger entries, in one transaction: all of it happens or nothing.
 * Any number of processes may call this at once. A receipt that cannot be integrated goes to quarantine
 * and a log that does not add up is halted; neither holds up the others.
 * @param from the smallest receipt id to look at; without it all promises are looked at
 */
export async function integrateBatch(
  pool: Pool,
  limit: number,
  from: string = '',
): Promise<IntegrationResult> {
  const waiting = await queryRow(pool, WAITING, [from]);
  if (waiting === undefined) {
    return { claimed: 0, integrated: 0, quarantined: [], halted: [] };
  }
  return inTransaction(pool, async (client) => {
    await keepPlansByIndex(client);
    const claimed = await queryRows(client, CLAIM, [limit, from]);
    const batch: Batch = {
      client,
      heads: new Map(),
      integrated: 0,
      quarantined: [],
      broken: new Map(),
    };
    if (claimed.length > 0) await integrate(batch, claimed);
    const halted = [...batch.broken].map(([orgId, reason]) => ({ orgId, reason }));
    return {
      claimed: claimed.length,
      integrated: batch.integrated,
      quarantined: batch.quarantined,
      halted,
      ...(claimed.length > 0 ? { newest: claimed.at(-1)!.entry_id } : {}),
    };
  });
}

/** Asked before a transaction is begun: most looks find nothing, and one statement says so. */
const WAITING = statement(
  { entry_id: 'text' },
  `select entry_id from receipt_pending where entry_id >= $1 order by entry_id limit 1`,
);

/**
 * Takes the oldest promises that no other worker has taken. The bodies are hashed where they lie: reading
 * them over here would be most of the work. Logs that are halted keep their promises waiting.
 */
const CLAIM = statement(
  {
    entry_id: 'text',
    org_id: 'text',
    kind: LEDGER_KINDS,
    supersedes: 'text?',
    leaf_hash: 'bytea',
    // The body hashes to what was promised, twice over; null when there is no body.
    intact: 'bool?',
    integrated_before: 'bool',
  },
  `with claimed as materialized (
     select p.entry_id, p.org_id, p.kind, p.supersedes, p.leaf_hash from receipt_pending p
     where p.entry_id >= $2
       and p.org_id <> all (array(select h.org_id from ledger_head h where h.halted_at is not null))
     order by p.entry_id limit $1
     for update skip locked)
   select c.*, sha256('\\x00'::bytea || b.body) = c.leaf_hash and b.leaf_hash = c.leaf_hash as intact,
     (select true from ledger_entry e where e.entry_id = c.entry_id limit 1) is true as integrated_before
   from claimed c left join ledger_body b on b.entry_id = c.entry_id and b.org_id = c.org_id
   order by c.entry_id`,
  { name: 'claim-promises' },
);
type ClaimedRow = Row<typeof CLAIM>;

async function integrate(batch: Batch, claimed: readonly ClaimedRow[]): Promise<void> {
  const sound: SoundRow[] = [];
  for (const row of claimed) {
    const reason = faultOf(row);
    if (reason === null) sound.push(row);
    else batch.quarantined.push(quarantinedOf(row, reason));
  }
  if (sound.length > 0) {
    const heads = await lockHeads(batch.client, [...new Set(sound.map((row) => row.org_id))]);
    batch.heads = heads.sound;
    batch.broken = heads.broken;
    await appendAll(
      batch,
      sound.filter((row) => batch.heads.has(row.org_id)),
    );
  }
  await quarantine(batch.client, batch.quarantined);
  await haltLogs(batch.client, batch.broken);
}

function faultOf(row: ClaimedRow): QuarantineReason | null {
  if (row.integrated_before) return 'already_integrated';
  if (row.intact === null) return 'body_missing';
  return row.intact ? null : 'body_altered';
}

/** The whole batch at once; when the database refuses it, log by log, so that one log's fault is its own. */
async function appendAll(batch: Batch, rows: readonly SoundRow[]): Promise<void> {
  if (rows.length === 0) return;
  const refusal = await tryAppend(batch, rows);
  if (refusal === null) return;
  for (const [orgId, own] of Map.groupBy(rows, (row) => row.org_id)) {
    const state = await appendLog(batch, own);
    if (state !== null) batch.broken.set(orgId, state);
  }
}

/** Halves the rows of one log until the bad one is alone. Returns why the log itself is broken, or null. */
async function appendLog(batch: Batch, rows: readonly SoundRow[]): Promise<string | null> {
  const refusal = await tryAppend(batch, rows);
  if (refusal === null) return null;
  if (refusal.fault === 'log') return refusal.detail;
  const [row] = rows;
  if (rows.length === 1 && row !== undefined) {
    batch.quarantined.push(quarantinedOf(row, 'refused', refusal.detail));
    return null;
  }
  const middle = Math.ceil(rows.length / 2);
  return (await appendLog(batch, rows.slice(0, middle))) ?? appendLog(batch, rows.slice(middle));
}

interface Refusal {
  /** Whose fault it is: a receipt's own, or the stored log's. */
  fault: 'receipt' | 'log';
  detail: string;
}

/** Appends under a savepoint: what the tables refuse is undone and told; other errors end the batch. */
async function tryAppend(batch: Batch, rows: readonly SoundRow[]): Promise<Refusal | null> {
  await batch.client.query('savepoint append');
  try {
    const heads = await appendEntries(batch.client, batch.heads, rows);
    await batch.client.query('release savepoint append');
    for (const [orgId, head] of heads) batch.heads.set(orgId, head);
    batch.integrated += rows.length;
    return null;
  } catch (error) {
    const refusal = refusalOf(error);
    if (refusal === null) throw error;
    await batch.client.query('rollback to savepoint append');
    return refusal;
  }
}

/** Violated constraints, as the driver reports them (SQLSTATE class 23). */
function refusalOf(error: unknown): Refusal | null {
  if (!(error instanceof Error)) return null;
  const { code, table, constraint } = error as {
    code?: string;
    table?: string;
    constraint?: string;
  };
  if (code?.startsWith('23') !== true) return null;
  // An index that is taken is not the receipt's doing: the head does not know of entries that are there.
  const ofReceipt = table === 'ledger_entry' && constraint !== 'ledger_entry_pkey';
  return {
    fault: ofReceipt ? 'receipt' : 'log',
    detail: `${constraint ?? code}: ${error.message}`,
  };
}

function quarantinedOf(
  row: SoundRow,
  reason: QuarantineReason,
  detail: string | null = null,
): QuarantinedReceipt {
  return { receiptId: row.entry_id, orgId: row.org_id, reason, detail };
}

const QUARANTINE = statement(
  {},
  `with moved as (delete from receipt_pending p where p.entry_id = any ($1) returning p.*)
   insert into ledger_quarantine (entry_id, org_id, kind, supersedes, leaf_hash, submitted_at, reason, detail)
   select m.entry_id, m.org_id, m.kind, m.supersedes, m.leaf_hash, m.submitted_at, q.reason, q.detail
   from moved m join unnest($1::text[], $2::text[], $3::text[]) as q (entry_id, reason, detail) using (entry_id)
   on conflict (entry_id) do nothing`,
);

/** Moves promises out of the way; what they promised stays with them. */
async function quarantine(
  client: Queryable,
  receipts: readonly QuarantinedReceipt[],
): Promise<void> {
  if (receipts.length === 0) return;
  await execute(client, QUARANTINE, [
    receipts.map((each) => each.receiptId),
    receipts.map((each) => each.reason),
    receipts.map((each) => each.detail),
  ]);
}

/** Beyond this the exact number of waiting receipts tells an operator nothing more. */
const COUNT_MAX = 100_000;

/** Promises that wait to be integrated, and things that wait for a person. */
export interface LedgerBacklog {
  /** At most 100,000 are counted. */
  pending: number;
  /** Age of the oldest promise in milliseconds, by the database's clock; 0 when there is none. */
  oldestMs: number;
  quarantined: number;
  haltedLogs: number;
}

const BACKLOG = statement(
  { pending: 'int8', oldest_ms: 'int8', quarantined: 'int8', halted: 'int8' },
  `select
     (select count(*) from (select from receipt_pending limit $1) p) as pending,
     coalesce((select extract(epoch from clock_timestamp() - min(submitted_at)) * 1000 from
       (select submitted_at from receipt_pending order by entry_id limit 1000) p), 0)::bigint as oldest_ms,
     (select count(*) from ledger_quarantine) as quarantined,
     (select count(*) from ledger_head where halted_at is not null) as halted`,
);

/** Where the ledger stands, for metrics and alarms. */
export async function readBacklog(pool: Pool): Promise<LedgerBacklog> {
  const row = (await queryRow(pool, BACKLOG, [COUNT_MAX]))!;
  return {
    pending: Number(row.pending),
    oldestMs: Math.max(0, Number(row.oldest_ms)),
    quarantined: Number(row.quarantined),
    haltedLogs: Number(row.halted),
  };
}
