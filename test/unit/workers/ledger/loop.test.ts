import { expect, it, vi } from 'vitest';
import type { LedgerEvents } from '#workers/ledger/events.ts';
import { runLedger } from '#workers/ledger/loop.ts';

const ROUND_MS = 250;

/**
 * Runs rounds of a quarter of a second by a clock of their own; `claimed` promises wait in each. Returns in which rounds
 * each step was done.
 */
async function rounds(claimed: readonly number[], isBehind: () => boolean = () => false) {
  const ending = new AbortController();
  const done = { publish: [] as number[], sumUp: [] as number[] };
  let round = -1;
  const never = () => new Promise<never>(() => {});
  const running = runLedger(
    {
      // A full batch is followed by the next at once: the rounds take no time.
      batchMax: 0,
      onOwed: () => {},
      now: () => round * ROUND_MS,
      events: { integrated() {}, published() {}, backlogRead() {} } as unknown as LedgerEvents,
      steps: {
        integrate: () => {
          round += 1;
          if (round === claimed.length - 1) ending.abort();
          return Promise.resolve({
            claimed: claimed[round]!,
            integrated: claimed[round]!,
            quarantined: [],
            halted: [],
          });
        },
        publish: () => {
          done.publish.push(round);
          return Promise.resolve({ signed: [], halted: [] });
        },
        sumUp: () => {
          done.sumUp.push(round);
          return Promise.resolve(isBehind());
        },
        backlog: () => Promise.resolve({} as never),
        anchor: never,
        publishAnchor: never,
        publishAudit: never,
        attest: undefined,
      },
    },
    ending.signal,
  );
  await Promise.race([
    running,
    new Promise((resolve) => ending.signal.addEventListener('abort', resolve)),
  ]);
  return done;
}

it('a ledger worker with nothing to do looks once a second which logs others let grow, and every ten for sums to make anew', async () => {
  const done = await rounds(Array.from({ length: 80 }, () => 0));
  expect(done.publish).toEqual(Array.from({ length: 20 }, (_, i) => i * 4));
  expect(done.sumUp).toEqual([0, 40]);
});

it('what it has integrated is signed as soon as a checkpoint is due', async () => {
  const done = await rounds([0, 0, 1, ...Array.from({ length: 13 }, () => 0)]);
  expect(done.publish).toEqual([0, 2, 3, 4, 5, 6, 7, 8, 9, 13]);
});

it('sums that are made anew go on without a pause', async () => {
  let portions = 4;
  const done = await rounds(
    Array.from({ length: 20 }, () => 0),
    () => (portions -= 1) > 0,
  );
  expect(done.sumUp).toEqual([0, 1, 2, 3]);
});

it('a ledger worker that finds nothing for five seconds looks every two, and at once when it is told of receipts', async () => {
  vi.useFakeTimers({ toFake: ['performance', 'setTimeout', 'clearTimeout'] });
  const ending = new AbortController();
  const looks: number[] = [];
  let ring = (): void => {};
  const never = () => new Promise<never>(() => {});
  const running = runLedger(
    {
      batchMax: 100,
      onOwed: (given) => (ring = given),
      now: () => performance.now(),
      events: { integrated() {}, published() {}, backlogRead() {} } as unknown as LedgerEvents,
      steps: {
        integrate: () => {
          looks.push(performance.now());
          return Promise.resolve({ claimed: 0, integrated: 0, quarantined: [], halted: [] });
        },
        publish: () => Promise.resolve({ signed: [], halted: [] }),
        sumUp: () => Promise.resolve(false),
        backlog: () => Promise.resolve({} as never),
        anchor: never,
        publishAnchor: never,
        publishAudit: never,
        attest: undefined,
      },
    },
    ending.signal,
  );
  const looksIn = async (ms: number): Promise<number> => {
    looks.length = 0;
    await vi.advanceTimersByTimeAsync(ms);
    return looks.length;
  };
  try {
    expect(await looksIn(5_000)).toBeGreaterThanOrEqual(20);
    expect(await looksIn(20_000)).toBe(10);
    await looksIn(900);
    ring();
    expect(await looksIn(0)).toBe(1);
    expect(await looksIn(4_999)).toBe(19);
    expect(await looksIn(20_000)).toBeLessThanOrEqual(11);
  } finally {
    ending.abort();
    vi.useRealTimers();
    void running;
  }
});
