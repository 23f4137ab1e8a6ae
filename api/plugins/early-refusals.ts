import type { IncomingMessage, ServerResponse } from 'node:http';
import proxyAddr from '@fastify/proxy-addr';
import type { FastifyContextConfig, FastifyInstance } from 'fastify';
import { Fault } from '#shared/kernel/errors.ts';
import type { KeyOwner } from './authenticate.ts';
import { takeBeforeRouting } from './before-routing.ts';
import { callerNetwork } from './caller-network.ts';
import { proxyTest } from './connections.ts';
import type { MadeAnswer } from './error-envelope.ts';
import { type HeldRefusals, type Owner, revocationsBy } from './held-refusals.ts';
import type { Addresses, Refusal } from './rates.ts';
import type { RequestsOfCallers } from './requests-of-callers.ts';
import type { Turns } from './turns.ts';

export interface EarlyRefusalsOptions {
  addresses: Pick<Addresses, 'waitOf'>;
  trustedProxies: readonly string[];
  /** Whether a request counts under no rate; it waits for its turn all the same. */
  isFree: (request: IncomingMessage) => boolean;
  /**
   * Whose key a request shows, where it is known to be good: such a one is held up by nothing that its address did. Its
   * route may take keys in `x-api-key` too.
   */
  ownerOf: (request: IncomingMessage, takesApiKeyHeader: boolean) => KeyOwner | undefined;
  requests: Pick<RequestsOfCallers, 'take'>;
  /** The answer to a request that is refused, whose key is known to be its owner's where there is one. */
  refuse: (request: IncomingMessage, fault: Fault, owner: KeyOwner | undefined) => MadeAnswer;
  /** Told of a refused request whose body may still come, before it is answered. */
  drain: (request: IncomingMessage, response: ServerResponse) => void;
  held: HeldRefusals;
  /** In which requests of a caller are routed. */
  turns: Turns;
}

/** Requests are answered within moments, so there is room again. */
const RETRY_MS = 1_000;

/**
 * Refuses, before Fastify does anything for it, what an address asks that is over its rate, and what a caller asks of which
 * too many requests are not answered or too many refusals wait. What a caller asks at once is routed in turns.
 */
export function refuseBeforeRouting(
  app: Pick<FastifyInstance, 'server' | 'addHook'>,
  {
    addresses,
    trustedProxies,
    isFree,
    ownerOf,
    requests,
    refuse,
    drain,
    held,
    turns,
  }: EarlyRefusalsOptions,
): void {
  const isTrusted = proxyAddr.compile([...trustedProxies]);
  const isProxy = proxyTest(trustedProxies);
  const revokes = routeTest(app, ({ bucket }) => bucket === 'revocations');
  const takesApiKeyHeader = routeTest(app, (config) => config.takesApiKeyHeader === true);
  takeBeforeRouting(app, (request, response, goOn) => {
    const address = proxyAddr(request, isTrusted);
    const network = callerNetwork(address);
    if (isFree(request)) {
      const answer = (): void => {
        if (!request.socket.destroyed) goOn();
      };
      return !turns.take(network, answer);
    }
    const owner = ownerOf(request, takesApiKeyHeader(request));
    const give = (caller: string, faultOf: (heldMs: number) => Fault): true => {
      held.give(caller, { request, response }, (heldMs) => {
        drain(request, response);
        const { status, headers, body } = refuse(request, faultOf(heldMs), owner);
        response.writeHead(status, headers).end(body);
      });
      return true;
    };
    if (owner === undefined && addresses.waitOf(address) > 0)
      return give(network, () => tooMany(addresses.waitOf(address)));
    const isRevocation = owner?.scopes.includes('admin:keys') === true && revokes(request);
    // A stolen key that has all there is of its organisation does not hold its own revocation up: those by a key wait for each
    // other alone.
    const routed: Owner | undefined = isRevocation ? { keyId: revocationsBy(owner.keyId) } : owner;
    const caller = isRevocation ? routed!.keyId : (owner?.orgId ?? network);
    const refuseOverrun = (): boolean =>
      routed !== undefined && held.isOverrun(routed) && give(caller, tooManySince);
    if (refuseOverrun()) return true;
    const asker = owner ?? { network: isProxy(address, 0) ? undefined : network };
    const bound = isRevocation ? undefined : requests.take(response, asker);
    if (bound !== undefined) return give(caller, bound === 'all' ? noRoomSince : tooManySince);
    const route = (): void => {
      if (routed !== undefined) held.routes(request, routed);
      goOn();
    };
    const begin = (): void => {
      if (!request.socket.destroyed && !refuseOverrun()) route();
    };
    if (turns.take(caller, begin)) route();
    return true;
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

/** These are made when they are told: an error costs more than all that comes before it. */
const tooManySince: Refusal = (heldMs) => tooMany(leftOf(heldMs));
const noRoomSince: Refusal = (heldMs) =>
  new Fault('dispatch_unavailable', { retryAfterMs: leftOf(heldMs) });

function leftOf(heldMs: number): number {
  return Math.max(1, Math.ceil(RETRY_MS - heldMs));
}

/** Tells requests of such routes, by those that are added from now on. */
function routeTest(
  app: Pick<FastifyInstance, 'addHook'>,
  isSuch: (config: FastifyContextConfig) => boolean,
): (request: IncomingMessage) => boolean {
  const paths = new Map<string, RegExp[]>();
  app.addHook('onRoute', ({ method, url, config }) => {
    if (config === undefined || !isSuch(config)) return;
    const path = new RegExp(String.raw`^${url.replaceAll(/:\w+/g, '[^/?]+')}/?(?:\?|$)`);
    for (const one of [method].flat()) paths.set(one, [...(paths.get(one) ?? []), path]);
  });
  return ({ method = '', url = '' }) => paths.get(method)?.some((path) => path.test(url)) === true;
}
