import { describe, expect, it } from 'vitest';
import type { AccountState } from '#shared/accounts/account.ts';
import {
  actOfDecision,
  checkDecision,
  consequenceOf,
  summaryOf,
  VETTED_STATES,
  type Vetting,
} from '#shared/accounts/vetting.ts';
import { Fault } from '#shared/kernel/errors.ts';
import { thrownBy } from '#test/support/thrown-by.ts';

const reason = (kind: Vetting['reasons'][number]['kind'], text = 'a reason') =>
  ({ kind, score: 1, text }) as const;
const CLEAR = { outcome: 'clear', reasons: [] } as const;
const RISKY = { outcome: 'flagged', reasons: [reason('industry')] } as const;
const RESEMBLING = { outcome: 'flagged', reasons: [reason('list_match')] } as const;
const HIT = { outcome: 'hit', reasons: [reason('list_match')] } as const;

const NOTHING = { opensReview: false, act: null };
const REVIEW = { opensReview: true, act: null };
const INSIDE: AccountState[] = ['in_review', 'approved', 'contracted', 'active', 'suspended'];

describe('the consequence of a vetting', () => {
  it('approves an applicant who is clear, and refers every other', () => {
    expect(consequenceOf('screened', CLEAR)).toEqual({ opensReview: false, act: 'clear' });
    for (const vetting of [RISKY, RESEMBLING, HIT]) {
      expect(consequenceOf('screened', vetting)).toEqual({ opensReview: true, act: 'refer' });
    }
  });

  it('is nothing for those who are in and clear, or known to be risky', () => {
    for (const state of INSIDE) {
      expect(consequenceOf(state, CLEAR)).toEqual(NOTHING);
      expect(consequenceOf(state, RISKY)).toEqual(NOTHING);
    }
  });

  it('opens a review and suspends no account when a name among them only resembles a listed one', () => {
    for (const state of INSIDE) expect(consequenceOf(state, RESEMBLING)).toEqual(REVIEW);
  });

  it('takes a listed name out of service until a person has decided', () => {
    expect(consequenceOf('approved', HIT)).toEqual({ opensReview: true, act: 'refer' });
    expect(consequenceOf('contracted', HIT)).toEqual({ opensReview: true, act: 'refer' });
    expect(consequenceOf('active', HIT)).toEqual({ opensReview: true, act: 'suspend' });
    expect(consequenceOf('in_review', HIT)).toEqual(REVIEW);
    expect(consequenceOf('suspended', HIT)).toEqual(REVIEW);
  });

  it('is drawn neither before there is a declaration nor after the end', () => {
    for (const state of ['onboarding', 'rejected', 'closed'] as const) {
      expect(VETTED_STATES).not.toContain(state);
    }
  });
});

describe('a review', () => {
  it('is decided by operators, who say why', () => {
    const codeOf = (kind: 'operator' | 'user' | 'system', note: string) =>
      thrownBy(Fault, () => checkDecision({ kind }, note))?.code;
    expect(codeOf('operator', 'looked at it')).toBeUndefined();
    expect(codeOf('operator', ' ')).toBe('invalid_reason');
    for (const kind of ['user', 'system'] as const) {
      expect(codeOf(kind, 'looked at it')).toBe('invalid_actor');
    }
  });

  it('takes the account with it only out of in_review', () => {
    expect(actOfDecision('in_review', 'approved')).toBe('approve');
    expect(actOfDecision('in_review', 'rejected')).toBe('reject');
    for (const state of ['active', 'suspended', 'contracted'] as const) {
      expect(actOfDecision(state, 'approved')).toBeNull();
    }
  });

  it('says its first reason and how many more there are, in at most 500 characters', () => {
    expect(summaryOf(HIT)).toBe('a reason');
    expect(summaryOf({ reasons: [reason('list_match', 'one'), reason('country')] })).toBe(
      'one (and 1 more)',
    );
    expect(summaryOf({ reasons: [reason('list_match', 'x'.repeat(600))] })).toHaveLength(500);
  });
});
