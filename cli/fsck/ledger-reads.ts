import type { StoredCheckpoint, StoredHead, StoredLeaf } from './log-examination.ts';
import { finding, type Finding, type FindingKind } from './findings.ts';
import { queryRow, queryRows, statement } from '#shared/kernel/postgres/statement.ts';
import type { Queryable } from '#shared/kernel/postgres/transaction.ts';
import type { BodyArchive } from '#shared/ledger/postgres/body-archive.ts';
import { BODY_SOURCES, bodySourceOf } from '#shared/ledger/postgres/published.ts';

/** The contract's maximum merge delay: a promise older than this is late. */
const MERGE_DELAY_MAX_S = 10;
/** Of each kind so many are named one by one; more would say nothing new. */
const NAMED_MAX = 100;

/** Hops from one organisation to the next along the primary key, so that a lost head hides nothing. */
const LOGS = statement(
  { org_id: 'text', size: 'int8', has_entries: 'bool' },
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
);

/** Logs that have anything at all, with the size their heads claim. */
export async function readLogs(
  db: Queryable,
  orgId: string | undefined,
): Promise<{ orgId: string; size: number; hasEntries: boolean }[]> {
  const rows = await queryRows(db, LOGS, [orgId ?? null]);
  return rows.map((row) => ({
    orgId: row.org_id,
    size: Number(row.size),
    hasEntries: row.has_entries,
  }));
}

const HEAD = statement(
  { size: 'int8', root: 'bytea', frontier: 'bytea', checkpoint_size: 'int8' },
  'select size, root, frontier, checkpoint_size from ledger_head where org_id = $1',
);

export async function readHead(db: Queryable, orgId: string): Promise<StoredHead | null> {
  const row = await queryRow(db, HEAD, [orgId]);
  if (row === undefined) return null;
  const { root, frontier } = row;
  return { size: Number(row.size), root, frontier, checkpointSize: Number(row.checkpoint_size) };
}

const leavesWith = (bodies: string) =>
  statement(
    {
      index: 'int8',
      entry_id: 'text?',
      leaf_hash: 'bytea?',
      promised: 'bytea?',
      body: 'bytea?',
      expired: 'bool',
    },
    `select i.index, e.entry_id, e.leaf_hash, b.leaf_hash as promised, b.body,
       exists (select from ledger_retention r where e.entry_id >= r.first_id and e.entry_id < r.end_id) as expired
     from generate_series($2::bigint, $3::bigint - 1) as i (index)
     left join lateral (select * from ledger_entry e where e.org_id = $1 and e.index = i.index limit 1) e on true
     left join lateral (${bodies}) b on true
     order by i.index`,
  );
const LEAVES = {
  anchor: leavesWith(BODY_SOURCES.anchor),
  organisation: leavesWith(BODY_SOURCES.organisation),
};

/** Leaves `from` to `to` (excluded), one for each index whether the entry is there or not. */
export async function readLeaves(
  db: Queryable,
  { orgId, from, to, archive }: { orgId: string; from: number; to: number; archive: BodyArchive },
): Promise<Omit<StoredLeaf, 'tiled'>[]> {
  const rows = await queryRows(db, LEAVES[bodySourceOf(orgId)], [orgId, from, to]);
  const wanted = rows.flatMap(({ entry_id, body, ...row }) => {
    // By the hash beside it: where that was altered, the body is missing, and what was altered is named.
    const leaf_hash = row.promised ?? row.leaf_hash;
    if (entry_id === null || body !== null || leaf_hash === null) return [];
    return [{ entry_id, org_id: orgId, leaf_hash }];
  });
  const moved = await archive.find(db, wanted);
  return rows.map((row) => ({
    index: Number(row.index),
    receiptId: row.entry_id ?? 'missing',
    leaf: row.leaf_hash,
    promised: row.promised,
    body: row.body ?? moved.get(row.entry_id ?? '') ?? null,
    archived: row.body === null && moved.has(row.entry_id ?? ''),
    expired: row.expired,
  }));
}

export interface StoredTile {
  root: Buffer;
  hashes: Buffer;
}

const LEVEL_ZERO = statement(
  { index: 'int8', root: 'bytea', hashes: 'bytea' },
  `select index, root, hashes from ledger_tile
   where org_id = $1 and level = 0 and index >= $2::bigint / 256 and index <= ($3::bigint - 1) / 256`,
);

/** Full tiles of level 0 that cover these leaves, by index. */
export async function readLevelZero(
  db: Queryable,
  orgId: string,
  from: number,
  to: number,
): Promise<Map<number, StoredTile>> {
  const rows = await queryRows(db, LEVEL_ZERO, [orgId, from, to]);
  return new Map(rows.map((row) => [Number(row.index), row]));
}

const FULL_TILE = statement(
  { root: 'bytea', hashes: 'bytea' },
  'select root, hashes from ledger_tile where org_id = $1 and level = $2 and index = $3',
);

export async function readFullTile(
  db: Queryable,
  orgId: string,
  level: number,
  index: number,
): Promise<StoredTile | null> {
  return (await queryRow(db, FULL_TILE, [orgId, level, index])) ?? null;
}

const CHECKPOINTS = statement(
  {
    size: 'int8',
    root: 'bytea',
    note: 'text',
    cose_protected: 'bytea?',
    cose_signature: 'bytea?',
  },
  `select size, root, note, cose_protected, cose_signature from ledger_checkpoint
   where org_id = $1 and size > $2 and size <= $3 order by size limit $4`,
);

/** Checkpoints with more than `from` and at most `to` entries, smallest first. */
export async function readCheckpoints(
  db: Queryable,
  orgId: string,
  from: number,
  to: number,
): Promise<StoredCheckpoint[]> {
  const rows = await queryRows(db, CHECKPOINTS, [orgId, from, to, to - from]);
  return rows.map(({ size, root, note, cose_protected: header, cose_signature: signature }) => ({
    size: Number(size),
    root,
    note,
    cose: header === null || signature === null ? null : { protectedHeader: header, signature },
  }));
}

const outsiders = (search: string) => statement({ subject: 'text' }, search);

/** Rows about a log that are not part of it. Each statement sees one moment, so integration may go on. */
const OUTSIDERS: readonly [FindingKind, string, ReturnType<typeof outsiders>][] = [
  [
    'checkpoint_wrong',
    'The head does not know of this checkpoint.',
    outsiders(
      `select 'checkpoint of ' || c.size as subject
       from ledger_checkpoint c join ledger_head h on h.org_id = c.org_id
       where c.org_id = $1 and c.size > h.checkpoint_size order by c.size limit $2`,
    ),
  ],
  [
    'entry_beyond_head',
    'The head does not know of this entry.',
    outsiders(
      `select 'entry ' || e.index || ' (' || e.entry_id || ')' as subject
       from ledger_entry e join ledger_head h on h.org_id = e.org_id
       where e.org_id = $1 and e.index >= h.size order by e.index limit $2`,
    ),
  ],
  [
    'tile_beyond_head',
    'The head does not know of this tile.',
    outsiders(
      `select 'tile ' || t.level || '/' || t.index as subject
       from ledger_tile t join ledger_head h on h.org_id = t.org_id
       where t.org_id = $1 and (t.index + 1) * power(256, t.level + 1) > h.size limit $2`,
    ),
  ],
  [
    'receipt_lost',
    'The receipt was issued, but is neither in the log nor on its way into it.',
    outsiders(
      `select b.entry_id as subject from ledger_body b where b.org_id = $1
         and not exists (select from ledger_entry e where e.entry_id = b.entry_id)
         and not exists (select from receipt_pending p where p.entry_id = b.entry_id)
         and not exists (select from ledger_quarantine q where q.entry_id = b.entry_id)
       order by b.entry_id limit $2`,
    ),
  ],
];

export async function* findOutsiders(db: Queryable, orgId: string): AsyncGenerator<Finding> {
  for (const [kind, detail, search] of OUTSIDERS) {
    for (const { subject } of await queryRows(db, search, [orgId, NAMED_MAX])) {
      yield finding(kind, orgId, subject, detail);
    }
  }
}

const waiting = (search: string) =>
  statement({ org_id: 'text', subject: 'text', detail: 'text' }, search);

/** Things that wait for a person: halted logs, late promises, quarantine. */
const WAITING: readonly [FindingKind, ReturnType<typeof waiting>][] = [
  [
    'log_halted',
    waiting(
      `select org_id, 'log' as subject, 'Halted at ' || halted_at || ': ' || halt_reason as detail
       from ledger_head where halted_at is not null and ($1::text is null or org_id = $1) order by org_id limit $2`,
    ),
  ],
  [
    'pending_late',
    waiting(
      `select org_id, entry_id as subject, 'Waits for integration since ' || submitted_at as detail
       from receipt_pending where submitted_at < now() - interval '${MERGE_DELAY_MAX_S} s'
         and ($1::text is null or org_id = $1) order by entry_id limit $2`,
    ),
  ],
  [
    'quarantined',
    waiting(
      `select org_id, entry_id as subject,
         'In quarantine since ' || quarantined_at || ': ' || concat_ws(', ', reason, detail) as detail
       from ledger_quarantine where $1::text is null or org_id = $1 order by entry_id limit $2`,
    ),
  ],
];

export async function* findWaiting(
  db: Queryable,
  orgId: string | undefined,
): AsyncGenerator<Finding> {
  for (const [kind, search] of WAITING) {
    for (const row of await queryRows(db, search, [orgId ?? null, NAMED_MAX])) {
      yield finding(kind, row.org_id, row.subject, row.detail);
    }
  }
}
