import type { AccountState } from './account.ts';
import type { Plan } from '#shared/kernel/plan.ts';
import { limitsOf, type Account, type Contact } from './account.ts';

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
