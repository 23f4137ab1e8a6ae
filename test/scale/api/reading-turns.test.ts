import { createServer } from 'node:http';
import { type AddressInfo, connect, type Socket } from 'node:net';
import { expect, it, onTestFinished, vi } from 'vitest';
import { boundPieces } from '#api/plugins/body-pieces.ts';
import { isHeldBack, ReadingTurns } from '#api/plugins/reading-turns.ts';
import { until } from '#test/support/until.ts';

/**
 * A server that counts the pieces of bodies that it is given in each turn of the event loop, and the bodies that it had
 * refused when it had read one.
 */
async function counting() {
  const server = createServer();
  const turns: number[] = [];
  const seen = { connections: 0, refused: 0, refusedWhenRead: -1 };
  let ofTurn = 0;
  server.on('connection', () => void (seen.connections += 1));
  server.on('request', (request, response) => {
    const push = request.push.bind(request);
    request.push = (piece: Buffer | null) => {
      if (ofTurn === 0)
        setImmediate(() => {
          turns.push(ofTurn);
          ofTurn = 0;
        });
      ofTurn += 1;
      return push(piece);
    };
    request.resume();
    request.on('end', () => {
      seen.refusedWhenRead = seen.refused;
      response.end('read.');
    });
  });
  boundPieces({ server }, { callerOf: (address) => address, onMany: () => {} });
  server.on('clientError', (_, socket) => {
    seen.refused += 1;
    socket.destroy();
  });
  await new Promise<void>((resolve) => server.listen(0, resolve));
  onTestFinished(() => void server.close());
  const { port } = server.address() as AddressInfo;
  const opened = (localAddress: string): Promise<Socket> =>
    new Promise((resolve) => {
      const socket: Socket = connect({ host: '127.0.0.1', port, localAddress }, () =>
        resolve(socket),
      );
      socket.on('error', () => {});
      onTestFinished(() => void socket.destroy());
    });
  return { turns, seen, opened };
}

const HEAD = 'POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n';
const ONE_BYTE = '1\r\n \r\n';

it('a turn of the event loop reads so many small pieces of bodies, on however many connections they come at once, and a caller behind them is read in the next [limits.intake]', async () => {
  const { turns, seen, opened } = await counting();
  const many = await Promise.all(Array.from({ length: 40 }, () => opened('127.0.0.2')));
  const other = await opened('127.0.0.3');
  // The event loop takes one in a turn.
  await until(() => seen.connections === many.length + 1);
  for (const socket of many) socket.write(HEAD);
  const text = ONE_BYTE.repeat(10_900);
  for (const socket of many) socket.write(text);
  other.write(`${HEAD}${ONE_BYTE}0\r\n\r\n`);
  await until(() => seen.refused === many.length && seen.refusedWhenRead >= 0);
  // The connection that spends the last of a turn brings its own to an end.
  expect(Math.max(...turns)).toBeLessThan(8_192 + 4_100);
  expect(turns.length).toBeGreaterThan(10);
  expect(seen.refusedWhenRead).toBeLessThan(20);
});

/** A connection as a server has it. */
function connection(reading = true) {
  const handle = {
    reading,
    isRead: reading,
    readStop: () => void (handle.isRead = false),
    readStart: () => void (handle.isRead = true),
  };
  let close: (() => void) | undefined;
  const socket = {
    bytesRead: 0,
    _handle: handle as typeof handle | null,
    once: (_: string, listener: () => void) => {
      close = listener;
      return socket;
    },
  };
  const read = (): void => void (socket.bytesRead += 1);
  return { handle, socket: socket as never, read, close: () => close!() };
}

function pauseTimers(): void {
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] });
  onTestFinished(() => void vi.useRealTimers());
}
const nextTurn = (): Promise<void> => new Promise((resolve) => void setImmediate(resolve));

it('connections of callers with few small pieces are all read again in the next turn, those with many one after the other, by caller, and those of proxies by themselves [limits.intake]', async () => {
  pauseTimers();
  const turns = new ReadingTurns();
  const bringers = [connection(), connection(), connection()];
  const [another, proxy, innocent] = [connection(), connection(), connection()];
  for (const { socket } of bringers) turns.add(socket, 'a');
  turns.add(another.socket, 'b');
  turns.add(proxy.socket, undefined);
  turns.add(innocent.socket, 'c');
  const areRead = (): boolean[] =>
    [...bringers, another, proxy, innocent].map(({ handle }) => handle.isRead);
  const count = (one: ReturnType<typeof connection>, times: number): void => {
    for (let piece = 0; piece < times; piece += 1) turns.count(one.socket);
  };
  // What came in turns before does not count.
  count(innocent, 1_023);
  await nextTurn();
  count(innocent, 1_023);
  count(another, 1_024);
  count(proxy, 1_024);
  count(bringers[0]!, 8_192 - 1_023 - 2 * 1_024 - 1);
  expect(areRead()).toEqual([true, true, true, true, true, true]);
  count(bringers[0]!, 1);
  expect(areRead()).toEqual([false, false, false, false, false, false]);
  expect(isHeldBack(innocent.socket)).toBe(true);
  await nextTurn();
  expect(areRead()).toEqual([false, false, false, false, false, true]);
  expect([isHeldBack(innocent.socket), isHeldBack(another.socket)]).toEqual([false, true]);
  await vi.advanceTimersByTimeAsync(10);
  expect(areRead()).toEqual([false, false, false, false, true, true]);
  await vi.advanceTimersByTimeAsync(15);
  expect(areRead()).toEqual([false, false, false, true, true, true]);
  await vi.advanceTimersByTimeAsync(25);
  expect(areRead()).toEqual([true, true, true, true, true, true]);
  expect(vi.getTimerCount()).toBe(0);
  // Then it is as it was.
  count(bringers[0]!, 8_191);
  expect(areRead()).toEqual([true, true, true, true, true, true]);
});

it('of a caller that is read slowly the first connection that brings many pieces again stops the others, and those that bring nothing wait for no turns of their own [limits.intake]', async () => {
  pauseTimers();
  const turns = new ReadingTurns();
  const all = Array.from({ length: 200 }, () => connection());
  for (const { socket } of all) turns.add(socket, 'a');
  const count = (one: ReturnType<typeof connection>, times: number): void => {
    for (let piece = 0; piece < times; piece += 1) turns.count(one.socket);
  };
  const read = (): number => all.filter(({ handle }) => handle.isRead).length;
  count(all[0]!, 8_192);
  await nextTurn();
  expect(read()).toBe(0);
  await vi.advanceTimersByTimeAsync(25);
  expect(read()).toBe(64);
  count(all[1]!, 1_023);
  expect(read()).toBe(64);
  count(all[1]!, 1);
  expect(read()).toBe(0);
  await nextTurn();
  expect(read()).toBe(0);
  await vi.advanceTimersByTimeAsync(100);
  expect(read()).toBe(200);
  expect(vi.getTimerCount()).toBe(0);
});

it('connections whose turn ended before they were read have the next one, and a new one waits behind those that wait [limits.intake]', async () => {
  pauseTimers();
  const turns = new ReadingTurns();
  const all = Array.from({ length: 130 }, () => connection());
  for (const { socket } of all) turns.add(socket, 'a');
  const areRead = (from: number, to: number): boolean =>
    all.slice(from, to).every(({ handle }) => handle.isRead);
  const bring = (one: ReturnType<typeof connection>, times: number): void => {
    one.read();
    for (let piece = 0; piece < times; piece += 1) turns.count(one.socket);
  };
  bring(all[129]!, 8_192);
  const late = connection();
  turns.add(late.socket, 'a');
  await nextTurn();
  expect(late.handle.isRead).toBe(false);
  await vi.advanceTimersByTimeAsync(25);
  expect([areRead(0, 64), areRead(64, 65)]).toEqual([true, false]);
  // The first of them is read and brings much: the turn ends before the others are.
  bring(all[0]!, 1_024);
  expect(areRead(1, 2)).toBe(false);
  await nextTurn();
  await vi.advanceTimersByTimeAsync(25);
  expect([areRead(1, 65), areRead(65, 66), areRead(0, 1)]).toEqual([true, false, false]);
  await vi.advanceTimersByTimeAsync(25);
  expect([areRead(65, 129), late.handle.isRead]).toEqual([true, false]);
  await vi.advanceTimersByTimeAsync(25);
  expect([areRead(0, 130), late.handle.isRead]).toEqual([true, true]);
});

it('a connection that node itself has stopped, or that has closed, is not read again [limits.intake]', async () => {
  pauseTimers();
  const turns = new ReadingTurns();
  const [bringer, stopped, closed] = [connection(), connection(false), connection()];
  for (const { socket } of [bringer, stopped, closed]) turns.add(socket, 'a');
  for (let piece = 0; piece < 8_192; piece += 1) turns.count(bringer.socket);
  closed.close();
  await nextTurn();
  await vi.advanceTimersByTimeAsync(75);
  expect(vi.getTimerCount()).toBe(0);
  expect(bringer.handle.isRead).toBe(true);
  expect(stopped.handle.isRead).toBe(false);
  expect(closed.handle.isRead).toBe(false);
});
