import { expect, it } from 'vitest';
import { nextTurn } from '#shared/kernel/turns.ts';
import { collectGarbage } from '#shared/process/collect-garbage.ts';

it('what a start has used and no code holds any more is given back at once, and nothing is added to the globals', async () => {
  const globals = Object.getOwnPropertyNames(globalThis);
  const used = new WeakRef({ text: 'x'.repeat(1_000_000) });
  // What a reference has just been made to is held for the rest of its turn.
  await nextTurn();
  expect(used.deref()).toBeDefined();
  await nextTurn();
  collectGarbage();
  expect(used.deref()).toBeUndefined();
  expect(Object.getOwnPropertyNames(globalThis)).toEqual(globals);
});
