import type { FastifyInstance } from 'fastify';
import { takeBeforeRouting } from './before-routing.ts';

/** Far more than any route has. */
export const PARAMETERS_MAX = 100;

/** Where the first parameter of an address begins that is one too many; -1 for none. */
export function placeBeyond(url: string): number {
  let found = 0;
  for (let at = url.indexOf('?'); at !== -1; at = url.indexOf('&', at + 1)) {
    found += 1;
    if (found > PARAMETERS_MAX) return at + 1;
  }
  return -1;
}

/**
 * Has no more parameters of an address read than it takes to refuse it for them. A router parses all that there are, also where
 * there is no such route, and thousands fit into an address.
 */
export function readNoFurtherParameters(app: Pick<FastifyInstance, 'server'>): void {
  takeBeforeRouting(app, (request) => {
    const at = placeBeyond(request.url ?? '');
    if (at !== -1) request.url = request.url!.slice(0, at);
    return false;
  });
}
