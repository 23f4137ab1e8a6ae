import { createServer, type IncomingHttpHeaders, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Endpoint } from '#shared/catalogue/catalogue.ts';
import { AiSdkProvider } from '#workers/inference/providers/ai-sdk/provider.ts';
import { OpenAiCompatibleProvider } from '#workers/inference/providers/openai-compatible/provider.ts';
import { endpoint } from '#test/unit/catalogue/routed-catalogue.ts';

const ID = 'req_01K5Y0V8Z3M4N5P6Q7R8S9T0AB';
const SECRETS = new Map([
  ['KEY_A', 'sk-a'],
  ['KEY_B', 'sk-b'],
]);

let server: Server;
let baseUrl: string;
let heard: IncomingHttpHeaders[];

beforeAll(async () => {
  server = createServer((request, response) => {
    heard.push(request.headers);
    response.statusCode = request.method === 'GET' ? 500 : 200;
    response.setHeader('content-type', 'application/json').end('{}');
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  baseUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`;
});
afterAll(() => new Promise((resolve) => server.close(resolve)));

/** The headers that a server at one address gets of calls to these endpoints, one after the other. */
async function headersOf(...endpoints: Endpoint[]): Promise<IncomingHttpHeaders[]> {
  heard = [];
  const provider = new OpenAiCompatibleProvider((name) => SECRETS.get(name));
  for (const one of endpoints) {
    await new Promise<void>((resolve, reject) => {
      provider.call(
        {
          requestId: ID,
          route: 'chat.completions',
          endpoint: one,
          body: '{}',
          stream: false,
          timeouts: {
            headersMs: 5_000,
            firstByteMs: 5_000,
            betweenBytesMs: 5_000,
            totalMs: 5_000,
          },
          traceparent: '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01',
        },
        {
          onAnswer: () => resolve(),
          onPayload: () => {},
          onEnd: () => {},
          onFailure: ({ detail }) => reject(new Error(detail)),
        },
      );
    });
  }
  await provider.close();
  return heard;
}

const at = (name: string, over: Partial<Endpoint> = {}): Endpoint =>
  endpoint(name, ['eu'], { baseUrl, ...over });

describe('credentials of endpoints', () => {
  it('each of several endpoints at one address is called with its own credential, and one without any with none', async () => {
    const calls = [
      at('a', { apiKeyEnv: 'KEY_A' }),
      at('b', { apiKeyEnv: 'KEY_B' }),
      at('none'),
      at('unset', { apiKeyEnv: 'NOT_SET' }),
      at('a', { apiKeyEnv: 'KEY_A' }),
    ];
    const sent = (await headersOf(...calls)).map(({ authorization }) => authorization);
    expect(sent).toEqual(['Bearer sk-a', 'Bearer sk-b', undefined, undefined, 'Bearer sk-a']);
  });

  it('an endpoint that names another credential after a reload is called with that one, at its new address', async () => {
    const before = at('a', { apiKeyEnv: 'KEY_A' });
    const sent = await headersOf(before, { ...before, apiKeyEnv: 'KEY_B' }, before);
    expect(sent.map(({ authorization }) => authorization)).toEqual([
      'Bearer sk-a',
      'Bearer sk-b',
      'Bearer sk-a',
    ]);
  });
});

describe('whether an endpoint is there', () => {
  it('an endpoint that answers is there, since some servers answer nothing but requests well; one that refuses connections is not', async () => {
    heard = [];
    const provider = new OpenAiCompatibleProvider(() => undefined);
    expect(await provider.list(at('a'), 1_000)).toMatchObject({ failure: { status: 500 } });
    const nowhere = at('a', { baseUrl: 'http://127.0.0.1:9/v1' });
    expect(await provider.list(nowhere, 1_000)).toMatchObject({
      failure: { errno: 'ECONNREFUSED' },
    });
    await provider.close();
  });
});

describe('a list of models', () => {
  it.each([
    ['that never ends is given up', 300, 'drip', { failure: { kind: 'timeout' } }],
    ['of more bytes than a list has is none', 20_000, 'flood', { models: null }],
  ])('a list %s', async (_, timeoutMs, how, found) => {
    const piece = how === 'flood' ? Buffer.alloc(1_000_000, 'x') : Buffer.from(' ');
    const dripping = createServer((_request, response) => {
      response.writeHead(200);
      const more = setInterval(() => response.write(piece), 5);
      response.on('close', () => clearInterval(more));
    });
    await new Promise<void>((resolve) => dripping.listen(0, '127.0.0.1', resolve));
    const url = `http://127.0.0.1:${(dripping.address() as AddressInfo).port}/v1`;
    const compatible = new OpenAiCompatibleProvider(() => undefined);
    const native = new AiSdkProvider(() => undefined);
    expect(await compatible.list(at('a', { baseUrl: url }), timeoutMs)).toMatchObject(found);
    const google = at('a', { baseUrl: url, adapter: 'ai-sdk', provider: 'google' });
    expect(await native.list(google, timeoutMs)).toMatchObject(found);
    await Promise.all([compatible.close(), native.close()]);
    dripping.closeAllConnections();
    await new Promise((resolve) => dripping.close(resolve));
  });
});

describe('headers that name a request', () => {
  it('an upstream is told the request id as a UUID of the same 128 bits, which servers that want a UUID take', async () => {
    const [sent] = await headersOf(at('a'));
    // The same bits, written with 5 to a digit and with 4.
    const bits = (digits: string, base: number): bigint =>
      digits.split('').reduce((sum, digit) => {
        const value = '0123456789ABCDEFGHJKMNPQRSTVWXYZ'.indexOf(digit);
        return sum * BigInt(base) + BigInt(base === 16 ? Number.parseInt(digit, 16) : value);
      }, 0n);
    const uuid = String(sent!['x-request-id']);
    expect(uuid).toMatch(/^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/);
    expect(bits(uuid.replaceAll('-', ''), 16)).toBe(bits(ID.slice(4), 32));
    expect(sent!['traceparent']).toBeDefined();
  });

  it('where a server minds, the request id goes under another header or is not sent, and neither is the trace', async () => {
    const renamed = at('a', { headers: { requestId: 'x-docket-request' } });
    const silent = at('b', { headers: { requestId: null, traceparent: false } });
    const [one, other] = await headersOf(renamed, silent);
    expect(one!['x-docket-request']).toMatch(/^[0-9a-f-]{36}$/);
    expect(one).not.toHaveProperty('x-request-id');
    expect(one).toHaveProperty('traceparent');
    expect(Object.values(other!).join()).not.toMatch(/[0-9a-f]{8}-/);
    expect(other).not.toHaveProperty('traceparent');
  });
});
