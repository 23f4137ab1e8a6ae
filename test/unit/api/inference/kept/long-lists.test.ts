import { expect, it } from 'vitest';
import { LongLists } from '#api/inference/kept/long-lists.ts';

it('long lists of any four organisations keep none of a fifth from being made: it waits, holding nothing, and is next [responses.read]', async () => {
  const lists = new LongLists();
  const made: string[] = [];
  const make = (orgId: string) => {
    const { promise, resolve } = Promise.withResolvers<void>();
    const list = lists.make(orgId, async () => {
      made.push(orgId);
      await promise;
    });
    return { list, end: resolve };
  };
  const four = ['a', 'b', 'c', 'd'].map(make);
  const fifth = make('e');
  await expect(make('a').list).rejects.toMatchObject({ code: 'dispatch_unavailable' });
  await expect(make('e').list).rejects.toMatchObject({ code: 'dispatch_unavailable' });
  expect(made).toEqual(['a', 'b', 'c', 'd']);
  four[0]!.end();
  await four[0]!.list;
  // Back at once, and behind the one that has waited.
  const again = make('a');
  four[1]!.end();
  await four[1]!.list;
  for (const { end } of [...four, fifth, again]) end();
  await Promise.all([...four, fifth, again].map(({ list }) => list));
  expect(made).toEqual(['a', 'b', 'c', 'd', 'e', 'a']);
});
