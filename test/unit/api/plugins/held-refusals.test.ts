import { EventEmitter } from 'node:events';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { expect, it } from 'vitest';
import { HeldRefusals } from '#api/plugins/held-refusals.ts';

it(
  'a refusal is told how long it was held, of which what it says of waiting is less',
  { tags: ['limits.addresses'] },
  () => {
    let now = 0;
    const later: (() => void)[] = [];
    const held = new HeldRefusals({
      trustedProxies: [],
      onRefused: () => {},
      now: () => now,
      later: (_ms, act) => {
        later.push(act);
        return () => {};
      },
    });
    const exchange = {
      request: { socket: { destroyed: false } } as IncomingMessage,
      response: new EventEmitter() as ServerResponse,
    };
    const told: number[] = [];
    for (let i = 0; i < 34; i += 1) held.give('a caller', exchange, (ms) => told.push(ms));
    expect(told).toEqual(Array.from({ length: 32 }, () => 0));
    now = 40;
    later[0]!();
    now = 55;
    held.letGo();
    expect(told.slice(32)).toEqual([40, 55]);
  },
);
