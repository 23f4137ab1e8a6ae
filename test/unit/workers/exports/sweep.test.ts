import { expect, it } from 'vitest';
import { sweepExports } from '#workers/exports/sweep.ts';

/** A sweep of packs whose time is over, in a store that does not give up some of them. */
function sweep(ids: readonly string[], isKept: (id: string) => boolean) {
  const tried: string[] = [];
  const removed: string[] = [];
  const swept = sweepExports({
    jobs: {
      anyToSweep: async () => true,
      due: async () => [],
      removable: async () => [...ids],
      removed: async (gone) => void removed.push(...gone),
    },
    store: {
      delete: async (id) => {
        tried.push(id);
        if (isKept(id)) throw new Error('locked');
      },
    },
    start: async () => {},
    waiting: async () => 0,
  });
  return { swept, tried, removed };
}

it('a pack that its store does not give up keeps no other from being removed, and is told', async () => {
  const { swept, removed } = sweep(['a', 'b', 'c'], (id) => id === 'a');
  await expect(swept).rejects.toThrow('locked');
  expect(removed).toEqual(['b', 'c']);
});

it('a store that gives up no pack is asked for five of them in a sweep', async () => {
  const ids = Array.from({ length: 50 }, (_, i) => String(i));
  const { swept, tried, removed } = sweep(ids, () => true);
  await expect(swept).rejects.toThrow('locked');
  expect([tried.length, removed]).toEqual([5, []]);
});
