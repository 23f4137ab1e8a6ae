import { EventEmitter } from 'node:events';
import type { ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { expect, it } from 'vitest';
import { type Callers, RequestsOfCallers } from '#api/plugins/requests-of-callers.ts';

/** Takes as many requests as there is room for, eight on each connection. */
function takeAll(requests: RequestsOfCallers, callers: Callers) {
  const sockets: EventEmitter[] = [];
  const responses: EventEmitter[] = [];
  for (;;) {
    if (responses.length % 8 === 0) sockets.push(new EventEmitter());
    const response = new EventEmitter();
    const socket = sockets.at(-1) as Socket;
    if (!requests.take({ socket }, response as ServerResponse, callers)) break;
    responses.push(response);
  }
  return { sockets, responses, count: responses.length };
}

const ORGANISATION = { network: undefined, orgId: 'org_1' };
const NETWORK = { network: '192.0.2.1', orgId: undefined };
const PROXY = { network: undefined, orgId: undefined };

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
    for (let i = 0; i < 6; i += 1)
      takeAll(requests, { network: `192.0.2.${i}`, orgId: `org_${i}` });
    const other = { network: '198.51.100.1', orgId: 'org_other' };
    expect(takeAll(requests, other).count).toBeGreaterThan(30);
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

it(
  'one that its organisation has no room for counts for its network no more',
  { tags: ['limits.connections'] },
  () => {
    const requests = new RequestsOfCallers(1_000);
    takeAll(requests, ORGANISATION);
    for (let i = 0; i < 300; i += 1)
      expect(takeAll(requests, { ...NETWORK, orgId: 'org_1' }).count).toBe(0);
    expect(takeAll(requests, NETWORK).count).toBe(100);
  },
);
