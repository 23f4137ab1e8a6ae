import type { Pool } from 'pg';
import { invalidParam } from '#shared/kernel/errors.ts';
import { firstReceiptIdAt } from '#shared/kernel/ids.ts';
import type { Page } from '#shared/kernel/page.ts';
import type { ReceiptPageRequest, StoredReceipt } from '../port-ledger.ts';

/** A chain longer than this is a fault: each recalculation corrects a failure or follows a new method. */
const REVISIONS_MAX = 1_000;

interface BodyRow {
  entry_id: string;
  body: Buffer;
}

/** The exact bytes of a receipt. */
export async function readReceipt(
  pool: Pool,
  orgId: string,
  receiptId: string,
): Promise<StoredReceipt | null> {
  const { rows } = await pool.query<BodyRow>(
    'select entry_id, body from ledger_body where entry_id = $2 and org_id = $1',
    [orgId, receiptId],
  );
  return rows[0] === undefined ? null : receiptOf(rows[0]);
}

/** A page of receipts. Filters are answered by the index alone; only the bodies of the page itself are read. */
export async function listReceipts(
  pool: Pool,
  request: ReceiptPageRequest,
): Promise<Page<StoredReceipt>> {
  const { orgId, limit, after } = request;
  if (after !== undefined && (await readReceipt(pool, orgId, after)) === null) {
    throw invalidParam('after', 'There is no such receipt to continue after.');
  }
  const descending = request.order === 'desc';
  const direction = descending ? 'desc' : 'asc';
  const { rows } = await pool.query<BodyRow>(
    `with page as materialized (
       select entry_id from ledger_body
       where org_id = $1
         and ($2::text is null or entry_id ${descending ? '<' : '>'} $2)
         and ($3::text is null or entry_id >= $3)
         and ($4::text is null or entry_id < $4)
         and ($5::text is null or model = $5)
         and ($6::text is null or region = $6)
         and ($7::text is null or tier = $7)
       order by entry_id ${direction} limit $8)
     select b.entry_id, b.body from page p
     cross join lateral (select * from ledger_body b where b.entry_id = p.entry_id limit 1) b
     order by b.entry_id ${direction}`,
    [
      orgId,
      after ?? null,
      request.from === undefined ? null : firstReceiptIdAt(request.from),
      request.to === undefined ? null : firstReceiptIdAt(request.to),
      request.model ?? null,
      request.region ?? null,
      request.tier ?? null,
      limit + 1,
    ],
  );
  return { items: rows.slice(0, limit).map(receiptOf), hasMore: rows.length > limit };
}

/** The receipt's chain, oldest first. */
export async function readRevisions(
  pool: Pool,
  orgId: string,
  receiptId: string,
): Promise<string[]> {
  const { rows } = await pool.query<{ entry_id: string }>(
    `with recursive earlier as (
       select $2::text collate "C" as id, 0 as depth
       where exists (select from ledger_body where entry_id = $2 and org_id = $1)
          or exists (select from ledger_entry where entry_id = $2 and org_id = $1)
       union all
       select r.original_id, e.depth + 1 from earlier e
       join receipt_revision r on r.revision_id = e.id and r.org_id = $1 where e.depth < $3
     ), later as (
       (select e.id, 0 as depth from earlier e order by e.depth desc limit 1)
       union all
       select r.revision_id, l.depth + 1 from later l
       join receipt_revision r on r.original_id = l.id and r.org_id = $1 where l.depth < $3
     )
     select id as entry_id from later order by depth`,
    [orgId, receiptId, REVISIONS_MAX],
  );
  return rows.map((row) => row.entry_id);
}

/** The receipt that revises this one. */
export async function readSuccessor(
  pool: Pool,
  orgId: string,
  receiptId: string,
): Promise<string | null> {
  const { rows } = await pool.query<{ revision_id: string }>(
    'select revision_id from receipt_revision where original_id = $2 and org_id = $1',
    [orgId, receiptId],
  );
  return rows[0]?.revision_id ?? null;
}

function receiptOf(row: BodyRow): StoredReceipt {
  return { id: row.entry_id, body: row.body };
}
