import { EventEmitter } from 'node:events';
import type { ServerResponse } from 'node:http';
import { expect, it } from 'vitest';
import { type Caller, RequestsOfCallers } from '#api/plugins/requests-of-callers.ts';

/** Takes as many requests as there is room for. */
function takeAll(requests: RequestsOfCallers, caller: Caller) {
  const responses: EventEmitter[] = [];
  for (;;) {
    const response = new EventEmitter();
    if (requests.take(response as ServerResponse, caller) !== undefined) break;
    responses.push(response);
  }
  return { responses, count: responses.length };
}

const ORGANISATION = { orgId: 'org_1' };
const NETWORK = { network: '192.0.2.1' };
const PROXY = { network: undefined };

it.each([
  ['a network a fifth', NETWORK, 3_277],
  ['an organisation half, from wherever it asks', ORGANISATION, 8_192],
  ['a proxy all', PROXY, 16_384],
])('of the requests that are not answered has %s [limits.connections]', (_who, callers, count) =>
  expect(takeAll(new RequestsOfCallers(16_384), callers).count).toBe(count),
);

it('networks and organisations that have all they may leave room for others [limits.connections]', () => {
  const requests = new RequestsOfCallers(1_000);
  for (let i = 0; i < 3; i += 1) {
    takeAll(requests, { orgId: `org_${i}` });
    takeAll(requests, { network: `192.0.2.${i}` });
  }
  expect(takeAll(requests, { orgId: 'org_other' }).count).toBeGreaterThan(10);
  expect(takeAll(requests, { network: '198.51.100.1' }).count).toBeGreaterThan(5);
});

it('a request is counted until its response closes [limits.connections]', () => {
  const requests = new RequestsOfCallers(1_000);
  const { responses, count } = takeAll(requests, ORGANISATION);
  for (const response of responses.slice(0, 12)) response.emit('close');
  expect(takeAll(requests, ORGANISATION).count).toBe(12);
  expect(count).toBe(500);
});
