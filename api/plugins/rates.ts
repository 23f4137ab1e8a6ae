import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { SecondChanceMap } from '#api/auth/second-chance-map.ts';
import { Fault } from '#shared/kernel/errors.ts';
import type { Credential } from '#shared/keys/credential.ts';
import type { Rate } from '#shared/kernel/plan.ts';
import type { RateState } from '#shared/lanes/redis/admission.ts';
import type { Buckets } from '#shared/lanes/redis/buckets.ts';
import { callerNetwork } from './caller-network.ts';
import { type HeldRefusals, revocationsBy } from './held-refusals.ts';
import { MemoryRates } from './memory-rates.ts';
import { limitHeaders, rateHeaders } from './rate-headers.ts';

/**
 * Acts that leave something behind: an entry in the audit log, an e-mail, an export. A hundred services can be given new
 * keys at once; more come one a second. Revocations have as much for themselves, by the key that revokes: who has stolen
 * one must not be able to hold up those of the others.
 */
export const CHANGES: Rate = { requestsPerSecond: 1, burst: 100 };
/** Callers that wait because of what was refused to them: far more than send such things within a minute. */
const CALLERS_MAX = 50_000;
/** A public answer, or a page, counts as one request for each of so many bytes: the documentation sent whole is twenty-six. */
export const BYTES_OF_ANSWER = 32 * 1024;
/** What a refused body counts as: one request for each of so many bytes, since reading it cost as much. */
export const BYTES_OF_REFUSAL = 64 * 1024;

declare module 'fastify' {
  interface FastifyRequest {
    /** When its headers had come, in milliseconds of the steady clock. */
    arrivedAt: number;
  }
  interface FastifyContextConfig {
    /** The bucket that the requests of a route are taken from, where it is not that of all such requests; or that there is none. */
    bucket?: 'reads' | 'revocations' | 'none';
  }
}

export interface RatesOptions {
  buckets: Pick<Buckets, 'take' | 'look'>;
  /** Redis could not be asked: the process counts the request by itself. */
  onError: (error: unknown) => void;
}

/** What a request is counted with. */
export type RateClass =
  | 'inference'
  | 'reads'
  | 'changes'
  | 'revocations'
  | 'address'
  | 'session'
  | 'none';

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

export interface AddressLimits {
  addresses: Pick<Addresses, 'take' | 'spend'>;
  held: Pick<HeldRefusals, 'give'>;
}

/**
 * Counts requests for what the public may read, for pages, and for what is not there, by address, and a large answer as
 * many. To be called before any hook that may refuse them for another reason; what is refused for its key is
 * counted by `authenticate`.
 */
export function limitAddresses(app: FastifyInstance, limits: AddressLimits): void {
  app.addHook('onRequest', (request, reply, next) => {
    if (isOfAddress(request)) takeOfAddress(limits, request, reply, next);
    else next();
  });
  app.addHook('onSend', (request, reply, payload, next) => {
    const { scope } = request.routeOptions.config;
    if ((scope === 'public' || scope === 'session') && request.method !== 'HEAD') {
      const isWhole = typeof payload === 'string' || Buffer.isBuffer(payload);
      const announced = () => Number(reply.getHeader('content-length') ?? 0);
      // A pack that a person fetches comes in pieces, at the pace of its reader, and holds up no other request.
      const bytes = isWhole ? payload.length : scope === 'public' ? announced() : 0;
      const more = Math.floor(bytes / BYTES_OF_ANSWER);
      if (more > 0) limits.addresses.spend(request.ip, more);
    }
    next();
  });
}

/** Whether its address is what a request is counted with. A page looks a session up before it knows who asks. */
export function isOfAddress(request: FastifyRequest): boolean {
  const kind = classOf(request);
  return kind === 'address' || kind === 'session';
}

/** Counts a request for its address. One that is one too many goes on with its refusal, when that is its turn. */
export function takeOfAddress(
  { addresses, held }: AddressLimits,
  { ip, raw }: Pick<FastifyRequest, 'ip' | 'raw'>,
  reply: FastifyReply,
  goOn: (refused?: Fault) => void,
): void {
  const refused = refusal(addresses.take(ip));
  if (refused === undefined) return goOn();
  // Without a good key it had been refused before routing. Those with one do not wait behind those without.
  const caller = `${callerNetwork(ip)} with a key`;
  held.give(caller, { request: raw, response: reply.raw }, (heldMs) => goOn(refused(heldMs)));
}

/** What is said while Redis cannot be asked. */
const OUTAGES: ReadonlySet<string> = new Set([
  'internal_error',
  'dispatch_unavailable',
  'store_unavailable',
]);

/**
 * Counts requests with a good key, by organisation and, where it has a limit of its own, by key. Every answer says where its
 * caller stands.
 */
export class Organisations {
  readonly #buckets: RatesOptions['buckets'];
  readonly #refusals: Refusals;
  /** What is counted while Redis cannot be asked, at each rate that there is. */
  readonly #alone = new Map<string, MemoryRates>();
  readonly #unknown: (error: unknown) => undefined;

  constructor({ buckets, onError }: RatesOptions, refusals: Refusals) {
    this.#buckets = buckets;
    this.#refusals = refusals;
    this.#unknown = (error) => {
      onError(error);
      return undefined;
    };
  }

  /**
   * Counts a request, and says what it is refused with when there have been too many. Of inference only those are counted that
   * are refused, when they are; the others are counted at admission.
   */
  take(
    request: FastifyRequest,
    reply: FastifyReply,
  ): Refusal | undefined | Promise<Refusal | undefined> {
    const kind = classOf(request);
    if (kind === 'inference') return this.#refusals.refusalOf(request);
    if (kind === 'address' || kind === 'session' || kind === 'none') return undefined;
    return this.#takeFrom(kind, request, reply);
  }

  /**
   * The same for a request that its key may not make, whichever it is: it changes nothing, and counts as one that reads.
   * Who has stolen a key could otherwise hold up what others of the organisation change, revoke or run.
   */
  takeForbidden(request: FastifyRequest, reply: FastifyReply): Promise<Refusal | undefined> {
    return this.#takeFrom('reads', request, reply);
  }

  async #takeFrom(
    kind: 'reads' | 'changes' | 'revocations',
    request: FastifyRequest,
    reply: FastifyReply,
  ): Promise<Refusal | undefined> {
    const { credential } = request;
    const rate = kind === 'reads' ? credential.limits : CHANGES;
    const bucket = kind === 'revocations' ? `${kind}:${credential.keyId}` : kind;
    const state = await this.#buckets.take(credential, bucket, rate).catch(this.#unknown);
    // While Redis cannot be asked each process counts by itself: a flood that keeps it from answering passes no limit.
    if (state === undefined) return refusal(this.#takeAlone(`${bucket} ${credential.orgId}`, rate));
    // Of inference its answer says other limits, when it is sent.
    const said = classOf(request) === 'inference' ? undefined : state;
    const refused = refusal(state.waitMs, said);
    if (refused === undefined && said !== undefined) void reply.headers(rateHeaders(said));
    return refused;
  }

  #takeAlone(name: string, rate: Rate): number {
    const key = `${rate.requestsPerSecond} ${rate.burst}`;
    const rates = this.#alone.get(key) ?? new MemoryRates(rate);
    this.#alone.set(key, rates);
    return rates.take(name);
  }

  /** To be called behind `authenticate`, which has counted what it refuses. */
  limit(app: FastifyInstance, held: Pick<HeldRefusals, 'give'>): void {
    app.addHook('onRequest', (request, reply, next) => {
      const goOn = (refused?: Refusal): void => {
        if (refused === undefined) return next();
        const exchange = { request: request.raw, response: reply.raw };
        const { orgId, keyId } = request.credential;
        const caller = classOf(request) === 'revocations' ? revocationsBy(keyId) : orgId;
        held.give(caller, exchange, (heldMs) => next(refused(heldMs)));
      };
      const taken = this.take(request, reply);
      if (!(taken instanceof Promise)) return goOn(taken);
      taken.then(goOn, next);
    });
    app.addHook('onSend', (request, reply, _payload, next) => {
      const { credential } = request;
      // What has been admitted, or refused there, says so by itself.
      const isSaid = reply.hasHeader('x-ratelimit-limit-requests-day');
      if (isSaid || credential === null || classOf(request) !== 'inference') return next();
      void reply.header(
        'openai-processing-ms',
        String(Math.round(performance.now() - request.arrivedAt)),
      );
      // Who has waited for Redis once is not to wait for it again.
      if (request.fault !== null && OUTAGES.has(request.fault.code)) return next();
      this.#buckets
        .look(credential)
        .catch(this.#unknown)
        .then((state) => {
          if (state === undefined) return next();
          const headers = limitHeaders(credential.limits.requestsPerDay, state, Date.now());
          void reply.headers({ ...headers, ...reply.getHeaders() });
          return next();
        }, next);
    });
  }
}

/**
 * Counts requests for inference that no admission counts: those that are refused for what they are, a large body as many, and
 * those for which there was no room. They have the rate of their organisation and that of their key, where it has one of its
 * own, in the memory of this process. A caller that is over it is told to wait before its next body is read. `count` is to be
 * called with every refusal.
 */
export class Refusals {
  readonly #now: () => number;
  /** When an organisation or a key has earned what was refused to it. */
  readonly #due = new SecondChanceMap<number>(CALLERS_MAX);
  /** What admission has refused a key with for its rate, and until when it would again. */
  readonly #over = new SecondChanceMap<{ until: number; fault: Fault }>(CALLERS_MAX);

  /** `now` in monotonic milliseconds. */
  constructor(now: () => number = () => performance.now()) {
    this.#now = now;
  }

  /** What a request is refused with when too many before it were; its answer then names the limit that it waits for longest. */
  refusalOf({ credential }: FastifyRequest): Refusal | undefined {
    const over = this.#over.get(credential.keyId);
    const overMs = over === undefined ? 0 : over.until - this.#now();
    if (overMs > 0) return (heldMs) => again(over!.fault, overMs - heldMs);
    let longestMs = 0;
    let state: RateState | undefined;
    for (const [name, { requestsPerSecond, burst }] of refusalRatesOf(credential)) {
      const resetMs = (this.#due.get(name) ?? 0) - this.#now();
      const waitMs = Math.ceil(resetMs - ((burst - 1) * 1_000) / requestsPerSecond);
      if (waitMs <= longestMs) continue;
      longestMs = waitMs;
      state = { perSecond: requestsPerSecond, remaining: 0, resetMs };
    }
    return refusal(longestMs, state);
  }

  count(fault: Fault, request: FastifyRequest): void {
    const { status, code, holdsUntilThen, hadNoRoom, retryAfterMs = 0 } = fault;
    const { credential } = request;
    if (credential === null || classOf(request) !== 'inference') return;
    if (holdsUntilThen) {
      this.#over.set(credential.keyId, { until: this.#now() + retryAfterMs, fault });
      return;
    }
    const isOfItself = status >= 400 && status < 500 && status !== 429 && !FORBIDDEN.has(code);
    // A caller for which there is no room may go elsewhere, and so is told at once as often as it may ask.
    if (!isOfItself && !hadNoRoom) return;
    const { bytes = 0 } = (isOfItself ? (request.body ?? {}) : {}) as { bytes?: number };
    const weight = Math.max(1, Math.ceil(bytes / BYTES_OF_REFUSAL));
    for (const [name, { requestsPerSecond }] of refusalRatesOf(credential)) {
      const from = Math.max(this.#due.get(name) ?? 0, this.#now());
      this.#due.set(name, from + (weight * 1_000) / requestsPerSecond);
    }
  }
}

/** The same refusal, of a request that was held before it is told. */
export function whenHeld(fault: Fault): Refusal {
  return (heldMs) => again(fault, (fault.retryAfterMs ?? 0) - heldMs);
}

/** A refusal that another request is given, so much later. */
function again({ code, message, headers }: Fault, retryAfterMs: number): Fault {
  return new Fault(code, { message, headers, retryAfterMs: Math.max(1, Math.ceil(retryAfterMs)) });
}

/** Refusals of good keys, which are counted where they are made. */
const FORBIDDEN: ReadonlySet<string> = new Set(['insufficient_scope', 'customer_suspended']);

/** What refused requests are counted at, and under which names: an organisation has its rate once, however many keys. */
function refusalRatesOf({
  orgId,
  keyId,
  limits,
  keyLimit,
}: Credential): readonly (readonly [name: string, rate: Rate])[] {
  return keyLimit === null
    ? [[orgId, limits]]
    : [
        [orgId, limits],
        [keyId, keyLimit],
      ];
}

export function classOf({
  routeOptions: { config, schema },
  method,
  is404,
}: FastifyRequest): RateClass {
  if (!is404 && config.bucket !== undefined) return config.bucket;
  return rateClassOf(is404 ? undefined : config.scope, method, schema?.rawBody !== undefined);
}

/** What a request is refused with that was held for so many milliseconds: what it was to wait for is nearer by them. */
export type Refusal = (heldMs: number) => Fault;

/** The refusal of a request that is to wait for so long, by a limit where its answer names one; none when it need not. */
export function refusal(waitMs: number, limit?: RateState): Refusal | undefined {
  if (waitMs === 0) return undefined;
  return (heldMs) => {
    const left = limit && { ...limit, resetMs: limit.resetMs - heldMs };
    return new Fault('requests_per_second_exceeded', {
      retryAfterMs: Math.max(1, Math.ceil(waitMs - heldMs)),
      headers: left === undefined ? {} : rateHeaders(left),
    });
  };
}

/** Rates of addresses, in the memory of this process. */
export class Addresses {
  readonly #rates: MemoryRates;

  /** `now` in monotonic milliseconds. */
  constructor(rate: Rate, now?: () => number) {
    this.#rates = new MemoryRates(rate, now);
  }

  /** Counts a request; returns in how many milliseconds it would be taken, 0 when it is. */
  take(address: string): number {
    return this.#rates.take(callerNetwork(address));
  }

  /** The same without counting it. */
  waitOf(address: string): number {
    return this.#rates.waitOf(callerNetwork(address));
  }

  /** Counts what an answer weighed. */
  spend(address: string, weight: number): void {
    this.#rates.spend(callerNetwork(address), weight);
  }
}
