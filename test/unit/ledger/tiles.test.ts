import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { formatTilePath, parseTilePath, partialTiles, tileWidth } from '#shared/ledger/tiles.ts';
import { forAll } from '#test/support/for-all.ts';

describe('tile paths', () => {
  it.each([
    ['0/000', { level: 0, index: 0, width: 256 }],
    ['0/x001/x234/067', { level: 0, index: 1_234_067, width: 256 }],
    ['1/017.p/3', { level: 1, index: 17, width: 3 }],
    ['63/000.p/255', { level: 63, index: 0, width: 255 }],
    ['entries/x001/000.p/1', { level: 'entries' as const, index: 1_000, width: 1 }],
  ])('the tile path %s is read and written', (path, tile) => {
    expect(parseTilePath(path)).toEqual(tile);
    expect(formatTilePath(tile)).toBe(path);
  });

  it.each([
    '',
    '0',
    '0/',
    '0/0',
    '0/00',
    '0/0000',
    '00/000',
    '64/000',
    '-1/000',
    '0/x000/000',
    '0/x000/001',
    '0/001/002',
    '0/x001',
    '0/000.p/0',
    '0/000.p/00',
    '0/000.p/01',
    '0/000.p/256',
    '0/000.p/999',
    '0/000.p/',
    '0/000.p',
    '0/000/',
    '/0/000',
    '0/000\n',
    'entry/000',
    'entries/../000',
    '0/x999/x999/x999/x999/x999/999',
    '0/٠٠٠',
  ])('the tile path %j is refused', (path) => {
    expect(parseTilePath(path)).toBeNull();
  });

  it('a tile path names each tile in exactly one way; reading one never throws', () => {
    forAll(
      [fc.nat(63), fc.maxSafeInteger(), fc.integer({ min: 1, max: 256 })],
      (level, n, width) => {
        const tile = { level, index: Math.abs(n), width };
        expect(parseTilePath(formatTilePath(tile))).toEqual(tile);
      },
    );
    forAll([fc.oneof(fc.string(), fc.stringMatching(/^[0-9x/.p]{0,24}$/))], (path) => {
      const tile = parseTilePath(path);
      if (tile !== null) expect(formatTilePath(tile)).toBe(path);
    });
  });
});

describe('tile widths', () => {
  it('tiles have the widths of the example in C2SP tlog-tiles', () => {
    expect(partialTiles(70_000)).toEqual([
      { level: 0, index: 273, width: 112 },
      { level: 1, index: 1, width: 17 },
      { level: 2, index: 0, width: 1 },
    ]);
    expect(partialTiles(256)).toEqual([{ level: 1, index: 0, width: 1 }]);
    expect(partialTiles(0)).toEqual([]);
    expect(tileWidth(0, 272, 70_000)).toBe(256);
    expect(tileWidth(0, 273, 70_000)).toBe(112);
    expect(tileWidth(0, 274, 70_000)).toBe(0);
    expect(tileWidth(1, 0, 70_000)).toBe(256);
    expect(tileWidth(3, 0, 70_000)).toBe(0);
  });
});
