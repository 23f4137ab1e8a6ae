import type { RegionStatus } from './catalogue.ts';
import { Fault } from '#shared/kernel/errors.ts';
import type { RegionRoute } from './route-index.ts';

export type RegionState = RegionStatus | 'saturated';

/** What is known of regions and endpoints at this moment. */
export interface RegionHealth {
  /** States set at run time (by an operator, or because a region is full). Others have the catalogue's status. */
  states: ReadonlyMap<string, RegionState>;
  /** `circuitName` of the endpoints whose circuit breaker is open in a region. */
  openCircuits: ReadonlySet<string>;
}

/** One endpoint may serve several regions, and be cut off from one of them only. Neither name holds a space. */
export function circuitName(region: string, endpoint: string): string {
  return `${region} ${endpoint}`;
}

/** A region whose every endpoint for the model is cut off is as good as degraded. */
export function stateOf(route: RegionRoute, health: RegionHealth): RegionState {
  const state = health.states.get(route.region.code) ?? route.region.status;
  if (state !== 'normal' || health.openCircuits.size === 0) return state;
  const { code } = route.region;
  const cutOff = route.endpoints.every(({ endpoint }) =>
    health.openCircuits.has(circuitName(code, endpoint.name)),
  );
  return cutOff ? 'degraded' : 'normal';
}

/** A queue empties within about a second; a breaker tries again after some; what is gone does not come back today. */
const RETRY_AFTER_MS = { saturated: 1_000, degraded: 10_000, decommissioned: 3_600_000 } as const;

const WORDS = {
  saturated: 'is at capacity',
  degraded: 'is in incident mode',
  decommissioned: 'is no longer offered',
} as const;

/** The 503 for a pinned region that cannot take the request. */
export function pinnedRegionFault(state: Exclude<RegionState, 'normal'>, code: string): Fault {
  return new Fault(`region_${state}`, `The region ${code} ${WORDS[state]}.`, {
    retryAfterMs: RETRY_AFTER_MS[state],
  });
}

/** The 503 when default routing finds no healthy region: the state that promises most for a retry. */
export function noRegionFault(states: readonly RegionState[]): Fault {
  const state =
    (['saturated', 'degraded'] as const).find((one) => states.includes(one)) ?? 'decommissioned';
  return new Fault(`region_${state}`, `Every region that offers this model ${WORDS[state]}.`, {
    retryAfterMs: RETRY_AFTER_MS[state],
  });
}
