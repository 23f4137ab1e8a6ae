import { connect, type AddressInfo, type Socket } from 'node:net';
import Fastify from 'fastify';
import { describe, expect, it } from 'vitest';
import { boundOpenRequests } from '#api/plugins/open-requests.ts';
import { atFileEnd } from '#test/support/file-end.ts';

interface Server {
  port: number;
  /** How many requests node has made of what came, and how many of them Fastify was given. */
  parsed: number;
  routed: number;
  refused: string[];
}

/** A server that answers with the address that was asked for, the first of them last. */
async function serve(): Promise<Server> {
  const app = Fastify({ http: { requireHostHeader: false } });
  const server: Server = { port: 0, parsed: 0, routed: 0, refused: [] };
  boundOpenRequests(app, (bound) => server.refused.push(bound));
  // As the product does.
  app.server.on('checkExpectation', (...exchange) => app.server.emit('request', ...exchange));
  app.server.on('request', () => {
    server.parsed += 1;
  });
  app.get('/*', async ({ url }) => {
    server.routed += 1;
    if (url === '/0') for (let turn = 0; turn < 5; turn += 1) await new Promise(setImmediate);
    return `(${url})`;
  });
  await app.listen({ port: 0, host: '127.0.0.1' });
  atFileEnd(() => app.close());
  server.port = (app.server.address() as AddressInfo).port;
  return server;
}

/** Sends all of it at once; resolves with what was answered when the server, or the last answer, closes. */
function send(port: number, text: string): Promise<string> {
  return new Promise((resolve) => {
    let answered = '';
    const socket = connect(port, '127.0.0.1', () => socket.write(text));
    socket.on('data', (data) => {
      answered += data.toString();
    });
    socket.on('error', () => {});
    socket.once('close', () => resolve(answered));
  });
}

const asking = (count: number, more = '', version = '1.1'): string[] =>
  Array.from({ length: count }, (_, i) => `GET /${i} HTTP/${version}\r\nHost: a\r\n${more}\r\n`);

describe('requests that are sent ahead of the answers', () => {
  it.each([
    ['as they are', '', '1.1'],
    ['each with an expectation', 'Expect: 100-continue\r\n', '1.1'],
    ['each with an unknown expectation', 'Expect: magic\r\n', '1.1'],
    ['of HTTP/1.0', 'Connection: keep-alive\r\n', '1.0'],
  ])(
    'beyond eight close their connection, and neither node nor Fastify makes anything of the rest: %s [limits.connections]',
    async (_what, more, version) => {
      const server = await serve();
      const flood = asking(500, more, version).join('');
      expect(await send(server.port, flood)).not.toMatch(/\(\//);
      expect(server.parsed).toBeLessThanOrEqual(9);
      expect(server.routed).toBeLessThanOrEqual(8);
      expect(server.refused).toEqual(['requests']);
    },
  );

  it.each([2, 8])(
    'are answered in order when they are %i, and so are as many more on the same connection [limits.connections]',
    async (count) => {
      const server = await serve();
      const all = asking(count);
      const bodies = (text: string) => text.match(/\(\/\d+\)/g) ?? [];
      const wanted = all.map((_, i) => `(/${i})`);
      const answered = await new Promise<string>((resolve) => {
        let text = '';
        const socket = connect(server.port, '127.0.0.1', () => socket.write(all.join('')));
        socket.on('data', (data) => {
          const before = bodies(text).length;
          text += data.toString();
          const now = bodies(text).length;
          if (before < count && now === count) {
            const last = asking(count).at(-1)!.replace('\r\n\r\n', '\r\nConnection: close\r\n\r\n');
            socket.write([...asking(count).slice(0, -1), last].join(''));
          }
        });
        socket.once('close', () => resolve(text));
      });
      expect(bodies(answered)).toEqual([...wanted, ...wanted]);
      expect(server.refused).toEqual([]);
    },
  );
});

it.each([
  ['its client leaves', '', true],
  ['a CONNECT comes, which no route takes', 'CONNECT a:1 HTTP/1.1\r\nHost: a\r\n\r\n', false],
  ['what comes is no HTTP', 'NONSENSE\r\n\r\n', false],
])(
  'every request of a connection hears once that it closes, also one whose answer waits for the one before it: %s [limits.connections]',
  async (_why, more, leaves) => {
    const app = Fastify();
    boundOpenRequests(app, () => {});
    const { promise: allClosed, resolve } = Promise.withResolvers<void>();
    const closed: string[] = [];
    let asked = 0;
    let client: Socket;
    app.server.on('request', ({ url }, response) => {
      asked += 1;
      response.on('close', () => {
        closed.push(url!);
        if (closed.length === 8) resolve();
      });
      if (asked === 8 && leaves) client.destroy();
    });
    app.get('/*', () => new Promise(() => {}));
    await app.listen({ port: 0, host: '127.0.0.1' });
    atFileEnd(() => app.close());
    const { port } = app.server.address() as AddressInfo;
    client = connect(port, '127.0.0.1', () => client.write(asking(8).join('') + more));
    client.on('error', () => {}).resume();

    await expect(allClosed).resolves.toBeUndefined();
    expect(closed.toSorted()).toEqual(asking(8).map((_, at) => `/${at}`));
  },
);
