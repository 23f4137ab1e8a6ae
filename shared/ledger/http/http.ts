/** A timestamp authority or a witness answers within seconds; a slower one is asked again later. */
const TIMEOUT_MS = 10_000;
/** A timestamp with its certificates has a few kilobytes, cosignatures less. */
const ANSWER_BYTES_MAX = 131_072;

/** The answer of another party's server, as yet unchecked. */
export interface Answer {
  status: number;
  contentType: string;
  body: Uint8Array;
}

/** Posts and reads the whole answer, within bounds of time and size. Redirects are not followed. */
export async function post(
  url: string,
  contentType: string,
  body: Uint8Array | string,
): Promise<Answer> {
  const response = await fetch(url, {
    method: 'POST',
    headers: { 'content-type': contentType },
    body: typeof body === 'string' ? body : new Uint8Array(body),
    redirect: 'error',
    signal: AbortSignal.timeout(TIMEOUT_MS),
  });
  return {
    status: response.status,
    // Without parameters such as a charset.
    contentType: (response.headers.get('content-type') ?? '').split(';')[0]!.trim().toLowerCase(),
    body: await readBounded(response),
  };
}

async function readBounded(response: Response): Promise<Uint8Array> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  if (response.body === null) return new Uint8Array(0);
  for await (const chunk of response.body as AsyncIterable<Uint8Array>) {
    size += chunk.length;
    if (size > ANSWER_BYTES_MAX) throw new Error('the answer is larger than any such answer');
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}

/** An address as it may be stored and shown: without user, password, query and fragment. */
export function publicName(url: string): string {
  const { origin, pathname } = new URL(url);
  return origin + pathname.replace(/\/+$/, '');
}
