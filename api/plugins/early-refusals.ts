import type { IncomingMessage, ServerResponse } from 'node:http';
import proxyAddr from '@fastify/proxy-addr';
import type { FastifyInstance } from 'fastify';
import { Fault } from '#shared/kernel/errors.ts';
import { takeBeforeRouting } from './before-routing.ts';
import { callerNetwork } from './caller-network.ts';
import { proxyTest } from './connections.ts';
import type { MadeAnswer } from './error-envelope.ts';
import type { HeldRefusals } from './held-refusals.ts';
import { type Addresses, whenHeld } from './rates.ts';
import type { RequestsOfCallers } from './requests-of-callers.ts';

export interface EarlyRefusalsOptions {
  addresses: Pick<Addresses, 'waitOf'>;
  trustedProxies: readonly string[];
  /** Whether a request counts under no rate. */
  isFree: (request: IncomingMessage) => boolean;
  /** Whose key a request shows, where it is known to be good: such a one is held up by nothing that its address did. */
  organisationOf: (request: IncomingMessage) => string | undefined;
  requests: Pick<RequestsOfCallers, 'take'>;
  /** The answer to a request that is refused. */
  refuse: (request: IncomingMessage, fault: Fault) => MadeAnswer;
  /** Told of a refused request whose body may still come, before it is answered. */
  drain: (request: IncomingMessage, response: ServerResponse) => void;
  held: HeldRefusals;
}

/** Requests are answered within moments, so there is room again. */
const RETRY_MS = 1_000;

/**
 * Refuses what an address asks that is over its rate, and what a caller asks of which too many requests are not answered,
 * before Fastify does anything for it.
 */
export function refuseBeforeRouting(
  app: Pick<FastifyInstance, 'server' | 'addHook'>,
  {
    addresses,
    trustedProxies,
    isFree,
    organisationOf,
    requests,
    refuse,
    drain,
    held,
  }: EarlyRefusalsOptions,
): void {
  const isTrusted = proxyAddr.compile([...trustedProxies]);
  const isProxy = proxyTest(trustedProxies);
  const isRevocation = revocationTest(app);
  takeBeforeRouting(app, (request, response) => {
    if (isFree(request)) return false;
    const address = proxyAddr(request, isTrusted);
    const network = callerNetwork(address);
    const orgId = organisationOf(request);
    const give = (caller: string, faultOf: (heldMs: number) => Fault): true => {
      held.give(caller, { request, response }, (heldMs) => {
        drain(request, response);
        const { status, headers, body } = refuse(request, faultOf(heldMs));
        response.writeHead(status, headers).end(body);
      });
      return true;
    };
    if (orgId === undefined && addresses.waitOf(address) > 0)
      return give(network, () => tooMany(addresses.waitOf(address)));
    // A stolen key that has all there is of its organisation does not hold its own revocation up.
    if (orgId !== undefined && isRevocation(request)) return false;
    const ofNetwork = { network: isProxy(address, 0) ? undefined : network };
    const bound = requests.take(response, orgId === undefined ? ofNetwork : { orgId });
    if (bound === undefined) return false;
    const fault =
      bound === 'caller'
        ? tooMany(RETRY_MS)
        : new Fault('dispatch_unavailable', { retryAfterMs: RETRY_MS });
    return give(orgId ?? network, whenHeld(fault));
  });
  // What still waits when the time to drain is over is answered.
  app.addHook('preClose', (done) => {
    held.letGo();
    done();
  });
}

function tooMany(retryAfterMs: number): Fault {
  return new Fault('requests_per_second_exceeded', { retryAfterMs });
}

/** Tells requests that revoke, by the routes that are added from now on. */
function revocationTest(
  app: Pick<FastifyInstance, 'addHook'>,
): (request: IncomingMessage) => boolean {
  const paths: RegExp[] = [];
  app.addHook('onRoute', ({ url, config }) => {
    if (config?.bucket !== 'revocations') return;
    paths.push(new RegExp(String.raw`^${url.replaceAll(/:\w+/g, '[^/?]+')}/?(?:\?|$)`));
  });
  return ({ url = '' }) => paths.some((path) => path.test(url));
}
