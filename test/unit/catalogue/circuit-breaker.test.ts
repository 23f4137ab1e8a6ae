import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  afterFailure,
  afterSuccess,
  askBreaker,
  type Breaker,
  CLOSED,
} from '#shared/catalogue/circuit-breaker.ts';
import { forAll } from '#test/support/for-all.ts';

const open = (now: number): Breaker => {
  let breaker = CLOSED;
  while (breaker.state === 'closed') breaker = afterFailure(breaker, now);
  return breaker;
};

describe('a circuit breaker', () => {
  it('opens after failures in a row, not after ones with successes between', () => {
    let breaker = CLOSED;
    for (let i = 0; i < 100; i += 1)
      breaker = i % 4 === 3 ? afterSuccess() : afterFailure(breaker, i);
    expect(breaker.state).toBe('closed');
    expect(open(0).state).toBe('open');
  });

  it('lets nothing through while open, then exactly one trial', () => {
    const breaker = open(1_000);
    expect(askBreaker(breaker, breaker.openUntil - 1).allowed).toBe(false);
    const trial = askBreaker(breaker, breaker.openUntil);
    expect(trial.allowed).toBe(true);
    expect(askBreaker(trial.next, breaker.openUntil + 1).allowed).toBe(false);
  });

  it('closes when the trial succeeds, and stays open longer when it fails', () => {
    const breaker = open(0);
    const { next } = askBreaker(breaker, breaker.openUntil);
    expect(afterSuccess()).toBe(CLOSED);
    const again = afterFailure(next, breaker.openUntil);
    expect(again.state).toBe('open');
    expect(again.openMs).toBeGreaterThan(breaker.openMs);
  });

  it('always lets a call through within a bounded time, after any course of calls', () => {
    const act = fc.constantFrom('ask', 'fail', 'succeed');
    forAll(
      [fc.array(fc.tuple(act, fc.integer({ min: 0, max: 5_000 })), { maxLength: 200 })],
      (acts) => {
        let breaker = CLOSED;
        let now = 0;
        for (const [what, gap] of acts) {
          now += gap;
          if (what === 'ask') breaker = askBreaker(breaker, now).next;
          else breaker = what === 'fail' ? afterFailure(breaker, now) : afterSuccess();
        }
        expect(askBreaker(breaker, now + 60_000).allowed).toBe(true);
      },
    );
  });
});
