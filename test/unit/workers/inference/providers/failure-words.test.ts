import { createServer as createHttpServer, type Server } from 'node:http';
import { type AddressInfo, createServer } from 'node:net';
import { afterAll, describe, expect, it } from 'vitest';
import { Registry } from 'prom-client';
import type { Logger } from 'pino';
import { oddBaseUrl } from '#shared/catalogue/base-url.ts';
import type { Endpoint } from '#shared/catalogue/catalogue.ts';
import { inferenceEvents } from '#workers/inference/events.ts';
import { AiSdkProvider } from '#workers/inference/providers/ai-sdk/provider.ts';
import { inWords } from '#workers/inference/providers/failure-words.ts';
import { OpenAiCompatibleProvider } from '#workers/inference/providers/openai-compatible/provider.ts';
import type { UpstreamFailure } from '#workers/inference/providers/upstream-failure.ts';
import { endpoint } from '#test/unit/catalogue/routed-catalogue.ts';
import { delivery } from '../doubles.ts';

const SECRET = 'sk-very-secret';
const providers = {
  'openai-compatible': new OpenAiCompatibleProvider(() => SECRET),
  'ai-sdk': new AiSdkProvider(() => SECRET),
};
afterAll(() => Promise.all(Object.values(providers).map((one) => one.close())));

const servers: { close: () => unknown }[] = [];
afterAll(() => servers.forEach((server) => server.close()));

async function listening(server: Server | ReturnType<typeof createServer>): Promise<number> {
  servers.push(server);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return (server.address() as AddressInfo).port;
}

/** A server that answers everything like this. */
const answering = (
  status: number,
  body = '{}',
  headers: Record<string, string> = { 'content-type': 'application/json' },
): Promise<number> =>
  listening(createHttpServer((_, response) => response.writeHead(status, headers).end(body)));

/** A server that does this with every connection, in place of speaking HTTP. */
const raw = (reply: string): Promise<number> =>
  listening(createServer((socket) => socket.on('error', () => {}).end(reply)));

/** How a call to this endpoint fails. */
function failureAt(one: Endpoint): Promise<UpstreamFailure> {
  const timeouts = { headersMs: 5_000, firstByteMs: 5_000, betweenBytesMs: 5_000, totalMs: 5_000 };
  return new Promise((resolve, reject) => {
    const heard = (): void => reject(new Error('it did not fail'));
    providers[one.adapter].call(
      {
        requestId: 'req_01K5Y0V8Z3M4N5P6Q7R8S9T0AB',
        route: 'chat.completions',
        endpoint: one,
        body: '{"model":"m","messages":[{"role":"user","content":"Hello."}]}',
        stream: false,
        timeouts,
      },
      { onAnswer: heard, onPayload: heard, onEnd: heard, onFailure: resolve },
    );
  });
}

const openAi = (port: number, path = '/v1', over: Partial<Endpoint> = {}): Endpoint =>
  endpoint('e', ['eu'], { baseUrl: `http://127.0.0.1:${port}${path}`, apiKeyEnv: 'KEY', ...over });
const anthropic = (port: number): Endpoint =>
  openAi(port, '/v1', { adapter: 'ai-sdk', provider: 'anthropic' });

const wordsAt = async (one: Endpoint): Promise<string> => inWords(await failureAt(one), one, 'm');

async function closedPort(): Promise<number> {
  const server = createServer();
  const port = await listening(server);
  await new Promise((resolve) => server.close(resolve));
  return port;
}

describe('what is wrong with an endpoint, in a line', () => {
  it('a port on which nothing listens is said to be one, by both adapters', async () => {
    const port = await closedPort();
    const words = `ECONNREFUSED 127.0.0.1:${port}: nothing listens there`;
    expect(await wordsAt(openAi(port))).toBe(words);
    expect(await wordsAt(anthropic(port))).toBe(words);
  });

  it('a name that no host has, a server that hangs up, one that speaks no HTTP and one that speaks no TLS', async () => {
    const named = openAi(1, '', { baseUrl: 'https://models.example/v1' });
    const unknown = { kind: 'connection', detail: '', errno: 'ENOTFOUND' } as const;
    expect(inWords(unknown, named, 'm')).toBe(
      'ENOTFOUND models.example:443: there is no host of that name',
    );
    const silent = await raw('');
    expect(await wordsAt(openAi(silent))).toBe(
      `127.0.0.1:${silent}: it closed the connection before its answer was whole`,
    );
    const smtp = await raw('220 mail.example ESMTP\r\n');
    expect(await wordsAt(openAi(smtp))).toContain('does not speak HTTP');
    const tls = openAi(1, '', { baseUrl: `https://127.0.0.1:${smtp}/v1` });
    expect(await wordsAt(tls)).toContain('does base_url begin with http://?');
  });

  it('a path that is not there asks whether base_url ends in /v1, where it does not', async () => {
    const port = await answering(404, '{"detail":"Not Found"}');
    expect(await wordsAt(openAi(port, ''))).toBe(
      `404 127.0.0.1:${port}: does base_url end in /v1?`,
    );
    expect(await wordsAt(openAi(port, '/v1/chat/completions'))).toBe(
      `404 127.0.0.1:${port}: leave /chat/completions out of base_url: it is added`,
    );
    expect(await wordsAt(openAi(port))).toBe(
      `404 127.0.0.1:${port}: nothing is there; is base_url right, and the model "m"?`,
    );
    const page = await answering(200, '<html>Hello</html>', { 'content-type': 'text/html' });
    expect(await wordsAt(openAi(page, ''))).toBe(
      `127.0.0.1:${page}: a web page answers; does base_url end in /v1?`,
    );
  });

  it('a credential that is refused is named by its variable, and one that is missing is asked for', async () => {
    const port = await answering(401, '{"error":{"message":"Invalid API key"}}');
    expect(await wordsAt(openAi(port))).toBe(
      `401 127.0.0.1:${port}: it refuses the credential; is KEY set, and right?`,
    );
    expect(await wordsAt(anthropic(port))).toBe(await wordsAt(openAi(port)));
    const { apiKeyEnv: _, ...none } = openAi(port);
    expect(await wordsAt(none)).toContain('name its variable in api_key_env');
  });

  it.each([
    ['vLLM', 404, '{"object":"error","message":"The model `m` does not exist.","code":404}'],
    ['OpenAI', 404, '{"error":{"message":"no","code":"model_not_found"}}'],
    ['Ollama', 404, '{"error":"model \\"m\\" not found, try pulling it first"}'],
    [
      'LiteLLM',
      400,
      '{"error":{"message":"/chat/completions: Invalid model name passed in model=m."}}',
    ],
  ])('a model that %s does not have is named', async (_server, status, body) => {
    const port = await answering(status, body);
    expect(await wordsAt(openAi(port))).toBe(`${status} 127.0.0.1:${port}: it has no model "m"`);
  });

  it('a redirect is not followed by either adapter, so that a credential goes nowhere else', async () => {
    let asked = 0;
    const elsewhere = await listening(
      createHttpServer((_, response) => {
        asked += 1;
        response.end('{}');
      }),
    );
    const location = `http://127.0.0.1:${elsewhere}/?token=hush`;
    for (const status of [301, 307, 308]) {
      const port = await answering(status, '', { location });
      const words = `${status} 127.0.0.1:${port}: it sends requests elsewhere; name that place in base_url`;
      expect(await wordsAt(openAi(port))).toBe(words);
      expect(await wordsAt(anthropic(port))).toBe(words);
    }
    expect(asked).toBe(0);
  });

  it('an account that has nothing left is no fault of the caller', async () => {
    const words = 'the account there has nothing left to pay with';
    const unpaid = await answering(402, '{"error":{"message":"Insufficient Balance"}}');
    expect(await wordsAt(openAi(unpaid))).toBe(`402 127.0.0.1:${unpaid}: ${words}`);
    expect((await failureAt(openAi(unpaid))).kind).toBe('misconfigured');
    const quota = await answering(429, '{"error":{"code":"insufficient_quota"}}');
    expect(await wordsAt(openAi(quota))).toContain(words);
  });

  it('the log says it in the same words, without the credential, the path and a word of the upstream’s', async () => {
    const lines: Record<string, unknown>[] = [];
    const log = { warn: (line: Record<string, unknown>) => lines.push(line) } as unknown as Logger;
    const port = await answering(500, '{"error":{"message":"cannot parse: my secret prompt"}}');
    const one = openAi(port, '/token-in-a-path/v1');
    const failure = await failureAt(one);
    inferenceEvents(log, new Registry()).upstreamFailed(
      delivery().entry,
      { endpoint: one, model: 'm' },
      failure,
    );
    expect(lines).toMatchObject([
      {
        event: 'upstream_failed',
        kind: 'unavailable',
        status: 500,
        reason: inWords(failure, one, 'm'),
      },
    ]);
    expect(inWords(failure, one, 'm')).toBe(`500 127.0.0.1:${port}: it failed by itself`);
    expect(JSON.stringify(lines)).not.toMatch(/secret|token-in-a-path/);
  });
});

describe('an odd base_url', () => {
  it.each([
    'https://api.openai.com/v1',
    'https://api.openai.com/v1/',
    'https://generativelanguage.googleapis.com/v1beta/openai',
    'https://api.groq.com/openai/v1',
    'https://open.bigmodel.cn/api/paas/v4',
  ])('%s is not odd', (url) => expect(oddBaseUrl(url)).toBeUndefined());

  it.each(['http://127.0.0.1:8001', 'http://127.0.0.1:8001/', 'http://x/api', 'http://x/vision'])(
    '%s has no version',
    (url) => expect(oddBaseUrl(url)).toContain('/v1?'),
  );
});
