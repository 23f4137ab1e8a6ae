import type { IncomingMessage } from 'node:http';
import type { FastifyInstance } from 'fastify';
import { takeBeforeRouting } from './before-routing.ts';

/** Two hours, which is as long as Chromium remembers a preflight. */
const REMEMBERED_S = 7_200;
const IN_API = /^\/v1(?:[/?]|$)/;
const METHODS = 'GET, HEAD, POST, PUT, PATCH, DELETE';
/** Names of headers, which come from the page that asks. */
const NAMES = /^[\w!#$%&'*+.^`|~, -]*$/;

/**
 * Answers before routing what browsers ask before they ask something of `/v1` for a page of one of these origins. It counts
 * for nothing. Returns what tells such requests.
 */
export function answerPreflights(
  app: Pick<FastifyInstance, 'server'>,
  origins: readonly string[],
): (request: IncomingMessage) => boolean {
  if (origins.length === 0) return () => false;
  const isPreflight = ({ method, url = '', headers }: IncomingMessage): boolean =>
    method === 'OPTIONS' &&
    headers['access-control-request-method'] !== undefined &&
    origins.includes(headers.origin ?? '') &&
    IN_API.test(url);
  takeBeforeRouting(app, (request, response) => {
    if (!isPreflight(request)) return false;
    const names = request.headers['access-control-request-headers'] ?? '';
    response
      .writeHead(204, {
        'access-control-allow-methods': METHODS,
        ...(NAMES.test(names) && names !== '' && { 'access-control-allow-headers': names }),
        'access-control-max-age': String(REMEMBERED_S),
      })
      .end();
    return true;
  });
  return isPreflight;
}

/**
 * Lets pages of these origins call what is under `/v1` from a browser, with a key in a header and no cookies. The headers that
 * say so are set before routing, so that a refusal, a stream and the answer to a preflight have them too.
 */
export function allowOrigins(
  app: Pick<FastifyInstance, 'server'>,
  origins: readonly string[],
): void {
  if (origins.length === 0) return;
  takeBeforeRouting(app, ({ url = '', headers: { origin } }, response) => {
    if (!IN_API.test(url)) return false;
    response.setHeader('vary', 'Origin');
    if (origin === undefined || !origins.includes(origin)) return false;
    response.setHeader('access-control-allow-origin', origin);
    response.setHeader('access-control-expose-headers', '*');
    return false;
  });
}
