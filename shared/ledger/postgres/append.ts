import { append, encodeFrontier, frontierRoot, type CompletedTile } from '../frontier.ts';
import type { Queryable } from '#shared/kernel/postgres/transaction.ts';
import type { LockedHead } from './heads.ts';
import type { PendingRow } from './schema.ts';

/** What becomes an entry: a promise whose body was found and hashes to what was promised, or an entry of the anchor log. */
export type SoundRow = Pick<PendingRow, 'entry_id' | 'org_id' | 'supersedes' | 'leaf_hash'> & {
  kind: PendingRow['kind'] | 'heads' | 'key';
};

interface IndexedRow extends SoundRow {
  index: number;
  integratedAt: string;
}

type OrgTile = CompletedTile & { orgId: string };

/**
 * Appends rows to their logs: entries, the tiles that they fill, heads; the promises go. Every row's
 * head must be locked. Indexes follow the order of `rows`.
 * @returns the heads as they are now.
 */
export async function appendEntries(
  client: Queryable,
  heads: ReadonlyMap<string, LockedHead>,
  rows: readonly SoundRow[],
): Promise<Map<string, LockedHead>> {
  const indexed: IndexedRow[] = [];
  const tiles: OrgTile[] = [];
  const next = new Map<string, LockedHead>();
  for (const [orgId, own] of Map.groupBy(rows, (row) => row.org_id)) {
    const head = heads.get(orgId)!;
    const integratedAt = head.integratedAt.toISOString();
    own.forEach((row, i) => indexed.push({ ...row, index: head.frontier.size + i, integratedAt }));
    const { frontier, completed } = append(
      head.frontier,
      own.map((row) => row.leaf_hash),
    );
    tiles.push(...completed.map((tile) => ({ ...tile, orgId })));
    next.set(orgId, { frontier, integratedAt: head.integratedAt });
  }
  await insertEntries(client, indexed);
  await insertTiles(client, tiles);
  await updateHeads(client, next);
  await client.query('delete from receipt_pending where entry_id = any ($1)', [
    rows.map((row) => row.entry_id),
  ]);
  return next;
}

async function insertEntries(client: Queryable, rows: readonly IndexedRow[]): Promise<void> {
  await client.query(
    `insert into ledger_entry (org_id, index, entry_id, kind, leaf_hash, supersedes, integrated_at)
     select * from unnest($1::text[], $2::bigint[], $3::text[], $4::text[], $5::bytea[], $6::text[], $7::timestamptz[])`,
    [
      rows.map((row) => row.org_id),
      rows.map((row) => row.index),
      rows.map((row) => row.entry_id),
      rows.map((row) => row.kind),
      rows.map((row) => row.leaf_hash),
      rows.map((row) => row.supersedes),
      rows.map((row) => row.integratedAt),
    ],
  );
}

/**
 * Stores full tiles. Their hashes are gathered from what is stored, not from what this process holds: a
 * hole in a log makes a short tile, which the table refuses.
 */
async function insertTiles(client: Queryable, tiles: readonly OrgTile[]): Promise<void> {
  const levels = Map.groupBy(tiles, (tile) => tile.level);
  for (const level of [...levels.keys()].toSorted((a, b) => a - b)) {
    const own = levels.get(level)!;
    await client.query(
      `insert into ledger_tile (org_id, level, index, root, hashes)
       select t.org_id, t.level, t.index, t.root, (${level === 0 ? LEAVES : ROOTS_BELOW})
       from unnest($1::text[], $2::smallint[], $3::bigint[], $4::bytea[]) as t (org_id, level, index, root)`,
      [
        own.map((tile) => tile.orgId),
        own.map((tile) => tile.level),
        own.map((tile) => tile.index),
        own.map((tile) => tile.root),
      ],
    );
  }
}

const LEAVES = `select string_agg(e.leaf_hash, ''::bytea order by e.index) from ledger_entry e
  where e.org_id = t.org_id and e.index >= t.index * 256 and e.index < (t.index + 1) * 256`;

const ROOTS_BELOW = `select string_agg(b.root, ''::bytea order by b.index) from ledger_tile b
  where b.org_id = t.org_id and b.level = t.level - 1
    and b.index >= t.index * 256 and b.index < (t.index + 1) * 256`;

async function updateHeads(
  client: Queryable,
  heads: ReadonlyMap<string, LockedHead>,
): Promise<void> {
  const rows = [...heads];
  await client.query(
    `update ledger_head h set size = n.size, root = n.root, frontier = n.frontier, integrated_at = n.integrated_at
     from unnest($1::text[], $2::bigint[], $3::bytea[], $4::bytea[], $5::timestamptz[])
       as n (org_id, size, root, frontier, integrated_at)
     where h.org_id = n.org_id`,
    [
      rows.map(([orgId]) => orgId),
      rows.map(([, head]) => head.frontier.size),
      rows.map(([, head]) => frontierRoot(head.frontier)),
      rows.map(([, head]) => encodeFrontier(head.frontier)),
      rows.map(([, head]) => head.integratedAt.toISOString()),
    ],
  );
}
