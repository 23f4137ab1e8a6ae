import { type Account, type AccountState, type Contact, limitsOf } from './account.ts';
import type { Plan } from '#shared/kernel/plan.ts';
import { timeText } from '#shared/kernel/time.ts';
import type { Review } from './vetting.ts';

/** An account as the API and the command line show it. */
export interface AccountDescription {
  object: 'account';
  id: string;
  name: string;
  identifier: string | null;
  state: AccountState;
  plan: Plan;
  limits: {
    requests_per_second: number;
    burst: number;
    requests_per_day: number;
    concurrent_streams: number;
  };
  allowed_regions: string[] | null;
  allowed_models: string[] | null;
  keep_responses: boolean;
  tags: string[];
  billing_contact: Contact;
  technical_contact: Contact;
  created_at: string;
  state_changed_at: string;
}

export function describeAccount(account: Account): AccountDescription {
  const limits = limitsOf(account);
  return {
    object: 'account',
    id: account.id,
    name: account.name,
    identifier: account.identifier,
    state: account.state,
    plan: account.plan,
    limits: {
      requests_per_second: limits.requestsPerSecond,
      burst: limits.burst,
      requests_per_day: limits.requestsPerDay,
      concurrent_streams: limits.concurrentStreams,
    },
    allowed_regions: account.allowedRegions === null ? null : [...account.allowedRegions],
    allowed_models: account.allowedModels === null ? null : [...account.allowedModels],
    keep_responses: account.keepResponses,
    tags: [...account.tags],
    billing_contact: account.billing,
    technical_contact: account.technical,
    created_at: new Date(account.createdAt).toISOString(),
    state_changed_at: new Date(account.stateChangedAt).toISOString(),
  };
}

/** A review as programs read it, at the command line and at the admin API. */
export function describeReview(review: Review) {
  const timeOf = (ms: number | null): string | null => (ms === null ? null : timeText(ms));
  return {
    id: review.id,
    org_id: review.orgId,
    organisation_name: review.organisationName,
    screening_id: review.vettingId,
    risk: review.risk,
    approvals: review.approvals.map(({ by, at, note }) => ({ by, at: timeText(at), note })),
    reason: review.reason,
    opened_at: timeText(review.openedAt),
    decision: review.decision,
    decided_by: review.decidedBy,
    decided_at: timeOf(review.decidedAt),
    note: review.note,
  };
}
