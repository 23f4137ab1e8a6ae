import fc from 'fast-check';
import { expect, it } from 'vitest';
import {
  decodeDirect,
  encodeCount,
  encodeDirect,
  encodeText,
  moreThan,
  Pieces,
} from '#shared/lanes/direct-replies.ts';
import type { Outgoing } from '#shared/lanes/wire-format.ts';
import { runs } from '#test/support/depth.ts';
import { forAll } from '#test/support/for-all.ts';

const outgoing: fc.Arbitrary<Outgoing> = fc
  .record({
    id: fc.string(),
    seq: fc.nat(),
    payload: fc.string({ unit: 'binary' }),
    kind: fc.nat(2),
  })
  .map(({ id, seq, payload, kind }): Outgoing => {
    const head = { id, attempt: 1 };
    if (kind === 0) return { reply: { ...head, seq, kind: 'frames' }, payload };
    if (kind === 1) return { reply: { ...head, kind: 'receipt' }, payload };
    const error = { code: 'worker_lost', message: payload } as const;
    return { reply: { ...head, seq, kind: 'error', error }, payload: '' };
  });

it('batches come apart as they were put together, in all pieces that they may arrive in', () => {
  const batches = fc.array(fc.array(outgoing, { maxLength: 4 }), { maxLength: 4 });
  forAll(
    [batches, fc.array(fc.integer({ min: 1, max: 40 }))],
    { numRuns: runs(2_000) },
    (given, sizes) => {
      const bytes = Buffer.concat(given.map(encodeDirect));
      const pieces = new Pieces();
      const came: Outgoing[][] = [];
      for (let at = 0, i = 0; at < bytes.length; i += 1) {
        const size = sizes[i] ?? 1_000;
        pieces.add(bytes.subarray(at, at + size));
        at += size;
        for (let frame = pieces.takeFrame(1e6); frame !== undefined; frame = pieces.takeFrame(1e6))
          came.push(decodeDirect(frame));
      }
      expect(came).toEqual(given);
    },
  );
});

it('a frame that says it is longer than any is refused before it is waited for', () => {
  const pieces = new Pieces();
  pieces.add(encodeText('x'.repeat(100)).subarray(0, 4));
  expect(() => pieces.takeFrame(99)).toThrow(RangeError);
});

it('batches are counted beyond what four bytes hold', () => {
  const counted = encodeCount(2 ** 32 + 3).readUInt32BE();
  expect(moreThan(2 ** 32 - 2, counted)).toBe(5);
});
