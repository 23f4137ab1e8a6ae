import type { Catalogue, Endpoint } from '../../shared/domain/catalogue.ts';
import {
  afterFailure,
  afterSuccess,
  askBreaker,
  type Breaker,
  CLOSED,
} from '../../shared/domain/circuit-breaker.ts';
import type { UpstreamFailure } from '../../shared/domain/upstream-error.ts';

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

/** The circuit breakers of this process, one per endpoint and region. */
export class Breakers {
  readonly #breakers = new Map<string, Breaker>();
  readonly #onChange: (endpoint: string, region: string, open: boolean) => void;

  constructor(onChange: (endpoint: string, region: string, open: boolean) => void) {
    this.#onChange = onChange;
  }

  /** Whether a call may be made; takes the trial of a breaker that is due for one. */
  ask(endpoint: string, region: string, now: number): boolean {
    const key = `${region} ${endpoint}`;
    const { allowed, next } = askBreaker(this.#breakers.get(key) ?? CLOSED, now);
    this.#breakers.set(key, next);
    return allowed;
  }

  succeeded(endpoint: string, region: string): void {
    const key = `${region} ${endpoint}`;
    const before = this.#breakers.get(key);
    if (before === undefined || before === CLOSED) return;
    this.#breakers.set(key, afterSuccess());
    if (before.state !== 'closed') this.#onChange(endpoint, region, false);
  }

  failed(endpoint: string, region: string, failure: UpstreamFailure, now: number): void {
    if (!countsAgainstEndpoint(failure)) return;
    const key = `${region} ${endpoint}`;
    const before = this.#breakers.get(key) ?? CLOSED;
    const after = afterFailure(before, now);
    this.#breakers.set(key, after);
    if (after.state === 'open') this.#onChange(endpoint, region, true);
  }
}

/** A request that was wrong, or whose caller left, says nothing about the endpoint. */
function countsAgainstEndpoint({ kind }: UpstreamFailure): boolean {
  return kind !== 'rejected' && kind !== 'aborted';
}
