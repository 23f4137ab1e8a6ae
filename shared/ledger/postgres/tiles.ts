import { HASH_BYTES } from '../hashing.ts';
import { ANCHOR_LOG } from '../origins.ts';
import { tilesFor, tileWidth, type LeafRange, type Tile, type TileRequest } from '../tiles.ts';
import type { Queryable } from '#shared/kernel/postgres/transaction.ts';
import { loadTiles, type WantedTile } from './hashes.ts';
import type { CheckpointRow } from './schema.ts';

/** A signed tree head as it was handed out. */
export interface StoredCheckpoint {
  size: number;
  root: Uint8Array;
  note: string;
}

/** The newest checkpoint of a log; null before the first. */
export async function latestCheckpoint(
  db: Queryable,
  orgId: string,
): Promise<StoredCheckpoint | null> {
  const { rows } = await db.query<Pick<CheckpointRow, 'size' | 'root' | 'note'>>(
    'select size, root, note from ledger_checkpoint where org_id = $1 order by size desc limit 1',
    [orgId],
  );
  const row = rows[0];
  return row === undefined ? null : { size: Number(row.size), root: row.root, note: row.note };
}

/** The tiles that these ranges of one log need. */
export function wantedTiles(
  orgId: string,
  ranges: readonly LeafRange[],
  size: number,
): WantedTile[] {
  return tilesFor(ranges, size).map((tile) => ({ ...tile, orgId }));
}

/** Bytes of a tile or entry bundle. Null for what no checkpoint covers yet: nobody could check it. */
export async function readTile(
  db: Queryable,
  orgId: string,
  wanted: TileRequest,
): Promise<Uint8Array | null> {
  const published = await latestCheckpoint(db, orgId);
  const level = wanted.level === 'entries' ? 0 : wanted.level;
  const width = tileWidth(level, wanted.index, published?.size ?? 0);
  if (wanted.width > width) return null;
  if (wanted.level === 'entries') return readBundle(db, orgId, wanted.index, wanted.width);
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

/** Where the bytes of entry `e` are kept. */
export function bodySource(orgId: string): string {
  return orgId === ANCHOR_LOG
    ? 'select a.body, a.leaf_hash from anchor_entry a where a.index = e.index'
    : `select b.body, b.leaf_hash from ledger_body b where b.entry_id = e.entry_id and b.org_id = e.org_id limit 1`;
}

/** Entries, each after its length in 16 bits (C2SP tlog-tiles). Null when retention has dropped one of them. */
async function readBundle(
  db: Queryable,
  orgId: string,
  index: number,
  width: number,
): Promise<Uint8Array | null> {
  const { rows } = await db.query<{ body: Buffer | null }>(
    `select b.body from ledger_entry e left join lateral (${bodySource(orgId)}) b on true
     where e.org_id = $1 and e.index >= $2 and e.index < $3 order by e.index`,
    [orgId, index * 256, index * 256 + width],
  );
  const parts: Buffer[] = [];
  for (const { body } of rows) {
    if (body === null) return null;
    const length = Buffer.alloc(2);
    length.writeUInt16BE(body.length);
    parts.push(length, body);
  }
  return parts.length === width * 2 ? Buffer.concat(parts) : null;
}
