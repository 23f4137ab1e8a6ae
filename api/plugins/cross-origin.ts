import type { FastifyInstance } from 'fastify';
import { takeBeforeRouting } from './before-routing.ts';

/** Two hours, which is as long as Chromium remembers a preflight. */
const REMEMBERED_S = 7_200;
const METHODS = 'GET, HEAD, POST, PUT, PATCH, DELETE';
/** Names of headers, which come from the page that asks. */
const NAMES = /^[\w!#$%&'*+.^`|~, -]*$/;

/**
 * Lets pages of these origins call what is under `/v1` from a browser, with a key in a header and no cookies. The headers that
 * say so are set before routing, so that a refusal and a stream have them too; a preflight is answered there, and counts for
 * nothing.
 */
export function allowOrigins(
  app: Pick<FastifyInstance, 'server'>,
  origins: readonly string[],
): void {
  if (origins.length === 0) return;
  takeBeforeRouting(app, ({ method, url = '', headers }, response) => {
    if (!/^\/v1(?:[/?]|$)/.test(url)) return false;
    response.setHeader('vary', 'Origin');
    const { origin } = headers;
    if (origin === undefined || !origins.includes(origin)) return false;
    response.setHeader('access-control-allow-origin', origin);
    response.setHeader('access-control-expose-headers', '*');
    if (method !== 'OPTIONS' || headers['access-control-request-method'] === undefined) {
      return false;
    }
    const names = headers['access-control-request-headers'] ?? '';
    response
      .writeHead(204, {
        'access-control-allow-methods': METHODS,
        ...(NAMES.test(names) && names !== '' && { 'access-control-allow-headers': names }),
        'access-control-max-age': String(REMEMBERED_S),
      })
      .end();
    return true;
  });
}
