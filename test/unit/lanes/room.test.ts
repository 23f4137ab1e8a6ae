import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { roomOf } from '#shared/lanes/room.ts';
import { forAll } from '#test/support/for-all.ts';

describe('the room of a region', () => {
  it('a region without a worker has none [limits.regions]', () => {
    expect(roomOf(undefined, 2_000)).toEqual({ region: 0, org: 0 });
  });

  it('what waits beyond the slots is served within ten seconds at the pace of the last ones, once there is one [limits.regions]', () => {
    expect(roomOf({ slots: 1_000, perSecond: 0 }, 20_000).region).toBe(2_000);
    expect(roomOf({ slots: 1_000, perSecond: 400 }, 20_000).region).toBe(6_000);
    expect(roomOf({ slots: 1_000, perSecond: 400 }, 3_000).region).toBe(3_000);
  });

  it('an organisation with requests that take long leaves a quarter of the slots to others, unless the region is its own [limits.regions]', () => {
    expect(roomOf({ slots: 1_000, perSecond: 2 }, 20_000).org).toBe(754);
    expect(roomOf({ slots: 1_000, perSecond: 2 }, 20_000, true).org).toBe(2_020);
  });

  it('every region that is served takes a request of every organisation', () => {
    const perSecond = fc.double({ min: 0, max: 1e5, noNaN: true });
    forAll(
      [fc.integer({ min: 1, max: 1e4 }), perSecond, fc.integer({ min: 1, max: 1e5 })],
      (slots, pace, capacity) => {
        const { region, org } = roomOf({ slots, perSecond: pace }, capacity);
        expect(org).toBeGreaterThanOrEqual(1);
        expect(org).toBeLessThanOrEqual(region);
        expect(region).toBeLessThanOrEqual(capacity);
      },
    );
  });
});
