import { createServer, IncomingMessage, ServerResponse } from 'node:http';
import { Socket } from 'node:net';
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { cutOff } from '#api/plugins/before-routing.ts';
import { boundPieces } from '#api/plugins/body-pieces.ts';
import { answerClientError } from '#api/plugins/client-errors.ts';
import { Drainage } from '#api/plugins/unread-bodies.ts';
import { runs, SEED } from '#test/support/depth.ts';
import { forAllAsync } from '#test/support/for-all.ts';
import { rawClient } from '#test/support/raw-client.ts';
import { until } from '#test/support/until.ts';

/** What a client has read, of a server that does this with each request. */
async function asking(handle: (request: IncomingMessage, response: ServerResponse) => void) {
  const server = createServer(handle);
  const paced: string[] = [];
  boundPieces(
    { server },
    { callerOf: (address) => address, onMany: (caller) => paced.push(caller) },
  );
  server.on('clientError', (error, socket) =>
    answerClientError(error, socket as Socket, () => 'req_x'),
  );
  const { client, seen } = await rawClient(server);
  client.write('POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n');
  return { client, seen, paced };
}

const pieces = (count: number, bytes: number): string =>
  `${bytes.toString(16)}\r\n${' '.repeat(bytes)}\r\n`.repeat(count);
const END = '0\r\n\r\n';

/** Answers how long a body was. */
function measure(request: IncomingMessage, response: ServerResponse): void {
  let bytes = 0;
  request.on('data', (piece: Buffer) => {
    bytes += piece.length;
  });
  request.on('end', () => response.end(`bytes: ${bytes}.`));
}

/** A body as a server keeps it that is given these pieces, each for itself. */
function keptOf(given: readonly Buffer[], headers: Record<string, string>): Promise<Buffer[]> {
  const server = createServer();
  const { promise, resolve } = Promise.withResolvers<Buffer[]>();
  server.on('request', (request) => {
    const kept: Buffer[] = [];
    request.on('data', (piece: Buffer) => void kept.push(piece));
    request.on('end', () => resolve(kept));
  });
  boundPieces({ server }, { callerOf: () => undefined, onMany: () => {} });
  const request = new IncomingMessage(new Socket());
  Object.assign(request.headers, headers);
  server.emit('request', request, new ServerResponse(request));
  for (const piece of given) request.push(piece);
  request.push(null);
  return promise;
}

it('a body is what it was, however it comes [limits.intake]', async () => {
  const given = fc.array(fc.uint8Array({ minLength: 1, maxLength: 3_000 }), { maxLength: 60 });
  await forAllAsync(
    [given, fc.boolean()],
    { numRuns: runs(500), seed: SEED },
    async (all, isChunked) => {
      const parts = all.map((piece) => Buffer.from(piece));
      const whole = Buffer.concat(parts);
      const length = { 'content-length': `${whole.length}` };
      const kept = await keptOf(parts, isChunked ? { 'transfer-encoding': 'chunked' } : length);
      expect(Buffer.concat(kept).equals(whole)).toBe(true);
    },
  );
});

it.each([
  ['with a length', { 'content-length': '65000' }],
  ['in chunks', { 'transfer-encoding': 'chunked' }],
])(
  'a body that comes byte by byte takes the memory of its bytes, %s [limits.intake]',
  async (_how, headers) => {
    const bytes = 'content-length' in headers ? 65_000 : 4_000;
    const kept = await keptOf(
      Array.from({ length: bytes }, () => Buffer.from(' ')),
      headers,
    );
    expect(kept.length).toBeLessThanOrEqual(Math.ceil(bytes / 4_096));
    const held = new Set(kept.map(({ buffer }) => buffer));
    const heldBytes = [...held].reduce((sum, { byteLength }) => sum + byteLength, 0);
    // The last may stand in what node shares among small buffers.
    expect(heldBytes).toBeLessThanOrEqual(bytes + 4_096 + Buffer.poolSize);
  },
);

it.each([
  ['thousands of single bytes', 4_000, 1],
  ['a megabyte in pieces of 200 bytes', 5_000, 200],
])('a body is read that comes in %s [limits.intake]', async (_what, count, bytes) => {
  const { client, seen } = await asking(measure);
  client.write(pieces(count, bytes) + END);
  await until(() => seen.text.includes('bytes: '));
  expect(seen.text).toContain(`bytes: ${count * bytes}.`);
});

it.each([
  ['thousands of single bytes', 4_000, 1, true],
  ['a thousand single bytes', 1_000, 1, false],
  ['a megabyte in pieces of 200 bytes', 5_000, 200, false],
])(
  'a connection ends with a body that comes in %s and its address is paced, or goes on [limits.intake]',
  async (_what, count, bytes, ends) => {
    const { client, seen, paced } = await asking(measure);
    client.write(pieces(count, bytes) + END);
    await until(() => seen.text.includes('bytes: '));
    expect(paced).toEqual(ends ? ['127.0.0.1'] : []);
    expect(/^connection: close/im.test(seen.text)).toBe(ends);
    if (ends) await until(() => seen.isClosed);
  },
);

it.each([
  ['at once', pieces(20_000, 1)],
  ['behind large ones, which make no room for them', pieces(1, 1_400_000) + pieces(10_900, 1)],
])(
  'a body that comes in too many small pieces %s is refused, and its connection closed [limits.intake]',
  async (_how, body) => {
    const { client, seen } = await asking(measure);
    client.write(body + END);
    await until(() => seen.isClosed);
    expect(seen.text).toMatch(/^HTTP\/1.1 400 [^]*too many small pieces/);
  },
);

it('a connection that is cut off has the rest of what node had read of it skipped, and its parser reads bodies of others [limits.intake]', async () => {
  let given = 0;
  const { client, seen } = await asking((request, response) => {
    const push = request.push.bind(request);
    request.push = (piece: Buffer | null) => {
      given += 1;
      return push(piece);
    };
    measure(request, response);
  });
  client.write(pieces(10_000, 1) + END);
  await until(() => seen.isClosed);
  expect(given).toBeLessThan(4_200);
  // Several requests of a connection may be what it is cut off for, in one turn.
  const twice = await asking(({ socket }) => {
    cutOff(socket);
    cutOff(socket);
  });
  await until(() => twice.seen.isClosed);
  const next = await asking(measure);
  next.client.write(pieces(40, 100) + END);
  await until(() => next.seen.text.includes('bytes: 4000.'));
});

it('no more pieces of a body are kept than are read of one, where it waits to be read [limits.intake]', async () => {
  const asked: IncomingMessage[] = [];
  const { client, seen } = await asking((request) => void asked.push(request));
  client.write(pieces(60_000, 1));
  await until(() => seen.isClosed);
  expect(asked[0]!.readableLength).toBeLessThan(4_200);
});

it('a body that is not read since its request was refused is cut off in the same way, and not answered twice [limits.intake]', async () => {
  const drainage = new Drainage();
  const { client, seen } = await asking((request, response) => {
    drainage.add(request, response);
    response.writeHead(404).end('nothing here');
  });
  await until(() => seen.text.includes('nothing here'));
  const more = setInterval(() => client.write(pieces(1_000, 1)), 1);
  await until(() => seen.isClosed);
  clearInterval(more);
  expect(seen.text.split('HTTP/1.1')).toHaveLength(2);
});
