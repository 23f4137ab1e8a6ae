import { expect, it } from 'vitest';
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
          return Promise.resolve({ published: 0 } as never);
        },
        sumUp: () => {
          done.sumUp.push(round);
          return Promise.resolve(isBehind());
        },
        backlog: () => Promise.resolve({} as never),
        anchor: never,
        publishAnchor: never,
        publishAudit: never,
        attest: never,
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

it('a ledger worker with nothing to do looks once a second which logs others let grow, and every ten for older usage', async () => {
  const done = await rounds(Array.from({ length: 80 }, () => 0));
  expect(done.publish).toEqual(Array.from({ length: 20 }, (_, i) => i * 4));
  expect(done.sumUp).toEqual([0, 40]);
});

it('what it has integrated is signed as soon as a checkpoint is due', async () => {
  const done = await rounds([0, 0, 1, ...Array.from({ length: 13 }, () => 0)]);
  expect(done.publish).toEqual([0, 2, 3, 4, 5, 6, 7, 8, 9, 13]);
});

it('usage that an older release did not sum up is made up for at once', async () => {
  let portions = 4;
  const done = await rounds(
    Array.from({ length: 20 }, () => 0),
    () => (portions -= 1) > 0,
  );
  expect(done.sumUp).toEqual([0, 1, 2, 3]);
});
