import type { AccountState } from '#shared/accounts/account.ts';
import type { Plan } from '#shared/kernel/plan.ts';
import type { KeyState, Scope } from '../credential.ts';

export interface KeyRow {
  id: string;
  org_id: string;
  name: string;
  head: string;
  tail: string;
  state: KeyState;
  scopes: Scope[];
  requests_per_second: number | null;
  burst: number | null;
  lineage_id: string;
  predecessor_id: string | null;
  created_at: Date;
  expires_at: Date | null;
  revoked_at: Date | null;
  last_used_at: Date | null;
}

/** A key joined with its account: what a credential is made of. */
export interface CredentialRow {
  hash: string;
  key_id: string;
  org_id: string;
  key_state: KeyState;
  expires_at: Date | null;
  scopes: Scope[];
  key_requests_per_second: number | null;
  key_burst: number | null;
  account_state: AccountState;
  plan: Plan;
  requests_per_second: number | null;
  burst: number | null;
  requests_per_day: string | null;
  concurrent_streams: number | null;
}

/** The two limit columns of a key, or null when it has none of its own. */
export function keyLimitOf(
  requestsPerSecond: number | null,
  burst: number | null,
): { requestsPerSecond: number; burst: number } | null {
  return requestsPerSecond === null || burst === null ? null : { requestsPerSecond, burst };
}
