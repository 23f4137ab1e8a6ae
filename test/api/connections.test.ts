import { once } from 'node:events';
import { connect, type AddressInfo, type Socket } from 'node:net';
import { pino } from 'pino';
import { Registry } from 'prom-client';
import Fastify from 'fastify';
import { describe, expect, it } from 'vitest';
import { guardPages } from '#api/dashboard/guard.ts';
import { apiEvents } from '#api/events.ts';
import { authenticate } from '#api/plugins/authenticate.ts';
import { invalidApiKey } from '#shared/keys/authorize.ts';
import { KEY_LENGTH } from '#shared/keys/format.ts';
import { buildTestApp, NO_DATABASE } from '#test/support/app.ts';
import { until } from '#test/support/until.ts';

/** Sends a request without a body and resets the connection in the same breath; resolves when the client's side is closed. */
function sendAndReset(port: number, request: string): Promise<void> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1', () => {
      socket.write(`${request} HTTP/1.1\r\nhost: a\r\n\r\n`);
      socket.resetAndDestroy();
    });
    socket.on('error', () => {});
    socket.once('close', () => resolve());
  });
}

/** Sends half of a form, and resets the connection when the server has begun to read it. */
async function sendHalfAndReset(port: number): Promise<void> {
  const socket = connect(port, '127.0.0.1');
  socket.on('error', () => {});
  const head = `POST /dashboard/sign-in HTTP/1.1\r\nhost: a\r\norigin: http://a\r\n`;
  socket.write(
    `${head}content-type: application/x-www-form-urlencoded\r\ncontent-length: 99\r\nexpect: 100-continue\r\n\r\nemail=`,
  );
  await once(socket, 'data');
  socket.resetAndDestroy();
}

describe('a client that resets its connection with the last byte of its request', () => {
  it.each(['GET /status', 'GET /v1/models', 'GET /dashboard/sign-in', 'half a form'])(
    'is one that has left, and no error of ours: %s',
    async (request) => {
      const failed: unknown[] = [];
      const events = apiEvents(pino({ level: 'silent' }), new Registry());
      const app = await buildTestApp(NO_DATABASE, {
        events: {
          ...events,
          failedInside: (error) => failed.push(error),
          storeFailed: (error) => failed.push(error),
        },
      });
      await app.listen({ port: 0, host: '127.0.0.1' });
      const { port } = app.server.address() as AddressInfo;
      for (let i = 0; i < 50; i += 1)
        await (request === 'half a form' ? sendHalfAndReset(port) : sendAndReset(port, request));
      const answer = await fetch(`http://127.0.0.1:${port}/v1/methodologies`);
      expect(answer.status).toBe(200);
      expect(failed).toEqual([]);
    },
  );
});

describe('an error of ours', () => {
  it('is answered where it comes while a key that is not good is refused', async () => {
    const app = Fastify();
    await app.register(authenticate, {
      credentials: { lookup: () => Promise.reject(invalidApiKey()), ownerOf: () => undefined },
      keyUse: { used() {} },
      supportEmail: 'support@docket.example',
      addresses: {
        take: () => {
          throw new Error('no address');
        },
        waitOf: () => 0,
      },
      organisations: { takeForbidden: async () => undefined },
      held: { give() {} },
    });
    app.get('/', { config: { scope: 'any' } }, () => 'never');
    const headers = { authorization: `Bearer dkt_${'a'.repeat(KEY_LENGTH - 4)}` };
    expect((await app.inject({ url: '/', headers })).statusCode).toBe(500);
  });

  it('is counted as one of a page where a page fails', async () => {
    const failed: unknown[] = [];
    const app = Fastify();
    guardPages(app, {
      publicUrl: 'https://gateway.example',
      onFailure: (error, request) => failed.push([error, request.url]),
      onError: (error) => failed.push(error),
    });
    const error = new TypeError('a bug');
    const away = new Error('Connection terminated unexpectedly');
    app.get('/page', () => Promise.reject(error));
    app.get('/list', () => Promise.reject(away));
    expect((await app.inject('/page')).statusCode).toBe(500);
    const answer = await app.inject('/list');
    expect([answer.statusCode, answer.headers['retry-after']]).toEqual([503, '1']);
    expect(answer.body).toContain('cannot reach its data');
    expect(failed).toEqual([[error, '/page'], away]);
  });
});

describe('connections that are held open', () => {
  /** Opens connections one by one, each answered once before the next; resolves with how many were not closed. */
  const holdOpen = async (port: number, count: number): Promise<Socket[]> => {
    const kept: Socket[] = [];
    for (let i = 0; i < count; i += 1) {
      const socket = connect(port, '127.0.0.1');
      socket.write('GET /v1/methodologies HTTP/1.1\r\nhost: a\r\n\r\n');
      const isAnswered = await new Promise<boolean>((resolve) => {
        socket.once('data', () => resolve(true));
        socket.on('error', () => {});
        socket.once('close', () => resolve(false));
      });
      if (isAnswered) kept.push(socket);
    }
    return kept;
  };

  it.each([
    ['an address has a fifth of what there is', '198.51.100.7', [], 2, 'address'],
    [
      'a trusted proxy, which brings many callers, has all',
      '198.51.100.7',
      ['198.51.100.7'],
      8,
      'all',
    ],
    ['the machine itself has all', '127.0.0.1', [], 8, 'all'],
  ])(
    'are bounded, refused by closing, and counted: %s',
    { tags: ['limits.connections'] },
    async (_what, remoteAddress, trustedProxies, most, bound) => {
      const refused: string[] = [];
      const app = await buildTestApp(NO_DATABASE, {
        connectionsMax: 8,
        trustedProxies,
        events: {
          ...apiEvents(pino({ level: 'silent' }), new Registry()),
          connectionRefused: (which) => refused.push(which),
        },
      });
      app.server.prependListener('connection', (socket) =>
        Object.defineProperty(socket, 'remoteAddress', { value: remoteAddress }),
      );
      await app.listen({ port: 0, host: '127.0.0.1' });
      const { port } = app.server.address() as AddressInfo;
      const kept = await holdOpen(port, 10);
      expect(kept).toHaveLength(most);
      expect(refused).toEqual(Array.from({ length: 10 - most }, () => bound));
      // Room comes back with the end of one, of which the server hears in its own time.
      kept.pop()!.destroy();
      await until(async () => {
        const [again] = await holdOpen(port, 1);
        if (again !== undefined) kept.push(again);
        return again !== undefined;
      });
      for (const socket of kept) socket.destroy();
    },
  );

  it(
    'are closed when no headers come on them, and long before one that waits between requests is',
    { tags: ['limits.connections'] },
    async () => {
      const { server } = await buildTestApp(NO_DATABASE);
      expect(server.headersTimeout).toBe(10_000);
      expect(server.keepAliveTimeout).toBeGreaterThan(60_000);
    },
  );
});
