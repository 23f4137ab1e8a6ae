import { request as httpRequest } from 'node:http';
import { type AddressInfo, connect, type Socket } from 'node:net';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import type { AppOptions } from '#api/app.ts';
import { READ_HERE } from '#api/inference/enter-reader.ts';
import { LargeBodies } from '#api/inference/large-bodies.ts';
import { MemoryRates } from '#api/plugins/memory-rates.ts';
import { PLAN_LIMITS } from '#shared/kernel/plan.ts';
import { newId } from '#shared/kernel/system/new-id.ts';
import { buildTestApp } from '#test/support/app.ts';
import { TestCredentials } from '#test/support/credentials.ts';
import { createTestDatabase } from '#test/support/database.ts';
import { ask, expectRefusal } from '#test/support/envelope.ts';
import { exchange } from '#test/support/raw-http.ts';
import { until } from '#test/support/until.ts';

const MIB = 1_048_576;
const credentials = new TestCredentials();
const largeBodies = new LargeBodies({
  processId: 'api-1',
  shards: 1,
  isModerated: false,
  onLost: () => {},
});
let port: number;
let open: Socket[] = [];

beforeAll(async () => {
  const { pool } = await createTestDatabase();
  const app = await buildTestApp(pool, {
    bodyBytesMax: MIB,
    inference: {
      now: Date.now,
      readHere: new MemoryRates(READ_HERE),
      largeBodies,
    } as unknown as AppOptions['inference'],
    authenticate: { credentials, keyUse: { used() {} } },
  });
  await app.listen({ port: 0, host: '127.0.0.1' });
  ({ port } = app.server.address() as AddressInfo);
});

afterAll(() => largeBodies.close());
afterEach(() => {
  for (const socket of open) socket.destroy();
  open = [];
});

const newKey = (orgId: string, keyId = newId('key')) =>
  credentials.issue(orgId, ['inference:write', 'service:read', 'admin:keys'], {
    keyId,
    limits: { ...PLAN_LIMITS.enterprise, burst: 256 },
  });

/** Announces a body and sends as much of it as is said, which is none. Resolves when that is on its way. */
function announce(key: string, bytes: number, sent = 0): Promise<void> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1', () => {
      socket.write(
        `POST /v1/chat/completions HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${key}\r\ncontent-type: application/json\r\ncontent-length: ${bytes}\r\n\r\n${' '.repeat(sent)}`,
        () => resolve(),
      );
    });
    socket.on('error', () => {});
    open.push(socket);
  });
}

/** What a request is told, as a code; its body is a small one when none is given. */
async function told(key: string, path = '/v1/chat/completions', body = '{'): Promise<string> {
  const answer = await ask(`http://127.0.0.1:${port}${path}`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body,
  });
  return (JSON.parse(answer.text) as { error: { code: string } }).error.code;
}

describe('bodies on their way', () => {
  it('two of the largest bodies on their way are all that a key may have: a third is refused unread, and room comes back [limits.intake]', async () => {
    const key = newKey('org_bytes');
    await announce(key, MIB);
    expect(await told(key)).toBe('invalid_json');
    await announce(key, MIB);
    await until(async () => (await told(key)) === 'requests_per_second_exceeded');
    const refused = await ask(`http://127.0.0.1:${port}/v1/embeddings`, {
      method: 'POST',
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      body: 'x'.repeat(100_000),
    });
    expectRefusal(refused, 'requests_per_second_exceeded', { headers: { 'retry-after': '1' } });
    for (const socket of open) socket.destroy();
    await until(async () => (await told(key)) === 'invalid_json');
  });

  it('the keys of an organisation share three of the largest bodies, and neither other organisations nor a revocation are held up [limits.intake]', async () => {
    const [first, second] = [newKey('org_keys'), newKey('org_keys')];
    await Promise.all([announce(first, MIB), announce(second, MIB), announce(second, MIB)]);
    await until(async () => (await told(first)) === 'requests_per_second_exceeded');
    expect(await told(newKey('org_other'))).toBe('invalid_json');
    // A stolen key that fills all of this does not hold its own revocation up.
    expect(await told(first, '/v1/keys/key_x/revoke')).toBe('invalid_json');
  });

  it('eight of the largest bodies are all that the process takes at once: then it asks every caller with a large one to wait, and takes small ones [limits.intake, codes.internal]', async () => {
    const keys = Array.from({ length: 4 }, (_, i) => newKey(`org_all_${i}`));
    // They come: a body that does not gives its place to another.
    await Promise.all(
      keys.flatMap((key) => [announce(key, MIB, MIB - 1), announce(key, MIB, MIB - 1)]),
    );
    const other = newKey('org_last');
    const large = `{${' '.repeat(100_000)}`;
    await until(async () => (await told(other, undefined, large)) === 'dispatch_unavailable');
    expect(await told(other)).toBe('invalid_json');
    for (const socket of open) socket.destroy();
    await until(async () => (await told(other, undefined, large)) !== 'dispatch_unavailable');
    expect(await told(other, undefined, large)).toBe('invalid_json');
  });

  it('requests with small bodies are counted too, by key and organisation [limits.intake]', async () => {
    const key = newKey('org_many');
    await Promise.all(Array.from({ length: 256 }, () => announce(key, 10)));
    await until(async () => (await told(key)) === 'requests_per_second_exceeded');
    expect(await told(newKey('org_few'))).toBe('invalid_json');
  });

  it('a body without a length counts as the largest [limits.intake]', async () => {
    const key = newKey('org_chunked');
    for (let i = 0; i < 2; i += 1) {
      const request = httpRequest({
        port,
        host: '127.0.0.1',
        method: 'POST',
        path: '/v1/chat/completions',
        headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      });
      request.on('error', () => {});
      request.write('{');
      request.once('socket', (socket) => open.push(socket));
    }
    await until(async () => (await told(key)) !== 'invalid_json');
    expect(await told(key)).toBe('requests_per_second_exceeded');
  });
});

describe('a body that is larger than its route takes', () => {
  it.each(['/v1/keys', '/v1/exports'])(
    'a body over 64 KiB is refused where none is for a model: %s [limits.intake]',
    async (path) => {
      const key = credentials.issue('org_small', ['admin:keys', 'service:export']);
      const send = (bytes: number) =>
        ask(`http://127.0.0.1:${port}${path}`, {
          method: 'POST',
          headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
          body: `"${'x'.repeat(bytes - 2)}"`,
        });
      expect((await send(65_536)).status).toBe(400);
      expectRefusal(await send(65_537), 'request_too_large');
    },
  );

  it('a hundred of a hundred clients that send too much read that they do [errors.unread-body]', async () => {
    const key = newKey('org_too_large');
    const body = 'x'.repeat(3 * MIB);
    for (let i = 0; i < 100; i += 1) {
      const response = await fetch(`http://127.0.0.1:${port}/v1/chat/completions`, {
        method: 'POST',
        headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
        body,
      });
      expect(response.status).toBe(413);
      await response.arrayBuffer();
    }
  });

  it.each([
    ['without a key', 'HTTP/1.1', 401],
    ['that asks to close', 'HTTP/1.1', 413],
    ['of HTTP/1.0', 'HTTP/1.0', 413],
  ])(
    'a client %s that is still sending gets its refusal, and then the end of the connection [errors.unread-body]',
    async (who, version, status) => {
      const key = newKey('org_closing');
      const head = [
        `POST /v1/chat/completions ${version}`,
        'host: x',
        'connection: close',
        'content-type: application/json',
        `content-length: ${4 * MIB}`,
        ...(who === 'without a key' ? [] : [`authorization: Bearer ${key}`]),
      ];
      const answers = await exchange(port, [`${head.join('\r\n')}\r\n\r\n`, Buffer.alloc(4 * MIB)]);
      expect(answers.map((answer) => answer.status)).toEqual([status]);
    },
  );

  it('a client that never stops sending is cut off [errors.unread-body]', async () => {
    expect(await sendWithoutEnd()).toBeLessThan(200 * MIB);
  });

  it('many clients that never stop sending are read no faster together than the process can afford, and others are answered meanwhile [errors.unread-body]', async () => {
    const sending = Promise.all(Array.from({ length: 20 }, sendWithoutEnd));
    expect(await told(newKey('org_meanwhile'))).toBe('invalid_json');
    const sent = (await sending).reduce((sum, bytes) => sum + bytes, 0);
    // Alone, each of them gets 64 MiB through, and more while its connection ends.
    expect(sent).toBeLessThan(800 * MIB);
  });
});

/** Sends a body that has no end until the connection is closed; resolves with the bytes that went out. */
async function sendWithoutEnd(): Promise<number> {
  const socket = connect(port, '127.0.0.1');
  const closed = new Promise((resolve) => socket.once('close', resolve));
  socket.on('error', () => {});
  socket.write(
    `POST /v1/chat/completions HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ncontent-length: ${1_000 * MIB}\r\n\r\n`,
  );
  const piece = Buffer.alloc(MIB);
  const send = (): void => {
    while (!socket.destroyed && socket.write(piece));
    if (!socket.destroyed) socket.once('drain', send);
  };
  send();
  await closed;
  return socket.bytesWritten;
}

describe('a client that ends its side of the connection after its request', () => {
  const get = (headers = '') => `GET /v1/methodologies HTTP/1.1\r\nhost: x\r\n${headers}\r\n`;

  it('is answered: a plain GET [errors.half-closed]', async () => {
    const [answer] = await exchange(port, [get()], { hangUp: true });
    expect(answer?.status).toBe(200);
  });

  it('is answered: a GET of HTTP/1.0 without a Host [errors.half-closed]', async () => {
    const [answer] = await exchange(port, ['GET /v1/methodologies HTTP/1.0\r\n\r\n'], {
      hangUp: true,
    });
    expect(answer?.status).toBe(200);
  });
});

describe('a request that two readers might read differently', () => {
  const key = credentials.issue('org_framing', ['inference:write']);
  const authorization = `authorization: Bearer ${key}\r\n`;

  it.each([
    ['two Hosts', 'HTTP/1.1\r\nhost: a\r\nHost: b\r\n', 'Host'],
    [
      'two Authorizations',
      `HTTP/1.1\r\nhost: a\r\n${authorization}Authorization: Bearer x\r\n`,
      'Authorization',
    ],
    [
      'a body coded twice',
      `HTTP/1.1\r\nhost: a\r\n${authorization}transfer-encoding: gzip, chunked\r\n`,
      'Transfer-Encoding',
    ],
    [
      'two Content-Types',
      'HTTP/1.1\r\nhost: a\r\ncontent-type: application/json\r\ncontent-type: text/plain\r\n',
      'Content-Type',
    ],
    [
      'two Idempotency-Keys',
      `HTTP/1.1\r\nhost: a\r\n${authorization}idempotency-key: a\r\nIdempotency-Key: b\r\n`,
      'Idempotency-Key',
    ],
    [
      'two regions',
      `HTTP/1.1\r\nhost: a\r\n${authorization}x-region: eu-west\r\nX-Region: eu-west\r\n`,
      'x-region',
    ],
    [
      'chunks in a version that has none',
      `HTTP/1.0\r\nhost: a\r\n${authorization}transfer-encoding: chunked\r\n`,
      'Transfer-Encoding',
    ],
    ['a version that does not exist', 'HTTP/1.7\r\nhost: a\r\n', null],
    ['the version before 1.0', 'HTTP/0.9\r\nhost: a\r\n', null],
    ['the version of another protocol', 'HTTP/2.0\r\nhost: a\r\n', null],
  ])('is refused: %s [errors.one-reading]', async (_what, head, param) => {
    const [answer] = await exchange(port, [
      `POST /v1/chat/completions ${head}connection: close\r\n\r\n0\r\n\r\n`,
    ]);
    expectRefusal(answer!, 'invalid_request', { param });
  });

  it.each([
    ['two hosts in one', 'a, b'],
    ['two hosts without a blank', 'a,b'],
    ['none', ''],
    ['a blank', 'a b'],
    ['an address', 'http://a'],
    ['a path', 'a/v1'],
    ['a credential', 'me@a'],
    ['a port alone', ':80'],
    ['a port that is none', 'a:b'],
    ['IPv6 without brackets', '::1'],
    ['letters of no host', 'b\u00fccher'],
  ])('is refused: a Host with %s [errors.one-reading]', async (_what, host) => {
    for (const version of ['1.1', '1.0']) {
      const [answer] = await exchange(port, [
        `GET /v1/models HTTP/${version}\r\nhost: ${host}\r\nconnection: close\r\n\r\n`,
      ]);
      expectRefusal(answer!, 'invalid_host', { param: 'Host' });
    }
  });

  it.each(['a', 'a:8080', 'a:', '10.0.0.1', '[::1]:80', 'api_1.internal', 'a.example.'])(
    'is not one whose Host is %s',
    async (host) => {
      const [answer] = await exchange(port, [
        `GET /v1/models HTTP/1.1\r\nhost: ${host}\r\nconnection: close\r\n\r\n`,
      ]);
      expectRefusal(answer!, 'invalid_api_key');
    },
  );

  const coded = (coding: string, body = '{') =>
    exchange(port, [
      `POST /v1/chat/completions HTTP/1.1\r\nhost: a\r\n${authorization}content-type: application/json\r\n${coding}content-length: ${body.length}\r\nconnection: close\r\n\r\n${body}`,
    ]);

  it.each([
    ['Content-Encoding: gzip\r\n', 'gzip'],
    ['content-encoding: identity\r\ncontent-encoding: br\r\n', 'br'],
    ['content-encoding: identity, X-GZIP\r\n', 'X-GZIP'],
    ['content-encoding: "; drop\r\n', 'this'],
    [`content-encoding: ${'identity,'.repeat(200)}\r\n`, 'this'],
  ])(
    'is refused: a body of another content encoding, which is named (%j) [errors.one-reading, codes.bodies]',
    async (headers, named) => {
      const [answer] = await coded(headers);
      expectRefusal(answer!, 'invalid_content_encoding', {
        param: 'Content-Encoding',
        headers: { 'accept-encoding': 'identity' },
      });
      expect(answer!.text).toContain(`The content encoding ${named} is not taken`);
    },
  );

  it.each(['', 'content-encoding: identity\r\n', 'content-encoding:\r\n'])(
    'is not one whose body says that it is as it is: %j',
    async (headers) => {
      const [answer] = await coded(headers);
      expectRefusal(answer!, 'invalid_json');
    },
  );
});
