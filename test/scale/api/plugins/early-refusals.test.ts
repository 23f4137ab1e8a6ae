import { once } from 'node:events';
import { connect, type AddressInfo, type Socket } from 'node:net';
import Fastify, { type FastifyInstance, type FastifyReply, type FastifyRequest } from 'fastify';
import { describe, expect, it } from 'vitest';
import { refuseBeforeRouting } from '#api/plugins/early-refusals.ts';
import { HeldRefusals } from '#api/plugins/held-refusals.ts';
import { limitAddresses } from '#api/plugins/rates.ts';
import { RequestsOfCallers } from '#api/plugins/requests-of-callers.ts';
import { Turns } from '#api/plugins/turns.ts';
import { atFileEnd } from '#test/support/file-end.ts';
import { until } from '#test/support/until.ts';

const ADDRESSES = '198.51.100.';
const ADDRESS = `${ADDRESSES}7`;
const PROXY = '203.0.113.1';

interface Server {
  /** From which connections seem to come that are made next. */
  remote: string;
  app: FastifyInstance;
  port: number;
  /** Requests that Fastify answered. */
  routed: string[];
  /** How many requests were refused, by Fastify too, and connections closed. */
  answered: number;
  closed: number;
  /** What is to be done later, in order, and when. */
  held: Set<{ ms: number; act: () => void }>;
  /** Whether no request begins, since others have their turns. */
  isBusy: boolean;
  /** Does what is due by then. */
  passes: (ms: number) => void;
}

/** A server that has so many requests at once, to which `ADDRESS` is over its rate, and from which all connections seem to come from `remote`. */
async function serve(remote: string, requestsMax = 16_384): Promise<Server> {
  const app = Fastify({ trustProxy: [PROXY] });
  const held: Server['held'] = new Set();
  const passes = (ms: number) => held.forEach((one) => one.ms <= ms && one.act());
  const server: Server = {
    remote,
    app,
    port: 0,
    routed: [],
    answered: 0,
    closed: 0,
    isBusy: false,
    held,
    passes,
  };
  const waitOf = (address: string) =>
    address.startsWith(ADDRESSES) || address === '127.0.0.1' ? 1_500 : 0;
  const heldRefusals = new HeldRefusals({
    trustedProxies: [PROXY],
    onRefused: () => {
      server.closed += 1;
    },
    now: () => 0,
    later: (ms, act) => {
      const one = { ms, act };
      held.add(one);
      return () => void held.delete(one);
    },
  });
  refuseBeforeRouting(app, {
    addresses: { waitOf },
    trustedProxies: [PROXY],
    isFree: ({ url }) => url === '/free',
    ownerOf: ({ headers }, takesApiKeyHeader) => {
      const key = headers.authorization ?? (takesApiKeyHeader ? headers['x-api-key'] : undefined);
      if (key === 'Bearer good') return { keyId: 'key_1', orgId: 'org_1', scopes: ['admin:keys'] };
      if (key === 'Bearer stolen')
        return { keyId: 'key_3', orgId: 'org_1', scopes: ['admin:keys'] };
      return key === 'Bearer other'
        ? { keyId: 'key_2', orgId: 'org_1', scopes: ['inference:write'] }
        : undefined;
    },
    requests: new RequestsOfCallers(requestsMax),
    refuse: (_request, { status, retryAfterMs }) => {
      server.answered += 1;
      return { status, headers: { 'retry-after-ms': String(retryAfterMs) }, body: 'no' };
    },
    drain: () => {},
    held: heldRefusals,
    turns: new Turns(() => server.isBusy),
  });
  limitAddresses(app, { addresses: { take: waitOf, spend() {} }, held: heldRefusals });
  app.setErrorHandler((_error, _request, reply) => {
    server.answered += 1;
    return reply.code(429).send('no');
  });
  app.get('/keyed', { config: { scope: 'any' } }, async ({ url }) => {
    server.routed.push(url);
    return 'yes';
  });
  app.get('/free', { config: { bucket: 'none' } }, async ({ url }) => {
    server.routed.push(url);
    return 'yes';
  });
  app.get('/messages', { config: { scope: 'any', takesApiKeyHeader: true } }, async ({ url }) => {
    server.routed.push(url);
    return 'yes';
  });
  const isOver = ({ url, raw: request }: FastifyRequest, reply: FastifyReply): FastifyReply => {
    server.routed.push(url);
    heldRefusals.give('org_1', { request, response: reply.raw }, () => {
      server.answered += 1;
      void reply.code(429).send('no');
    });
    return reply;
  };
  const revoke = { config: { bucket: 'revocations' } } as const;
  app.post('/keys/over/revoke', revoke, isOver);
  app.post('/keys/:key/revoke', revoke, async ({ url }) => {
    server.routed.push(url);
    return 'yes';
  });
  app.get('/over', isOver);
  app.get('/unanswered', ({ url }) => {
    server.routed.push(url);
    return new Promise(() => {});
  });
  app.server.prependListener('connection', (socket) =>
    Object.defineProperty(socket, 'remoteAddress', { value: server.remote }),
  );
  app.get('/*', async ({ url }) => {
    server.routed.push(url);
    return 'yes';
  });
  await app.listen({ port: 0, host: '127.0.0.1' });
  atFileEnd(() => app.close());
  server.port = (app.server.address() as AddressInfo).port;
  return server;
}

interface Client {
  socket: Socket;
  text: string;
}

/** Asks so many times in a row, without waiting for answers. */
async function ask(
  port: number,
  headers = '',
  times = 1,
  path = '/x',
  method = 'GET',
): Promise<Client> {
  const socket = connect(port, '127.0.0.1');
  const client: Client = { socket, text: '' };
  socket.on('error', () => {});
  socket.on('data', (data) => {
    client.text += data.toString();
  });
  await once(socket, 'connect');
  socket.write(`${method} ${path} HTTP/1.1\r\nHost: a\r\n${headers}\r\n`.repeat(times));
  return client;
}

/** So many clients that ask at once. */
const ask300 = (port: number, headers = ''): Promise<Client[]> =>
  Promise.all(Array.from({ length: 300 }, () => ask(port, headers)));

const hangUp = (clients: readonly Client[]): void =>
  clients.forEach(({ socket }) => socket.destroy());

describe('requests of an address that is over its rate', () => {
  it('are refused without Fastify: some at once, some as they wait their turn, and what is beyond is closed [limits.addresses]', async () => {
    const server = await serve(ADDRESS);
    const clients = await ask300(server.port);
    // At once, and those that would wait for more than eight seconds.
    await until(() => server.closed === 300 - 32 - 256);
    expect(server.answered).toBe(32);
    server.passes(1_000);
    expect(server.answered).toBe(64);
    server.passes(8_000);
    expect(server.answered).toBe(32 + 256);
    await until(() => clients.filter(({ text }) => text.includes('429')).length === 288);
    expect(server.routed).toEqual([]);
    hangUp(clients);
  });

  it.each([
    ['this machine, which may be a proxy that says of no address', '127.0.0.1', ''],
    ['a proxy, which would take the service for failed', PROXY, `X-Forwarded-For: ${ADDRESS}\r\n`],
    [
      'a proxy of an IPv4 address that IPv6 carries',
      `::ffff:${PROXY}`,
      `X-Forwarded-For: ${ADDRESS}\r\n`,
    ],
  ])(
    'wait a second where too many wait already, and no connection is closed, behind %s [limits.addresses]',
    async (_what, remote, headers) => {
      const server = await serve(remote);
      const clients = await ask300(server.port, headers);
      await until(() => server.held.size === 268);
      expect(server.answered).toBe(32);
      // With those whose turn it is by then.
      server.passes(1_000);
      await until(() => server.answered === 32 + 32 + 12);
      expect([server.closed, server.routed]).toEqual([0, []]);
      hangUp(clients);
    },
  );

  it('hold up neither a good key of that address nor others behind the same proxy [limits.addresses]', async () => {
    const server = await serve(PROXY);
    const from = (address: string) => `X-Forwarded-For: ${address}\r\n`;
    const flood = await ask300(server.port, from(ADDRESS));
    await until(() => server.held.size === 268);
    const key = `${from(ADDRESS)}Authorization: Bearer good\r\n`;
    const good = await ask(server.port, key, 1, '/keyed');
    const other = await ask(server.port, from('192.0.2.9'));
    await until(() => [good, other].every(({ text }) => text.includes('200 OK')));
    expect(server.routed.toSorted()).toEqual(['/keyed', '/x']);
    hangUp([...flood, good, other]);
  });

  it('have a good key in x-api-key where their route takes it there, and nowhere else [limits.addresses]', async () => {
    const server = await serve(ADDRESS);
    const key = 'X-Api-Key: Bearer good\r\n';
    const taken = await ask(server.port, key, 1, '/messages');
    const refused = await ask(server.port, key, 1, '/keyed');
    await until(() => taken.text.includes('200 OK') && refused.text.includes('429'));
    expect(server.routed).toEqual(['/messages']);
    hangUp([taken, refused]);
  });

  it('wait in the same way with a good key, where no route asks for it, and behind none of those without one [limits.addresses]', async () => {
    const server = await serve(ADDRESS);
    const strangers = await ask300(server.port);
    await until(() => server.closed === 300 - 32 - 256);
    const owners = await ask300(server.port, 'Authorization: Bearer good\r\n');
    // What is beyond is refused before routing, in the turn of its organisation.
    await until(() => server.answered === 2 * 32 + 12);
    expect([server.closed, server.held.size]).toEqual([12, 2 * 256]);
    server.passes(1_000);
    await until(() => server.answered === 2 * 64 + 12);
    expect(server.routed).toEqual([]);
    hangUp([...strangers, ...owners]);
  });

  it('hold up the refusals of no other address, however many a few of them have wait [limits.addresses]', async () => {
    const server = await serve(ADDRESS);
    const floods: Client[] = [];
    for (let at = 0; at < 12; at += 1) {
      server.remote = `${ADDRESSES}${at}`;
      const all = server.held.size + 256;
      const { closed } = server;
      floods.push(await ask(server.port, '', 288));
      await until(() => server.held.size === all || server.closed > closed);
    }
    const { answered, closed } = server;
    const before = server.held.size;
    server.remote = `${ADDRESSES}200`;
    const other = await ask(server.port, '', 33);
    await until(() => other.text.includes('429') && server.held.size > before);
    expect([server.answered, server.closed]).toEqual([answered + 32, closed]);
    hangUp([...floods, other]);
  });

  it('are held for nothing when their clients leave, and answered when the process does [limits.addresses]', async () => {
    const server = await serve(PROXY);
    const clients = await ask300(server.port, `X-Forwarded-For: ${ADDRESS}\r\n`);
    await until(() => server.answered === 32 && server.held.size === 268);
    await until(() => clients.filter(({ text }) => text === '').length === 268);
    hangUp(clients.filter(({ text }) => text === '').slice(0, 200));
    await until(() => server.held.size === 68);
    await Promise.all([server.app.close(), until(() => server.answered === 100)]);
    expect(server.held.size).toBe(0);
    hangUp(clients);
  });
});

it('a request that counts under no rate waits for its turn as others do, and is answered also where its address is over its rate [limits.connections]', async () => {
  const server = await serve(ADDRESS);
  server.isBusy = true;
  const { socket } = await ask(server.port, '', 1, '/before');
  const free = await ask(server.port, '', 3, '/free');
  await until(() => server.answered === 1);
  expect([free.text, server.routed]).toEqual(['', []]);
  server.isBusy = false;
  await until(() => free.text.split('200 OK').length === 4);
  expect(server.routed).toEqual(['/free', '/free', '/free']);
  hangUp([free]);
  socket.destroy();
});

describe('requests of which too many are not answered', () => {
  const KEY = 'Authorization: Bearer good\r\n';
  const from = (address: string, more = ''): string => `X-Forwarded-For: ${address}\r\n${more}`;
  /** Requests from so many addresses, each on a connection of its own, that are not answered. */
  const askMany = (port: number, count: number, headersOf: (i: number) => string) =>
    Promise.all(Array.from({ length: count }, (_, i) => ask(port, headersOf(i), 1, '/unanswered')));

  it('of a key that is good are refused without Fastify, in turn, wherever they come from; what others ask is not, nor its revocation by one that may revoke [limits.connections]', async () => {
    const server = await serve(PROXY, 100);
    const flood = await askMany(server.port, 50 + 40, (i) => from(`192.0.2.${i}`, KEY));
    await until(() => server.answered === 32 && server.held.size === 8);
    expect(server.routed).toHaveLength(50);
    await until(() => flood.filter(({ text }) => text.includes('429')).length === 32);
    expect(flood.find(({ text }) => text !== '')!.text).toContain('retry-after-ms: 1000');
    const revoking = await ask(server.port, KEY, 1, '/keys/1/revoke?now', 'POST');
    const other = await ask(server.port, from('198.18.0.1'));
    await until(() => [revoking, other].every(({ text }) => text.includes('200 OK')));
    const routed = server.routed.length;
    const unable = await ask(
      server.port,
      KEY.replace('good', 'other'),
      1,
      '/keys/1/revoke',
      'POST',
    );
    const unlike = await ask(server.port, KEY, 1, '/keys/1/revoke');
    await until(() => server.held.size === 8 + 2);
    expect(server.routed).toHaveLength(routed);
    hangUp([unable, unlike, ...flood.slice(0, 60)]);
    await until(async () => {
      const again = await ask(server.port, from('192.0.2.1', KEY), 1, '/keyed');
      await until(() => again.text !== '');
      hangUp([again]);
      return again.text.includes('200 OK');
    });
    hangUp([...flood, revoking, other]);
  });

  it('of a network are refused in the same way, and those of another behind the same proxy, or of a good key, are not [limits.connections]', async () => {
    const server = await serve(PROXY, 100);
    const flood = await askMany(server.port, 20 + 40, () => from('192.0.2.1'));
    await until(() => server.answered === 32 && server.held.size === 8);
    expect(server.routed).toHaveLength(20);
    const other = await ask(server.port, from('198.18.0.1'));
    const good = await ask(server.port, from('192.0.2.1', KEY), 1, '/keyed');
    await until(() => [other, good].every(({ text }) => text.includes('200 OK')));
    hangUp([...flood, other, good]);
  });

  it('from a proxy that says of no address have the bound of all alone [limits.connections]', async () => {
    const server = await serve(PROXY, 100);
    const flood = await askMany(server.port, 100 + 1, () => '');
    await until(() => flood.some(({ text }) => text.includes('503')));
    expect(server.routed).toHaveLength(100);
    hangUp(flood);
  });
});

describe('requests of a key of which many refusals wait', () => {
  const OTHER = 'Authorization: Bearer other\r\n';

  it('are refused before they are routed, until fewer wait; those of another key of its organisation are routed [limits.addresses]', async () => {
    const server = await serve(PROXY);
    const flood = await Promise.all(
      Array.from({ length: 50 }, () => ask(server.port, OTHER, 8, '/over')),
    );
    await until(() => server.answered + server.held.size === 400);
    expect(server.routed).toHaveLength(32 + 256);
    const good = await ask(server.port, 'Authorization: Bearer good\r\n', 1, '/keyed');
    await until(() => good.text.includes('200 OK'));
    server.passes(2_000);
    const again = await ask(server.port, OTHER, 1, '/keyed');
    await until(() => again.text.includes('200 OK'));
    hangUp([...flood, good, again]);
  });

  it('are so too where they revoke keys; what the key asks else, and revocations by another, are routed, and each waits for its turn [limits.addresses]', async () => {
    const server = await serve(PROXY);
    const keyed = (name: string): string => `Authorization: Bearer ${name}\r\n`;
    const over = '/keys/over/revoke';
    const flood = await Promise.all(
      Array.from({ length: 50 }, () => ask(server.port, keyed('stolen'), 8, over, 'POST')),
    );
    await until(() => server.answered + server.held.size === 400);
    expect(server.routed).toHaveLength(32 + 256);
    const revoking = await ask(server.port, keyed('good'), 1, '/keys/3/revoke', 'POST');
    const reading = await ask(server.port, keyed('stolen'), 1, '/keyed');
    await until(() => [revoking, reading].every(({ text }) => text.includes('200 OK')));
    server.isBusy = true;
    const waiting = await ask(server.port, keyed('good'), 1, '/keys/4/revoke', 'POST');
    const { answered } = server;
    const refused = await ask(server.port, 'X-Forwarded-For: 198.51.100.9\r\n');
    await until(() => server.answered > answered);
    expect(waiting.text).toBe('');
    server.isBusy = false;
    await until(() => waiting.text.includes('200 OK'));
    hangUp([...flood, revoking, reading, waiting, refused]);
  });
});
