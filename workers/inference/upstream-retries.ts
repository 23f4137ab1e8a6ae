import pRetry, { AbortError } from 'p-retry';
import type { Catalogue, Endpoint } from '#shared/catalogue/catalogue.ts';
import type { Breakers, Caller } from './breakers.ts';
import type { UpstreamCall } from './providers/provider.ts';
import type { UpstreamFailure } from './providers/upstream-failure.ts';
import { type StartedCall, UpstreamError } from './upstream-call.ts';

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

/** The endpoints of one region that serve a model, in the catalogue's order of preference. */
export function targetsOf(catalogue: Catalogue, modelId: string, region: string): Target[] {
  const model = catalogue.models.find(({ id }) => id === modelId);
  const targets: Target[] = [];
  for (const { name, model: upstreamName } of model?.endpoints ?? []) {
    const endpoint = catalogue.endpoints.find((candidate) => candidate.name === name);
    if (endpoint?.regions.includes(region)) targets.push({ endpoint, model: upstreamName });
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
const FINAL: ReadonlySet<UpstreamFailure['kind']> = new Set(['rejected', 'aborted', 'too_large']);

const GONE: UpstreamFailure = { kind: 'aborted', detail: 'the client has gone' };

/**
 * Calls the upstreams of a region until one answers: retries with backoff and jitter, the next endpoint after each
 * failure, never another region, nothing once the caller has gone or the deadline has passed.
 * A request that was itself refused is not tried again anywhere.
 * @throws UpstreamError the last failure; `cut_off` when no call could be made
 */
export async function callUntilAnswered<T>(
  plan: CallPlan,
  start: (target: Target) => StartedCall<T>,
): Promise<{ value: T; target: Target }> {
  let next = 0;
  let last: UpstreamFailure | undefined;
  const callNext = async (): Promise<{ value: T; target: Target }> => {
    if (plan.isCancelled()) throw new AbortError(new UpstreamError(GONE));
    const target = pick(plan, next);
    next += 1;
    if (target === undefined) throw new AbortError(new UpstreamError(last ?? NO_ENDPOINT));
    const { opened, call } = start(target);
    plan.onCall(call);
    try {
      const value = await opened;
      plan.breakers.succeeded(target.endpoint.name, plan.region, plan.caller, plan.now());
      return { value, target };
    } catch (error) {
      if (error instanceof UpstreamError) last = error.failure;
      throw judge(plan, target, error);
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

/** The first endpoint, from the `start`-th on and around, whose breaker lets a call through. */
function pick(plan: CallPlan, start: number): Target | undefined {
  const { targets, breakers, region } = plan;
  for (let i = 0; i < targets.length; i += 1) {
    const target = targets[(start + i) % targets.length]!;
    if (breakers.ask(target.endpoint.name, region, plan.now())) return target;
  }
  return undefined;
}

/** Books a failure, and wraps it for the retrying to stop when no further call can help. */
function judge(plan: CallPlan, target: Target, error: unknown): Error {
  if (!(error instanceof UpstreamError)) return new AbortError(error as Error);
  const { failure } = error;
  plan.breakers.failed(target.endpoint.name, plan.region, failure, plan.caller, plan.now());
  plan.onFailure(target, failure);
  const final = FINAL.has(failure.kind) || plan.now() >= plan.deadlineAt;
  const onlyTarget = failure.kind === 'misconfigured' && plan.targets.length === 1;
  return final || onlyTarget ? new AbortError(error) : error;
}

async function pauseAsAsked(error: Error, plan: CallPlan): Promise<void> {
  const asked = error instanceof UpstreamError ? (error.failure.retryAfterMs ?? 0) : 0;
  // Where there is another endpoint, that one is called at once.
  if (asked === 0 || plan.targets.length > 1) return;
  await new Promise((resolve) => setTimeout(resolve, Math.min(asked, RETRY_AFTER_MS_MAX)));
}
