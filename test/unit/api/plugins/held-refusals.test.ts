import { EventEmitter } from 'node:events';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { expect, it } from 'vitest';
import { HeldRefusals } from '#api/plugins/held-refusals.ts';

it('a refusal is told how long it was held, of which what it says of waiting is less [limits.addresses]', () => {
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
});

/** Refusals of one caller that come from `remoteAddress`, all at once; says when each is answered, and how many were closed. */
function giveAll(remoteAddress: string, count: number) {
  let closed = 0;
  const due: number[] = [];
  const held = new HeldRefusals({
    trustedProxies: ['203.0.113.1'],
    onRefused: () => (closed += 1),
    now: () => 0,
    later: (ms) => {
      due.push(ms);
      return () => {};
    },
  });
  let atOnce = 0;
  for (let i = 0; i < count; i += 1) {
    const socket = { destroyed: false, remoteAddress, destroy() {} };
    const exchange = {
      request: { socket } as unknown as IncomingMessage,
      response: new EventEmitter() as ServerResponse,
    };
    held.give('a caller', exchange, () => (atOnce += 1));
  }
  return { atOnce, closed, inTurn: due.slice(0, 256), paused: due.slice(256), held };
}

it.each(['203.0.113.1', '127.0.0.1', '::1'])(
  'what too many refusals of a caller come to behind a proxy is no more than a thousand and some a second: %s [limits.addresses]',
  (remote) => {
    const { atOnce, closed, inTurn, paused } = giveAll(remote, 32 + 256 + 4_096);
    expect([atOnce, closed]).toEqual([32, 0]);
    expect(inTurn.at(-1)).toBe(8_000);
    expect(paused).toHaveLength(4_096);
    const within = (from: number): number =>
      paused.filter((ms) => ms > from && ms <= from + 1_000).length;
    expect([0, 1_000, 2_000, 3_000].map(within)).toEqual([1_024, 1_024, 1_024, 1_024]);
    expect(Math.min(...paused)).toBe(1_000);
  },
);

it('no more refusals wait outside of the shares than there are connections, and one from elsewhere closes its own [limits.addresses]', () => {
  const { atOnce, paused } = giveAll('127.0.0.1', 32 + 256 + 16_384 + 5);
  expect([atOnce, paused.length, Math.max(...paused)]).toEqual([32 + 5, 16_384, 16_000]);
  expect(giveAll('192.0.2.1', 32 + 256 + 5)).toMatchObject({ atOnce: 32, closed: 5, paused: [] });
});

it('a refusal outside of the shares whose client leaves makes room for another [limits.addresses]', () => {
  const clients: EventEmitter[] = [];
  const due: number[] = [];
  const held = new HeldRefusals({
    trustedProxies: [],
    onRefused: () => {},
    now: () => 0,
    later: (ms) => {
      due.push(ms);
      return () => {};
    },
  });
  const give = (): void => {
    const response = new EventEmitter() as ServerResponse;
    clients.push(response);
    const request = { socket: { destroyed: false, remoteAddress: '::1' } } as IncomingMessage;
    held.give('a caller', { request, response }, () => {});
  };
  for (let i = 0; i < 32 + 256 + 2_048; i += 1) give();
  expect(due.at(-1)).toBe(2_000);
  for (const client of clients.slice(-2_048)) client.emit('close');
  give();
  expect(due.at(-1)).toBe(1_000);
});

it('a key of which 256 refusals wait is overrun, one of its organisation when four have as many, and each no more when they are told [limits.addresses]', () => {
  const held = new HeldRefusals({
    trustedProxies: [],
    onRefused: () => {},
    now: () => 0,
    later: () => () => {},
  });
  const ownerOf = (at: number) => ({ keyId: `key_${at}`, orgId: 'org_1' });
  const give = (at: number, times: number): EventEmitter[] =>
    Array.from({ length: times }, () => {
      const response = new EventEmitter() as ServerResponse;
      const request = { socket: { destroyed: false, remoteAddress: '::1' } } as IncomingMessage;
      held.routes(request, ownerOf(at));
      held.give('org_1', { request, response }, () => {});
      return response;
    });
  const overrun = () => [0, 1, 9].map((at) => held.isOverrun(ownerOf(at)));
  const first = give(0, 32 + 255);
  expect(overrun()).toEqual([false, false, false]);
  first.push(...give(0, 1));
  expect(overrun()).toEqual([true, false, false]);
  for (const at of [1, 2, 3]) give(at, 256);
  expect(overrun()).toEqual([true, true, true]);
  expect(held.isOverrun({ keyId: 'key_9', orgId: 'org_2' })).toBe(false);
  first.at(-1)!.emit('close');
  expect(overrun()).toEqual([false, true, false]);
  held.letGo();
  expect(overrun()).toEqual([false, false, false]);
});
