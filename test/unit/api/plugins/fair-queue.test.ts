import { setImmediate as turn } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { FairQueue } from '#api/plugins/fair-queue.ts';

/** Who is inside, in the order of entry. */
function enterAll(queue: FairQueue, ...orgs: string[]): string[] {
  const inside: string[] = [];
  for (const org of orgs) void queue.enter(org).then(() => inside.push(org));
  return inside;
}

it('an organisation with many large requests has one of them read at a time, and holds up no other', async () => {
  const queue = new FairQueue(3);
  const inside = enterAll(queue, 'many', 'many', 'many', 'one');
  await turn();
  expect(inside).toEqual(['many', 'one']);
  queue.leave('many');
  await turn();
  expect(inside).toEqual(['many', 'one', 'many']);
});

it('an organisation may have several in at once, and what it has beyond them waits while others enter', async () => {
  const queue = new FairQueue(4, 2);
  const inside = enterAll(queue, 'many', 'many', 'many', 'one', 'one', 'two');
  await turn();
  expect(inside).toEqual(['many', 'many', 'one', 'one']);
  queue.leave('one');
  await turn();
  expect(inside).toEqual(['many', 'many', 'one', 'one', 'two']);
  queue.leave('many');
  await turn();
  expect(inside.at(-1)).toBe('many');
});

it('as many large requests are read at once as there are readers, and the next when one of them has been', async () => {
  const queue = new FairQueue(3);
  const inside = enterAll(queue, 'a', 'b', 'c', 'd', 'a');
  await turn();
  expect(inside).toEqual(['a', 'b', 'c']);
  queue.leave('b');
  await turn();
  expect(inside).toEqual(['a', 'b', 'c', 'd']);
  queue.leave('a');
  queue.leave('c');
  queue.leave('d');
  await turn();
  expect(inside).toEqual(['a', 'b', 'c', 'd', 'a']);
});

it('of those that wait the organisation enters that was in longest ago, however many others have', async () => {
  const queue = new FairQueue(2);
  const inside = enterAll(queue, 'a', 'b', 'a', 'a', 'b', 'b', 'c', 'd', 'c');
  await turn();
  expect(inside).toEqual(['a', 'b']);
  for (const [leaves, enters] of [
    ['a', 'c'],
    ['b', 'd'],
    ['c', 'a'],
    ['d', 'b'],
    ['a', 'c'],
    ['b', 'a'],
  ] as const) {
    queue.leave(leaves);
    await turn();
    expect(inside.at(-1)).toBe(enters);
  }
});
