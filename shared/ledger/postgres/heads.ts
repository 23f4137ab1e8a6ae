import { decodeFrontier, EMPTY_FRONTIER, type Frontier } from '../frontier.ts';
import { EMPTY_ROOT } from '../hashing.ts';
import type { Queryable } from '#shared/kernel/postgres/transaction.ts';
import type { HeadRow } from './schema.ts';

/** A log's head, locked until the transaction ends. */
export interface LockedHead {
  frontier: Frontier;
  /** When entries appended now count as integrated: never before those that are there already. */
  integratedAt: Date;
}

/** Logs that may be appended to, and those whose stored head makes no sense, with the reason. */
export interface LockedHeads {
  sound: Map<string, LockedHead>;
  broken: Map<string, string>;
}

/**
 * The ledger's tables grow by thousands of rows a second, faster than the planner's statistics: a plan
 * made for an empty table would read a full one from end to end. Every statement here has an index to go by.
 */
export async function planByIndex(
  client: Queryable,
  scope: 'transaction' | 'session' = 'transaction',
): Promise<void> {
  await client.query(
    `select set_config(name, 'off', $1)
    from unnest(array['enable_seqscan', 'enable_hashjoin', 'enable_mergejoin', 'jit']) as name`,
    [scope === 'transaction'],
  );
}

/**
 * Locks the heads of these logs, made first where they are missing. Halted logs are left out.
 * One lock per log is all that keeps its integrators apart: indexes come from the head's size, which
 * nobody else can read for update until the entries that took them are committed or gone.
 */
export async function lockHeads(
  client: Queryable,
  orgIds: readonly string[],
): Promise<LockedHeads> {
  // Both statements go through the logs in the same order, so two workers never wait for each other.
  await client.query(
    `insert into ledger_head (org_id, size, root, frontier, integrated_at)
     select org_id, 0, $2, ''::bytea, now() from unnest($1::text[]) as t (org_id) order by org_id collate "C"
     on conflict (org_id) do nothing`,
    [orgIds, EMPTY_ROOT],
  );
  const { rows } = await client.query<
    Pick<HeadRow, 'org_id' | 'size' | 'frontier' | 'halted_at' | 'integrated_at'>
  >(
    `select org_id, size, frontier, halted_at, greatest(integrated_at, now()::timestamptz(3)) as integrated_at
     from ledger_head where org_id = any ($1) order by org_id for update`,
    [orgIds],
  );
  const heads: LockedHeads = { sound: new Map(), broken: new Map() };
  for (const row of rows) {
    if (row.halted_at !== null) continue;
    const frontier = readFrontier(row);
    if (frontier === null)
      heads.broken.set(row.org_id, 'the stored frontier does not fit the size');
    else heads.sound.set(row.org_id, { frontier, integratedAt: row.integrated_at });
  }
  return heads;
}

function readFrontier(row: Pick<HeadRow, 'size' | 'frontier'>): Frontier | null {
  try {
    return row.size === '0' ? EMPTY_FRONTIER : decodeFrontier(Number(row.size), row.frontier);
  } catch (error) {
    if (error instanceof RangeError) return null;
    throw error;
  }
}

/** Stops integration and signing of these logs until a person has looked. The first reason is kept. */
export async function haltLogs(
  client: Queryable,
  reasons: ReadonlyMap<string, string>,
): Promise<void> {
  if (reasons.size === 0) return;
  await client.query(
    `update ledger_head h set halted_at = now(), halt_reason = r.reason
     from unnest($1::text[], $2::text[]) as r (org_id, reason)
     where h.org_id = r.org_id and h.halted_at is null`,
    [[...reasons.keys()], [...reasons.values()]],
  );
}
