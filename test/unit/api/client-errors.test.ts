import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { expect, it } from 'vitest';
import { answerClientError } from '#api/plugins/client-errors.ts';
import { rawClient } from '#test/support/raw-client.ts';
import { until } from '#test/support/until.ts';

interface Asked {
  request: IncomingMessage;
  response: ServerResponse;
}

/** A server that answers when the test does, and what a client has read of it. */
async function serve() {
  const asked: Asked[] = [];
  const server = createServer((request, response) => asked.push({ request, response }));
  const sockets: Socket[] = [];
  let errors = 0;
  server.on('connection', (socket) => sockets.push(socket));
  server.on('clientError', (error, socket) => {
    errors += 1;
    answerClientError(error, socket as Socket, () => 'req_x');
  });
  const { client, seen } = await rawClient(server);
  return { server, asked, sockets, client, seen, errors: () => errors };
}

const GET = 'GET / HTTP/1.1\r\nHost: a\r\n\r\n';
const CHUNKED = 'POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n';
const statuses = (text: string): string[] =>
  [...text.matchAll(/HTTP\/1.1 (\d+)/g)].map(([, status = '']) => status);

it.each([
  ['one request', 1, 'garbage\r\n\r\n', ['200', '400']],
  ['three requests', 3, 'garbage\r\n\r\n', ['200', '200', '200', '400']],
  ['a request whose body is malformed', 2, `${CHUNKED}ZZ\r\n`, ['200', '200', '400']],
])(
  'what is malformed is answered behind what was asked before it, and the connection is closed: %s [errors.envelope]',
  async (_what, requests, malformed, expected) => {
    const { asked, client, seen, errors } = await serve();
    client.write(GET.repeat(requests) + malformed);
    await until(() => errors() === 1);
    expect(seen.text).toBe('');
    // More of it changes nothing.
    client.write('garbage');
    await until(() => errors() === 2);
    for (const { response } of asked.slice(0, requests).toReversed()) response.end('answered');
    await until(() => seen.isClosed);
    expect(statuses(seen.text)).toEqual(expected);
    expect(seen.text.split('answered')).toHaveLength(requests + 1);
  },
);

it('a stream goes on to its end where what came behind its request is malformed [errors.envelope]', async () => {
  const { asked, client, seen, errors } = await serve();
  client.write(GET);
  await until(() => asked.length === 1);
  asked[0]!.response.write('first,');
  client.write('garbage\r\n\r\n');
  await until(() => errors() === 1 && seen.text.includes('first,'));
  asked[0]!.response.end('last');
  await until(() => seen.isClosed);
  expect(seen.text).toMatch(/first,[^]*last[^]*HTTP\/1.1 400 /);
});

it('a next request that is late takes nothing from the answer to the one before it [errors.envelope]', async () => {
  const { server, asked, sockets, client, seen } = await serve();
  client.write(`${GET}GET`);
  await until(() => asked.length === 1);
  const late = Object.assign(new Error('late'), { code: 'ERR_HTTP_REQUEST_TIMEOUT' });
  // Node says so each time that it looks.
  for (let at = 0; at < 2; at += 1) server.emit('clientError', late, sockets[0]);
  asked[0]!.response.end('answered');
  await until(() => seen.isClosed);
  expect(statuses(seen.text)).toEqual(['200', '408']);
});

it('a body that turns out to be malformed is told at once, and not behind an answer that has begun [errors.envelope]', async () => {
  const told = await serve();
  told.client.write(`${CHUNKED}ZZ\r\n`);
  await until(() => told.seen.isClosed);
  expect(statuses(told.seen.text)).toEqual(['400']);

  const begun = await serve();
  begun.client.write(CHUNKED);
  await until(() => begun.asked.length === 1);
  begun.asked[0]!.response.write('begun');
  await until(() => begun.seen.text.includes('begun'));
  begun.client.write('ZZ\r\n');
  await until(() => begun.seen.isClosed);
  expect(statuses(begun.seen.text)).toEqual(['200']);
});
