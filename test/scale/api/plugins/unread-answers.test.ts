import { EventEmitter, once } from 'node:events';
import { connect, type AddressInfo, type Socket } from 'node:net';
import { PassThrough } from 'node:stream';
import { setImmediate as turn } from 'node:timers/promises';
import { fastify } from 'fastify';
import { expect, it } from 'vitest';
import type { AppOptions } from '#api/app.ts';
import { UnreadAnswers } from '#api/plugins/unread-answers.ts';
import { buildTestApp, NO_DATABASE } from '#test/support/app.ts';
import { TestCredentials } from '#test/support/credentials.ts';
import { atFileEnd } from '#test/support/file-end.ts';

const MIB = 1_048_576;

class SocketDouble extends EventEmitter {
  destroyed = false;
  timeout = 0;

  setTimeout(ms: number): this {
    this.timeout = ms;
    return this;
  }

  destroy(): this {
    this.destroyed = true;
    this.emit('close');
    return this;
  }
}

class ResponseDouble extends EventEmitter {
  readonly req: { socket: SocketDouble };
  readonly writableFinished = false;
  readonly writableLength = 0;
  impatience: (() => void) | undefined;

  constructor(socket: SocketDouble) {
    super();
    this.req = { socket };
  }

  get destroyed(): boolean {
    return this.req.socket.destroyed;
  }

  setTimeout(ms: number, fire: () => void): this {
    this.req.socket.setTimeout(ms);
    this.impatience = fire;
    return this;
  }
}

function open() {
  const unread = new UnreadAnswers();
  const add = (name: string, mib: number, socket = new SocketDouble()): ResponseDouble => {
    const response = new ResponseDouble(socket);
    unread.add({ name, bytesMax: 320 * MIB }, mib * MIB, response as never);
    return response;
  };
  return { unread, add };
}

it('a reader that takes none of its large answers loses the oldest, and another keeps its own [limits.answers]', () => {
  const { unread, add } = open();
  const other = add('b', 20);
  const unreadOnes = Array.from({ length: 40 }, () => add('a', 20));
  expect(unreadOnes.map(({ destroyed }) => destroyed)).toEqual([
    ...Array.from({ length: 24 }, () => true),
    ...Array.from({ length: 16 }, () => false),
  ]);
  expect(other.destroyed).toBe(false);
  expect(unread.bytes).toBe(17 * 20 * MIB);
});

it('over the bound of all, the reader with the most unread gives way', () => {
  const { add } = open();
  const most = Array.from({ length: 3 }, () => add('a', 100));
  const others = ['b', 'c', 'd'].map((name) => add(name, 120));
  expect(most.map(({ destroyed }) => destroyed)).toEqual([true, false, false]);
  expect(others.every(({ destroyed }) => !destroyed)).toBe(true);
});

it('an answer that is larger than the bound by itself is sent, and one that was read counts no more', () => {
  const { unread, add } = open();
  const giant = add('a', 1_000);
  expect(giant.destroyed).toBe(false);
  giant.emit('close');
  expect(unread.bytes).toBe(0);
});

it('a reader that takes nothing of an answer for a minute is let go, and what waits behind it counts no more', () => {
  const { unread, add } = open();
  const socket = new SocketDouble();
  const response = add('a', 1, socket);
  add('a', 1, socket);
  expect(socket.timeout).toBe(60_000);
  response.impatience!();
  expect(socket.destroyed).toBe(true);
  expect(unread.bytes).toBe(0);
});

it('a connection that has taken its answers may be quiet for as long as the next takes to be made', () => {
  const { add } = open();
  const socket = new SocketDouble();
  const [first, second] = [add('a', 1, socket), add('a', 1, socket)];
  first.emit('close');
  expect(socket.timeout).toBe(60_000);
  second.emit('close');
  expect(socket.timeout).toBe(0);
});

it('a connection that is kept for many answers is listened to once, and its reader is owed nothing when all are taken', () => {
  const { unread, add } = open();
  const socket = new SocketDouble();
  for (let round = 0; round < 100; round += 1) {
    const answers = [add('a', 1, socket), add('a', 1, socket)];
    for (const answer of answers) answer.emit('close');
  }
  expect(socket.listenerCount('close')).toBe(1);
  expect(unread.bytes).toBe(0);
});

it('one connection with more answers of its reader than may be unread is closed, and all of them count no more', () => {
  const { unread, add } = open();
  const socket = new SocketDouble();
  const answers = Array.from({ length: 17 }, () => add('a', 20, socket));
  expect(answers.at(-1)!.destroyed).toBe(true);
  expect(unread.bytes).toBe(0);
  expect(add('a', 320).destroyed).toBe(false);
  expect(unread.bytes).toBe(320 * MIB);
});

/** Asks for these paths on one connection, one behind the other, and reads nothing. */
function askWithoutReading(port: number, paths: readonly string[], key?: string): Socket {
  const authorization = key === undefined ? '' : `authorization: Bearer ${key}\r\n`;
  const requests = paths.map((path) => `GET ${path} HTTP/1.1\r\nhost: x\r\n${authorization}\r\n`);
  const socket = connect(port, '127.0.0.1', () => socket.write(requests.join('')));
  socket.on('error', () => {}).pause();
  atFileEnd(async () => void socket.destroy());
  return socket;
}

it('an answer that its connection takes at once is not counted, and one that waits is until its client has read it or has left [limits.answers]', async () => {
  const unread = new UnreadAnswers();
  const app = fastify();
  app.decorateRequest('credential', null as never);
  unread.limit(app);
  app.get('/small', async () => 'a');
  // More than the buffers of two sockets hold.
  app.get('/large', async () => Buffer.alloc(24 * MIB));
  const sockets: Socket[] = [];
  app.server.on('connection', (socket: Socket) => sockets.push(socket));
  await app.listen({ port: 0, host: '127.0.0.1' });
  atFileEnd(() => app.close());
  const { port } = app.server.address() as AddressInfo;

  expect(await (await fetch(`http://127.0.0.1:${port}/small`)).text()).toBe('a');
  await turn();
  expect(unread.bytes).toBe(0);
  expect(sockets[0]!.timeout).not.toBe(60_000);

  const reader = askWithoutReading(port, ['/large', '/large']);
  while (unread.bytes < 48 * MIB) await turn();
  reader.resume();
  while (unread.bytes > 0) await turn();
  expect(reader.destroyed).toBe(false);

  const leaver = askWithoutReading(port, ['/large', '/large']);
  while (unread.bytes < 48 * MIB) await turn();
  leaver.destroy();
  while (unread.bytes > 0) await turn();
});

it('a file that is being sent counts as a mebibyte, however little of it waits, until it is sent', async () => {
  const unread = new UnreadAnswers();
  const app = fastify();
  app.decorateRequest('credential', null as never);
  unread.limit(app);
  const file = new PassThrough();
  app.get('/file', async () => file);
  await app.listen({ port: 0, host: '127.0.0.1' });
  atFileEnd(() => app.close());
  const { port } = app.server.address() as AddressInfo;
  askWithoutReading(port, ['/file']).resume();
  while (unread.bytes === 0) await turn();
  expect(unread.bytes).toBe(MIB);
  file.end('the whole file');
  while (unread.bytes > 0) await turn();
});

it('lists that an organisation does not read are bounded, and the oldest is cut off for the newest [limits.answers]', async () => {
  const credentials = new TestCredentials();
  const item = { id: 'rcpt_a', body: Buffer.from(`"${'a'.repeat(24 * MIB)}"`) };
  const listReceipts = async () => ({ items: [item], hasMore: false });
  const app = await buildTestApp(NO_DATABASE, {
    authenticate: { credentials, keyUse: { used() {} } },
    receipts: { ledger: { listReceipts } } as unknown as AppOptions['receipts'],
  });
  await app.listen({ port: 0, host: '127.0.0.1' });
  const { port } = app.server.address() as AddressInfo;
  const cut: string[] = [];
  const connections: { name: string; socket: Socket }[] = [];
  for (const [org, name] of [
    ['b', 'theirs'],
    ['a', 'first'],
    ['a', 'second'],
    ['a', 'third'],
    ['a', 'fourth'],
  ] as const) {
    const key = credentials.issue(org, ['service:read']);
    const served = once(app.server, 'connection') as Promise<[Socket]>;
    connections.push({ name, socket: askWithoutReading(port, ['/v1/receipts'], key) });
    const [socket] = await served;
    socket.once('close', () => cut.push(name));
    while (socket.writableLength === 0 && !socket.destroyed) await turn();
  }
  while (cut.length < 2) await turn();
  expect(cut).toEqual(['first', 'second']);
});
