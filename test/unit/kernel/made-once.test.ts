import { setImmediate as turn } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { madeOnce } from '#shared/kernel/made-once.ts';

it('what is made on first use is made once for all who ask, also at the same time', async () => {
  let made = 0;
  const ask = madeOnce(async () => (made += 1));
  expect(await Promise.all([ask(), ask()])).toEqual([1, 1]);
  expect(await ask()).toBe(1);
});

it('a failure to make it is told to those who wait for it, and made good for the next who asks', async () => {
  let tries = 0;
  const ask = madeOnce(async () => {
    tries += 1;
    if (tries === 1) throw new Error('too many open files');
    return tries;
  });
  const outcomes = await Promise.allSettled([ask(), ask()]);
  expect(outcomes.map(({ status }) => status)).toEqual(['rejected', 'rejected']);
  expect(await ask()).toBe(2);
});

it('those who wait for it go on one in a turn of the event loop, in order, and who comes later waits for none', async () => {
  const making = Promise.withResolvers<string>();
  const ask = madeOnce(() => making.promise);
  const gone: number[] = [];
  const all = Array.from({ length: 20 }, async (_, at) => {
    await ask();
    gone.push(at);
  });
  making.resolve('made');
  for (let before = 0; gone.length < 20; before = gone.length) {
    await turn();
    expect(gone.length - before).toBeLessThanOrEqual(1);
  }
  expect(gone).toEqual(Array.from({ length: 20 }, (_, at) => at));
  await Promise.all(all);
  let isGiven = false;
  void ask().then(() => (isGiven = true));
  await Promise.resolve().then(() => Promise.resolve());
  await new Promise<void>((resolve) => process.nextTick(resolve));
  expect(isGiven).toBe(true);
});
