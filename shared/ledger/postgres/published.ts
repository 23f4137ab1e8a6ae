import { queryRow, queryRows, statement } from '#shared/kernel/postgres/statement.ts';
import type { Queryable } from '#shared/kernel/postgres/transaction.ts';
import { COSE_TREE_MIN, formatCoseReceipt } from '../cose-receipts.ts';
import { type Hash, HASH_BYTES } from '../hashing.ts';
import { ANCHOR_LOG } from '../origins.ts';
import { formatProof } from '../proof-text.ts';
import { consistencyRanges, inclusionRanges, verifyInclusion } from '../proofs.ts';
import { type Tile, type TileRequest, tileWidth } from '../tiles.ts';
import { DamagedArchive } from '../body-archive.ts';
import { type BodyArchive, createBodyArchive } from './body-archive.ts';
import { hashesOfRanges, loadTiles } from './tiles.ts';

/** A signed tree head as it was handed out. */
export interface StoredCheckpoint {
  size: number;
  root: Uint8Array;
  note: string;
}

const LATEST_CHECKPOINT = statement(
  { size: 'int8', root: 'bytea', note: 'text' },
  'select size, root, note from ledger_checkpoint where org_id = $1 order by size desc limit 1',
);

/** The newest checkpoint of a log; null before the first. */
export async function latestCheckpoint(
  db: Queryable,
  orgId: string,
): Promise<StoredCheckpoint | null> {
  const row = await queryRow(db, LATEST_CHECKPOINT, [orgId]);
  return row === undefined ? null : { ...row, size: Number(row.size) };
}

/** The size of the newest checkpoint of a log; 0 before the first. */
export async function publishedSize(db: Queryable, orgId: string): Promise<number> {
  return (await latestCheckpoint(db, orgId))?.size ?? 0;
}

/**
 * Bytes of a tile or entry bundle of a log that is published up to `size`. Null for bytes that no checkpoint covers yet,
 * because they could not be checked; no statement is made for them.
 */
export async function readTile(
  db: Queryable,
  orgId: string,
  size: number,
  wanted: TileRequest,
  archive: BodyArchive = createBodyArchive(undefined),
): Promise<Uint8Array | null> {
  const level = wanted.level === 'entries' ? 0 : wanted.level;
  const width = tileWidth(level, wanted.index, size);
  if (wanted.width > width) return null;
  if (wanted.level === 'entries') {
    return readBundle(db, orgId, { index: wanted.index, width: wanted.width, archive });
  }
  return readHashes(db, orgId, { level: wanted.level, index: wanted.index, width: wanted.width });
}

async function readHashes(db: Queryable, orgId: string, tile: Tile): Promise<Uint8Array> {
  const tiles = await loadTiles(db, [{ ...tile, orgId }]);
  const bytes = tiles(orgId)(tile.level, tile.index);
  if (bytes.length !== tile.width * HASH_BYTES) {
    throw new Error(
      `tile ${tile.level}/${tile.index} of ${orgId} is damaged; run docket ledger fsck`,
    );
  }
  return bytes;
}

/** Where the bytes of entry `e` are kept: in the anchor log, and in the logs of organisations. */
export const BODY_SOURCES = {
  anchor: 'select a.body, a.leaf_hash from anchor_entry a where a.index = e.index',
  organisation:
    'select b.body, b.leaf_hash from ledger_body b where b.entry_id = e.entry_id and b.org_id = e.org_id limit 1',
} as const;

export function bodySourceOf(orgId: string): keyof typeof BODY_SOURCES {
  return orgId === ANCHOR_LOG ? 'anchor' : 'organisation';
}

const bundleFrom = (source: string) =>
  statement(
    { entry_id: 'text', org_id: 'text', leaf_hash: 'bytea', body: 'bytea?' },
    `select e.entry_id, e.org_id, e.leaf_hash, b.body from ledger_entry e left join lateral (${source}) b on true
     where e.org_id = $1 and e.index >= $2 and e.index < $3 order by e.index`,
  );
const BUNDLES = {
  anchor: bundleFrom(BODY_SOURCES.anchor),
  organisation: bundleFrom(BODY_SOURCES.organisation),
};

/** Entries, each after its length in 16 bits (C2SP tlog-tiles). Null when retention has dropped one of them. */
async function readBundle(
  db: Queryable,
  orgId: string,
  { index, width, archive }: { index: number; width: number; archive: BodyArchive },
): Promise<Uint8Array | null> {
  const range = [orgId, index * 256, index * 256 + width];
  const parts: Buffer[] = [];
  const rows = await queryRows(db, BUNDLES[bodySourceOf(orgId)], range);
  const moved = await archive.find(
    db,
    rows.filter((row) => row.body === null),
  );
  for (const row of rows) {
    const body = row.body ?? moved.get(row.entry_id);
    if (body === undefined) return null;
    if (body === null) throw new DamagedArchive(row.entry_id);
    const length = Buffer.alloc(2);
    length.writeUInt16BE(body.length);
    parts.push(length, body);
  }
  return parts.length === width * 2 ? Buffer.concat(parts) : null;
}

/** An entry with the newest checkpoint of its log, or that of a size. */
const PROVABLE = statement(
  {
    index: 'int8',
    leaf_hash: 'bytea',
    size: 'int8',
    root: 'bytea',
    note: 'text',
    cose_protected: 'bytea?',
    cose_signature: 'bytea?',
  },
  `select e.index, e.leaf_hash, c.size, c.root, c.note, c.cose_protected, c.cose_signature
   from ledger_entry e cross join lateral (
     select c.size, c.root, c.note, c.cose_protected, c.cose_signature from ledger_checkpoint c
     where c.org_id = e.org_id and ($3::bigint is null or c.size = $3) order by c.size desc limit 1) c
   where e.entry_id = $2 and e.org_id = $1 and e.index < c.size`,
);

/**
 * The proof that a receipt is in its organisation's log, as C2SP tlog-proof. Null until a checkpoint covers it.
 * @param size of the checkpoint that it leads to; the newest when absent
 */
export async function proveInclusion(
  db: Queryable,
  orgId: string,
  receiptId: string,
  size?: number,
): Promise<string | null> {
  const row = await queryRow(db, PROVABLE, [orgId, receiptId, size ?? null]);
  if (row === undefined) return null;
  const { index, hashes } = await pathOf(db, orgId, row);
  return formatProof({ index, hashes, checkpoint: row.note });
}

/**
 * The same as a COSE receipt (RFC 9942). Null also while the newest checkpoint is of one entry, or was signed by a release
 * that did not sign for COSE.
 */
export async function proveInCose(
  db: Queryable,
  orgId: string,
  receiptId: string,
): Promise<Uint8Array | null> {
  const row = await queryRow(db, PROVABLE, [orgId, receiptId, null]);
  if (row === undefined || Number(row.size) < COSE_TREE_MIN) return null;
  const { cose_protected: protectedHeader, cose_signature: signature } = row;
  if (protectedHeader === null || signature === null) return null;
  return formatCoseReceipt({ protectedHeader, signature, ...(await pathOf(db, orgId, row)) });
}

/** The path from an entry to the root of its checkpoint. A path that does not hold would say that we removed the receipt: it is never handed out. */
async function pathOf(
  db: Queryable,
  orgId: string,
  row: { index: string; leaf_hash: Uint8Array; size: string; root: Uint8Array },
): Promise<{ index: number; size: number; hashes: Hash[] }> {
  const [index, size] = [Number(row.index), Number(row.size)];
  const hashes = await hashesOfRanges(db, orgId, size, inclusionRanges(index, size));
  if (!verifyInclusion({ index, size, leaf: row.leaf_hash, proof: hashes, root: row.root })) {
    throw new Error(`the log of ${orgId} is damaged at entry ${index}; run docket ledger fsck`);
  }
  return { index, size, hashes };
}

/** Hashes that prove one published tree a prefix of another; null when the newest checkpoint is smaller. */
export async function proveConsistency(
  db: Queryable,
  orgId: string,
  oldSize: number,
  newSize: number,
): Promise<Hash[] | null> {
  const published = await latestCheckpoint(db, orgId);
  if (published === null || newSize > published.size || oldSize > newSize) return null;
  return hashesOfRanges(db, orgId, newSize, consistencyRanges(oldSize, newSize));
}
