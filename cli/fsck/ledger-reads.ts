import type { StoredCheckpoint, StoredHead, StoredLeaf } from '#shared/ledger/examination.ts';
import { finding, type Finding, type FindingKind } from '#shared/ledger/findings.ts';
import type { Queryable } from '#shared/kernel/postgres/transaction.ts';
import { bodySource } from '#shared/ledger/postgres/tiles.ts';

/** The contract's maximum merge delay: a promise older than this is late. */
const MERGE_DELAY_MAX_S = 10;
/** Of each kind so many are named one by one; more would say nothing new. */
const NAMED_MAX = 100;

/** Logs that have anything at all, with the size their heads claim. */
export async function readLogs(
  db: Queryable,
  orgId: string | undefined,
): Promise<{ orgId: string; size: number; hasEntries: boolean }[]> {
  // Hops from one organisation to the next along the primary key, so that a lost head hides nothing.
  const { rows } = await db.query<{ org_id: string; size: string; has_entries: boolean }>(
    `with recursive hop as (
       (select org_id from ledger_entry order by org_id limit 1)
       union all
       select (select e.org_id from ledger_entry e where e.org_id > h.org_id order by e.org_id limit 1)
       from hop h where h.org_id is not null
     ), issued as (
       (select org_id from ledger_body order by org_id limit 1)
       union all
       select (select b.org_id from ledger_body b where b.org_id > h.org_id order by b.org_id limit 1)
       from issued h where h.org_id is not null
     ), named as (
       select org_id from hop where org_id is not null
       union select org_id from issued where org_id is not null
       union select org_id from ledger_head)
     select n.org_id, coalesce(h.size, 0) as size,
       exists (select from ledger_entry e where e.org_id = n.org_id) as has_entries
     from named n left join ledger_head h using (org_id)
     where $1::text is null or n.org_id = $1 order by n.org_id`,
    [orgId ?? null],
  );
  return rows.map((row) => ({
    orgId: row.org_id,
    size: Number(row.size),
    hasEntries: row.has_entries,
  }));
}

export async function readHead(db: Queryable, orgId: string): Promise<StoredHead | null> {
  const { rows } = await db.query<{
    size: string;
    root: Buffer;
    frontier: Buffer;
    checkpoint_size: string;
  }>('select size, root, frontier, checkpoint_size from ledger_head where org_id = $1', [orgId]);
  const row = rows[0];
  if (row === undefined) return null;
  const { root, frontier } = row;
  return { size: Number(row.size), root, frontier, checkpointSize: Number(row.checkpoint_size) };
}

/** Leaves `from` to `to` (excluded), one for each index whether the entry is there or not. */
export async function readLeaves(
  db: Queryable,
  orgId: string,
  from: number,
  to: number,
): Promise<Omit<StoredLeaf, 'tiled'>[]> {
  const { rows } = await db.query<{
    index: string;
    entry_id: string | null;
    leaf_hash: Buffer | null;
    promised: Buffer | null;
    body: Buffer | null;
    expired: boolean;
  }>(
    `select i.index, e.entry_id, e.leaf_hash, b.leaf_hash as promised, b.body,
       exists (select from ledger_retention r where e.entry_id >= r.first_id and e.entry_id < r.end_id) as expired
     from generate_series($2::bigint, $3::bigint - 1) as i (index)
     left join lateral (select * from ledger_entry e where e.org_id = $1 and e.index = i.index limit 1) e on true
     left join lateral (${bodySource(orgId)}) b on true
     order by i.index`,
    [orgId, from, to],
  );
  return rows.map((row) => ({
    index: Number(row.index),
    receiptId: row.entry_id ?? 'missing',
    leaf: row.leaf_hash,
    promised: row.promised,
    body: row.body,
    expired: row.expired,
  }));
}

export interface StoredTile {
  root: Buffer;
  hashes: Buffer;
}

/** Full tiles of level 0 that cover these leaves, by index. */
export async function readLevelZero(
  db: Queryable,
  orgId: string,
  from: number,
  to: number,
): Promise<Map<number, StoredTile>> {
  const { rows } = await db.query<StoredTile & { index: string }>(
    `select index, root, hashes from ledger_tile
     where org_id = $1 and level = 0 and index >= $2::bigint / 256 and index <= ($3::bigint - 1) / 256`,
    [orgId, from, to],
  );
  return new Map(rows.map((row) => [Number(row.index), row]));
}

export async function readFullTile(
  db: Queryable,
  orgId: string,
  level: number,
  index: number,
): Promise<StoredTile | null> {
  const { rows } = await db.query<StoredTile>(
    'select root, hashes from ledger_tile where org_id = $1 and level = $2 and index = $3',
    [orgId, level, index],
  );
  return rows[0] ?? null;
}

/** Checkpoints with more than `from` and at most `to` entries, smallest first. */
export async function readCheckpoints(
  db: Queryable,
  orgId: string,
  from: number,
  to: number,
): Promise<StoredCheckpoint[]> {
  const { rows } = await db.query<{ size: string; root: Buffer; note: string }>(
    `select size, root, note from ledger_checkpoint
     where org_id = $1 and size > $2 and size <= $3 order by size limit $4`,
    [orgId, from, to, to - from],
  );
  return rows.map(({ size, root, note }) => ({ size: Number(size), root, note }));
}

/** What belongs to a log and is not part of it. Each statement sees one moment, so integration may go on. */
export async function* findOutsiders(db: Queryable, orgId: string): AsyncGenerator<Finding> {
  const searches: [FindingKind, string, string][] = [
    [
      'checkpoint_wrong',
      'The head does not know of this checkpoint.',
      `select 'checkpoint of ' || c.size as subject
       from ledger_checkpoint c join ledger_head h on h.org_id = c.org_id
       where c.org_id = $1 and c.size > h.checkpoint_size order by c.size limit $2`,
    ],
    [
      'entry_beyond_head',
      'The head does not know of this entry.',
      `select 'entry ' || e.index || ' (' || e.entry_id || ')' as subject
       from ledger_entry e join ledger_head h on h.org_id = e.org_id
       where e.org_id = $1 and e.index >= h.size order by e.index limit $2`,
    ],
    [
      'tile_beyond_head',
      'The head does not know of this tile.',
      `select 'tile ' || t.level || '/' || t.index as subject
       from ledger_tile t join ledger_head h on h.org_id = t.org_id
       where t.org_id = $1 and (t.index + 1) * power(256, t.level + 1) > h.size limit $2`,
    ],
    [
      'receipt_lost',
      'The receipt was issued, but is neither in the log nor on its way into it.',
      `select b.entry_id as subject from ledger_body b where b.org_id = $1
         and not exists (select from ledger_entry e where e.entry_id = b.entry_id)
         and not exists (select from receipt_pending p where p.entry_id = b.entry_id)
         and not exists (select from ledger_quarantine q where q.entry_id = b.entry_id)
       order by b.entry_id limit $2`,
    ],
  ];
  for (const [kind, detail, search] of searches) {
    const { rows } = await db.query<{ subject: string }>(search, [orgId, NAMED_MAX]);
    for (const { subject } of rows) yield finding(kind, orgId, subject, detail);
  }
}

/** What waits for a person: halted logs, late promises, quarantine. */
export async function* findWaiting(
  db: Queryable,
  orgId: string | undefined,
): AsyncGenerator<Finding> {
  const searches: [FindingKind, string][] = [
    [
      'log_halted',
      `select org_id, 'log' as subject, 'Halted at ' || halted_at || ': ' || halt_reason as detail
       from ledger_head where halted_at is not null and ($1::text is null or org_id = $1) order by org_id limit $2`,
    ],
    [
      'pending_late',
      `select org_id, entry_id as subject, 'Waits for integration since ' || submitted_at as detail
       from receipt_pending where submitted_at < now() - interval '${MERGE_DELAY_MAX_S} s'
         and ($1::text is null or org_id = $1) order by entry_id limit $2`,
    ],
    [
      'quarantined',
      `select org_id, entry_id as subject,
         'In quarantine since ' || quarantined_at || ': ' || concat_ws(', ', reason, detail) as detail
       from ledger_quarantine where $1::text is null or org_id = $1 order by entry_id limit $2`,
    ],
  ];
  for (const [kind, search] of searches) {
    const { rows } = await db.query<{ org_id: string; subject: string; detail: string }>(search, [
      orgId ?? null,
      NAMED_MAX,
    ]);
    for (const row of rows) yield finding(kind, row.org_id, row.subject, row.detail);
  }
}
