import { HASH_BYTES, nodeHash, rootOfHashes, splitHashes, type Hash } from './hashing.ts';

/** C2SP tlog-tiles: a tile spans eight levels of the tree, so it is 256 hashes wide. */
export const TILE_HEIGHT = 8;
export const TILE_WIDTH = 2 ** TILE_HEIGHT;

/** C2SP tlog-tiles allows levels 0 to 63; sizes below 2^53 reach level 6. */
const LEVEL_MAX = 63;

/** The first `width` hashes of tile `index` at `level`; full when `width` is 256. */
export interface Tile {
  level: number;
  index: number;
  width: number;
}

/** A perfect subtree: 2^`height` leaves, from leaf `index` * 2^`height` on. */
export interface PerfectNode {
  height: number;
  index: number;
}

/** The leaves `start` (included) to `end` (excluded). */
export interface LeafRange {
  start: number;
  end: number;
}

/** What a path below `tile/` names: hashes of a level, or the entries themselves. */
export type TileRequest = Tile | { level: 'entries'; index: number; width: number };

/** How many hashes there are at tile `level` in a tree of `size` leaves, over all its tiles. */
function hashesAtLevel(level: number, size: number): number {
  return Math.floor(size / TILE_WIDTH ** level);
}

/** The width that tile `index` of `level` has in a tree of `size` leaves: 0 when it has no hash yet. */
export function tileWidth(level: number, index: number, size: number): number {
  return Math.max(0, Math.min(TILE_WIDTH, hashesAtLevel(level, size) - index * TILE_WIDTH));
}

/** The partial tiles of a tree, lowest level first; with the full tiles they hold the whole tree. */
export function partialTiles(size: number): Tile[] {
  const tiles: Tile[] = [];
  for (let level = 0; hashesAtLevel(level, size) > 0; level += 1) {
    const count = hashesAtLevel(level, size);
    const width = count % TILE_WIDTH;
    if (width > 0) tiles.push({ level, index: Math.floor(count / TILE_WIDTH), width });
  }
  return tiles;
}

/** Cuts a range into perfect subtrees, left to right. The range must start at a multiple of a power of two not below its length. */
export function perfectNodes(range: LeafRange): PerfectNode[] {
  const nodes: PerfectNode[] = [];
  let start = range.start;
  while (start < range.end) {
    let height = 0;
    while (start % 2 ** (height + 1) === 0 && start + 2 ** (height + 1) <= range.end) height += 1;
    nodes.push({ height, index: start / 2 ** height });
    start += 2 ** height;
  }
  return nodes;
}

/** Where a perfect subtree lies in the tiles: `count` hashes of one tile, from position `offset` on. */
export function locate(node: PerfectNode): {
  level: number;
  index: number;
  offset: number;
  count: number;
} {
  const level = Math.floor(node.height / TILE_HEIGHT);
  const count = 2 ** (node.height % TILE_HEIGHT);
  const first = node.index * count;
  return { level, index: Math.floor(first / TILE_WIDTH), offset: first % TILE_WIDTH, count };
}

/** The tiles needed to hash these ranges in a tree of `size` leaves, each once, as wide as that tree has them. */
export function tilesFor(ranges: readonly LeafRange[], size: number): Tile[] {
  const tiles = new Map<string, Tile>();
  for (const node of ranges.flatMap(perfectNodes)) {
    const { level, index } = locate(node);
    tiles.set(`${level}/${index}`, { level, index, width: tileWidth(level, index, size) });
  }
  return [...tiles.values()];
}

/** Concatenated hashes of a tile, at least as many as are needed. */
export type TileBytes = (level: number, index: number) => Uint8Array;

/** Hash of a range of leaves, from tiles (RFC 6962, 2.1). Throws `RangeError` when a tile is too short. */
export function rangeHash(range: LeafRange, tile: TileBytes): Hash {
  let root: Hash | undefined;
  for (const node of perfectNodes(range).toReversed()) {
    const { level, index, offset, count } = locate(node);
    const bytes = tile(level, index).subarray(offset * HASH_BYTES, (offset + count) * HASH_BYTES);
    if (bytes.length !== count * HASH_BYTES) {
      throw new RangeError(`tile ${level}/${index} holds fewer hashes than the tree needs`);
    }
    const left = rootOfHashes(splitHashes(bytes));
    root = root === undefined ? left : nodeHash(left, root);
  }
  if (root === undefined) throw new RangeError('an empty range has no hash');
  return root;
}

/** The path below `tile/`, as C2SP tlog-tiles writes it: `0/x001/067`, `1/000.p/3`, `entries/000`. */
export function formatTilePath(tile: TileRequest): string {
  const digits = String(tile.index);
  const padded = digits.padStart(Math.ceil(digits.length / 3) * 3, '0');
  const parts = padded.match(/.{3}/g) ?? [];
  const path = parts.map((part, i) => (i < parts.length - 1 ? `x${part}` : part)).join('/');
  return `${tile.level}/${path}${tile.width === TILE_WIDTH ? '' : `.p/${tile.width}`}`;
}

const TILE_PATH =
  /^(entries|[0-9]{1,2})\/((?:x[0-9]{3}\/){0,5}[0-9]{3})(?:\.p\/([1-9][0-9]{0,2}))?$/;

/** Reads a path below `tile/`, from anyone. Null unless it is exactly what `formatTilePath` writes. */
export function parseTilePath(path: string): TileRequest | null {
  const match = TILE_PATH.exec(path);
  if (match === null) return null;
  const [, levelText = '', indexText = '', widthText] = match;
  const index = Number(indexText.replaceAll(/[x/]/g, ''));
  const width = widthText === undefined ? TILE_WIDTH : Number(widthText);
  if (!Number.isSafeInteger(index) || width > TILE_WIDTH) return null;
  if (levelText !== 'entries' && Number(levelText) > LEVEL_MAX) return null;
  const tile: TileRequest = {
    level: levelText === 'entries' ? levelText : Number(levelText),
    index,
    width,
  };
  // Leading zeroes, an empty `x000/` and `.p/256` all read, but are not the one name that the tile has.
  return formatTilePath(tile) === path ? tile : null;
}
