import type { IncomingMessage } from 'node:http';
import { connect, type AddressInfo, type Socket } from 'node:net';
import { pino } from 'pino';
import { Registry } from 'prom-client';
import Fastify, { type FastifyInstance, type FastifyRequest } from 'fastify';
import { describe, expect, it, onTestFinished } from 'vitest';
import { guardPages } from '#api/dashboard/guard.ts';
import { apiEvents } from '#api/events.ts';
import { authenticate } from '#api/plugins/authenticate.ts';
import { replyWithError } from '#api/plugins/reply-with-error.ts';
import { invalidApiKey } from '#shared/keys/authorize.ts';
import { KEY_LENGTH } from '#shared/keys/format.ts';
import { buildTestApp, NO_DATABASE } from '#test/support/app.ts';
import { until } from '#test/support/until.ts';

/** Sends a request and resets the connection in the same breath; resolves when the client's side is closed. */
function sendAndReset(port: number, path: string): Promise<void> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1', () => {
      socket.write(`GET ${path} HTTP/1.1\r\nhost: a\r\n\r\n`);
      socket.resetAndDestroy();
    });
    socket.on('error', () => {});
    socket.once('close', () => resolve());
  });
}

const ORIGIN = 'https://gateway.example';

/** What pages tell of their failures, in one list. */
const tellingOf = (told: unknown[]) => ({
  publicUrl: ORIGIN,
  supportEmail: 'support@docket.example',
  onFailure: (error: unknown, request: FastifyRequest) => void told.push([error, request.url]),
  onError: (error: unknown) => void told.push(error),
});

describe('a client that resets its connection with the last byte of its request', () => {
  it.each(['/status', '/v1/models', '/dashboard/sign-in'])(
    'is one that has left, and no error of ours: %s',
    async (path) => {
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
      for (let i = 0; i < 50; i += 1) await sendAndReset(port, path);
      const answer = await fetch(`http://127.0.0.1:${port}/v1/methodologies`);
      expect(answer.status).toBe(200);
      expect(failed).toEqual([]);
    },
  );
});

describe('a client that resets its connection in the middle of its body', () => {
  it.each([
    ['a page', (app: FastifyInstance, told: unknown[]) => guardPages(app, tellingOf(told))],
    [
      'the API',
      (app: FastifyInstance, told: unknown[]) =>
        replyWithError(app, {
          publicUrl: ORIGIN,
          onInternalError: (error) => told.push(error),
          onStoreAway: (error) => told.push(error),
          onRefusal: () => {},
          count: (_request, _reply, goOn) => goOn(),
          send: (reply, fault) => reply.code(fault.status).send(),
        }),
    ],
  ])('is one that has left, and no store that is away: %s', async (_what, guard) => {
    const told: unknown[] = [];
    const app = Fastify();
    onTestFinished(() => app.close());
    guard(app, told);
    const failed = Promise.withResolvers<number>();
    app.addHook('onSend', async (_request, reply) => failed.resolve(reply.statusCode));
    app.post('/form', () => 'taken');
    await app.listen({ port: 0, host: '127.0.0.1' });
    const socket = connect((app.server.address() as AddressInfo).port, '127.0.0.1');
    socket.on('error', () => {});
    app.server.once('request', (request: IncomingMessage) =>
      request.once('data', () => socket.resetAndDestroy()),
    );
    socket.write(
      `POST /form HTTP/1.1\r\nhost: a\r\norigin: ${ORIGIN}\r\ncontent-type: application/json\r\ncontent-length: 99\r\n\r\n{"a":`,
    );
    expect(await failed.promise).toBe(400);
    expect(told).toEqual([]);
  });
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
    guardPages(app, tellingOf(failed));
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
    'are bounded, refused by closing, and counted: %s [limits.connections]',
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

  it('are closed when no headers come on them, and long before one that waits between requests is [limits.connections]', async () => {
    const { server } = await buildTestApp(NO_DATABASE);
    expect(server.headersTimeout).toBe(10_000);
    expect(server.keepAliveTimeout).toBeGreaterThan(60_000);
  });
});
