import type { IncomingMessage, ServerResponse } from 'node:http';
import proxyAddr from '@fastify/proxy-addr';
import type { FastifyInstance } from 'fastify';
import { takeBeforeRouting } from './before-routing.ts';
import { callerNetwork } from './caller-network.ts';
import type { MadeAnswer } from './error-envelope.ts';
import type { HeldRefusals } from './held-refusals.ts';
import type { Addresses } from './rates.ts';

export interface EarlyRefusalsOptions {
  addresses: Pick<Addresses, 'waitOf'>;
  trustedProxies: readonly string[];
  /** Whether a request shows a key that is known to be good: such a one is held up by nothing that its address did. */
  showsKey: (request: IncomingMessage) => boolean;
  /** The refusal of a request whose address is to wait for so many milliseconds. */
  refuse: (request: IncomingMessage, retryAfterMs: number) => MadeAnswer;
  /** Told of a refused request whose body may still come, before it is answered. */
  drain: (request: IncomingMessage, response: ServerResponse) => void;
  held: HeldRefusals;
}

/** Refuses what an address asks that is over its rate before Fastify does anything for it. */
export function refuseBeforeRouting(
  app: Pick<FastifyInstance, 'server' | 'addHook'>,
  { addresses, trustedProxies, showsKey, refuse, drain, held }: EarlyRefusalsOptions,
): void {
  const isTrusted = proxyAddr.compile([...trustedProxies]);
  takeBeforeRouting(app, (request, response) => {
    const address = proxyAddr(request, isTrusted);
    if (addresses.waitOf(address) === 0 || showsKey(request)) return false;
    held.give(callerNetwork(address), { request, response }, () => {
      drain(request, response);
      const { status, headers, body } = refuse(request, addresses.waitOf(address));
      response.writeHead(status, headers).end(body);
    });
    return true;
  });
  // What still waits when the time to drain is over is answered.
  app.addHook('preClose', (done) => {
    held.letGo();
    done();
  });
}
