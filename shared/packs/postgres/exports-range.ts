import { invalidParam, type Fault } from '#shared/kernel/errors.ts';
import { PACK_ENTRIES_MAX, type PackRange } from '../layout.ts';
import type { ExportRequest } from '../port-exports.ts';
import type { Queryable } from '#shared/kernel/postgres/transaction.ts';

/**
 * Turns what was asked for into indexes below a signed checkpoint: from then on the content is fixed.
 * @throws Fault `invalid_<param>`
 */
export async function resolveRange(
  db: Queryable,
  orgId: string,
  request: ExportRequest,
): Promise<PackRange> {
  const { from, to, firstIndex, lastIndex } = request;
  const byTime = from !== undefined || to !== undefined;
  if (byTime && (firstIndex !== undefined || lastIndex !== undefined)) {
    throw invalidParam('from', 'Name a range by time or by index, not by both.');
  }
  const size = await checkpointSize(db, orgId, request.checkpointSize);
  const range = byTime
    ? await rangeOfTimes(db, orgId, { from, to, size })
    : { first: firstIndex ?? 0, end: lastIndex === undefined ? size : lastIndex + 1 };
  const { first, end } = range;
  if (end > size) {
    throw invalidParam('last_index', `The signed checkpoint has ${size} entries, from index 0.`);
  }
  if (first >= end) throw emptyRange(byTime);
  if (end - first > PACK_ENTRIES_MAX) {
    throw invalidParam(
      byTime ? 'from' : 'first_index',
      `A pack holds at most ${PACK_ENTRIES_MAX} receipts; ask for several.`,
    );
  }
  return { firstIndex: first, lastIndex: end - 1, checkpointSize: size };
}

async function checkpointSize(
  db: Queryable,
  orgId: string,
  wanted: number | undefined,
): Promise<number> {
  const { rows } = await db.query<{ size: string }>(
    `select size from ledger_checkpoint where org_id = $1 and ($2::bigint is null or size = $2)
     order by size desc limit 1`,
    [orgId, wanted ?? null],
  );
  if (rows[0] !== undefined) return Number(rows[0].size);
  throw wanted === undefined
    ? invalidParam('range', 'No receipt is in a signed checkpoint yet.')
    : invalidParam('checkpoint_size', 'No checkpoint of this size was ever signed.');
}

/** Entries that were integrated in this time. What the checkpoint does not cover is left out. */
async function rangeOfTimes(
  db: Queryable,
  orgId: string,
  { from, to, size }: { from: number | undefined; to: number | undefined; size: number },
): Promise<{ first: number; end: number }> {
  const { rows } = await db.query<{ first: string; end: string }>(
    `select case when $2::timestamptz is null then 0 else ledger_index_at($1, $2) end as first,
       case when $3::timestamptz is null then $4::bigint else ledger_index_at($1, $3) end as end`,
    [orgId, dateOf(from), dateOf(to), size],
  );
  const row = rows[0]!;
  return { first: Number(row.first), end: Math.min(Number(row.end), size) };
}

function emptyRange(byTime: boolean): Fault {
  return byTime
    ? invalidParam('from', 'No receipt of this time is in a signed checkpoint.')
    : invalidParam('first_index', 'The range is empty: the first index lies after the last.');
}

function dateOf(ms: number | undefined): Date | null {
  return ms === undefined ? null : new Date(ms);
}
