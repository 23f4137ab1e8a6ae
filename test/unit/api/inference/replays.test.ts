import { setImmediate as turn } from 'node:timers/promises';
import { expect, it, vi } from 'vitest';
import type { KeptAnswer } from '#api/inference/idempotency.ts';
import { Replays } from '#api/inference/replays.ts';

const KEPT: KeptAnswer = { answer: { frames: '', last: '{}' }, receipt: '{}' };

/** Replays whose stored answers are all large but those of claims named `small`; who is being read, and who has been. */
function open() {
  const inside: string[] = [];
  const ends: (() => void)[] = [];
  const replays = new Replays(async (claim, whenLarge) => {
    if (claim === 'small') return KEPT;
    await whenLarge();
    inside.push(claim);
    await new Promise<void>((resolve) => ends.push(resolve));
    return KEPT;
  });
  return { replays, inside, endNext: () => ends.shift()!() };
}

it('of the large stored answers of an organisation one is in memory at a time, and others have theirs meanwhile [limits.answers]', async () => {
  const { replays, inside, endNext } = open();
  const first = replays.read('a1', 'a');
  const second = replays.read('a2', 'a');
  const other = replays.read('b1', 'b');
  await turn();
  expect(inside).toEqual(['a1', 'b1']);
  expect(await replays.read('small', 'a')).toBe(KEPT);
  endNext();
  await turn();
  expect(inside).toEqual(['a1', 'b1', 'a2']);
  endNext();
  endNext();
  expect(await Promise.all([first, second, other])).toEqual([KEPT, KEPT, KEPT]);
});

it('a large stored answer whose turn does not come in time is refused, and never read', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  try {
    const { replays, inside, endNext } = open();
    const refused = [replays.read('a1', 'a'), replays.read('a2', 'a')].map((reading) =>
      expect(reading).rejects.toMatchObject({ code: 'dispatch_unavailable', retryAfterMs: 5_000 }),
    );
    await vi.advanceTimersByTimeAsync(5_000);
    await Promise.all(refused);
    // The first is still in memory, so that the next of this organisation waits for it.
    const third = replays.read('a3', 'a');
    await turn();
    expect(inside).toEqual(['a1']);
    endNext();
    await turn();
    expect(inside).toEqual(['a1', 'a3']);
    endNext();
    expect(await third).toBe(KEPT);
  } finally {
    vi.useRealTimers();
  }
});
