import { setImmediate as turn } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { Turns } from '#api/plugins/turns.ts';

/** Those who ask, and what has begun, in order. */
function asking() {
  const turns = new Turns();
  const begun: string[] = [];
  const ask = (caller: string, count: number): void => {
    for (let at = 0; at < count; at += 1) {
      const name = `${caller}${at}`;
      if (turns.take(caller, () => begun.push(name))) begun.push(name);
    }
  };
  return { begun, ask };
}

it('a caller begins eight requests in a turn of the event loop, in order, and another its own beside them [limits.connections]', async () => {
  const { begun, ask } = asking();
  ask('a', 20);
  ask('b', 2);
  const names = (caller: string, from: number, to: number): string[] =>
    Array.from({ length: to - from }, (_, at) => `${caller}${from + at}`);
  expect(begun).toEqual([...names('a', 0, 8), 'b0', 'b1']);
  await turn();
  // What comes meanwhile waits behind what came before it.
  ask('a', 1);
  expect(begun.slice(10)).toEqual(names('a', 8, 16));
  await turn();
  expect(begun.slice(18)).toEqual([...names('a', 16, 20), 'a0']);
  await turn();
  ask('a', 9);
  expect(begun.slice(23)).toEqual(names('a', 0, 8));
  await turn();
  expect(begun).toHaveLength(10 + 8 + 5 + 9);
});

it('all callers begin sixteen in a turn, each one before any has another, and each its own in order [limits.connections]', async () => {
  const { begun, ask } = asking();
  const callers = Array.from({ length: 40 }, (_, at) => `flood${at}-`);
  for (const caller of callers) ask(caller, 40);
  expect(begun).toHaveLength(16);
  ask('other-', 1);
  let turns = 0;
  for (; !begun.includes('other-0'); turns += 1) await turn();
  // Behind one request of each.
  expect(turns).toBe(3);
  for (; begun.length < 40 * 40 + 1; turns += 1) {
    const before = begun.length;
    await turn();
    expect(begun.length - before).toBeLessThanOrEqual(16);
  }
  expect(turns).toBeLessThanOrEqual(102);
  for (const caller of callers)
    expect(begun.filter((name) => name.startsWith(caller))).toEqual(
      Array.from({ length: 40 }, (_, at) => `${caller}${at}`),
    );
});
