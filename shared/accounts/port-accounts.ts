import type { Account, Contact, Declaration, ServiceContract } from './account.ts';
import type { Actor } from './audit/entry.ts';
import type { AccountState } from './account.ts';
import type { Limits, Plan } from '#shared/kernel/plan.ts';
import type { Party, ScreeningReason } from './sanctions/assess.ts';
import type { Page } from '#shared/kernel/page.ts';

export interface NewAccount {
  name: string;
  plan: Plan;
  billing: Contact;
  technical: Contact;
}

export interface ScreeningRecord {
  cause: 'onboarding' | 'list_import' | 'operator';
  outcome: 'clear' | 'flagged' | 'hit';
  lists: readonly { source: string; version: string }[];
  reasons: readonly ScreeningReason[];
  durationMs: number;
}

export interface Review {
  id: string;
  orgId: string;
  organisationName: string;
  screeningId: string | null;
  reason: string;
  openedAt: number;
  decision: 'approved' | 'rejected' | null;
  decidedBy: string | null;
  decidedAt: number | null;
  note: string | null;
}

/** What screening compares, and where the account stands. */
export interface Applicant extends Party {
  orgId: string;
  state: AccountState;
}

/** Organisations and their way through onboarding. Each act is one transaction with its audit entries. */
export interface AccountRegistry {
  create(account: NewAccount, actor: Actor): Promise<Account>;
  get(orgId: string): Promise<Account>;
  list(request: {
    after?: string;
    limit: number;
    order: 'asc' | 'desc';
    state?: AccountState;
  }): Promise<Page<Account>>;
  declare(orgId: string, declaration: Declaration, actor: Actor): Promise<Account>;
  /**
   * Records a screening and draws its consequence. During onboarding: approved when clear, in review
   * otherwise. Later: a hit sends an applicant back to review and suspends an active account.
   */
  recordScreening(orgId: string, screening: ScreeningRecord): Promise<Account>;
  /** Decides the open review, and the account with it: in_review → approved or rejected. */
  decide(
    orgId: string,
    decision: 'approved' | 'rejected',
    actor: Actor,
    note: string,
  ): Promise<Account>;
  sign(orgId: string, contract: ServiceContract, actor: Actor): Promise<Account>;
  activate(orgId: string, actor: Actor): Promise<Account>;
  suspend(orgId: string, actor: Actor, reason: string): Promise<Account>;
  reinstate(orgId: string, actor: Actor, reason: string): Promise<Account>;
  /** Closes the account and revokes its keys. */
  close(orgId: string, actor: Actor, reason: string): Promise<Account>;
  setPlan(orgId: string, plan: Plan, actor: Actor): Promise<Account>;
  /** Null goes back to the plan's numbers. Only on enterprise (`invalid_plan`). */
  setLimits(orgId: string, limits: Limits | null, actor: Actor): Promise<Account>;
  applicant(orgId: string): Promise<Applicant | null>;
  /**
   * Ids of at most `limit` accounts whose latest screening did not compare exactly the current lists:
   * new applicants, and everyone after an import.
   */
  screeningDue(limit: number): Promise<readonly string[]>;
  reviews(request: { after?: string; limit: number; open?: boolean }): Promise<Page<Review>>;
  review(reviewId: string): Promise<Review>;
  /** A screening as it was recorded; null when there is none. */
  screening(orgId: string, screeningId: string | null): Promise<ScreeningRecord | null>;
}
