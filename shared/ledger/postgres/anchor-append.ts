import type { Pool, PoolClient } from 'pg';
import { type AnchorEntry, formatAnchorEntry, type HeadsEntry } from '../anchor-entries.ts';
import { leafHash } from '../hashing.ts';
import { HEADS_SLOTS, headsTreeOf, SECRET_BYTES } from '../heads-tree.ts';
import {
  type DueKeyEvent,
  dueKeyEvents,
  keyIntervals,
  type KeyEvent,
  type KnownKey,
  type PlacedKeyEvent,
} from '../key-events.ts';
import { ANCHOR_LOG } from '../origins.ts';
import { execute, queryRow, queryRows, statement } from '#shared/kernel/postgres/statement.ts';
import { inTransaction, type Queryable } from '#shared/kernel/postgres/transaction.ts';
import { appendEntries, haltLogs, type LockedHead, lockHeads, planByIndex } from './append.ts';
import { type CompromiseRequest, readCompromiseRequests, readKeyEvents } from './anchor-keys.ts';

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

const CLOCK = statement(
  { now: 'timestamptz', over: 'bool' },
  `select now() as now, not exists (
     select from (select at from anchor_epoch order by index desc limit 1) e
     where e.at <= now() and e.at > now() - make_interval(secs => $1)) as over`,
);

/** The database's time, and whether the last epoch is long enough ago. One that lies ahead does not count: the clock was put back. */
async function readClock(
  db: Queryable,
  epochMs: number,
): Promise<{ now: number; epochIsOver: boolean }> {
  const row = (await queryRow(db, CLOCK, [epochMs / 1_000]))!;
  return { now: row.now.getTime(), epochIsOver: row.over };
}

const SETTLED_BEFORE = statement(
  { settled: 'bool' },
  `select not exists (select from receipt_pending where submitted_at < $1)
     and not exists (select from ledger_quarantine where submitted_at < $1)
     and not exists (
       select from ledger_head h join ledger_entry e on e.org_id = h.org_id and e.index = h.checkpoint_size
       where h.size > h.checkpoint_size and e.integrated_at < $1) as settled`,
);

/**
 * Whether everything that was issued before `cutoff` (epoch milliseconds) stands in a signed checkpoint.
 * Then a key that had stopped signing by that time has nothing left that is on its way.
 */
async function isSettledBefore(db: Queryable, cutoff: number): Promise<boolean> {
  return (await queryRow(db, SETTLED_BEFORE, [new Date(cutoff)]))!.settled;
}

const HAS_NEW_HEADS = statement(
  { grown: 'bool' },
  `select exists (
     select from ledger_head h where h.org_id <> $1 and h.checkpoint_size > coalesce(
       (select a.size from anchor_head a where a.org_id = h.org_id order by a.index desc limit 1), 0))
   or exists (
     select from audit_head h cross join lateral (
       select c.size from audit_checkpoint c where c.log_id = 'audit/' || h.org_id order by c.size desc limit 1) c
     where c.size > coalesce(
       (select a.size from anchor_head a where a.org_id = 'audit/' || h.org_id order by a.index desc limit 1), 0)) as grown`,
);

/** Whether a checkpoint or the signed head of an audit log is newer than what is anchored of it. */
async function hasNewHeads(db: Queryable): Promise<boolean> {
  return (await queryRow(db, HAS_NEW_HEADS, [ANCHOR_LOG]))!.grown;
}

/** The newest checkpoint of an organisation or of its audit log, and what the newest heads tree has of it. */
interface NewestHead {
  /** The organisation, or `auditLogOf` it. */
  orgId: string;
  slot: number | null;
  size: number;
  /** The signed note. */
  note: string;
  anchoredSize: number;
}

const NEWEST_HEADS = statement(
  { org_id: 'text', slot: 'int4?', size: 'int8', note: 'text', anchored: 'int8?' },
  `select h.org_id, s.slot, h.size, h.note, a.size as anchored
   from (
     select l.org_id, c.size, c.note from ledger_head l cross join lateral (
       select c.size, c.note from ledger_checkpoint c where c.org_id = l.org_id order by c.size desc limit 1) c
     union all
     select c.log_id, c.size, c.note from audit_head l cross join lateral (
       select c.log_id, c.size, c.note from audit_checkpoint c where c.log_id = 'audit/' || l.org_id
       order by c.size desc limit 1) c) h
   left join anchor_slot s on s.org_id = h.org_id
   left join lateral (
     select a.size from anchor_head a where a.org_id = h.org_id order by a.index desc limit 1) a on true
   where h.org_id <> $1 order by h.org_id`,
);

/** The newest checkpoint of every organisation that has one, and of every audit log. */
async function readNewestHeads(db: Queryable): Promise<NewestHead[]> {
  const rows = await queryRows(db, NEWEST_HEADS, [ANCHOR_LOG]);
  return rows.map(({ org_id: orgId, slot, size, note, anchored }) => {
    return { orgId, slot, size: Number(size), note, anchoredSize: Number(anchored ?? 0) };
  });
}

/** The entries of one writing, with the place of the first. */
interface Writing {
  first: number;
  at: string;
  entries: AnchorEntry[];
}

const SETTLE_COMPROMISES = statement(
  {},
  'delete from anchor_pending where id = any ($1::bigint[])',
);

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
  await execute(client, SETTLE_COMPROMISES, [due.requests.map(({ id }) => id)]);
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

const STORE_EPOCH = statement(
  {},
  'insert into anchor_epoch (index, secret, at) values ($1, $2, $3)',
);

const STORE_HEADS = statement(
  {},
  'insert into anchor_head (org_id, index, size) select o, $2, s from unnest($1::text[], $3::bigint[]) as t (o, s)',
);

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
  await execute(client, STORE_EPOCH, [index, secret, writing.at]);
  const grown = newest.filter(({ size, anchoredSize }) => size > anchoredSize);
  const orgIds = grown.map(({ orgId }) => orgId);
  await execute(client, STORE_HEADS, [orgIds, index, grown.map(({ size }) => size)]);
  return index;
}

/** Beyond half of the slots, drawing a free one would take ever longer, and a tree of another height is needed. */
const ORGANISATIONS_MAX = HEADS_SLOTS / 2;
/** With at most half of the slots taken, a draw that fails this often in a row is no accident. */
const DRAWS_MAX = 64;

const ASSIGN_SLOTS = statement(
  { org_id: 'text', slot: 'int4' },
  `insert into anchor_slot (org_id, slot)
   select * from unnest($1::text[], $2::int[]) where (select count(*) from anchor_slot) < $3
   on conflict (slot) do nothing returning org_id, slot`,
);

/**
 * Gives each of these organisations a slot of its own, drawn at random: its number tells nothing about
 * how many there are or who came when. The caller holds the anchor log's head.
 */
async function assignSlots(
  db: Queryable,
  orgIds: readonly string[],
  randomBytes: (size: number) => Uint8Array,
): Promise<Map<string, number>> {
  const assigned = new Map<string, number>();
  let waiting = [...orgIds];
  for (let draw = 0; waiting.length > 0; draw += 1) {
    if (draw === DRAWS_MAX) throw new Error('no free slot in the heads tree was found');
    const slots = waiting.map(() => drawSlot(randomBytes));
    const rows = await queryRows(db, ASSIGN_SLOTS, [waiting, slots, ORGANISATIONS_MAX]);
    for (const { org_id: orgId, slot } of rows) assigned.set(orgId, slot);
    waiting = waiting.filter((orgId) => !assigned.has(orgId));
  }
  return assigned;
}

/** Uniform: the number of slots divides 2^32. */
function drawSlot(randomBytes: (size: number) => Uint8Array): number {
  return Buffer.from(randomBytes(4)).readUInt32BE() % HEADS_SLOTS;
}

const STORE_ENTRIES = statement(
  {},
  'insert into anchor_entry (index, leaf_hash, body) select * from unnest($1::bigint[], $2::bytea[], $3::bytea[])',
);

async function store(client: PoolClient, head: LockedHead, writing: Writing): Promise<void> {
  const texts = writing.entries.map((entry) => Buffer.from(formatAnchorEntry(entry)));
  const hashes = texts.map((text) => Buffer.from(leafHash(text)));
  const indexes = texts.map((_, i) => writing.first + i);
  await execute(client, STORE_ENTRIES, [indexes, hashes, texts]);
  const rows = writing.entries.map(({ type }, i) => ({
    entry_id: `${ANCHOR_LOG}_${indexes[i]}`,
    org_id: ANCHOR_LOG,
    kind: type,
    supersedes: null,
    leaf_hash: hashes[i]!,
  }));
  await appendEntries(client, new Map([[ANCHOR_LOG, head]]), rows);
}
