import type { IncomingMessage, ServerResponse } from 'node:http';
import proxyAddr from '@fastify/proxy-addr';
import type { FastifyInstance } from 'fastify';
import type { Rate } from '#shared/kernel/plan.ts';
import { cutOff, takeBeforeRouting } from './before-routing.ts';
import { callerNetwork } from './caller-network.ts';
import { proxyTest } from './connections.ts';
import type { MadeAnswer } from './error-envelope.ts';
import { MemoryRates } from './memory-rates.ts';
import type { Addresses } from './rates.ts';

/** Of one address: a client that heeds what it is told is not held up, and one that does not has them in its own time. */
const REFUSALS: Rate = { requestsPerSecond: 32, burst: 32 };
/** A refusal waits no longer than this, so 256 of an address wait. */
const HELD_MS_MAX = 8_000;
/** Of all addresses: with the largest headers and what is read ahead of a body some hundred megabytes. */
const HELD_MAX = 2_048;

export interface EarlyRefusalsOptions {
  addresses: Pick<Addresses, 'waitOf'>;
  /** Their connections are those of many callers, and stay open. */
  trustedProxies: readonly string[];
  /** Whether a request shows a key that is known to be good: such a one is held up by nothing that its address did. */
  showsKey: (request: IncomingMessage) => boolean;
  /** The refusal of a request whose address is to wait for so many milliseconds. */
  refuse: (request: IncomingMessage, retryAfterMs: number) => MadeAnswer;
  /** Told of a refused request whose body may still come, before it is answered. */
  drain: (request: IncomingMessage, response: ServerResponse) => void;
  /** A connection was closed, because too many refusals of its address, or of all, wait already. */
  onRefused: (bound: 'refusals') => void;
  /** Monotonic milliseconds. */
  now?: () => number;
  /** Does something in so many milliseconds, unless what it returns is called. */
  later?: (ms: number, act: () => void) => () => void;
}

function afterTime(ms: number, act: () => void): () => void {
  const timer = setTimeout(act, ms);
  return () => clearTimeout(timer);
}

/**
 * Refuses what an address asks that is over its rate before Fastify does anything for it, and so many times a second:
 * beyond that a request waits for its refusal, and its connection with it, so that asking again and again costs the
 * client its time, and the process a few dozen answers a second. Where too many wait already, the connection is closed; one that a proxy
 * brings is answered instead, since proxies take a server that closes their connections for one that has failed.
 */
export function refuseBeforeRouting(
  app: Pick<FastifyInstance, 'server' | 'addHook'>,
  options: EarlyRefusalsOptions,
): void {
  const { addresses, showsKey, refuse, drain, onRefused, later = afterTime } = options;
  const isTrusted = proxyAddr.compile([...options.trustedProxies]);
  const isProxy = proxyTest(options.trustedProxies);
  const refusals = new MemoryRates(REFUSALS, options.now);
  const held = new Set<() => void>();

  const answer = (request: IncomingMessage, response: ServerResponse, address: string): void => {
    if (request.socket.destroyed) return;
    drain(request, response);
    const { status, headers, body } = refuse(request, addresses.waitOf(address));
    response.writeHead(status, headers).end(body);
  };
  const hold = (response: ServerResponse, waitMs: number, goOn: () => void): void => {
    const letGo = (): void => {
      forget();
      goOn();
    };
    const cancel = later(waitMs, letGo);
    const forget = (): void => {
      cancel();
      held.delete(letGo);
      response.off('close', forget);
    };
    // An answer that waits for the one before it on its connection is not told when that closes, and goes with its time.
    response.once('close', forget);
    held.add(letGo);
  };

  takeBeforeRouting(app, (request, response) => {
    const { socket } = request;
    const address = proxyAddr(request, isTrusted);
    if (addresses.waitOf(address) === 0 || showsKey(request)) return false;
    const network = callerNetwork(address);
    const waitMs = refusals.waitOf(network);
    if (waitMs === 0 || (waitMs <= HELD_MS_MAX && held.size < HELD_MAX)) {
      refusals.spend(network, 1);
      if (waitMs === 0) answer(request, response, address);
      else hold(response, waitMs, () => answer(request, response, address));
    } else if (isProxy(socket.remoteAddress ?? '', 0)) answer(request, response, address);
    else {
      onRefused('refusals');
      cutOff(socket);
    }
    return true;
  });
  // What still waits when the time to drain is over is answered.
  app.addHook('preClose', (done) => {
    for (const letGo of held) letGo();
    done();
  });
}
