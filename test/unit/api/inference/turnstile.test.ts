import { setImmediate as turn } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { Turnstile } from '#api/inference/turnstile.ts';

/** Who is inside, in the order of entry. */
function enterAll(turnstile: Turnstile, ...orgs: string[]): string[] {
  const inside: string[] = [];
  for (const org of orgs) void turnstile.enter(org).then(() => inside.push(org));
  return inside;
}

it('an organisation with many large requests has one of them read at a time, and holds up no other', async () => {
  const turnstile = new Turnstile(3);
  const inside = enterAll(turnstile, 'many', 'many', 'many', 'one');
  await turn();
  expect(inside).toEqual(['many', 'one']);
  turnstile.leave('many');
  await turn();
  expect(inside).toEqual(['many', 'one', 'many']);
});

it('an organisation may have several in at once, and what it has beyond them waits while others enter', async () => {
  const turnstile = new Turnstile(4, 2);
  const inside = enterAll(turnstile, 'many', 'many', 'many', 'one', 'one', 'two');
  await turn();
  expect(inside).toEqual(['many', 'many', 'one', 'one']);
  turnstile.leave('one');
  await turn();
  expect(inside).toEqual(['many', 'many', 'one', 'one', 'two']);
  turnstile.leave('many');
  await turn();
  expect(inside.at(-1)).toBe('many');
});

it('as many large requests are read at once as there are readers, and the next when one of them has been', async () => {
  const turnstile = new Turnstile(3);
  const inside = enterAll(turnstile, 'a', 'b', 'c', 'd', 'a');
  await turn();
  expect(inside).toEqual(['a', 'b', 'c']);
  turnstile.leave('b');
  await turn();
  expect(inside).toEqual(['a', 'b', 'c', 'd']);
  turnstile.leave('a');
  turnstile.leave('c');
  turnstile.leave('d');
  await turn();
  expect(inside).toEqual(['a', 'b', 'c', 'd', 'a']);
});
