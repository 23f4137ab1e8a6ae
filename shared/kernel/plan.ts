/** The plans an organisation can hold, in ascending order. A receipt's `tier` is one of them. */
export const PLANS = ['audit', 'audit_plus', 'enterprise'] as const;
export type Plan = (typeof PLANS)[number];

/** So many at once, then so many a second. */
export interface Rate {
  /** Sustained requests per second. */
  requestsPerSecond: number;
  /** Size of the bucket: how many requests may come at once. */
  burst: number;
}

/** The limits of an organisation, in numbers. */
export interface Limits extends Rate {
  /** Requests per UTC day. */
  requestsPerDay: number;
  /** Streams open at the same time. */
  concurrentStreams: number;
}

/** Specification, section Limits; the stream numbers are the contract's. Enterprise is negotiated, these are its defaults. */
export const PLAN_LIMITS: Readonly<Record<Plan, Limits>> = {
  audit: { requestsPerSecond: 50, burst: 200, requestsPerDay: 100_000, concurrentStreams: 20 },
  audit_plus: {
    requestsPerSecond: 200,
    burst: 800,
    requestsPerDay: 400_000,
    concurrentStreams: 100,
  },
  enterprise: {
    requestsPerSecond: 1_000,
    burst: 4_000,
    requestsPerDay: 10_000_000,
    concurrentStreams: 500,
  },
};

/** True when `plan` includes everything `wanted` does. */
export function planCovers(plan: Plan, wanted: Plan): boolean {
  return PLANS.indexOf(plan) >= PLANS.indexOf(wanted);
}
