import type { Pool } from 'pg';
import { rangeHash } from '../tiles.ts';
import { consistencyRanges } from '../proofs.ts';
import { invalidParam } from '#shared/kernel/errors.ts';
import type { Page } from '#shared/kernel/page.ts';
import type { LedgerEntry, LedgerPageRequest, LedgerReader } from '../port-ledger.ts';
import { loadTiles } from './hashes.ts';
import { proveInclusion } from './proofs.ts';
import { listReceipts, readReceipt, readRevisions, readSuccessor } from './receipts.ts';
import { latestCheckpoint, readTile, wantedTiles } from './tiles.ts';
import type { EntryRow } from './schema.ts';

type ListedRow = Omit<EntryRow, 'org_id'>;

const COLUMNS = 'index, entry_id, kind, leaf_hash, supersedes, integrated_at';

/** The ledger in PostgreSQL, for any role that may select its tables. */
export function createLedgerReader(pool: Pool): LedgerReader {
  return {
    entry: (orgId, receiptId) => readEntry(pool, orgId, receiptId),
    listEntries: (request) => listEntries(pool, request),
    checkpoint: async (orgId) => (await latestCheckpoint(pool, orgId))?.note ?? null,
    tile: (orgId, tile) => readTile(pool, orgId, tile),
    proof: (orgId, receiptId) => proveInclusion(pool, orgId, receiptId),
    consistency: (orgId, oldSize, newSize) => proveConsistency(pool, orgId, oldSize, newSize),
    receipt: (orgId, receiptId) => readReceipt(pool, orgId, receiptId),
    listReceipts: (request) => listReceipts(pool, request),
    revisions: (orgId, receiptId) => readRevisions(pool, orgId, receiptId),
    successor: (orgId, receiptId) => readSuccessor(pool, orgId, receiptId),
  };
}

async function readEntry(
  pool: Pool,
  orgId: string,
  receiptId: string,
): Promise<LedgerEntry | null> {
  const { rows } = await pool.query<ListedRow>(
    `select ${COLUMNS} from ledger_entry where entry_id = $2 and org_id = $1`,
    [orgId, receiptId],
  );
  return rows[0] === undefined ? null : entryOf(rows[0]);
}

async function listEntries(pool: Pool, request: LedgerPageRequest): Promise<Page<LedgerEntry>> {
  const { orgId, limit, order } = request;
  const descending = order === 'desc';
  const cursor = await indexAfter(pool, request);
  // Times become places in the log first: then every page is a walk along the primary key.
  const { rows } = await pool.query<ListedRow>(
    `select ${COLUMNS} from ledger_entry
     where org_id = $1
       and ($2::bigint is null or index ${descending ? '<' : '>'} $2)
       and ($3::timestamptz is null or index >= (select ledger_index_at($1, $3)))
       and ($4::timestamptz is null or index < (select ledger_index_at($1, $4)))
       and ($5::text is null or kind = $5)
     order by index ${descending ? 'desc' : 'asc'} limit $6`,
    [orgId, cursor, dateOf(request.from), dateOf(request.to), request.kind ?? null, limit + 1],
  );
  return { items: rows.slice(0, limit).map(entryOf), hasMore: rows.length > limit };
}

async function indexAfter(pool: Pool, { orgId, after }: LedgerPageRequest): Promise<number | null> {
  if (after === undefined) return null;
  const entry = await readEntry(pool, orgId, after);
  if (entry === null) throw invalidParam('after', 'There is no such entry to continue after.');
  return entry.index;
}

/** Hashes that prove one published tree a prefix of another; null when the newest checkpoint is smaller. */
export async function proveConsistency(
  pool: Pool,
  orgId: string,
  oldSize: number,
  newSize: number,
): Promise<Uint8Array[] | null> {
  const published = await latestCheckpoint(pool, orgId);
  if (published === null || newSize > published.size || oldSize > newSize) return null;
  const ranges = consistencyRanges(oldSize, newSize);
  const tiles = await loadTiles(pool, wantedTiles(orgId, ranges, newSize));
  return ranges.map((range) => rangeHash(range, tiles(orgId)));
}

function entryOf(row: ListedRow): LedgerEntry {
  return {
    index: Number(row.index),
    receiptId: row.entry_id,
    kind: row.kind,
    leafHash: row.leaf_hash,
    integratedAt: row.integrated_at.getTime(),
    supersedes: row.supersedes,
  };
}

function dateOf(ms: number | undefined): Date | null {
  return ms === undefined ? null : new Date(ms);
}
