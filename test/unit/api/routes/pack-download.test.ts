import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { byteRange } from '#api/routes/pack-download.ts';
import { forAll } from '#test/support/for-all.ts';

const ETAG = '"abc"';
const read = (header: string | undefined, ifRange?: string) =>
  byteRange(header, 1_000, { ifRange, etag: ETAG });

describe('a Range header of a file of 1,000 bytes', () => {
  it.each<[string, ReturnType<typeof byteRange>]>([
    ['bytes=0-499', { start: 0, end: 499 }],
    ['bytes=500-', { start: 500, end: 999 }],
    ['bytes=999-999', { start: 999, end: 999 }],
    ['bytes=0-5000', { start: 0, end: 999 }],
    ['bytes=-1', { start: 999, end: 999 }],
    ['bytes=-500', { start: 500, end: 999 }],
    ['bytes=-5000', { start: 0, end: 999 }],
    ['Bytes = 0 - 9', { start: 0, end: 9 }],
    ['bytes=1000-', 'unsatisfiable'],
    ['bytes=1000-1001', 'unsatisfiable'],
    ['bytes=-0', 'unsatisfiable'],
    // Ignored, as a server may: several ranges, other units, what cannot be read.
    ['bytes=0-1,3-4', 'whole'],
    ['bytes=0-0,-1', 'whole'],
    ['bytes=5-4', 'whole'],
    ['bytes=-', 'whole'],
    ['bytes=', 'whole'],
    ['bytes=a-b', 'whole'],
    ['bytes=0x1-2', 'whole'],
    ['lines=1-2', 'whole'],
    ['bytes=99999999999999999999-', 'whole'],
    ['', 'whole'],
  ])('%s', (header, expected) => {
    expect(read(header)).toEqual(expected);
  });

  it('is absent', () => {
    expect(read(undefined)).toBe('whole');
  });

  it('counts only for the same file', () => {
    expect(read('bytes=0-9', ETAG)).toEqual({ start: 0, end: 9 });
    expect(read('bytes=0-9', '"other"')).toBe('whole');
    expect(read('bytes=0-9', `W/${ETAG}`)).toBe('whole');
    expect(read('bytes=0-9', 'Fri, 20 Nov 2026 10:00:00 GMT')).toBe('whole');
  });

  it('never leads out of the file, with anything in it', () => {
    const anyHeader = fc.oneof(
      fc.string(),
      fc.tuple(fc.maxSafeNat(), fc.maxSafeNat()).map(([a, b]) => `bytes=${a}-${b}`),
      fc.maxSafeNat().map((n) => `bytes=-${n}`),
      fc.maxSafeNat().map((n) => `bytes=${n}-`),
    );
    forAll([anyHeader, fc.integer({ min: 1, max: 5_000 })], (header, size) => {
      const range = byteRange(header, size, { ifRange: undefined, etag: ETAG });
      if (typeof range === 'string') return;
      expect(range.start).toBeGreaterThanOrEqual(0);
      expect(range.end).toBeLessThan(size);
      expect(range.start).toBeLessThanOrEqual(range.end);
    });
  });
});
