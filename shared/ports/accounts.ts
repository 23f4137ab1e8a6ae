import type { Account, Contact, Declaration, ServiceContract } from '../domain/accounts/account.ts';
import type { Actor } from '../domain/audit/entry.ts';
import type { AccountState } from '../domain/credential.ts';
import type { Limits, Plan } from '../domain/plan.ts';
import type { Page } from './audit.ts';

export interface NewAccount {
  name: string;
  plan: Plan;
  billing: Contact;
  technical: Contact;
}

/** Why a screening was not clear, for the person who reviews. */
export interface ScreeningReason {
  kind: 'list_match' | 'country' | 'industry' | 'statement';
  /** 0..1; 1 for rules. */
  score: number;
  text: string;
  /** The listed entity, `source:id`: a review that approves dismisses this match for good. */
  entity?: string;
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
  organisationId: string;
  organisationName: string;
  screeningId: string | null;
  reason: string;
  openedAt: number;
  decision: 'approved' | 'rejected' | null;
  decidedBy: string | null;
  decidedAt: number | null;
  note: string | null;
}

/** What screening compares: everything the applicant is known by. */
export interface Applicant {
  organisationId: string;
  state: AccountState;
  names: readonly string[];
  /** People: contacts and whoever declared. */
  people: readonly string[];
  country: string;
  industry: string;
  statements: Readonly<Record<string, boolean>>;
  /** Listed entities that a review has found to be somebody else. */
  dismissed: readonly string[];
}

/** Organisations and their way through onboarding. Each act is one transaction with its audit entries. */
export interface AccountRegistry {
  create(account: NewAccount, actor: Actor): Promise<Account>;
  get(organisationId: string): Promise<Account>;
  list(request: {
    after?: string;
    limit: number;
    order: 'asc' | 'desc';
    state?: AccountState;
  }): Promise<Page<Account>>;
  declare(organisationId: string, declaration: Declaration, actor: Actor): Promise<Account>;
  /**
   * Records a screening and draws its consequence. During onboarding: approved when clear, in review
   * otherwise. Later: a hit sends an applicant back to review and suspends an active account.
   */
  recordScreening(organisationId: string, screening: ScreeningRecord): Promise<Account>;
  /** Decides the open review, and the account with it: in_review → approved or rejected. */
  decide(
    organisationId: string,
    decision: 'approved' | 'rejected',
    actor: Actor,
    note: string,
  ): Promise<Account>;
  sign(organisationId: string, contract: ServiceContract, actor: Actor): Promise<Account>;
  activate(organisationId: string, actor: Actor): Promise<Account>;
  suspend(organisationId: string, actor: Actor, reason: string): Promise<Account>;
  reinstate(organisationId: string, actor: Actor, reason: string): Promise<Account>;
  /** Closes the account and revokes its keys. */
  close(organisationId: string, actor: Actor, reason: string): Promise<Account>;
  setPlan(organisationId: string, plan: Plan, actor: Actor): Promise<Account>;
  /** Null goes back to the plan's numbers. Only on enterprise (`invalid_plan`). */
  setLimits(organisationId: string, limits: Limits | null, actor: Actor): Promise<Account>;
  applicant(organisationId: string): Promise<Applicant | null>;
  /** Ids of accounts that a new list concerns: all that are neither rejected nor closed, in id order. */
  screenable(after: string | null, limit: number): Promise<readonly string[]>;
  reviews(request: { after?: string; limit: number; open?: boolean }): Promise<Page<Review>>;
  review(reviewId: string): Promise<Review>;
}
