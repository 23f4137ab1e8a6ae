import { setImmediate as turn } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { Turns } from '#api/plugins/turns.ts';

it(
  'a caller begins eight requests in a turn of the event loop, in order, and another its own beside them',
  { tags: ['limits.connections'] },
  async () => {
    const turns = new Turns();
    const begun: string[] = [];
    const ask = (caller: string, count: number): void => {
      for (let at = 0; at < count; at += 1) {
        const name = `${caller}${at}`;
        if (turns.take(caller, () => begun.push(name))) begun.push(name);
      }
    };
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
  },
);
