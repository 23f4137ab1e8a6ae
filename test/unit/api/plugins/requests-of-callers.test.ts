import { EventEmitter } from 'node:events';
import type { ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { expect, it } from 'vitest';
import { type Caller, RequestsOfCallers } from '#api/plugins/requests-of-callers.ts';

/** Takes as many requests as there is room for, eight on each connection. */
function takeAll(requests: RequestsOfCallers, caller: Caller) {
  const sockets: EventEmitter[] = [];
  const responses: EventEmitter[] = [];
  for (;;) {
    if (responses.length % 8 === 0) sockets.push(new EventEmitter());
    const response = new EventEmitter();
    const socket = sockets.at(-1) as Socket;
    if (requests.take({ socket }, response as ServerResponse, caller) !== undefined) break;
    responses.push(response);
  }
  return { sockets, responses, count: responses.length };
}

const ORGANISATION = { orgId: 'org_1' };
const NETWORK = { network: '192.0.2.1' };
const PROXY = { network: undefined };

it.each([
  ['a network a fifth', NETWORK, 3_277],
  ['an organisation half, from wherever it asks', ORGANISATION, 8_192],
  ['a proxy all', PROXY, 16_384],
])(
  'of the requests that are not answered has %s',
  { tags: ['limits.connections'] },
  (_who, callers, count) => expect(takeAll(new RequestsOfCallers(), callers).count).toBe(count),
);

it(
  'networks and organisations that have all they may leave room for others',
  { tags: ['limits.connections'] },
  () => {
    const requests = new RequestsOfCallers(1_000);
    for (let i = 0; i < 3; i += 1) {
      takeAll(requests, { orgId: `org_${i}` });
      takeAll(requests, { network: `192.0.2.${i}` });
    }
    expect(takeAll(requests, { orgId: 'org_other' }).count).toBeGreaterThan(10);
    expect(takeAll(requests, { network: '198.51.100.1' }).count).toBeGreaterThan(5);
  },
);

it(
  'a request is counted until it is answered or its connection is closed, whichever is told first, and once',
  { tags: ['limits.connections'] },
  () => {
    const requests = new RequestsOfCallers(1_000);
    const { sockets, responses, count } = takeAll(requests, ORGANISATION);
    // An answer that waits for the one before it is told of neither.
    for (const response of responses.slice(0, 12)) response.emit('close');
    for (const socket of sockets.slice(0, 2)) socket.emit('close');
    expect(takeAll(requests, ORGANISATION).count).toBe(16);
    for (const response of responses.slice(12, 16)) response.emit('close');
    expect(takeAll(requests, ORGANISATION).count).toBe(0);
    expect(count).toBe(500);
  },
);
