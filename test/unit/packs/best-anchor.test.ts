import { expect, it } from 'vitest';
import { type AnchorCandidate, bestAnchor, isWhole, lacking } from '#shared/packs/attestation.ts';

const asked = { timestamp: true, witnesses: ['a', 'b'] };
const candidate = (size: number, more: Partial<AnchorCandidate> = {}): AnchorCandidate => {
  return { size, covers: true, timestamps: 0, witnesses: [], ...more };
};
const best = (pinned: number | null, ...candidates: AnchorCandidate[]) =>
  bestAnchor(candidates, { asked, pinned })?.size;

it('a pack leads to an anchor over its range before one that is attested, to one with most of what is asked, to the pinned of equal ones, and else to the newest', () => {
  const stamped = candidate(5, { timestamps: 1, witnesses: ['a'] });
  const cosigned = candidate(6, { witnesses: ['a', 'b', 'c'] });
  expect(best(null, candidate(7), stamped, cosigned)).toBe(6);
  expect(best(null, stamped, candidate(4, { timestamps: 1, witnesses: ['a', 'b'] }))).toBe(4);
  expect(best(null, candidate(9), { ...cosigned, covers: false })).toBe(9);
  expect(best(8, candidate(8), candidate(9))).toBe(8);
  expect(best(null, candidate(8), candidate(9))).toBe(9);
  // A pin that does not cover the range, or was made before anything was anchored, gives way.
  expect(best(3, candidate(3, { covers: false }), candidate(9))).toBe(9);
  expect(best(0, candidate(0, { covers: false }), candidate(9))).toBe(9);
});

it('an anchor is whole when it covers the range and lacks nothing, and further signatures do not matter', () => {
  expect(lacking(asked, candidate(1, { witnesses: ['b', 'x'] }))).toEqual([
    'a timestamp',
    'a cosignature of a',
  ]);
  const whole = candidate(1, { timestamps: 2, witnesses: ['b', 'a', 'x'] });
  expect([isWhole(asked, whole), isWhole(asked, { ...whole, covers: false })]).toEqual([
    true,
    false,
  ]);
});
