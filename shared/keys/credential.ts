import type { AccountState } from '#shared/accounts/account.ts';
import type { Limits, Plan } from '#shared/kernel/plan.ts';

export const SCOPES = [
  'inference:read',
  'inference:write',
  'service:read',
  'service:lineage',
  'service:export',
  'admin:keys',
] as const;
export type Scope = (typeof SCOPES)[number];

/** Specification: what a key gets when none is named. */
export const DEFAULT_SCOPES: readonly Scope[] = [
  'inference:read',
  'inference:write',
  'service:read',
];

export type KeyState = 'active' | 'revoked' | 'expired';
/** All that the hot path needs to know of a key and its account. */
export interface Credential {
  keyId: string;
  orgId: string;
  keyState: KeyState;
  /** Epoch milliseconds; null when the key does not expire. */
  expiresAt: number | null;
  scopes: readonly Scope[];
  plan: Plan;
  accountState: AccountState;
  /** The organisation's limits (negotiated numbers already applied). */
  limits: Limits;
  /** A sub-limit of this key alone; null when it has none. */
  keyLimit: { requestsPerSecond: number; burst: number } | null;
}
