import { lookup } from 'node:dns';
import type { LookupFunction } from 'node:net';
import { Agent, fetch, Headers } from 'undici';
import { InsideAddress, isAddress, isPublicAddress, type PublicFetch } from '../public-address.ts';

/** A server that is asked answers within seconds, or is away. */
export const PUBLIC_FETCH_MS_MAX = 10_000;
/** Descriptions of issuers, keys and tokens have some kilobytes. */
const ANSWER_BYTES_MAX = 1_048_576;

/** Looks a name up, and refuses one that leads inside: with the look-up that connects, so that it cannot change in between. */
const lookUpOutside: LookupFunction = (hostname, options, callback) => {
  lookup(hostname, { ...options, all: true }, (error, addresses) => {
    if (error !== null) return callback(error, '', 0);
    if (!addresses.every(({ address }) => isPublicAddress(address))) {
      return callback(new InsideAddress(hostname), '', 0);
    }
    if (options.all === true) return callback(null, addresses);
    const [first] = addresses;
    callback(null, first!.address, first!.family);
  });
};

/**
 * Fetches from addresses that others have named: over TLS, from servers of the internet, within bounds of time and size,
 * uncompressed, so that what is bounded is what is read, and without following redirects. Servers at the `inside` origins
 * are the exception that an operator makes. Answers that are not read at all may be compressed.
 * @throws InsideAddress for what leads to our own network; Error for an answer that is compressed
 */
export function createPublicFetch(
  inside: readonly string[],
  answers: 'read' | 'unread' = 'read',
): PublicFetch {
  const bounds = {
    // One request for each connection: they are rare, and nothing is left open.
    pipelining: 0,
    maxResponseSize: ANSWER_BYTES_MAX,
    headersTimeout: PUBLIC_FETCH_MS_MAX,
    bodyTimeout: PUBLIC_FETCH_MS_MAX,
  };
  const outside = new Agent({
    ...bounds,
    connect: { timeout: PUBLIC_FETCH_MS_MAX, lookup: lookUpOutside },
  });
  const ours = new Agent({ ...bounds, connect: { timeout: PUBLIC_FETCH_MS_MAX } });
  return async (address, init = {}) => {
    const { origin, protocol, hostname } = new URL(address);
    const isOurs = inside.includes(origin);
    const literal = hostname.replace(/^\[(.*)\]$/, '$1');
    const leadsInside = isAddress(literal) && !isPublicAddress(literal);
    if (!isOurs && (protocol !== 'https:' || leadsInside)) throw new InsideAddress(hostname);
    const headers = new Headers((init as { headers?: Record<string, string> }).headers);
    headers.set('accept-encoding', 'identity');
    const dispatcher = isOurs ? ours : outside;
    const answer = await fetch(address, { ...init, headers, redirect: 'manual', dispatcher });
    const encoding = answer.headers.get('content-encoding') ?? 'identity';
    if (encoding === 'identity' || answers === 'unread') return answer;
    await answer.body?.cancel();
    throw new Error('its answer is compressed, which was not asked for');
  };
}
