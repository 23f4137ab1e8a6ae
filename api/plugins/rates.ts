import type { FastifyInstance, FastifyRequest } from 'fastify';
import { SecondChanceMap } from '#api/auth/second-chance-map.ts';
import { Fault } from '#shared/kernel/errors.ts';
import { PLAN_LIMITS } from '#shared/kernel/plan.ts';
import type { Buckets, Rate } from '#shared/lanes/redis/buckets.ts';
import { callerNetwork } from './caller-network.ts';

/**
 * Acts that leave something behind: an entry in the audit log, a letter, an export. A hundred services can be given new
 * keys at once; more come one a second.
 */
const CHANGES: Rate = { requestsPerSecond: 1, burst: 100 };
/** About 10 MB of addresses. */
const ADDRESSES_MAX = 50_000;
/** Keys that wait because of what was refused to them: far more than send such things within a minute. */
const KEYS_MAX = 50_000;
/** What a refused body counts as: one request for each of so many bytes, since reading it cost as much. */
const BYTES_OF_REFUSAL = 64 * 1024;

export interface RatesOptions {
  buckets: Pick<Buckets, 'take'>;
  /** Redis could not be asked: the request passes, because what it asks for stands in PostgreSQL. */
  onError: (error: unknown) => void;
}

/** What a request is counted with. */
export type RateClass = 'inference' | 'reads' | 'changes' | 'address' | 'session';

/** Inference has its own limits, at admission. */
export function rateClassOf(
  scope: string | undefined,
  method: string,
  isInference: boolean,
): RateClass {
  if (scope === undefined || scope === 'public') return 'address';
  if (scope === 'session') return 'session';
  if (isInference) return 'inference';
  return method === 'GET' || method === 'HEAD' ? 'reads' : 'changes';
}

/**
 * Counts requests for what everybody may read, for pages, and for what is not there, by address. To be called before any hook that may
 * refuse them for another reason; requests whose key is not good are counted by `authenticate`.
 */
export function limitAddresses(app: FastifyInstance, addresses: Pick<Addresses, 'take'>): void {
  app.addHook('onRequest', (request, _reply, next) => {
    const kind = classOf(request);
    // A page looks a session up before it knows who asks.
    const isCounted = kind === 'address' || kind === 'session';
    next(isCounted ? refusal(addresses.take(request.ip)) : undefined);
  });
}

/** Counts requests with a key, by organisation. To be called behind `authenticate`. */
export function limitOrganisations(app: FastifyInstance, { buckets, onError }: RatesOptions): void {
  app.addHook('onRequest', (request, _reply, next) => {
    const kind = classOf(request);
    if (kind !== 'reads' && kind !== 'changes') return next();
    const { orgId, plan } = request.credential;
    buckets
      .take(orgId, kind, kind === 'reads' ? PLAN_LIMITS[plan] : CHANGES)
      .catch((error: unknown) => {
        onError(error);
        return 0;
      })
      .then((waitMs) => next(refusal(waitMs)), next);
  });
}

/**
 * Counts requests for inference that are refused for what they are, which admission never sees: at the rate of the plan,
 * by key, a large body as many, in the memory of this process. A key that is over it is told to wait before its next
 * body is read. To be called behind `authenticate`, and `count` with every refusal.
 */
export class Refusals {
  readonly #now: () => number;
  /** When a key has earned what was refused to it. */
  readonly #due = new SecondChanceMap<number>(KEYS_MAX);

  /** `now` in monotonic milliseconds. */
  constructor(now: () => number = () => performance.now()) {
    this.#now = now;
  }

  limit(app: FastifyInstance): void {
    app.addHook('onRequest', (request, _reply, next) => {
      if (classOf(request) !== 'inference') return next();
      const { keyId, plan } = request.credential;
      const { requestsPerSecond, burst } = PLAN_LIMITS[plan];
      const aheadMs = (this.#due.get(keyId) ?? 0) - this.#now();
      next(refusal(Math.max(0, Math.ceil(aheadMs - ((burst - 1) * 1_000) / requestsPerSecond))));
    });
  }

  count({ status }: Fault, request: FastifyRequest): void {
    if (status < 400 || status >= 500 || status === 429) return;
    const { credential } = request;
    if (credential === null || classOf(request) !== 'inference') return;
    const { bytes = 0 } = (request.body ?? {}) as { bytes?: number };
    const { keyId, plan } = credential;
    const weight = Math.max(1, Math.ceil(bytes / BYTES_OF_REFUSAL));
    const from = Math.max(this.#due.get(keyId) ?? 0, this.#now());
    this.#due.set(keyId, from + (weight * 1_000) / PLAN_LIMITS[plan].requestsPerSecond);
  }
}

function classOf({ routeOptions: { config, schema }, method, is404 }: FastifyRequest): RateClass {
  return rateClassOf(is404 ? undefined : config.scope, method, schema?.rawBody !== undefined);
}

/** The refusal of a request that is to wait for so long; none when it need not. */
export function refusal(waitMs: number): Fault | undefined {
  if (waitMs === 0) return undefined;
  return new Fault('requests_per_second_exceeded', { retryAfterMs: waitMs });
}

/** Rates of addresses, in the memory of this process. */
export class Addresses {
  readonly #intervalMs: number;
  readonly #burst: number;
  readonly #now: () => number;
  /** When the next arrival of an address is due, as in admission.lua. */
  readonly #due = new SecondChanceMap<number>(ADDRESSES_MAX);

  /** `now` in monotonic milliseconds. */
  constructor({ requestsPerSecond, burst }: Rate, now: () => number = () => performance.now()) {
    this.#intervalMs = 1_000 / requestsPerSecond;
    this.#burst = burst;
    this.#now = now;
  }

  /** Counts a request; returns in how many milliseconds it would be taken, 0 when it is. */
  take(address: string): number {
    const { name, now, aheadMs, waitMs } = this.#look(address);
    if (waitMs === 0) this.#due.set(name, now + aheadMs + this.#intervalMs);
    return waitMs;
  }

  /** The same without counting it. */
  waitOf(address: string): number {
    return this.#look(address).waitMs;
  }

  #look(address: string) {
    const name = callerNetwork(address);
    const now = this.#now();
    // Differences first: a full bucket is exactly zero ahead, whatever the clock says.
    const aheadMs = Math.max(0, (this.#due.get(name) ?? 0) - now);
    const waitMs = Math.max(0, Math.ceil(aheadMs - (this.#burst - 1) * this.#intervalMs));
    return { name, now, aheadMs, waitMs };
  }
}
