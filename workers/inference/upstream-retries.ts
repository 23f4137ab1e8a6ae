import pRetry, { AbortError } from 'p-retry';
import type { Catalogue, Endpoint } from '#shared/catalogue/catalogue.ts';
import { speaksItself } from '#shared/catalogue/route-index.ts';
import type { InferenceEntry } from '#shared/lanes/messages.ts';
import type { Breakers, Caller } from './breakers.ts';
import type { UpstreamCall } from './providers/provider.ts';
import { UpstreamError, type UpstreamFailure } from './providers/upstream-failure.ts';
import type { StartedCall } from './upstream-call.ts';

/** Calls for one request, over all endpoints: the first and three more. */
const CALLS_MAX = 4;
const BACKOFF_MS = 50;
const BACKOFF_MS_MAX = 1_000;
/** An upstream may ask for a pause; a caller waits meanwhile, so a long one is not granted. */
const RETRY_AFTER_MS_MAX = 2_000;

/** Where a request may be sent. */
export interface Target {
  endpoint: Endpoint;
  /** The upstream's name for the model. */
  model: string;
}

/** What of a request says which endpoints may be asked. */
type Asking = Pick<InferenceEntry, 'model' | 'route' | 'onlyNative'>;

/** The endpoints of one region that take a request, in the catalogue's order of preference. */
export function targetsOf(catalogue: Catalogue, asking: Asking, region: string): Target[] {
  const model = catalogue.models.find(({ id }) => id === asking.model);
  const targets: Target[] = [];
  for (const { name, model: upstreamName } of model?.endpoints ?? []) {
    const endpoint = catalogue.endpoints.find((candidate) => candidate.name === name);
    if (endpoint === undefined || !endpoint.regions.includes(region)) continue;
    if (asking.onlyNative === true && !speaksItself(endpoint, asking.route)) continue;
    targets.push({ endpoint, model: upstreamName });
  }
  return targets;
}

/** What is called, and for how long. */
export interface CallPlan {
  targets: readonly Target[];
  region: string;
  breakers: Breakers;
  caller: Caller;
  deadlineAt: number;
  /** True once the caller has gone. */
  isCancelled: () => boolean;
  now: () => number;
  onCall: (call: UpstreamCall) => void;
  onFailure: (target: Target, failure: UpstreamFailure) => void;
}

const NO_ENDPOINT: UpstreamFailure = {
  kind: 'cut_off',
  detail: 'every endpoint of the region has its circuit open',
};

/** No further call would end otherwise. */
const FINAL: ReadonlySet<UpstreamFailure['kind']> = new Set([
  'rejected',
  'aborted',
  'too_large',
  'slow_client',
  'own_fault',
]);
/** Whether another call, elsewhere, might not fail in the same way. */
export function mayEndOtherwise({ kind }: UpstreamFailure): boolean {
  return !FINAL.has(kind);
}
/** No work was done for it: the same endpoint may be asked again. */
const UNBEGUN: ReadonlySet<UpstreamFailure['kind']> = new Set(['connection', 'rate_limited']);
/** The endpoint would do the same again, and go on computing what no caller waits for. */
const SPENT: ReadonlySet<UpstreamFailure['kind']> = new Set(['timeout', 'misconfigured']);

const GONE: UpstreamFailure = { kind: 'aborted', detail: 'the client has gone' };

/**
 * Calls the upstreams of a region until one answers: retries with backoff and jitter, the next endpoint after each
 * failure, never another region from here, nothing once the caller has gone or the deadline has passed.
 * A request that was itself refused is not tried again anywhere; one that was answered with a failure is tried at the
 * other endpoints, or, where there is none, once more; one that an endpoint let time out never again there.
 * @param prepare makes what `start` sends
 * @throws UpstreamError the last failure; `cut_off` when no call could be made
 */
export async function callUntilAnswered<P, T>(
  plan: CallPlan,
  prepare: (target: Target) => Promise<P>,
  start: (target: Target, prepared: P) => StartedCall<T>,
): Promise<{ value: T; target: Target }> {
  const round = new Round(plan);
  let last: UpstreamFailure | undefined;
  const callNext = async (): Promise<{ value: T; target: Target }> => {
    if (plan.isCancelled()) throw new AbortError(new UpstreamError(GONE));
    const target = round.next();
    if (target === undefined) throw new AbortError(new UpstreamError(last ?? NO_ENDPOINT));
    try {
      const prepared = await prepare(target);
      if (plan.isCancelled()) throw new UpstreamError(GONE);
      const { opened, call } = start(target, prepared);
      plan.onCall(call);
      return { value: await opened, target };
    } catch (error) {
      if (!(error instanceof UpstreamError)) throw new AbortError(error as Error);
      last = error.failure;
      round.failed(target, last);
      plan.breakers.failed(target.endpoint.name, plan.region, last, plan.caller, plan.now());
      plan.onFailure(target, last);
      const isFinal = FINAL.has(last.kind) || plan.now() >= plan.deadlineAt || round.isOver;
      throw isFinal ? new AbortError(error) : error;
    }
  };
  return pRetry(callNext, {
    retries: CALLS_MAX - 1,
    minTimeout: BACKOFF_MS,
    maxTimeout: BACKOFF_MS_MAX,
    randomize: true,
    onFailedAttempt: ({ error, retriesLeft }) =>
      retriesLeft === 0 ? undefined : pauseAsAsked(error, plan),
  });
}

/** Which endpoint a request is sent to next. */
class Round {
  readonly #plan: CallPlan;
  #next = 0;
  /** Not to be asked again, unless nothing else is left and it is the `#again`. */
  readonly #out = new Set<Target>();
  /** The one that answered with a failure, while it is the only one, and has not been asked again. */
  #again: Target | undefined;
  #answered = 0;

  constructor(plan: CallPlan) {
    this.#plan = plan;
  }

  /** Nothing is left to be asked. */
  get isOver(): boolean {
    return this.#again === undefined && this.#out.size === this.#plan.targets.length;
  }

  /**
   * The next endpoint around whose breaker lets a call through, and only then one that lets this organisation find out for
   * itself; the failed one once more when there is none.
   */
  next(): Target | undefined {
    const { targets, caller } = this.#plan;
    const start = this.#next;
    this.#next += 1;
    const around = targets.map((_, i) => targets[(start + i) % targets.length]!);
    const left = around.filter((target) => !this.#out.has(target));
    const again = this.#again;
    const next =
      left.find((target) => this.#asks(target)) ??
      left.find((target) => this.#asks(target, caller.orgId));
    if (next !== undefined) return next;
    this.#again = undefined;
    return again !== undefined && this.#asks(again, caller.orgId) ? again : undefined;
  }

  failed(target: Target, { kind }: UpstreamFailure): void {
    if (UNBEGUN.has(kind)) return;
    this.#out.add(target);
    if (SPENT.has(kind)) return;
    this.#answered += 1;
    this.#again = this.#answered === 1 ? target : undefined;
  }

  #asks({ endpoint }: Target, orgId?: string): boolean {
    const { breakers, region, now } = this.#plan;
    return breakers.ask(endpoint.name, region, now(), orgId);
  }
}

async function pauseAsAsked(error: Error, plan: CallPlan): Promise<void> {
  const asked = error instanceof UpstreamError ? (error.failure.retryAfterMs ?? 0) : 0;
  // Where there is another endpoint, that one is called at once.
  if (asked === 0 || plan.targets.length > 1) return;
  await new Promise((resolve) => setTimeout(resolve, Math.min(asked, RETRY_AFTER_MS_MAX)));
}
