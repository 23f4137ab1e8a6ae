import type { Pool, PoolClient } from 'pg';
import { type AnchorEntry, formatAnchorEntry, type HeadsEntry } from '../anchor-entries.ts';
import { leafHash } from '../hashing.ts';
import { SECRET_BYTES } from '../heads-tree.ts';
import {
  type DueKeyEvent,
  dueKeyEvents,
  keyIntervals,
  type KeyEvent,
  type KnownKey,
  type PlacedKeyEvent,
} from '../key-events.ts';
import { ANCHOR_LOG } from '../origins.ts';
import { inTransaction, type Queryable } from '#shared/kernel/postgres/transaction.ts';
import {
  assignSlots,
  hasNewHeads,
  headsTreeOf,
  type NewestHead,
  readNewestHeads,
} from './anchor-heads.ts';
import {
  type CompromiseRequest,
  isSettledBefore,
  readCompromiseRequests,
  readKeyEvents,
} from './anchor-keys.ts';
import { appendEntries } from './append.ts';
import { haltLogs, type LockedHead, lockHeads, planByIndex } from './heads.ts';

export interface AnchorOptions {
  /** Every signing key that there ever was, as the files say. */
  keys: readonly KnownKey[];
  /** Heads entries are at least this far apart, over all workers. */
  epochMs: number;
  /** So long after a key stopped signing, what it signed last is on its way into the ledger at the latest. */
  retireAfterMs: number;
  randomBytes: (size: number) => Uint8Array;
}

export interface AnchorResult {
  /** The heads entry that was written, if any. */
  heads: { index: number; organisations: number } | null;
  keyEvents: PlacedKeyEvent[];
  /** Why the anchor log was halted, if it was. */
  halted: string | null;
}

const NOTHING: AnchorResult = { heads: null, keyEvents: [], halted: null };

/** What there is to write. */
interface Due {
  /** Keys that are new or not vouched for any more: written before heads. */
  news: Exclude<DueKeyEvent, { event: 'retired' }>[];
  requests: CompromiseRequest[];
  /** Newest checkpoints when one of them is not anchored and its time has come; empty otherwise. */
  heads: NewestHead[];
  /** Keys whose last signature is anchored once these heads are: written after them. */
  retired: Extract<DueKeyEvent, { event: 'retired' }>[];
}

/**
 * Writes what is due into the anchor log: what happened to keys, and the root of a new heads tree.
 * Everything of one call is one transaction. Any number of workers may call this: the lock on the
 * log's head lets one of them write, and the others then find nothing due.
 */
export async function extendAnchor(pool: Pool, options: AnchorOptions): Promise<AnchorResult> {
  // Looked at without the lock first: most of the time there is nothing to do.
  if (isNothing(await findDue(pool, options))) return NOTHING;
  return inTransaction(pool, async (client) => {
    await planByIndex(client);
    const { sound, broken } = await lockHeads(client, [ANCHOR_LOG]);
    await haltLogs(client, broken);
    const head = sound.get(ANCHOR_LOG);
    if (head === undefined) return { ...NOTHING, halted: broken.get(ANCHOR_LOG) ?? null };
    const due = await findDue(client, options);
    return isNothing(due) ? NOTHING : write(client, head, due, options);
  });
}

function isNothing({ news, requests, heads, retired }: Due): boolean {
  return news.length + requests.length + heads.length + retired.length === 0;
}

async function findDue(db: Queryable, options: AnchorOptions): Promise<Due> {
  const intervals = keyIntervals(await readKeyEvents(db));
  const due = dueKeyEvents(intervals, options.keys);
  const { now, epochIsOver } = await readClock(db, options.epochMs);
  const grown = await hasNewHeads(db);
  const retired: Due['retired'] = [];
  for (const event of due.filter((each) => each.event === 'retired')) {
    const cutoff = event.since + options.retireAfterMs;
    // Also heads must be on a par with the checkpoints then, or with this writing.
    const ready = cutoff <= now && (!grown || epochIsOver) && (await isSettledBefore(db, cutoff));
    if (ready) retired.push(event);
  }
  return {
    news: due.filter((event) => event.event !== 'retired'),
    requests: await readCompromiseRequests(db, intervals),
    heads: grown && epochIsOver ? await readNewestHeads(db) : [],
    retired,
  };
}

/** The database's time, and whether the last epoch is long enough ago. One that lies ahead does not count: the clock was put back. */
async function readClock(
  db: Queryable,
  epochMs: number,
): Promise<{ now: number; epochIsOver: boolean }> {
  const { rows } = await db.query<{ now: Date; over: boolean }>(
    `select now() as now, not exists (
       select from (select at from anchor_epoch order by index desc limit 1) e
       where e.at <= now() and e.at > now() - make_interval(secs => $1)) as over`,
    [epochMs / 1_000],
  );
  return { now: rows[0]!.now.getTime(), epochIsOver: rows[0]!.over };
}

/** The entries of one writing, with the place of the first. */
interface Writing {
  first: number;
  at: string;
  entries: AnchorEntry[];
}

async function write(
  client: PoolClient,
  head: LockedHead,
  due: Due,
  { randomBytes }: AnchorOptions,
): Promise<AnchorResult> {
  const writing: Writing = {
    first: head.frontier.size,
    at: head.integratedAt.toISOString(),
    entries: [],
  };
  for (const event of due.news) add(writing, (index) => keyEventOf(event, writing.at, index));
  for (const { key, purpose, from } of due.requests) {
    add(writing, (index) => {
      const event = 'compromised' as const;
      return { type: 'key', event, at: writing.at, key, purpose, from: from ?? index };
    });
  }
  const organisations = due.heads.length;
  const index = organisations > 0 ? await addHeads(client, writing, due.heads, randomBytes) : null;
  for (const event of due.retired) add(writing, (place) => keyEventOf(event, writing.at, place));
  await store(client, head, writing);
  await client.query('delete from anchor_pending where id = any ($1::bigint[])', [
    due.requests.map(({ id }) => id),
  ]);
  return {
    heads: index === null ? null : { index, organisations },
    keyEvents: writing.entries.flatMap((event, i) =>
      event.type === 'key' ? [{ index: writing.first + i, event }] : [],
    ),
    halted: null,
  };
}

/** Adds an entry that may depend on its place. */
function add(writing: Writing, entryAt: (index: number) => AnchorEntry): number {
  const index = writing.first + writing.entries.length;
  writing.entries.push(entryAt(index));
  return index;
}

function keyEventOf(due: DueKeyEvent, at: string, index: number): KeyEvent {
  const { key, purpose } = due;
  const common = { type: 'key', at, key, purpose } as const;
  if (due.event === 'added') {
    return { ...common, event: 'added', publicKeyMultibase: due.publicKeyMultibase };
  }
  if (due.event === 'retired') return { ...common, event: 'retired' };
  return { ...common, event: 'compromised', from: index };
}

async function addHeads(
  client: PoolClient,
  writing: Writing,
  newest: readonly NewestHead[],
  randomBytes: (size: number) => Uint8Array,
): Promise<number> {
  const homeless = newest.filter(({ slot }) => slot === null).map(({ orgId }) => orgId);
  const assigned = await assignSlots(client, homeless, randomBytes);
  const secret = randomBytes(SECRET_BYTES);
  const heads = newest.map((head) => ({ ...head, slot: head.slot ?? assigned.get(head.orgId)! }));
  const root = headsTreeOf(secret, heads).root;
  const entry: HeadsEntry = { type: 'heads', at: writing.at, root };
  const index = add(writing, () => entry);
  await client.query('insert into anchor_epoch (index, secret, at) values ($1, $2, $3)', [
    index,
    secret,
    writing.at,
  ]);
  const grown = newest.filter(({ size, anchoredSize }) => size > anchoredSize);
  await client.query(
    'insert into anchor_head (org_id, index, size) select o, $2, s from unnest($1::text[], $3::bigint[]) as t (o, s)',
    [grown.map(({ orgId }) => orgId), index, grown.map(({ size }) => size)],
  );
  return index;
}

async function store(client: PoolClient, head: LockedHead, writing: Writing): Promise<void> {
  const texts = writing.entries.map((entry) => Buffer.from(formatAnchorEntry(entry)));
  const hashes = texts.map((text) => Buffer.from(leafHash(text)));
  const indexes = texts.map((_, i) => writing.first + i);
  await client.query(
    'insert into anchor_entry (index, leaf_hash, body) select * from unnest($1::bigint[], $2::bytea[], $3::bytea[])',
    [indexes, hashes, texts],
  );
  const rows = writing.entries.map(({ type }, i) => ({
    entry_id: `${ANCHOR_LOG}_${indexes[i]}`,
    org_id: ANCHOR_LOG,
    kind: type,
    supersedes: null,
    leaf_hash: hashes[i]!,
  }));
  await appendEntries(client, new Map([[ANCHOR_LOG, head]]), rows);
}
