import type { Product } from './system.ts';

/** A request as it is on the wire, for what must be exact to the byte. */
export async function post(
  system: Product,
  path: string,
  body: string,
  headers: Record<string, string> = {},
): Promise<Response> {
  return fetch(`${system.baseUrl}${path}`, {
    method: 'POST',
    body,
    headers: {
      authorization: `Bearer ${system.key}`,
      'content-type': 'application/json',
      ...headers,
    },
  });
}

/** The data payloads of a stream, `[DONE]` included. */
export async function payloadsOf(response: Response): Promise<string[]> {
  const text = await response.text();
  return text
    .split('\n\n')
    .filter((frame) => frame.startsWith('data: '))
    .map((frame) => frame.slice(6).replaceAll('\ndata: ', '\n'));
}
