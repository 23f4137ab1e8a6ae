import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  afterFailure,
  afterProbe,
  askBreaker,
  type Breaker,
  CLOSED,
  isDue,
} from '#shared/catalogue/circuit-breaker.ts';
import { Breakers } from '#workers/inference/breakers.ts';

const DOWN = { kind: 'unavailable', detail: '' } as const;

function opened(now: number): Breaker {
  let breaker = CLOSED;
  for (let i = 0; i < 5; i += 1) breaker = afterFailure(breaker, now);
  return breaker;
}

describe('a circuit breaker', () => {
  it('a breaker is not held open for longer by calls that were under way when it opened', () => {
    let breaker = opened(0);
    expect(breaker.state).toBe('open');
    const { openUntil } = breaker;
    for (let i = 0; i < 500; i += 1) breaker = afterFailure(breaker, 10);
    expect(breaker.openUntil).toBe(openUntil);
  });

  it('after a probe has closed a breaker the next failure opens it at once, for longer', () => {
    const first = opened(0);
    const probed = afterProbe(first);
    expect(askBreaker(probed, 3_000).allowed).toBe(true);
    const again = afterFailure(probed, 3_000);
    expect(again.state).toBe('open');
    expect(again.openMs).toBe(2 * first.openMs);
  });

  it('a breaker can always heal: from any past there is a time at which a call or a probe may be made', () => {
    const event = fc.constantFrom('ask', 'fail', 'probe-well', 'later');
    fc.assert(
      fc.property(fc.array(event, { maxLength: 60 }), (events) => {
        let now = 0;
        let breaker = CLOSED;
        for (const what of events) {
          if (what === 'ask') breaker = askBreaker(breaker, now).next;
          if (what === 'fail') breaker = afterFailure(breaker, now);
          if (what === 'probe-well' && breaker.state === 'half_open') breaker = afterProbe(breaker);
          if (what === 'later') now += 1_500;
        }
        const later = now + 60_000;
        expect(breaker.state === 'closed' || isDue(breaker, later)).toBe(true);
        expect(askBreaker(breaker, later).allowed).toBe(true);
      }),
    );
  });
});

describe('the breakers of a worker', () => {
  it('breakers report a change once, and keep regions of one endpoint apart', () => {
    const changes: unknown[][] = [];
    const breakers = new Breakers((...change) => changes.push(change));
    for (let i = 0; i < 9; i += 1) breakers.failed('e', 'eu', DOWN, 0);
    expect(changes).toEqual([['e', 'eu', true]]);
    expect(breakers.ask('e', 'eu', 1)).toBe(false);
    expect(breakers.ask('e', 'us', 1)).toBe(true);
    expect(breakers.reports(1)).toEqual([{ endpoint: 'e', region: 'eu', open: true }]);
    breakers.succeeded('e', 'eu', 2);
    expect(changes).toHaveLength(2);
    expect(breakers.reports(2)).toEqual([{ endpoint: 'e', region: 'eu', open: false }]);
    expect(breakers.reports(60_000)).toEqual([]);
  });

  it('the trial of a circuit that is due goes to one probe, whose success closes it', () => {
    const breakers = new Breakers(() => {});
    for (let i = 0; i < 5; i += 1) breakers.failed('e', 'eu', DOWN, 0);
    expect(breakers.takeTrials(1_000)).toEqual([]);
    expect(breakers.takeTrials(2_000)).toMatchObject([{ endpoint: 'e', region: 'eu' }]);
    expect(breakers.takeTrials(2_000)).toEqual([]);
    expect(breakers.ask('e', 'eu', 2_000)).toBe(false);
    breakers.probed('e', 'eu', true, 2_100);
    expect(breakers.ask('e', 'eu', 2_100)).toBe(true);
    expect(breakers.reports(2_100)).toEqual([]);
  });

  it('a probe does not outweigh a call that failed meanwhile', () => {
    const breakers = new Breakers(() => {});
    for (let i = 0; i < 5; i += 1) breakers.failed('e', 'eu', DOWN, 0);
    breakers.takeTrials(2_000);
    breakers.failed('e', 'eu', DOWN, 2_050);
    breakers.probed('e', 'eu', true, 2_100);
    expect(breakers.ask('e', 'eu', 2_100)).toBe(false);
  });

  it('breakers are not opened by requests that were wrong, nor by callers who left', () => {
    const breakers = new Breakers(() => {});
    for (let i = 0; i < 50; i += 1) {
      breakers.failed('e', 'eu', { kind: 'rejected', detail: '' }, 0);
      breakers.failed('e', 'eu', { kind: 'aborted', detail: '' }, 0);
    }
    expect(breakers.ask('e', 'eu', 0)).toBe(true);
  });
});
