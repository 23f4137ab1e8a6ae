import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { Alarm } from '#workers/ledger/alarm.ts';

beforeEach(() => void vi.useFakeTimers({ toFake: ['performance', 'setTimeout', 'clearTimeout'] }));
afterEach(() => void vi.useRealTimers());

const AWAKE_MS = 5_000;

function sleeper() {
  const ending = new AbortController();
  const alarm = new Alarm({
    now: () => performance.now(),
    awakeMs: AWAKE_MS,
    signal: ending.signal,
  });
  vi.advanceTimersByTime(AWAKE_MS);
  expect(alarm.isAwake).toBe(false);
  /** Whether the pause is over once everything that is due has happened. */
  const isOver = async (pause: Promise<void>): Promise<boolean> => {
    let over = false;
    void pause.then(() => (over = true));
    for (let i = 0; i < 5; i += 1) await Promise.resolve();
    return over;
  };
  return { alarm, ending, isOver };
}

it('a sleeper that is rung wakes at once, and stays awake for its time', async () => {
  const { alarm, isOver } = sleeper();
  const pause = alarm.pause(60_000);
  expect(await isOver(pause)).toBe(false);
  alarm.ring();
  expect(await isOver(pause)).toBe(true);
  vi.advanceTimersByTime(AWAKE_MS - 1);
  expect(alarm.isAwake).toBe(true);
  vi.advanceTimersByTime(1);
  expect(alarm.isAwake).toBe(false);
});

it('a sleeper that is rung before it lies down does not sleep', async () => {
  const { alarm, isOver } = sleeper();
  alarm.ring();
  expect(await isOver(alarm.pause(60_000))).toBe(true);
  expect(await isOver(alarm.pause(60_000))).toBe(false);
});

it('who is awake is not disturbed, and stays awake for longer', async () => {
  const { alarm, isOver } = sleeper();
  alarm.ring();
  await alarm.pause(0);
  const pause = alarm.pause(250);
  vi.advanceTimersByTime(200);
  alarm.ring();
  expect(await isOver(pause)).toBe(false);
  vi.advanceTimersByTime(AWAKE_MS - 1);
  expect(await isOver(pause)).toBe(true);
  expect(alarm.isAwake).toBe(true);
});

it('no pause holds up the end', async () => {
  const { alarm, ending, isOver } = sleeper();
  const pause = alarm.pause(60_000);
  ending.abort();
  expect(await isOver(pause)).toBe(true);
  expect(await isOver(alarm.pause(60_000))).toBe(true);
});
