import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type Cbor, decodeCbor, encodeCbor } from '#shared/kernel/cbor.ts';
import { runs } from '#test/support/depth.ts';
import { forAll } from '#test/support/for-all.ts';

const bytes = (hex: string): Uint8Array => Uint8Array.from(Buffer.from(hex, 'hex'));
const hexOf = (item: Cbor): string => Buffer.from(encodeCbor(item)).toString('hex');

/** RFC 8949, appendix A: the rows of the kinds that are written here. */
const PUBLISHED: readonly [string, Cbor][] = [
  ['00', 0],
  ['01', 1],
  ['0a', 10],
  ['17', 23],
  ['1818', 24],
  ['1819', 25],
  ['1864', 100],
  ['1903e8', 1_000],
  ['1a000f4240', 1_000_000],
  ['1b000000e8d4a51000', 1_000_000_000_000],
  ['20', -1],
  ['29', -10],
  ['3863', -100],
  ['3903e7', -1_000],
  ['f6', null],
  ['40', new Uint8Array(0)],
  ['4401020304', bytes('01020304')],
  ['60', ''],
  ['6161', 'a'],
  ['6449455446', 'IETF'],
  ['62225c', '"\\'],
  ['62c3bc', 'ü'],
  ['63e6b0b4', '水'],
  ['64f0908591', '𐅑'],
  ['80', []],
  ['83010203', [1, 2, 3]],
  ['8301820203820405', [1, [2, 3], [4, 5]]],
  [
    '98190102030405060708090a0b0c0d0e0f101112131415161718181819',
    Array.from({ length: 25 }, (_, i) => i + 1),
  ],
  ['a0', new Map()],
  [
    'a201020304',
    new Map([
      [1, 2],
      [3, 4],
    ]),
  ],
  ['c11a514b67b0', { tag: 1, value: 1_363_896_240 }],
  ['d74401020304', { tag: 23, value: bytes('01020304') }],
  ['d818456449455446', { tag: 24, value: bytes('6449455446') }],
];

const { item: anyItem } = fc.letrec<{ item: Cbor }>((tie) => ({
  item: fc.oneof(
    { maxDepth: 5, depthIdentifier: 'cbor' },
    fc.maxSafeInteger(),
    fc.integer({ min: -300, max: 300 }),
    fc.string({ unit: 'grapheme', maxLength: 40 }),
    fc.uint8Array({ maxLength: 300 }),
    fc.constant(null),
    fc.array(tie('item'), { maxLength: 5, depthIdentifier: 'cbor' }),
    fc
      .array(fc.tuple(fc.maxSafeInteger(), tie('item')), { maxLength: 5, depthIdentifier: 'cbor' })
      .map((entries) => new Map(entries)),
    fc.record({ tag: fc.maxSafeNat(), value: tie('item') }),
  ),
}));

describe('CBOR', () => {
  it.each(PUBLISHED)('the published item %s is read and written as it stands', (hex, item) => {
    expect(hexOf(item)).toBe(hex);
    expect(decodeCbor(bytes(hex))).toEqual(item);
  });

  it('labels of a map are written in the order of their bytes, in any order that they came in', () => {
    const map = new Map([
      [-1, 5],
      [395, 4],
      [1, 1],
      [24, 3],
      [15, 2],
    ]);
    expect(hexOf(map)).toBe('a501010f0218180319018b042005');
  });

  it('every item is read back as what was written', () => {
    forAll([anyItem], { numRuns: runs(2_000) }, (item) => {
      expect(decodeCbor(encodeCbor(item))).toEqual(item);
    });
  });

  it('what is read has one form: bytes that are taken are the bytes that would be written', () => {
    const anyBytes = fc.oneof(
      fc.uint8Array({ maxLength: 40 }),
      fc
        .tuple(anyItem, fc.nat(), fc.nat(255))
        .map(([item, at, byte]) => encodeCbor(item).with(at % encodeCbor(item).length, byte)),
    );
    const read = (source: Uint8Array): Cbor | Error => {
      try {
        return decodeCbor(source);
      } catch (error) {
        return error as Error;
      }
    };
    forAll([anyBytes], { numRuns: runs(5_000) }, (source) => {
      const item = read(source);
      if (item instanceof Error) expect(item.name).toBe('MalformedCbor');
      else expect(encodeCbor(item)).toEqual(source);
    });
  });

  it.each([
    ['nothing', ''],
    ['bytes behind it', '0000'],
    ['a number with a byte too many', '1817'],
    ['a length with bytes too many', '590001aa'],
    ['a number beyond what is exact', '1b0020000000000000'],
    ['a list of indefinite length', '9f01ff'],
    ['bytes of indefinite length', '5f41aaff'],
    ['a map out of order', 'a203000100'],
    ['a label that stands twice', 'a201000100'],
    ['a label that is a text', 'a1616100'],
    ['a fraction', 'f93c00'],
    ['a truth', 'f5'],
    ['null in two bytes', 'f816'],
    ['a reserved head', '1c'],
    ['a text that is not UTF-8', '61ff'],
    ['a list that promises more than there is', '9b001fffffffffffff00'],
    ['bytes that promise more than there are', '5b001fffffffffffff00'],
    ['nine lists in one another', `${'81'.repeat(9)}00`],
  ])('%s is refused', (_what, hex) => {
    expect(() => decodeCbor(bytes(hex))).toThrow(
      expect.objectContaining({ name: 'MalformedCbor' }),
    );
  });

  it('a number that is not exact, and half a character, are not written', () => {
    for (const item of [0.5, 2 ** 53, -(2 ** 53), Number.NaN, '\ud800']) {
      expect(() => encodeCbor(item)).toThrow(RangeError);
    }
  });
});
