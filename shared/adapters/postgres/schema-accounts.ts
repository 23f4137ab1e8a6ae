import type { Actor } from '../../domain/audit/entry.ts';
import type { AccountState, KeyState, Scope } from '../../domain/credential.ts';
import type { Plan } from '../../domain/plan.ts';

/** Rows of migration 0002 as the driver returns them: `bigint` as text, times as dates, hashes as hex by `encode`. */
export interface AccountRow {
  id: string;
  name: string;
  state: AccountState;
  plan: Plan;
  requests_per_second: number | null;
  burst: number | null;
  requests_per_day: string | null;
  concurrent_streams: number | null;
  billing_name: string;
  billing_email: string;
  technical_name: string;
  technical_email: string;
  created_at: Date;
  state_changed_at: Date;
}

export interface KeyRow {
  id: string;
  organisation_id: string;
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
  organisation_id: string;
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

export interface AuditRow {
  id: string;
  organisation_id: string;
  sequence: string;
  at: Date;
  action: string;
  actor_kind: Actor['kind'];
  actor_id: string;
  address: string | null;
  subject: string | null;
  reason: string | null;
  details: string;
  previous_hash: string;
  hash: string;
}

export interface AuditHeadRow {
  organisation_id: string;
  size: string;
  hash: string;
}

export interface ReviewRow {
  id: string;
  organisation_id: string;
  organisation_name: string;
  screening_id: string | null;
  reason: string;
  opened_at: Date;
  decision: 'approved' | 'rejected' | null;
  decided_by: string | null;
  decided_at: Date | null;
  note: string | null;
}

/** The four limit columns of an account as numbers, or null when it has none of its own. */
export function negotiatedLimitsOf(
  row: Pick<
    AccountRow,
    'requests_per_second' | 'burst' | 'requests_per_day' | 'concurrent_streams'
  >,
): {
  requestsPerSecond: number;
  burst: number;
  requestsPerDay: number;
  concurrentStreams: number;
} | null {
  if (
    row.requests_per_second === null ||
    row.burst === null ||
    row.requests_per_day === null ||
    row.concurrent_streams === null
  ) {
    return null;
  }
  return {
    requestsPerSecond: row.requests_per_second,
    burst: row.burst,
    requestsPerDay: Number(row.requests_per_day),
    concurrentStreams: row.concurrent_streams,
  };
}

/** The two limit columns of a key, or null when it has none of its own. */
export function keyLimitOf(
  requestsPerSecond: number | null,
  burst: number | null,
): { requestsPerSecond: number; burst: number } | null {
  return requestsPerSecond === null || burst === null ? null : { requestsPerSecond, burst };
}
