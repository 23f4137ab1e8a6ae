import type { KeyRecord } from './record.ts';
import { scopesOnPlan, type GrantTerms, type KeyRequest } from './rules.ts';

/**
 * What a rotation asks for: everything not named is inherited from the predecessor. Scopes and limits
 * that the organisation has lost since are not inherited. The expiry is never inherited: a successor
 * with its predecessor's date would die with it.
 */
export function successorOf(
  predecessor: KeyRecord,
  request: Partial<KeyRequest>,
  terms: Pick<GrantTerms, 'plan' | 'limits'>,
): KeyRequest {
  const { limit } = predecessor;
  return {
    name: request.name ?? predecessor.name,
    scopes: request.scopes ?? scopesOnPlan(predecessor.scopes, terms.plan),
    expiresAt: request.expiresAt ?? null,
    limit:
      limit === null
        ? null
        : {
            requestsPerSecond: Math.min(limit.requestsPerSecond, terms.limits.requestsPerSecond),
            burst: Math.min(limit.burst, terms.limits.burst),
          },
  };
}
