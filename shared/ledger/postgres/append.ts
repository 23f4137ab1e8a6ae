import { recordEvent } from '#shared/accounts/postgres/events.ts';
import { execute, queryRows, type Row, statement } from '#shared/kernel/postgres/statement.ts';
import type { Queryable } from '#shared/kernel/postgres/transaction.ts';
import { systemSurroundings } from '#shared/kernel/system/surroundings.ts';
import { timeText } from '#shared/kernel/time.ts';
import type { LedgerKind } from '../entries.ts';
import {
  append,
  type CompletedTile,
  decodeFrontier,
  EMPTY_FRONTIER,
  encodeFrontier,
  type Frontier,
  frontierRoot,
} from '../frontier.ts';
import { EMPTY_ROOT } from '../hashing.ts';
import { sumUp, type UsageRange } from './usage-sums.ts';

const BY_INDEX = `select set_config(name, 'off', true)
   from unnest(array['enable_seqscan', 'enable_hashjoin', 'enable_mergejoin', 'jit']) as name`;
const PLAN_BY_INDEX = statement({ set_config: 'text' }, BY_INDEX);

/**
 * The ledger's tables grow by thousands of rows a second, faster than the planner's statistics: a plan
 * made for an empty table would read a full one from end to end. Every statement here has an index to go by. Holds until
 * the transaction ends.
 */
export async function planByIndex(client: Queryable): Promise<void> {
  await queryRows(client, PLAN_BY_INDEX);
}

const KEEP_PLANS_BY_INDEX = statement(
  { set_config: 'text' },
  `${BY_INDEX} union all select set_config('plan_cache_mode', 'force_generic_plan', true)`,
  { name: 'keep-plans-by-index' },
);

/**
 * The same, and a connection plans each statement that has a name once, for all parameters: by index the plan is the same for
 * all. What reading and planning a statement takes is most of what a round of one receipt would cost.
 */
export async function keepPlansByIndex(client: Queryable): Promise<void> {
  await queryRows(client, KEEP_PLANS_BY_INDEX);
}

/** A log's head, locked until the transaction ends. */
export interface LockedHead {
  frontier: Frontier;
  /** Entries whose usage is summed up. Fewer than all while sums are made anew. */
  usageSize: number;
  /** When entries appended now count as integrated: never before those that are there already. */
  integratedAt: Date;
}

/** Logs that may be appended to, and those whose stored head makes no sense, with the reason. */
export interface LockedHeads {
  sound: Map<string, LockedHead>;
  broken: Map<string, string>;
}

const MAKE_HEADS = statement(
  {},
  `insert into ledger_head (org_id, size, root, frontier, integrated_at)
   select org_id, 0, $2, ''::bytea, now() from unnest($1::text[]) as t (org_id) order by org_id collate "C"
   on conflict (org_id) do nothing`,
  { name: 'make-heads' },
);

const LOCK_HEADS = statement(
  {
    org_id: 'text',
    size: 'int8',
    frontier: 'bytea',
    usage_size: 'int8',
    halted_at: 'timestamptz?',
    integrated_at: 'timestamptz',
  },
  `select org_id, size, frontier, usage_size, halted_at, greatest(integrated_at, now()::timestamptz(3)) as integrated_at
   from ledger_head where org_id = any ($1) order by org_id for update`,
  { name: 'lock-heads' },
);

/**
 * Locks the heads of these logs, made first where they are missing. Halted logs are left out.
 * One lock per log is all that keeps its integrators apart: indexes come from the head's size, which
 * no other transaction can read for update until the entries that took them are committed or gone.
 */
export async function lockHeads(
  client: Queryable,
  orgIds: readonly string[],
): Promise<LockedHeads> {
  // Both statements go through the logs in the same order, so two workers never wait for each other.
  await execute(client, MAKE_HEADS, [orgIds, EMPTY_ROOT]);
  const heads: LockedHeads = { sound: new Map(), broken: new Map() };
  for (const row of await queryRows(client, LOCK_HEADS, [orgIds])) {
    if (row.halted_at !== null) continue;
    const frontier = readFrontier(row);
    if (frontier === null)
      heads.broken.set(row.org_id, 'the stored frontier does not fit the size');
    else {
      const usageSize = Number(row.usage_size);
      heads.sound.set(row.org_id, { frontier, usageSize, integratedAt: row.integrated_at });
    }
  }
  return heads;
}

function readFrontier({ size, frontier }: Row<typeof LOCK_HEADS>): Frontier | null {
  try {
    return size === '0' ? EMPTY_FRONTIER : decodeFrontier(Number(size), frontier);
  } catch (error) {
    if (error instanceof RangeError) return null;
    throw error;
  }
}

const HALT = statement(
  { org_id: 'text' },
  `update ledger_head h set halted_at = now(), halt_reason = r.reason
   from unnest($1::text[], $2::text[]) as r (org_id, reason)
   where h.org_id = r.org_id and h.halted_at is null
   returning h.org_id`,
);

/**
 * Stops integration and signing of these logs until a person has looked. The first reason is kept, and an organisation is told
 * that its log is halted, without the reason, which is for the service to look into.
 */
export async function haltLogs(
  client: Queryable,
  reasons: ReadonlyMap<string, string>,
): Promise<void> {
  if (reasons.size === 0) return;
  const halted = await queryRows(client, HALT, [[...reasons.keys()], [...reasons.values()]]);
  for (const { org_id: orgId } of halted) {
    const data = { halted_at: timeText(systemSurroundings.now()) };
    await recordEvent(client, systemSurroundings, { orgId, type: 'ledger.halted', data });
  }
}

/** What becomes an entry: a promise whose body was found and hashes to what was promised, or an entry of the anchor log. */
export interface SoundRow {
  entry_id: string;
  org_id: string;
  kind: LedgerKind | 'heads' | 'key';
  supersedes: string | null;
  leaf_hash: Buffer;
}

interface IndexedRow extends SoundRow {
  index: number;
  integratedAt: string;
}

type OrgTile = CompletedTile & { orgId: string };

const FORGET_PROMISES = statement({}, 'delete from receipt_pending where entry_id = any ($1)', {
  name: 'forget-promises',
});

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
  const summed: UsageRange[] = [];
  for (const [orgId, own] of Map.groupBy(rows, (row) => row.org_id)) {
    const head = heads.get(orgId)!;
    const integratedAt = head.integratedAt.toISOString();
    own.forEach((row, i) => indexed.push({ ...row, index: head.frontier.size + i, integratedAt }));
    const { frontier, completed } = append(
      head.frontier,
      own.map((row) => row.leaf_hash),
    );
    tiles.push(...completed.map((tile) => ({ ...tile, orgId })));
    // What is summed up anew is summed up in its order, not here.
    const { size: first } = head.frontier;
    if (head.usageSize === first) summed.push({ orgId, first, end: frontier.size });
    const usageSize = head.usageSize === first ? frontier.size : head.usageSize;
    next.set(orgId, { frontier, usageSize, integratedAt: head.integratedAt });
  }
  await insertEntries(client, indexed);
  await sumUp(client, summed);
  await insertTiles(client, tiles);
  await updateHeads(client, next);
  await execute(client, FORGET_PROMISES, [rows.map((row) => row.entry_id)]);
  return next;
}

const INSERT_ENTRIES = statement(
  {},
  `insert into ledger_entry (org_id, index, entry_id, kind, leaf_hash, supersedes, integrated_at)
   select * from unnest($1::text[], $2::bigint[], $3::text[], $4::text[], $5::bytea[], $6::text[], $7::timestamptz[])`,
  { name: 'insert-entries' },
);

async function insertEntries(client: Queryable, rows: readonly IndexedRow[]): Promise<void> {
  await execute(client, INSERT_ENTRIES, [
    rows.map((row) => row.org_id),
    rows.map((row) => row.index),
    rows.map((row) => row.entry_id),
    rows.map((row) => row.kind),
    rows.map((row) => row.leaf_hash),
    rows.map((row) => row.supersedes),
    rows.map((row) => row.integratedAt),
  ]);
}

/** Inserts full tiles, the hashes of each made by `hashes` from what is stored. */
const insertTilesOf = (name: string, hashes: string) =>
  statement(
    {},
    `insert into ledger_tile (org_id, level, index, root, hashes)
     select t.org_id, t.level, t.index, t.root, (${hashes})
     from unnest($1::text[], $2::smallint[], $3::bigint[], $4::bytea[]) as t (org_id, level, index, root)`,
    { name },
  );

const INSERT_LEAF_TILES = insertTilesOf(
  'insert-leaf-tiles',
  `select string_agg(e.leaf_hash, ''::bytea order by e.index) from ledger_entry e
   where e.org_id = t.org_id and e.index >= t.index * 256 and e.index < (t.index + 1) * 256`,
);

const INSERT_HIGHER_TILES = insertTilesOf(
  'insert-higher-tiles',
  `select string_agg(b.root, ''::bytea order by b.index) from ledger_tile b
   where b.org_id = t.org_id and b.level = t.level - 1
     and b.index >= t.index * 256 and b.index < (t.index + 1) * 256`,
);

/**
 * Stores full tiles. Their hashes are gathered from what is stored, not from what this process holds: a
 * hole in a log makes a short tile, which the table refuses.
 */
async function insertTiles(client: Queryable, tiles: readonly OrgTile[]): Promise<void> {
  const levels = Map.groupBy(tiles, (tile) => tile.level);
  for (const level of [...levels.keys()].toSorted((a, b) => a - b)) {
    const own = levels.get(level)!;
    await execute(client, level === 0 ? INSERT_LEAF_TILES : INSERT_HIGHER_TILES, [
      own.map((tile) => tile.orgId),
      own.map((tile) => tile.level),
      own.map((tile) => tile.index),
      own.map((tile) => tile.root),
    ]);
  }
}

const UPDATE_HEADS = statement(
  {},
  `update ledger_head h set size = n.size, root = n.root, frontier = n.frontier, integrated_at = n.integrated_at,
     usage_size = n.usage_size
   from unnest($1::text[], $2::bigint[], $3::bytea[], $4::bytea[], $5::timestamptz[], $6::bigint[])
     as n (org_id, size, root, frontier, integrated_at, usage_size)
   where h.org_id = n.org_id`,
  { name: 'update-heads' },
);

async function updateHeads(
  client: Queryable,
  heads: ReadonlyMap<string, LockedHead>,
): Promise<void> {
  const rows = [...heads];
  await execute(client, UPDATE_HEADS, [
    rows.map(([orgId]) => orgId),
    rows.map(([, head]) => head.frontier.size),
    rows.map(([, head]) => frontierRoot(head.frontier)),
    rows.map(([, head]) => encodeFrontier(head.frontier)),
    rows.map(([, head]) => head.integratedAt.toISOString()),
    rows.map(([, head]) => head.usageSize),
  ]);
}
