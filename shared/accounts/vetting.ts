import { Fault } from '#shared/kernel/errors.ts';
import type { AccountState } from './account.ts';
import { type Actor, MACHINE_USER } from './audit/entry.ts';
import type { AccountAct } from './machine.ts';
import type { Assessment, Party } from './sanctions/assess.ts';

/** The names of an account that are compared, and its state. */
export interface Applicant extends Party {
  orgId: string;
  state: AccountState;
  /** The declaration and the contract that the names are of. */
  declarationId: string;
  contractId: string | null;
  /** Which of the account's own names these are: it grows when one changes. */
  namesRevision: number;
}

/** An account was compared with lists and rules: what came of it, and what it was compared with. */
export interface Vetting extends Assessment {
  cause: 'onboarding' | 'list_import' | 'operator';
  /** The lists and versions of which the outcome is true. */
  lists: readonly { source: string; version: string }[];
  durationMs: number;
  /** The declaration and the contract that were compared; null where that is not on record. */
  declarationId?: string | null;
  contractId?: string | null;
  namesRevision: number;
}

/** A vetting as it is on record. */
export interface RecordedVetting extends Vetting {
  id: string;
  /** Epoch milliseconds. */
  screenedAt: number;
}

/** A question that a vetting has left to a person. */
export interface Review {
  id: string;
  orgId: string;
  organisationName: string;
  accountState: AccountState;
  vettingId: string | null;
  risk: Risk;
  reason: string;
  /** Epoch milliseconds. */
  openedAt: number;
  /** Of the vetting that it shows, oldest first: a review of high risk keeps the first one while it waits for the second. */
  approvals: readonly Approval[];
  decision: Decision | null;
  decidedBy: string | null;
  decidedAt: number | null;
  note: string | null;
}

export type Decision = 'approved' | 'rejected';

/** A reviewer says yes. */
export interface Approval {
  by: string;
  /** Epoch milliseconds. */
  at: number;
  note: string;
}

/** How many have to approve: one person, or two. */
export type Risk = 'normal' | 'high';

/** Reasons that one person alone does not overrule. */
const HIGH_RISK_KINDS: ReadonlySet<string> = new Set(['country', 'statement']);

/**
 * High is a listed name, a country under an embargo of any kind, and an answer that raises a question. A resemblance, an
 * industry and a missing list are for one person to judge. To reject takes one person always.
 */
export function riskOf({ outcome, reasons }: Pick<Vetting, 'outcome' | 'reasons'>): Risk {
  const isHigh = outcome === 'hit' || reasons.some(({ kind }) => HIGH_RISK_KINDS.has(kind));
  return isHigh ? 'high' : 'normal';
}

/**
 * Whether this approval decides: at high risk the second one does. Throws `invalid_actor` when both are of one person, and for
 * a machine's user: with that and a sign-in one person would be two.
 */
export function isLastApproval(
  risk: Risk,
  before: readonly Pick<Approval, 'by'>[],
  actor: Pick<Actor, 'id'>,
): boolean {
  if (risk === 'normal') return true;
  if (actor.id.startsWith(MACHINE_USER)) {
    throw new Fault('invalid_actor', {
      message: 'The risk is high: persons have to approve. Sign in first (docket login).',
      param: 'actor',
    });
  }
  if (before.some(({ by }) => by === actor.id)) {
    throw new Fault('invalid_actor', {
      message: 'The risk is high: someone else has to approve as well.',
      param: 'actor',
    });
  }
  return before.length > 0;
}

/**
 * The states in which accounts are vetted. Before there is a declaration there is nothing to compare, and
 * after the end there is nothing to decide.
 */
export const VETTED_STATES: readonly AccountState[] = [
  'declared',
  'screened',
  'in_review',
  'approved',
  'contracted',
  'active',
  'suspended',
];

/** What follows from a vetting: whether a person has to look, and which step the account takes. */
export interface Consequence {
  opensReview: boolean;
  act: Extract<AccountAct, 'clear' | 'refer' | 'suspend'> | null;
}

/**
 * The consequence of a vetting for an account in this state; an applicant's vetting has made it `screened`.
 * An applicant who is clear is approved, any other goes to review. A listed name among those who are already in
 * goes to review too, and an active account is suspended until that is decided. A mere resemblance among
 * them is a question to a person and no reason to cut anyone off.
 */
export function consequenceOf(
  state: AccountState,
  { outcome, reasons }: Pick<Vetting, 'outcome' | 'reasons'>,
): Consequence {
  if (state === 'screened') {
    return outcome === 'clear'
      ? { opensReview: false, act: 'clear' }
      : { opensReview: true, act: 'refer' };
  }
  if (outcome !== 'hit') {
    return { opensReview: reasons.some(({ kind }) => kind === 'list_match'), act: null };
  }
  if (state === 'approved' || state === 'contracted') return { opensReview: true, act: 'refer' };
  return { opensReview: true, act: state === 'active' ? 'suspend' : null };
}

/** A review's reason is read in a list; what does not fit is with the vetting. */
const SUMMARY_LENGTH_MAX = 500;

/** One sentence for the person who opens the review. */
export function summaryOf({ reasons }: Pick<Vetting, 'reasons'>): string {
  const first = reasons[0]?.text ?? 'The screening was not clear.';
  const more = reasons.length - 1;
  return (more > 0 ? `${first} (and ${more} more)` : first).slice(0, SUMMARY_LENGTH_MAX);
}

/** Reviews are decided by operators, who say why. Throws `invalid_actor` or `invalid_reason`. */
export function checkDecision(actor: Pick<Actor, 'kind'>, note: string): void {
  if (actor.kind !== 'operator') {
    throw new Fault('invalid_actor', {
      message: 'Reviews are decided by operators.',
      param: 'actor',
    });
  }
  if (note.trim() === '') {
    throw new Fault('invalid_reason', { message: 'Enter a reason.' });
  }
}

/** The step that a decision takes the account: out of review. A suspended one waits for its reinstatement. */
export function actOfDecision(
  state: AccountState,
  decision: Decision,
): Extract<AccountAct, 'approve' | 'reject'> | null {
  if (state !== 'in_review') return null;
  return decision === 'approved' ? 'approve' : 'reject';
}
