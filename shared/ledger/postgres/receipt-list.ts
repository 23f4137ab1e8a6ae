import type { Pool } from 'pg';
import { Fault } from '#shared/kernel/errors.ts';
import { firstReceiptIdAt } from '#shared/kernel/ids.ts';
import type { Outcome } from '#shared/kernel/inference.ts';
import type { Page, PageRequest } from '#shared/kernel/page.ts';
import { pageOf } from '#shared/kernel/postgres/page.ts';
import { queryRow, queryRows, statement } from '#shared/kernel/postgres/statement.ts';
import { inTransaction } from '#shared/kernel/postgres/transaction.ts';
import type { LedgerKind } from '../entries.ts';
import { RANKED_AMONG_MAX, type RankedBy } from '../receipt-ranks.ts';
import type { ArchivedReceipt } from './body-archive.ts';

export interface ReceiptPageRequest extends PageRequest {
  orgId: string;
  model?: string;
  region?: string;
  /** A plan, or `degraded`. */
  tier?: string;
  /** Id of the key that the request had. */
  key?: string;
  outcome?: Outcome;
  kind?: LedgerKind;
  /** Epoch milliseconds of the request (the time in its id), `from` included, `to` excluded. */
  from?: number;
  to?: number;
}

/** The exact bytes of a receipt under its id. */
export interface StoredReceipt {
  id: string;
  body: Uint8Array;
}

/** One of a page; its body is null where it has moved to the archive. */
export type ListedReceipt = ArchivedReceipt & { body: Buffer | null };

/** Receipts that a search looks at one by one, which takes some milliseconds, before it asks the sums where others lie. */
const LOOKED_AT_MAX = 2_000;

/** Greater than every id. */
const END = '~';

/**
 * A page of an organisation's receipts that fit. The nearest are looked at one by one, which is all that a filter needs that
 * many fit; where few do, the others are looked for in the hours alone in which some can lie.
 */
export async function listReceipts(
  pool: Pool,
  request: ReceiptPageRequest,
  lookedAtMax: number = LOOKED_AT_MAX,
): Promise<Page<ListedReceipt>> {
  const { orgId, order, after, from, to } = request;
  if (after !== undefined && (await queryRow(pool, IS_THERE, [orgId, after])) === undefined) {
    throw new Fault('invalid_after');
  }
  const filters = FILTERS.map((name) => request[name] ?? null);
  const wanted = request.limit + 1;
  let low = from === undefined ? '' : firstReceiptIdAt(from);
  let high = to === undefined ? END : firstReceiptIdAt(to);
  /** What lies beyond this one is left, in the order of the list. */
  const leave = (id: string): void => {
    // Ids have one length: nothing lies between one and itself with a character more.
    if (order === 'asc') low = low > id ? low : `${id}0`;
    else high = high < id ? high : id;
  };
  if (after !== undefined) leave(after);
  const isFiltered = filters.some((filter) => filter !== null);
  const lookedAt = isFiltered ? Math.max(wanted, lookedAtMax) : wanted;
  const values = (): unknown[] => [orgId, low, high, ...filters, wanted];
  const near = (await inTransaction(pool, async (client) => {
    await queryRows(client, PLAN_IN_ORDER);
    return queryRow(client, NEAREST[order], [...values(), lookedAt]);
  }))!;
  const ids = near.ids;
  if (ids.length < wanted && near.last !== null) {
    leave(near.last);
    const farther = await queryRows(pool, BY_HOUR[order], values());
    ids.push(...farther.map(({ entry_id }) => entry_id));
  }
  const shown = ids.slice(0, wanted);
  const bodies = await queryRows(pool, BODIES[order], [shown]);
  return pageOf(bodies, request, (row) => ({ ...row, org_id: orgId }));
}

/**
 * The receipts that fit with the most of something, largest first; those of which it is not known come last. Of those asked
 * for, only the newest are looked at: `isWhole` says whether these are all.
 */
export async function largestReceipts(
  pool: Pool,
  { by, ...request }: Omit<ReceiptPageRequest, 'after' | 'order'> & { by: RankedBy },
  amongMax: number = RANKED_AMONG_MAX,
): Promise<{ items: ListedReceipt[]; isWhole: boolean }> {
  const { orgId, from, to } = request;
  const low = from === undefined ? '' : firstReceiptIdAt(from);
  const high = to === undefined ? END : firstReceiptIdAt(to);
  const filters = FILTERS.map((name) => request[name] ?? null);
  const values = [orgId, low, high, ...filters, request.limit, amongMax];
  const { ids, last } = (await inTransaction(pool, async (client) => {
    await queryRows(client, PLAN_IN_ORDER);
    return queryRow(client, LARGEST[by], values);
  }))!;
  const bodies = new Map(
    (await queryRows(pool, BODIES.desc, [ids])).map((row) => [row.entry_id, row]),
  );
  const items = ids.flatMap((id) => {
    const row = bodies.get(id);
    return row === undefined ? [] : [{ ...row, org_id: orgId }];
  });
  return { items, isWhole: last === null };
}

const IS_THERE = statement({}, 'select from ledger_body where org_id = $1 and entry_id = $2');

/** Filters of the list, in the order of their parameters. */
const FILTERS = ['model', 'region', 'tier', 'key', 'outcome', 'kind'] as const;
/** The parameters of filters, which are null where there is none; of those by which usage is summed up, and of all. */
const SUMS_FIT = `($4::text is null or model = $4) and ($5::text is null or region = $5) and ($6::text is null or tier = $6)
   and ($7::text is null or key_id = $7)`;
const FITS = `${SUMS_FIT} and ($8::text is null or outcome = $8) and ($9::text is null or kind = $9)`;

/**
 * Statistics do not know an organisation that is younger than they are: a plan made for the few receipts that they expect of
 * it would read all that it has, and sort them, to find the nearest.
 */
const PLAN_IN_ORDER = statement(
  { set_config: 'text' },
  `select set_config('enable_sort', 'off', true)`,
);

/** Answered by the index alone. `last` is null where nothing is left beyond what was looked at. */
const nearest = (order: 'asc' | 'desc', rank = '') =>
  statement(
    { ids: '_text', last: 'text?' },
    `with looked as materialized (
       select entry_id, model, region, tier, key_id, outcome, kind, energy_kwh, gwp_kgco2e, input_tokens, output_tokens
       from ledger_body
       where org_id = $1 and entry_id >= $2 and entry_id < $3
       order by entry_id ${order} limit $11)
     select array(select entry_id from looked where ${FITS} order by ${rank} entry_id ${order} limit $10) as ids,
       case when (select count(*) from looked) = $11 then
         (select entry_id from looked order by entry_id ${order === 'asc' ? 'desc' : 'asc'} limit 1) end as last`,
  );

/**
 * A receipt that fits lies in an hour of which the sums know one; where it revises another, the sums have it in the hour of the
 * first of its chain, and it lies in one in which that was revised; or it is not summed up yet. Sums are never removed, so they
 * know what a receipt was before it was revised.
 */
const byHour = (order: 'asc' | 'desc') =>
  statement(
    { entry_id: 'text' },
    `with known as materialized (
       select distinct at from usage_hour where org_id = $1 and receipt_id_at(at) < $3 and ${SUMS_FIT}
     ), hour as materialized (
       select at from known
       union
       select receipt_hour(v.revision_id) from known k
       join receipt_revision v on v.org_id = $1
         and v.first_id >= receipt_id_at(k.at) and v.first_id < receipt_id_at(k.at + interval '1 hour')
       union
       select receipt_hour(entry_id) from receipt_pending where org_id = $1
       union
       select receipt_hour(entry_id) from ledger_quarantine where org_id = $1
       union
       select receipt_hour(entry_id) from ledger_entry
       where org_id = $1 and index >= (select usage_size from ledger_head where org_id = $1)
     )
     select found.entry_id from hour h
     cross join lateral (
       select entry_id from ledger_body
       where org_id = $1 and entry_id >= $2 and entry_id < $3
         and entry_id >= receipt_id_at(h.at) and entry_id < receipt_id_at(h.at + interval '1 hour') and ${FITS}
       order by entry_id ${order} limit $10) found
     order by h.at ${order}, found.entry_id ${order} limit $10`,
  );

const bodies = (order: 'asc' | 'desc') =>
  statement(
    { entry_id: 'text', leaf_hash: 'bytea', body: 'bytea?' },
    `select entry_id, leaf_hash, body from ledger_body where entry_id = any ($1::text[]) order by entry_id ${order}`,
  );

/** Of the sums, each by an index; and of the few receipts that are not summed up yet. */
const seen = (column: 'model' | 'region' | 'key_id') =>
  `(select from usage_day where org_id = $1 and ${column} = $2 limit 1)
   union all (
     select from (
       select entry_id from receipt_pending where org_id = $1
       union all
       select entry_id from ledger_quarantine where org_id = $1
       union all
       select entry_id from ledger_entry
       where org_id = $1 and index >= (select usage_size from ledger_head where org_id = $1)) waiting
     join ledger_body b on b.org_id = $1 and b.entry_id = waiting.entry_id and b.${column} = $2
     limit 1)
   limit 1`;

const SEEN = {
  model: statement({}, seen('model')),
  region: statement({}, seen('region')),
  key: statement(
    {},
    `select from api_key where org_id = $1 and id = $2 union all (${seen('key_id')}) limit 1`,
  ),
} as const;

/** Whether an organisation has a key or has had receipts of this value: a filter by another is a mistake, and no empty list. */
export async function hasSeen(
  pool: Pool,
  orgId: string,
  name: keyof typeof SEEN,
  value: string,
): Promise<boolean> {
  return (await queryRow(pool, SEEN[name], [orgId, value])) !== undefined;
}

const both = <S>(of: (order: 'asc' | 'desc') => S) => ({ asc: of('asc'), desc: of('desc') });
const NEAREST = both((order) => nearest(order));
const LARGEST = {
  energy: nearest('desc', 'energy_kwh desc nulls last,'),
  gwp: nearest('desc', 'gwp_kgco2e desc nulls last,'),
  tokens: nearest('desc', 'input_tokens + output_tokens desc nulls last,'),
} as const satisfies Record<RankedBy, unknown>;
const BY_HOUR = both(byHour);
const BODIES = both(bodies);
