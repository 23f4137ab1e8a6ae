import type { Actor } from '../audit/entry.ts';
import type { AccountState } from '../account.ts';
import type { Plan } from '#shared/kernel/plan.ts';

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

export interface AuditRow {
  id: string;
  org_id: string;
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
  org_id: string;
  size: string;
  hash: string;
}

export interface ReviewRow {
  id: string;
  org_id: string;
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
