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
