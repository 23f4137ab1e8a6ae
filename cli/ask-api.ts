import { readFileSync } from 'node:fs';
import { reasonOf } from '#shared/kernel/plain-text.ts';

/** How a command reaches the API, as a caller. */
export interface ApiAccess {
  /** Ends in `/v1`. */
  baseUrl: string;
  apiKey: string;
}

/** Connecting and the first byte; a pack itself may take as long as it takes. */
const ANSWER_TIMEOUT_MS = 30_000;

/**
 * Asks the API what is at a path below its base URL.
 * @throws Error with code and message of a refusal, or when nothing answers within 30 s
 */
export async function askApi(
  { baseUrl, apiKey }: ApiAccess,
  method: string,
  path: string,
  more: { body?: object; headers?: Readonly<Record<string, string>> } = {},
): Promise<Response> {
  if (!URL.canParse(baseUrl)) throw new Error('The base URL (--url) is no address.');
  const given = new AbortController();
  const timer = setTimeout(() => given.abort(new Error('no answer')), ANSWER_TIMEOUT_MS);
  const answer = await fetch(baseUrl.replace(/\/+$/, '') + path, {
    method,
    signal: given.signal,
    headers: {
      authorization: `Bearer ${apiKey}`,
      ...(more.body === undefined ? {} : { 'content-type': 'application/json' }),
      ...more.headers,
    },
    ...(more.body === undefined ? {} : { body: JSON.stringify(more.body) }),
  })
    .catch((error: Error) => {
      const reason = reasonOf(error.cause ?? error);
      throw new Error(`${new URL(baseUrl).origin} does not answer: ${reason}`, { cause: error });
    })
    .finally(() => clearTimeout(timer));
  if (answer.ok) return answer;
  const { error } = (await answer.json().catch(() => ({}))) as {
    error?: { code: string; message: string };
  };
  const words = error === undefined ? `HTTP ${answer.status}` : `${error.code}: ${error.message}`;
  const isElsewhere = error === undefined || error.code === 'route_not_found';
  throw new Error(isElsewhere ? `${words}${hintOf(baseUrl)}` : words);
}

/** What is said of a base URL that ends in no version, where nothing is found behind it. */
function hintOf(baseUrl: string): string {
  const { origin, pathname } = new URL(baseUrl);
  const path = pathname.replace(/\/+$/, '');
  return path.endsWith('/v1')
    ? ''
    : ` The base URL ends in /v1, and this one does not: try ${origin}${path}/v1.`;
}

/** A key from a file, or from standard input for `-`: arguments end up in shell histories and process lists, files do not. */
export function readKeyFile(path: string): string {
  return readFileSync(path === '-' ? 0 : path, 'utf8').trim();
}
