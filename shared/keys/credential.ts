import type { BudgetMeasure } from '#shared/kernel/budget-measures.ts';
import type { AccountState } from '#shared/accounts/account.ts';
import type { Limits, Plan, Rate } from '#shared/kernel/plan.ts';

export const SCOPES = [
  'inference:read',
  'inference:write',
  'service:read',
  'service:lineage',
  'service:export',
  'admin:keys',
] as const;
export type Scope = (typeof SCOPES)[number];

export function isScope(text: string): text is Scope {
  return (SCOPES as readonly string[]).includes(text);
}

/** Specification: what a key gets when none is named. */
export const DEFAULT_SCOPES: readonly Scope[] = [
  'inference:read',
  'inference:write',
  'service:read',
];

export const KEY_STATES = ['active', 'revoked', 'expired'] as const;
export type KeyState = (typeof KEY_STATES)[number];

/** A budget by which requests of a key may be refused, as admission needs to know it. */
export interface HardBudget {
  id: string;
  name: string;
  /** In UTC. */
  period: 'day' | 'month';
  measure: BudgetMeasure;
  /** In which costs are counted; null where nothing had a price yet. */
  currency: string | null;
  limit: number;
  /** The model that it is of; null where it is of the key, of a tag, or of the whole organisation. */
  model: string | null;
  /** The tag that it is of, as `key=value`. */
  tag: string | null;
}

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
  keyLimit: Rate | null;
  /** Codes of the regions that the organisation has chosen, and ids of the models; null for all that are offered. */
  allowedRegions: readonly string[] | null;
  allowedModels: readonly string[] | null;
  /** The hard budgets that its requests may fall under: the organisation's, its models' and tags', and the key's own. */
  budgets: readonly HardBudget[];
  /** The organisation has its responses kept. */
  keepResponses: boolean;
  /** The keys of the tags that it has declared. */
  tags: readonly string[];
}

/** A notice that something changed. It does not say to what. */
export type CredentialChange =
  | { kind: 'key'; hash: string; at: number }
  | { kind: 'organisation'; orgId: string; at: number }
  /** Notices may have been lost: the feed was cut and is back. */
  | { kind: 'unknown' };

/** Events of a process's credentials in memory; one implementation writes the metrics. */
export interface CredentialObserver {
  /** A change reached this process, this many milliseconds after it was made. */
  changeArrived: (delayMs: number) => void;
  lookedUp: (outcome: 'hit' | 'refreshing' | 'miss' | 'unknown' | 'outage') => void;
  feedLost: (error: unknown) => void;
  feedRestored: () => void;
}
