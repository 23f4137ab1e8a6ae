import { Fault } from '#shared/kernel/errors.ts';
import { type RawBuilder, sql } from 'kysely';
import type { Pool } from 'pg';
import { type Page, type PageRequest } from '#shared/kernel/page.ts';
import { keyset, pageOf } from '#shared/kernel/postgres/page.ts';
import { primaryAlone, type Reads } from '#shared/kernel/postgres/replica.ts';
import { type Queries, queriesOn } from '#shared/kernel/postgres/queries.ts';
import { queryRows, statement } from '#shared/kernel/postgres/statement.ts';
import type { LedgerEntry, LedgerKind } from '../entries.ts';
import type { Hash } from '../hashing.ts';
import type { RankedBy } from '../receipt-ranks.ts';
import type { TileRequest } from '../tiles.ts';
import { type BodyArchive, createBodyArchive } from './body-archive.ts';
import { type DeclaredLoss, declaredLosses } from './losses.ts';
import {
  hasSeen,
  largestReceipts,
  type ListedReceipt,
  listReceipts,
  type ReceiptPageRequest,
  type StoredReceipt,
} from './receipt-list.ts';
import {
  latestCheckpoint,
  proveConsistency,
  proveInclusion,
  proveInCose,
  publishedSize,
  readTile,
} from './published.ts';

/** A page of entries; `after` is the receipt id of one. */
export interface LedgerPageRequest extends PageRequest {
  orgId: string;
  /** Epoch milliseconds of integration, `from` included, `to` excluded. */
  from?: number;
  to?: number;
  kind?: LedgerKind;
}

/** With the key that its request had, which no receipt says; null where none is known. */
export interface OwnReceipt extends StoredReceipt {
  keyId: string | null;
}

export type LedgerReader = ReturnType<typeof createLedgerReader>;

/**
 * All that is read from the ledger, for any role that may select its tables. Every call names the organisation and sees
 * nothing of others. Lists are read by `lists`, which may lag; what is asked for by its id is there as soon as its owner has it.
 */
export function createLedgerReader(
  pool: Pool,
  lists: Reads = primaryAlone(pool),
  archive: BodyArchive = createBodyArchive(undefined),
) {
  const db = queriesOn(pool);
  /** The receipts of a list with their bodies, from wherever these are. */
  const stored = async (listed: readonly ListedReceipt[]): Promise<StoredReceipt[]> =>
    (await archive.whole(pool, listed)).map(({ entry_id: id, body }) => ({ id, body }));
  return {
    /** Null when there is no such receipt here, or it is not integrated yet. */
    entry: (orgId: string, receiptId: string) => readEntry(db, orgId, receiptId),
    /** Throws `invalid_after` for a receipt that has no entry here. */
    listEntries: (request: LedgerPageRequest) =>
      lists.run((from) => listEntries(queriesOn(from), request)),
    /** Entries that the log had at a moment (epoch milliseconds). */
    indexAt: async (orgId: string, ms: number): Promise<number> => {
      const { index } = await db
        .selectNoFrom(indexAt(orgId, ms).as('index'))
        .executeTakeFirstOrThrow();
      return Number(index);
    },
    /** The newest signed checkpoint; null before the first. */
    checkpoint: async (orgId: string): Promise<string | null> =>
      (await latestCheckpoint(pool, orgId))?.note ?? null,
    /** What was declared lost of the log, oldest first. */
    losses: (orgId: string): Promise<DeclaredLoss[]> => declaredLosses(pool, orgId),
    /** Bytes of a tile or entry bundle; null when the newest checkpoint does not cover it, or retention dropped a body. */
    tile: async (orgId: string, tile: TileRequest): Promise<Uint8Array | null> =>
      readTile(pool, orgId, await publishedSize(pool, orgId), tile, archive),
    /** C2SP tlog-proof with the newest checkpoint, or that of a size; null until one covers the receipt. */
    proof: (orgId: string, receiptId: string, size?: number): Promise<string | null> =>
      proveInclusion(pool, orgId, receiptId, size),
    /** COSE receipt of inclusion with the newest checkpoint; null until one that was signed for it covers the receipt. */
    coseReceipt: (orgId: string, receiptId: string): Promise<Uint8Array | null> =>
      proveInCose(pool, orgId, receiptId),
    /** Hashes that prove one published tree a prefix of another; null when the newest checkpoint is smaller. */
    consistency: (orgId: string, oldSize: number, newSize: number): Promise<Hash[] | null> =>
      proveConsistency(pool, orgId, oldSize, newSize),
    /** Null when there is no such receipt here, or retention has dropped it. */
    receipt: async (orgId: string, receiptId: string): Promise<OwnReceipt | null> => {
      const [receipt] = await archive.whole(pool, await readReceipt(db, orgId, receiptId));
      return receipt === undefined
        ? null
        : { id: receiptId, body: receipt.body, keyId: receipt.key_id };
    },
    /** Throws `invalid_after` for a receipt that is not here. */
    listReceipts: async (request: ReceiptPageRequest): Promise<Page<StoredReceipt>> => {
      const page = await lists.run((from) => listReceipts(from, request));
      return { ...page, items: await stored(page.items) };
    },
    /** The largest of the newest, by something else than their time. */
    largestReceipts: async (
      request: Omit<ReceiptPageRequest, 'after' | 'order'> & { by: RankedBy },
    ): Promise<{ items: StoredReceipt[]; isWhole: boolean }> => {
      const found = await lists.run((from) => largestReceipts(from, request));
      return { ...found, items: await stored(found.items) };
    },
    /** Whether the organisation has, or its receipts have had, this key, model or region. */
    hasSeen: (orgId: string, name: 'model' | 'region' | 'key', value: string) =>
      hasSeen(pool, orgId, name, value),
    /** Ids of the receipt's whole chain, oldest first, whichever member was asked for; empty when it is not here. */
    revisions: (orgId: string, receiptId: string) => readRevisions(pool, orgId, receiptId),
    /** The receipt that revises this one, or null. */
    successor: (orgId: string, receiptId: string) => readSuccessor(db, orgId, receiptId),
  };
}

const selectEntries = (db: Queries, orgId: string) =>
  db
    .selectFrom('ledger_entry')
    .select(['index', 'entry_id', 'kind', 'leaf_hash', 'supersedes', 'integrated_at'])
    .where('org_id', '=', orgId);

type EntryRow = Awaited<ReturnType<ReturnType<typeof selectEntries>['executeTakeFirstOrThrow']>>;

async function readEntry(
  db: Queries,
  orgId: string,
  receiptId: string,
): Promise<LedgerEntry | null> {
  const row = await selectEntries(db, orgId).where('entry_id', '=', receiptId).executeTakeFirst();
  return row === undefined ? null : entryOf(row);
}

async function listEntries(db: Queries, request: LedgerPageRequest): Promise<Page<LedgerEntry>> {
  const { orgId, after, from, to, kind } = request;
  const found = after === undefined ? undefined : await readEntry(db, orgId, after);
  if (found === null) throw new Fault('invalid_after');
  const entries = selectEntries(db, orgId)
    .$if(from !== undefined, (query) => query.where('index', '>=', indexAt(orgId, from!)))
    .$if(to !== undefined, (query) => query.where('index', '<', indexAt(orgId, to!)))
    .$if(kind !== undefined, (query) => query.where('kind', '=', kind!));
  const rows = await keyset(entries, 'index', { ...request, after: found?.index }).execute();
  return pageOf(rows, request, entryOf);
}

/** The place of a time in a log, looked up once: then every page is a walk along the primary key. */
function indexAt(orgId: string, ms: number): RawBuilder<string> {
  return sql<string>`(select ledger_index_at(${orgId}, ${new Date(ms)}))`;
}

function entryOf(row: EntryRow): LedgerEntry {
  return {
    index: Number(row.index),
    receiptId: row.entry_id,
    // Logs of organisations have no other kinds; those of the anchor log are not read here.
    kind: row.kind as LedgerKind,
    leafHash: row.leaf_hash,
    integratedAt: row.integrated_at.getTime(),
    supersedes: row.supersedes,
  };
}

/** One, or none. */
function readReceipt(db: Queries, orgId: string, receiptId: string) {
  return db
    .selectFrom('ledger_body')
    .select(['entry_id', 'org_id', 'leaf_hash', 'body', 'key_id'])
    .where('entry_id', '=', receiptId)
    .where('org_id', '=', orgId)
    .execute();
}

/** A chain longer than this is a fault: each recalculation corrects a failure or follows a new method. */
const REVISIONS_MAX = 1_000;

/** From the receipt back to the first of its chain, and from there to the last. */
const CHAIN = statement(
  { entry_id: 'text' },
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
);

async function readRevisions(pool: Pool, orgId: string, receiptId: string): Promise<string[]> {
  const rows = await queryRows(pool, CHAIN, [orgId, receiptId, REVISIONS_MAX]);
  return rows.map((row) => row.entry_id);
}

async function readSuccessor(
  db: Queries,
  orgId: string,
  receiptId: string,
): Promise<string | null> {
  const row = await db
    .selectFrom('receipt_revision')
    .select('revision_id')
    .where('original_id', '=', receiptId)
    .where('org_id', '=', orgId)
    .executeTakeFirst();
  return row?.revision_id ?? null;
}
