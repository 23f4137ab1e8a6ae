import type { Actor, AuditAction } from './audit/entry.ts';
import type { AccountState } from './account.ts';
import { Fault } from '#shared/kernel/errors.ts';

/** Acts on an account. */
export const ACCOUNT_ACTS = [
  'declare',
  'record_vetting',
  'clear',
  'refer',
  'approve',
  'reject',
  'sign',
  'activate',
  'suspend',
  'reinstate',
  'close',
] as const;
export type AccountAct = (typeof ACCOUNT_ACTS)[number];

/** The evidence that gates look at, as it stands when the act is about to happen. */
export interface AccountFacts {
  state: AccountState;
  declared: boolean;
  /** Outcome of the latest vetting. */
  vetting: 'clear' | 'flagged' | 'hit' | null;
  /** Whether that vetting compared the current lists with the declaration and the contract as they are now. */
  vettingIsCurrent: boolean;
  /** The decision of the latest review; `open` until there is one, null when there never was a review. */
  review: 'open' | 'approved' | 'rejected' | null;
  contracted: boolean;
}

interface Rule {
  /** From which state to which. */
  arrows: Partial<Record<AccountState, AccountState>>;
  by: readonly Actor['kind'][];
  action: AuditAction;
  /** Whether a reason must be given: where the customer loses or regains something. */
  reasoned: boolean;
  /** Why not, or null when the evidence suffices. */
  gate?: (facts: AccountFacts) => string | null;
}

const notOpen = (facts: AccountFacts): string | null =>
  facts.review === 'open' ? 'A review is open and must be decided first.' : null;

/** The signatory is named last, after the vetting that let the applicant in, and lists change at any time. */
const vettedNow = (facts: AccountFacts): string | null =>
  facts.vettingIsCurrent
    ? notOpen(facts)
    : 'Its owners, directors and signatory were not screened against the current lists: run docket accounts screen.';

const CLOSED: Rule['arrows'] = {
  onboarding: 'closed',
  declared: 'closed',
  screened: 'closed',
  in_review: 'closed',
  approved: 'closed',
  contracted: 'closed',
  active: 'closed',
  suspended: 'closed',
};

/** The onboarding order of the specification; each act once, with who may do it and what must be on record. */
const RULES: Readonly<Record<AccountAct, Rule>> = {
  declare: {
    arrows: { onboarding: 'declared' },
    by: ['user', 'operator'],
    action: 'account.declared',
    reasoned: false,
    gate: (facts) => (facts.declared ? null : 'No declaration is on record.'),
  },
  record_vetting: {
    arrows: { declared: 'screened' },
    by: ['system'],
    action: 'account.screened',
    reasoned: false,
    gate: (facts) => (facts.vetting === null ? 'No screening is on record.' : null),
  },
  clear: {
    arrows: { screened: 'approved' },
    by: ['system'],
    action: 'account.approved',
    reasoned: false,
    gate: (facts) => (facts.vetting === 'clear' ? notOpen(facts) : 'The screening is not clear.'),
  },
  refer: {
    arrows: { screened: 'in_review', approved: 'in_review', contracted: 'in_review' },
    by: ['system', 'operator'],
    action: 'account.referred',
    reasoned: true,
    gate: (facts) => (facts.review === 'open' ? null : 'No review was opened.'),
  },
  approve: {
    arrows: { in_review: 'approved' },
    by: ['operator'],
    action: 'account.approved',
    reasoned: true,
    gate: (facts) => (facts.review === 'approved' ? null : 'No review has approved the account.'),
  },
  reject: {
    arrows: { in_review: 'rejected' },
    by: ['operator'],
    action: 'account.rejected',
    reasoned: true,
    gate: (facts) => (facts.review === 'rejected' ? null : 'No review has rejected the account.'),
  },
  sign: {
    arrows: { approved: 'contracted' },
    by: ['operator'],
    action: 'account.contracted',
    reasoned: false,
    gate: (facts) => (facts.contracted ? null : 'No contract is on record.'),
  },
  activate: {
    arrows: { contracted: 'active' },
    by: ['operator'],
    action: 'account.activated',
    reasoned: false,
    gate: vettedNow,
  },
  suspend: {
    arrows: { active: 'suspended' },
    by: ['operator', 'system'],
    action: 'account.suspended',
    reasoned: true,
  },
  reinstate: {
    arrows: { suspended: 'active' },
    by: ['operator'],
    action: 'account.reinstated',
    reasoned: true,
    gate: (facts) =>
      facts.review === 'rejected' ? 'The review did not clear the account.' : vettedNow(facts),
  },
  close: { arrows: CLOSED, by: ['operator'], action: 'account.closed', reasoned: true },
};

/** Where an act leads, and how the audit log calls it. */
export interface Transition {
  to: AccountState;
  action: AuditAction;
}

/**
 * The next state, or the refusal: `invalid_account_state` when the arrow does not exist or its gate
 * is shut, `invalid_actor` when this kind of actor may not do it, `invalid_reason` when one is missing.
 */
export function transition(
  facts: AccountFacts,
  act: AccountAct,
  actor: Pick<Actor, 'kind'>,
  reason: string | undefined,
): Transition {
  const rule = RULES[act];
  const to = rule.arrows[facts.state];
  if (to === undefined) {
    throw new Fault('invalid_account_state', {
      message: `An account that is ${facts.state} cannot ${act.replace('_', ' ')}.`,
    });
  }
  if (!rule.by.includes(actor.kind)) {
    throw new Fault('invalid_actor', {
      message: `This is not for a ${actor.kind} to do.`,
      param: 'actor',
    });
  }
  if (rule.reasoned && (reason === undefined || reason.trim() === '')) {
    throw new Fault('invalid_reason', { message: 'Enter a reason.' });
  }
  const obstacle = rule.gate?.(facts) ?? null;
  if (obstacle !== null) throw new Fault('invalid_account_state', { message: obstacle });
  return { to, action: rule.action };
}

/** A declaration is corrected, while it is reviewed, by those who may make one. Throws `invalid_actor`. */
export function checkCorrection(actor: Pick<Actor, 'kind'>): void {
  if (RULES.declare.by.includes(actor.kind)) return;
  throw new Fault('invalid_actor', {
    message: `This is not for a ${actor.kind} to do.`,
    param: 'actor',
  });
}

/**
 * Plans and limits are terms of a contract: operators set them, as long as the account has not ended.
 * Throws `invalid_account_state` or `invalid_actor`.
 */
export function checkTermsChange(state: AccountState, actor: Pick<Actor, 'kind'>): void {
  checkNotEnded(state);
  if (actor.kind !== 'operator') {
    throw new Fault('invalid_actor', {
      message: 'Plans and limits are set by operators.',
      param: 'actor',
    });
  }
}

/** Settings are an organisation's own, and support helps with them, until it has ended. Throws `invalid_account_state` or `invalid_actor`. */
export function checkSettingsChange(state: AccountState, actor: Pick<Actor, 'kind'>): void {
  checkNotEnded(state);
  if (actor.kind !== 'operator' && actor.kind !== 'user') {
    throw new Fault('invalid_actor', {
      message: 'Settings are changed by persons.',
      param: 'actor',
    });
  }
}

function checkNotEnded(state: AccountState): void {
  if (state !== 'closed' && state !== 'rejected') return;
  throw new Fault('invalid_account_state', { message: `The account is ${state}.` });
}
