import { expect, it } from 'vitest';
import { keptSince } from '#api/routes/kept.ts';

it('what was read before a caller asked is read anew for them, and once for all who asked before it', async () => {
  let now = 0;
  let reads = 0;
  const size = keptSince(
    async () => (reads += 1),
    () => now,
  );
  now = 10;
  expect(await Promise.all([size(1), size(2), size(9)])).toEqual([1, 1, 1]);
  now = 20;
  expect(await size(9)).toBe(1);
  expect(await size(10)).toBe(2);
  expect(await size(19)).toBe(2);
});

it('a read that fails is made again for who asks next', async () => {
  let isAway = true;
  const size = keptSince(
    async () => {
      if (isAway) throw new Error('away');
      return 1;
    },
    () => 10,
  );
  await expect(size(1)).rejects.toThrow('away');
  isAway = false;
  expect(await size(1)).toBe(1);
});
