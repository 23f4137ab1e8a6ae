import type { Product } from './system.ts';

export interface CallOptions {
  /** The enterprise key when absent. */
  key?: string;
  headers?: Record<string, string>;
  /** Which api process; the first when absent. */
  baseUrl?: string;
  signal?: AbortSignal;
}

/** A request as it is on the wire, for what must be exact to the byte. */
export async function post(
  system: Product,
  path: string,
  body: string | object,
  { key = system.key, headers = {}, baseUrl = system.baseUrl, signal }: CallOptions = {},
): Promise<Response> {
  return fetch(`${baseUrl}${path}`, {
    method: 'POST',
    body: typeof body === 'string' ? body : JSON.stringify(body),
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json', ...headers },
    ...(signal === undefined ? {} : { signal }),
  });
}

/** A small chat request that the sandbox answers with exactly `max_tokens` tokens. */
export function chatBody(rest: object = {}): Record<string, unknown> {
  return {
    model: 'llama-3.1-8b',
    messages: [{ role: 'user', content: 'Tell me about the lighthouse.' }],
    max_tokens: 4,
    ignore_eos: true,
    ...rest,
  };
}

/** The data payloads of a stream, `[DONE]` included. */
export function payloadsIn(text: string): string[] {
  return text
    .split('\n\n')
    .filter((frame) => frame.startsWith('data: '))
    .map((frame) => frame.slice(6).replaceAll('\ndata: ', '\n'));
}

/** The status that a call with a key gets from the api at `root`. */
export async function statusWith(root: string, key: string): Promise<number> {
  const reply = await fetch(`${root}/v1/models`, { headers: { authorization: `Bearer ${key}` } });
  await reply.arrayBuffer();
  return reply.status;
}

/** A call as the sandbox remembers it. */
export interface SandboxCall {
  id: string | null;
  model: string | null;
  state: 'running' | 'finished' | 'aborted' | 'faulted';
  headers: Record<string, string>;
  /** Epoch milliseconds. */
  started_at: number;
  /** Epoch milliseconds; null while it runs. */
  ended_at: number | null;
}

/** The calls that reached the upstream, newest first; those of one fault id when it is named. */
export async function upstreamCalls(system: Product, id?: string): Promise<SandboxCall[]> {
  const query = id === undefined ? 'limit=1000' : `limit=1000&id=${encodeURIComponent(id)}`;
  const response = await fetch(`${system.sandboxUrl}/sandbox/stats?${query}`);
  return ((await response.json()) as { calls: SandboxCall[] }).calls;
}

/** The error code of an answer; undefined when it is none. */
export async function codeOf(response: Response): Promise<string | undefined> {
  const { error } = (await response.json()) as { error?: { code: string } };
  return error?.code;
}

/** The id of the request that a call was made for, which upstreams are told as a UUID of the same bits. */
export function requestIdOf({ headers }: SandboxCall): string {
  let rest = BigInt(`0x${String(headers['x-request-id']).replaceAll('-', '')}`);
  let ulid = '';
  for (let i = 0; i < 26; i += 1) {
    ulid = '0123456789ABCDEFGHJKMNPQRSTVWXYZ'.charAt(Number(rest & 31n)) + ulid;
    rest >>= 5n;
  }
  return `req_${ulid}`;
}
