import { createServer, type Server } from 'node:http';
import { type AddressInfo, connect, type Socket } from 'node:net';
import { text } from 'node:stream/consumers';
import { setImmediate as turn } from 'node:timers/promises';
import { expect, it, onTestFinished } from 'vitest';
import { GracefulShutdown } from '#api/graceful-shutdown.ts';
import { beginInOrder } from '#api/plugins/arrivals.ts';
import { until } from '#test/support/until.ts';

/** Above the time after which a leaving server gives up a connection on which nothing comes. */
const HELD_UP_MS = 1_200;
const LAME_DUCK_MS = 50;
const REQUEST = 'GET / HTTP/1.1\r\nHost: docket.example\r\n\r\n';

/** Nothing of this process, the server neither, goes on meanwhile. */
function hold(ms: number): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms);
}

/** A connection that the kernel makes at once, with a request on it. */
function asked(server: Server): Promise<string> {
  const client = connect((server.address() as AddressInfo).port, '127.0.0.1');
  client.write(REQUEST);
  return text(client);
}

it('a request that came while the process was held up is answered, though its connection had been idle for too long', async () => {
  const server = createServer((_request, response) => response.end('answered'));
  const shutdown = new GracefulShutdown(server);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => server.closeAllConnections());
  const client = connect((server.address() as AddressInfo).port, '127.0.0.1');
  await new Promise((resolve) => server.once('connection', resolve));

  const left = shutdown.leave(0);
  // Written at once, by the thread that is the server's too: it lies there unread until the time is over.
  client.write(REQUEST);
  hold(HELD_UP_MS);

  expect(await text(client)).toContain('answered');
  await left;
});

it('a request on a connection whose turn to be read has not come is answered, though it had been idle for too long', async () => {
  const server = createServer((_request, response) => response.end('answered'));
  const shutdown = new GracefulShutdown(server);
  const begins: (() => void)[] = [];
  beginInOrder(server, {
    take: (_caller, begin) => {
      begins.push(begin);
      return false;
    },
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => server.closeAllConnections());
  const sockets: Socket[] = [];
  server.on('connection', (socket) => sockets.push(socket));
  const answer = asked(server);
  const silent = connect((server.address() as AddressInfo).port, '127.0.0.1');
  await until(() => sockets.length === 2);

  const left = shutdown.leave(0);
  for (const socket of sockets) server.emit('timeout', socket);
  await turn();
  await turn();
  expect(sockets.map(({ destroyed }) => destroyed)).toEqual([false, false]);
  for (const begin of begins) begin();
  expect(await answer).toContain('answered');
  // What brings nothing then is given up, as any other.
  expect(await text(silent)).toBe('');
  await left;
});

it('a connection that came while the process was held up is answered, though it was to listen no more', async () => {
  const server = createServer((_request, response) => response.end('answered'));
  const shutdown = new GracefulShutdown(server);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => server.closeAllConnections());

  const left = shutdown.leave(LAME_DUCK_MS);
  await turn();
  const answer = asked(server);
  // It connects in this turn of the loop; the next one begins with timers, and ends with what came in.
  await new Promise<void>((resolve) => process.nextTick(resolve));
  hold(2 * LAME_DUCK_MS);

  expect(await answer).toContain('answered');
  await left;
});

it('a connection that came while the last turn was held up is answered', async () => {
  let late: Promise<string> | undefined;
  const server = createServer((_request, response) => {
    response.end('answered');
    // The process has looked for connections in this turn already.
    late ??= asked(server);
    hold(2 * LAME_DUCK_MS);
  });
  const shutdown = new GracefulShutdown(server);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => server.closeAllConnections());
  const client = connect((server.address() as AddressInfo).port, '127.0.0.1');
  await new Promise((resolve) => server.once('connection', resolve));

  const left = shutdown.leave(LAME_DUCK_MS);
  await turn();
  client.write(REQUEST);
  // The next turn begins with the end of the lame-duck time, and then reads this request.
  await new Promise<void>((resolve) => process.nextTick(resolve));
  hold(2 * LAME_DUCK_MS);

  expect(await text(client)).toContain('answered');
  expect(await late).toContain('answered');
  await left;
});

it('an idle connection ends', async () => {
  const server = createServer();
  const shutdown = new GracefulShutdown(server);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const client = connect((server.address() as AddressInfo).port, '127.0.0.1');
  await new Promise((resolve) => server.once('connection', resolve));

  await shutdown.leave(0);

  expect(await text(client)).toBe('');
});
