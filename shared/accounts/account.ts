import { PLAN_LIMITS, type Limits, type Plan } from '#shared/kernel/plan.ts';

/** The states of an account; `machine.ts` says which follows which. */
export const ACCOUNT_STATES = [
  'onboarding',
  'declared',
  'screened',
  'in_review',
  'approved',
  'contracted',
  'active',
  'suspended',
  'rejected',
  'closed',
] as const;
export type AccountState = (typeof ACCOUNT_STATES)[number];

/** Before it is approved an organisation can be a stranger's, and writes to no address that is not a member's. */
export const WRITING_STATES: ReadonlySet<AccountState> = new Set([
  'approved',
  'contracted',
  'active',
  'suspended',
]);

/** Someone to write to. */
export interface Contact {
  name: string;
  email: string;
}

/** A customer: an organisation with its state, plan and contacts. */
export interface Account {
  id: string;
  /** Its legal name. */
  name: string;
  /** How reports name it beside that: a LEI, a number in a register. */
  identifier: string | null;
  state: AccountState;
  plan: Plan;
  /** Numbers agreed with an enterprise customer; null for the plan's own. */
  negotiatedLimits: Limits | null;
  /** Codes of the regions that it has chosen to use, and ids of the models; null for all that are offered, also later on. */
  allowedRegions: readonly string[] | null;
  allowedModels: readonly string[] | null;
  /** Its responses are kept, sealed, for those who go on from them. */
  keepResponses: boolean;
  /** Its members may try models in the playground, as far as their roles let them. */
  playground: boolean;
  /** The bodies of its receipts stay where they are, by an operator's decision. */
  legalHold: boolean;
  /** The members of `metadata` that are tags of its requests. */
  tags: readonly string[];
  billing: Contact;
  technical: Contact;
  /** Epoch milliseconds. */
  createdAt: number;
  stateChangedAt: number;
}

/** The fields that an account begins with. */
export type NewAccount = Pick<Account, 'name' | 'plan' | 'billing' | 'technical'>;

/** What an organisation lets its own requests use; null for all that is offered. */
export type Allowed = Pick<Account, 'allowedRegions' | 'allowedModels'>;

/** Whether something may be used afterwards that was left out before. */
export function widens(before: Allowed, after: Allowed): boolean {
  const more = (from: readonly string[] | null, to: readonly string[] | null): boolean =>
    from !== null && (to === null || to.some((each) => !from.includes(each)));
  return (
    more(before.allowedRegions, after.allowedRegions) ||
    more(before.allowedModels, after.allowedModels)
  );
}

/** The limits that apply: negotiated numbers count only while the plan is enterprise. */
export function limitsOf(account: Pick<Account, 'plan' | 'negotiatedLimits'>): Limits {
  if (account.plan === 'enterprise' && account.negotiatedLimits !== null)
    return account.negotiatedLimits;
  return PLAN_LIMITS[account.plan];
}

/** One who owns the applicant, or is on its board. An owner may be an organisation. */
export interface DeclaredParty {
  role: 'owner' | 'director';
  name: string;
  /** ISO 3166-1 alpha-2 of a person's nationality, or an organisation's place of establishment. */
  country: string;
}

/** The applicant's use-of-service self-declaration (Article III). */
export interface Declaration {
  /** Which text was declared to, e.g. `2026-11`. */
  version: string;
  /** Statement id → what was answered. */
  statements: Readonly<Record<string, boolean>>;
  /** ISO 3166-1 alpha-2 of the place of establishment. */
  country: string;
  /** An industry of `INDUSTRIES`. */
  industry: string;
  tradingNames: readonly string[];
  /** Its owners and directors, one at least: they are vetted like the applicant itself. */
  parties: readonly DeclaredParty[];
  /** Name of the person who declared. */
  declaredBy: string;
}

/** What an applicant has filled in of its declaration before it declares: nothing of it was checked. */
export type DeclarationDraft = Omit<Declaration, 'version' | 'statements' | 'declaredBy'>;

export interface ServiceContract {
  kind: 'pilot' | 'service';
  /** Hex SHA-256 of the signed document. */
  documentSha256: string;
  signatory: string;
  /** Epoch milliseconds. */
  signedAt: number;
}
