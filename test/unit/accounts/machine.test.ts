import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  ACCOUNT_ACTS,
  transition,
  type AccountAct,
  type AccountFacts,
} from '#shared/accounts/machine.ts';
import type { AccountState } from '#shared/accounts/account.ts';
import { ACTOR_KINDS, type Actor } from '#shared/accounts/audit/entry.ts';
import { Fault } from '#shared/kernel/errors.ts';
import { accountArrows } from '#test/support/account-arrows.ts';
import { runs } from '#test/support/depth.ts';
import { forAll } from '#test/support/for-all.ts';

const fresh: AccountFacts = {
  state: 'onboarding',
  declared: false,
  vetting: null,
  vettingIsCurrent: false,
  review: null,
  contracted: false,
};

function attempt(
  facts: AccountFacts,
  act: AccountAct,
  kind: Actor['kind'],
  reason: string | undefined,
): string {
  try {
    return transition(facts, act, { kind }, reason).to;
  } catch (error) {
    if (error instanceof Fault) return error.code;
    throw error;
  }
}

const event = fc.oneof(
  fc.record({
    type: fc.constant('act' as const),
    act: fc.constantFrom(...ACCOUNT_ACTS),
    kind: fc.constantFrom(...ACTOR_KINDS),
    reason: fc.constantFrom(undefined, '', 'because'),
  }),
  // Evidence comes and changes at any time, in any state of the account.
  fc.record({
    type: fc.constant('evidence' as const),
    change: fc.oneof(
      fc.record({ declared: fc.constant(true) }),
      fc.record({ contracted: fc.constant(true) }),
      fc.record({ vettingIsCurrent: fc.boolean() }),
      fc.record({
        vetting: fc.constantFrom('clear' as const, 'flagged' as const, 'hit' as const),
      }),
      fc.record({
        review: fc.constantFrom('open' as const, 'approved' as const, 'rejected' as const),
      }),
    ),
  }),
);

describe('the account’s state machine', () => {
  it('makes no account active past a gate, under any sequence of acts [accounts.onboarding]', () => {
    forAll([fc.array(event, { maxLength: 120 })], { numRuns: runs(500) }, (events) => {
      let facts = fresh;
      const passed: AccountState[] = ['onboarding'];
      for (const step of events) {
        if (step.type === 'evidence') {
          facts = { ...facts, ...step.change };
          continue;
        }
        const result = attempt(facts, step.act, step.kind, step.reason);
        if (result.startsWith('invalid_')) continue;
        const to = result as AccountState;
        if (to === 'declared') expect(facts.declared).toBe(true);
        if (to === 'screened') expect(facts.vetting).not.toBeNull();
        if (to === 'approved' && facts.state === 'screened') {
          expect([facts.vetting, step.kind]).toEqual(['clear', 'system']);
        }
        if (to === 'approved' && facts.state === 'in_review') {
          expect([facts.review, step.kind]).toEqual(['approved', 'operator']);
        }
        if (to === 'contracted') expect(facts.contracted).toBe(true);
        if (to === 'active') {
          expect(facts.review).not.toBe('open');
          expect(facts.vettingIsCurrent).toBe(true);
          expect(step.kind).toBe('operator');
          for (const gate of ['declared', 'screened', 'approved', 'contracted'] as const) {
            expect(passed).toContain(gate);
          }
        }
        passed.push(to);
        facts = { ...facts, state: to };
      }
    });
  });

  it('reaches every state on the way of the specification [accounts.onboarding]', () => {
    let facts: AccountFacts = {
      ...fresh,
      declared: true,
      vetting: 'clear',
      vettingIsCurrent: true,
      contracted: true,
    };
    const way: [AccountAct, Actor['kind']][] = [
      ['declare', 'user'],
      ['record_vetting', 'system'],
      ['clear', 'system'],
      ['sign', 'operator'],
      ['activate', 'operator'],
      ['suspend', 'system'],
      ['reinstate', 'operator'],
      ['close', 'operator'],
    ];
    const states = way.map(([act, kind]) => {
      const to = transition(facts, act, { kind }, 'because').to;
      facts = { ...facts, state: to };
      return to;
    });
    expect(states).toEqual([
      'declared',
      'screened',
      'approved',
      'contracted',
      'active',
      'suspended',
      'active',
      'closed',
    ]);
  });

  it('never leaves closed or rejected', () => {
    for (const state of ['closed', 'rejected'] as const) {
      for (const act of ACCOUNT_ACTS) {
        const facts: AccountFacts = {
          state,
          declared: true,
          vetting: 'clear',
          vettingIsCurrent: true,
          review: 'approved',
          contracted: true,
        };
        expect(attempt(facts, act, 'operator', 'because')).toBe('invalid_account_state');
      }
    }
    expect(accountArrows().filter((arrow) => /^(closed|rejected)/.test(arrow))).toEqual([]);
  });

  it('demands a reason for a suspension, a reinstatement and a closure', () => {
    const suspended: AccountFacts = { ...fresh, state: 'suspended' };
    expect(attempt({ ...fresh, state: 'active' }, 'suspend', 'operator', ' ')).toBe(
      'invalid_reason',
    );
    expect(attempt(suspended, 'reinstate', 'operator', undefined)).toBe('invalid_reason');
    expect(attempt(suspended, 'close', 'operator', undefined)).toBe('invalid_reason');
  });

  it('does not reinstate while a review is open or after it was rejected', () => {
    for (const review of ['open', 'rejected'] as const) {
      const facts: AccountFacts = { ...fresh, state: 'suspended', review };
      expect(attempt(facts, 'reinstate', 'operator', 'because')).toBe('invalid_account_state');
    }
  });
});
