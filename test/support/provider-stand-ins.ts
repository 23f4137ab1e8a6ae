import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { atFileEnd } from './file-end.ts';

/** What a provider's own interface looks like: how it takes a key, its list, its answer to a chat. */
interface StandIn {
  key: (key: string) => [header: string, value: string];
  list: readonly [path: string, body: object];
  chat: readonly [path: string, body: object];
}

const bearer = (key: string): [string, string] => ['authorization', `Bearer ${key}`];
const fixture = (name: string): object =>
  JSON.parse(readFileSync(join(import.meta.dirname, '../fixtures', name), 'utf8')) as object;

/** A chat completion, with what some provider adds to it. */
function completion(model: string, own: object = {}, ownUsage: object = {}): object {
  return {
    id: 'chatcmpl-1',
    object: 'chat.completion',
    created: 1_795_167_485,
    model,
    choices: [
      { index: 0, message: { role: 'assistant', content: 'It turns.' }, finish_reason: 'stop' },
    ],
    usage: { prompt_tokens: 9, completion_tokens: 3, total_tokens: 12, ...ownUsage },
    ...own,
  };
}
const openai = (base: string, items: object[], chat: object): StandIn => ({
  key: bearer,
  list: [`${base}/models`, { object: 'list', data: items }],
  chat: [`${base}/chat/completions`, chat],
});

/** By host of the documented address, each as its provider documents its interface. */
export const STAND_INS: Readonly<Record<string, StandIn>> = {
  'api.openai.com': openai(
    '/v1',
    ['gpt-4o-mini', 'text-embedding-3-small', 'whisper-1'].map((id) => ({
      id,
      object: 'model',
      created: 1_721_172_741,
      owned_by: 'system',
    })),
    completion('gpt-4o-mini-2024-07-18', { service_tier: 'default', system_fingerprint: 'fp_1' }),
  ),
  'api.anthropic.com': {
    key: (key) => ['x-api-key', key],
    list: [
      '/v1/models?limit=1000',
      {
        data: [
          {
            id: 'claude-sonnet-4-5-20250929',
            type: 'model',
            display_name: 'Claude Sonnet 4.5',
            created_at: '2025-09-29T00:00:00Z',
          },
        ],
        has_more: false,
        first_id: 'claude-sonnet-4-5-20250929',
        last_id: 'claude-sonnet-4-5-20250929',
      },
    ],
    chat: ['/v1/messages', fixture('anthropic/text.json')],
  },
  'generativelanguage.googleapis.com': {
    key: (key) => ['x-goog-api-key', key],
    list: [
      '/v1beta/models?pageSize=1000',
      {
        models: [
          {
            name: 'models/gemini-2.5-flash',
            displayName: 'Gemini 2.5 Flash',
            inputTokenLimit: 1_048_576,
            outputTokenLimit: 65_536,
            supportedGenerationMethods: ['generateContent', 'countTokens'],
          },
          { name: 'models/aqa', supportedGenerationMethods: ['generateAnswer'] },
        ],
      },
    ],
    chat: ['/v1beta/models/gemini-2.5-flash:generateContent', fixture('google/text.json')],
  },
  'api.mistral.ai': openai(
    '/v1',
    [
      {
        id: 'mistral-small-2506',
        object: 'model',
        owned_by: 'mistralai',
        capabilities: { completion_chat: true, function_calling: true, vision: true },
        max_context_length: 131_072,
      },
    ],
    completion('mistral-small-2506'),
  ),
  'api.groq.com': openai(
    '/openai/v1',
    [
      {
        id: 'llama-3.3-70b-versatile',
        object: 'model',
        owned_by: 'Meta',
        active: true,
        context_window: 131_072,
      },
    ],
    completion('llama-3.3-70b-versatile', { x_groq: { id: 'req_1' } }, { queue_time: 0.02 }),
  ),
  'api.deepseek.com': openai(
    '/v1',
    [{ id: 'deepseek-chat', object: 'model', owned_by: 'deepseek' }],
    completion('deepseek-chat', {}, { prompt_cache_hit_tokens: 0, prompt_cache_miss_tokens: 9 }),
  ),
  'openrouter.ai': openai(
    '/api/v1',
    [
      {
        id: 'anthropic/claude-sonnet-4.5',
        name: 'Anthropic: Claude Sonnet 4.5',
        context_length: 1_000_000,
        architecture: { input_modalities: ['text', 'image'], output_modalities: ['text'] },
        pricing: { prompt: '0.000003', completion: '0.000015' },
      },
      {
        id: 'acme/painter',
        context_length: 4_096,
        architecture: { input_modalities: ['text'], output_modalities: ['image'] },
      },
    ],
    completion('anthropic/claude-4.5-sonnet', { provider: 'Anthropic' }),
  ),
  'acme.openai.azure.com': openai(
    '/openai/v1',
    [
      {
        id: 'gpt-4.1',
        object: 'model',
        status: 'succeeded',
        capabilities: {
          fine_tune: false,
          inference: true,
          completion: false,
          chat_completion: true,
        },
      },
    ],
    completion('gpt-4.1-2025-04-14', { prompt_filter_results: [] }),
  ),
};

export interface StandIns {
  /** What a process must have in its environment, so that these hosts are here for it. Nothing in the product knows of it. */
  env: Record<string, string>;
  /** `<host> <path> <credential>` of each call. */
  calls: string[];
}

/** One TLS server in place of all of them, under certificates for their names. */
export async function startStandIns(): Promise<StandIns> {
  const directory = await mkdtemp(join(tmpdir(), 'docket-providers-'));
  atFileEnd(() => rm(directory, { recursive: true, force: true }));
  const [key, certificate] = await certificateFor(directory, Object.keys(STAND_INS));
  const calls: string[] = [];
  const server = createServer({ key, cert: certificate }, (request, response) => {
    answer(request, response, calls);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  atFileEnd(() => {
    server.closeAllConnections();
    server.close();
  });
  const { port } = server.address() as AddressInfo;
  const detour = `
    import tls from 'node:tls';
    const hosts = new Set(${JSON.stringify(Object.keys(STAND_INS))});
    const connect = tls.connect;
    tls.connect = (options, ...rest) => connect(
      hosts.has(options.host)
        ? { ...options, servername: options.host, host: '127.0.0.1', port: ${port} }
        : options,
      ...rest,
    );`;
  return {
    calls,
    env: {
      NODE_EXTRA_CA_CERTS: join(directory, 'ca'),
      NODE_OPTIONS: `--import data:text/javascript,${encodeURIComponent(detour)}`,
    },
  };
}

function answer(request: IncomingMessage, response: ServerResponse, calls: string[]): void {
  const host = request.headers.host ?? '';
  const standIn = STAND_INS[host];
  const path = request.url ?? '';
  const [header] = standIn?.key('') ?? [''];
  calls.push(`${host} ${path} ${String(request.headers[header])}`);
  request.resume().on('end', () => {
    const [, body] = [standIn?.list, standIn?.chat].find((one) => one?.[0] === path) ?? [];
    response
      .writeHead(body === undefined ? 404 : 200, { 'content-type': 'application/json' })
      .end(JSON.stringify(body ?? { error: { message: 'nothing is here' } }));
  });
}

const run = promisify(execFile);

/** Key and certificate for these names, under an authority of their own whose certificate is the file `ca`. */
async function certificateFor(
  directory: string,
  hosts: readonly string[],
): Promise<[key: Buffer, certificate: Buffer]> {
  const openssl = (...args: string[]) => run('openssl', args, { cwd: directory });
  const names = hosts.map((host) => `DNS:${host}`).join(',');
  await writeFile(join(directory, 'ext'), `subjectAltName=${names}\n`);
  const ec = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes'];
  await openssl('req', '-x509', ...ec, '-keyout', 'ca.key', '-out', 'ca', '-subj', '/CN=Test CA');
  await openssl('req', ...ec, '-keyout', 'key', '-out', 'csr', '-subj', '/CN=providers');
  const issue = ['-CA', 'ca', '-CAkey', 'ca.key', '-CAcreateserial', '-extfile', 'ext'];
  await openssl('x509', '-req', '-in', 'csr', '-out', 'cert', ...issue);
  return [await readFile(join(directory, 'key')), await readFile(join(directory, 'cert'))];
}
