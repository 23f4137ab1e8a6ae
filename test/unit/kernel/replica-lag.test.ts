import { describe, expect, it } from 'vitest';
import { placeOf, ReplicaLag } from '#shared/kernel/replica-lag.ts';

const PAGE = 8_192n;

describe('how far a replica is behind', () => {
  it('is the age of the last moment of which it holds everything', () => {
    const lag = new ReplicaLag();
    lag.noted(1_000, 100n);
    lag.noted(1_500, 200n);
    lag.noted(2_000, 300n);
    lag.replayed(250n);
    expect(lag.behindMs(2_100)).toBe(600);
    lag.replayed(300n);
    expect(lag.behindMs(2_100)).toBe(100);
  });

  it('does not grow while the primary has nothing to do, and does while the replica gets nothing', () => {
    const lag = new ReplicaLag();
    for (let at = 0; at <= 10_000; at += 500) {
      lag.noted(at, 100n);
      lag.replayed(100n);
    }
    expect(lag.behindMs(10_000)).toBe(0);
    for (let at = 10_500; at <= 200_000; at += 500) {
      lag.noted(at, 100n + BigInt(at));
      lag.replayed(100n);
    }
    expect(lag.behindMs(200_000)).toBe(190_000);
  });

  it('is not known before both were asked, and after it was forgotten', () => {
    const lag = new ReplicaLag();
    expect(lag.behindMs(0)).toBeUndefined();
    lag.noted(0, 100n);
    lag.replayed(99n);
    expect(lag.behindMs(0)).toBeUndefined();
    lag.replayed(100n);
    lag.forget();
    expect(lag.behindMs(0)).toBeUndefined();
  });

  it('is nothing where the primary stands behind the head of a page that has no record yet', () => {
    const lag = new ReplicaLag();
    lag.noted(0, 7n * PAGE + 24n);
    lag.replayed(7n * PAGE);
    expect(lag.behindMs(0)).toBe(0);
  });
});

it('places are read as PostgreSQL writes them, and nothing else is', () => {
  expect(placeOf('16/B374D848')).toBe(0x16b374d848n);
  expect(['', '16', '1/G', null].map(placeOf)).toEqual(Array(4).fill(undefined));
});
