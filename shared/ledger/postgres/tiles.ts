import { queryRows, type Row, statement } from '#shared/kernel/postgres/statement.ts';
import type { Queryable } from '#shared/kernel/postgres/transaction.ts';
import type { Hash } from '../hashing.ts';
import {
  type LeafRange,
  rangeHash,
  type Tile,
  TILE_WIDTH,
  type TileBytes,
  tilesFor,
} from '../tiles.ts';

/** A tile, or the part of it that a smaller tree had. */
export interface WantedTile extends Tile {
  orgId: string;
}

/** Looks up what `loadTiles` has read; throws `RangeError` for a tile that was not asked for. */
export type LoadedTiles = (orgId: string) => TileBytes;

/**
 * Reads tiles, full ones as stored, partial ones made from the entries (level 0) or from the roots of
 * the tiles below. A tile that the log does not have comes out short, which hashing it finds out.
 */
export async function loadTiles(
  db: Queryable,
  requested: readonly WantedTile[],
): Promise<LoadedTiles> {
  const wanted = widest(requested);
  const full = wanted.filter((tile) => tile.width === TILE_WIDTH);
  const leaves = wanted.filter((tile) => tile.width < TILE_WIDTH && tile.level === 0);
  const roots = wanted.filter((tile) => tile.width < TILE_WIDTH && tile.level > 0);
  const rows = [
    ...(await readTiles(db, full, FULL)),
    ...(await readTiles(db, leaves, FROM_ENTRIES)),
    ...(await readTiles(db, roots, FROM_TILES)),
  ];
  const found = new Map(rows.map((row) => [`${row.org_id} ${row.level}/${row.index}`, row.hashes]));
  return (orgId) => (level, index) => {
    const hashes = found.get(`${orgId} ${level}/${index}`);
    if (hashes === undefined) throw new RangeError(`tile ${level}/${index} was not loaded`);
    return hashes ?? Buffer.alloc(0);
  };
}

/** Of several widths of one tile the widest: the others are its beginning. */
function widest(tiles: readonly WantedTile[]): WantedTile[] {
  const byName = new Map<string, WantedTile>();
  for (const tile of tiles) {
    const name = `${tile.orgId} ${tile.level}/${tile.index}`;
    if ((byName.get(name)?.width ?? 0) < tile.width) byName.set(name, tile);
  }
  return [...byName.values()];
}

/** Reads the tiles that are given, the hashes of each from `source`. */
const tilesFrom = (source: string) =>
  statement(
    { org_id: 'text', level: 'int2', index: 'int8', hashes: 'bytea?' },
    `select w.org_id, w.level, w.index, (${source}) as hashes
     from unnest($1::text[], $2::smallint[], $3::bigint[], $4::int[]) as w (org_id, level, index, width)`,
  );

const FULL = tilesFrom(
  'select t.hashes from ledger_tile t where t.org_id = w.org_id and t.level = w.level and t.index = w.index',
);

const FROM_ENTRIES = tilesFrom(
  `select string_agg(e.leaf_hash, ''::bytea order by e.index) from ledger_entry e
   where e.org_id = w.org_id and e.index >= w.index * 256 and e.index < w.index * 256 + w.width`,
);

const FROM_TILES = tilesFrom(
  `select string_agg(t.root, ''::bytea order by t.index) from ledger_tile t
   where t.org_id = w.org_id and t.level = w.level - 1
     and t.index >= w.index * 256 and t.index < w.index * 256 + w.width`,
);

async function readTiles(
  db: Queryable,
  wanted: readonly WantedTile[],
  source: typeof FULL,
): Promise<Row<typeof FULL>[]> {
  if (wanted.length === 0) return [];
  return queryRows(db, source, [
    wanted.map((tile) => tile.orgId),
    wanted.map((tile) => tile.level),
    wanted.map((tile) => tile.index),
    wanted.map((tile) => tile.width),
  ]);
}

/** Hashes of these ranges of one log's leaves, as of `size` entries. */
export async function hashesOfRanges(
  db: Queryable,
  orgId: string,
  size: number,
  ranges: readonly LeafRange[],
): Promise<Hash[]> {
  const wanted = tilesFor(ranges, size).map((tile) => ({ ...tile, orgId }));
  const bytes = (await loadTiles(db, wanted))(orgId);
  // Paths of neighbours share most of their hashes; each is computed once.
  const known = new Map<string, Hash>();
  return ranges.map((range) => {
    const name = `${range.start} ${range.end}`;
    const hash = known.get(name) ?? rangeHash(range, bytes);
    known.set(name, hash);
    return hash;
  });
}
