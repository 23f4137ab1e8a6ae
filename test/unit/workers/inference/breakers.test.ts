import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  afterBeginning,
  afterFailure,
  askBreaker,
  type Breaker,
  CLOSED,
  isDue,
} from '#shared/catalogue/circuit-breaker.ts';
import { Breakers } from '#workers/inference/breakers.ts';
import { forAll } from '#test/support/for-all.ts';

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

  it('after a stream has begun the next failure opens a breaker at once, for longer', () => {
    const first = opened(0);
    const begun = afterBeginning(first);
    expect(askBreaker(begun, 3_000).allowed).toBe(true);
    const again = afterFailure(begun, 3_000);
    expect(again.state).toBe('open');
    expect(again.openMs).toBe(2 * first.openMs);
  });

  it('a breaker can always heal: from any past there is a time at which a call may be made', () => {
    const event = fc.constantFrom('ask', 'fail', 'begin', 'later');
    forAll([fc.array(event, { maxLength: 60 })], (events) => {
      let now = 0;
      let breaker = CLOSED;
      for (const what of events) {
        if (what === 'ask') breaker = askBreaker(breaker, now).next;
        if (what === 'fail') breaker = afterFailure(breaker, now);
        if (what === 'begin' && breaker.state === 'half_open') breaker = afterBeginning(breaker);
        if (what === 'later') now += 1_500;
      }
      const later = now + 60_000;
      expect(breaker.state === 'closed' || isDue(breaker, later)).toBe(true);
      expect(askBreaker(breaker, later).allowed).toBe(true);
    });
  });
});

/** The n-th request of an organisation. */
const by = (orgId: string, n: number) => ({ requestId: `req_${orgId}_${n}`, orgId });
const DEAD = { kind: 'connection', detail: '', errno: 'ECONNREFUSED' } as const;
const isOpen = (breakers: Breakers) => !breakers.ask('e', 'eu', 0);

function openedByOne(): Breakers {
  const breakers = new Breakers(() => {});
  for (let n = 0; n < 5; n += 1) breakers.failed('e', 'eu', DOWN, by('a', n), 0);
  return breakers;
}

describe('the breakers of a worker', () => {
  it('breakers report a change once, and keep regions of one endpoint apart', () => {
    const changes: unknown[][] = [];
    const breakers = new Breakers((...change) => changes.push(change));
    for (let n = 0; n < 9; n += 1) breakers.failed('e', 'eu', DOWN, by('a', n), 0);
    expect(changes).toEqual([['e', 'eu', true]]);
    expect(breakers.ask('e', 'eu', 1)).toBe(false);
    expect(breakers.ask('e', 'us', 1)).toBe(true);
    expect(breakers.reports(1)).toMatchObject([{ endpoint: 'e', region: 'eu', open: true }]);
    breakers.succeeded('e', 'eu', by('a', 9), 2);
    expect(changes).toHaveLength(2);
    expect(breakers.reports(2)).toEqual([{ endpoint: 'e', region: 'eu', open: false }]);
    expect(breakers.reports(60_000)).toEqual([]);
  });

  it('the trial of a circuit that is due is announced, and goes to one request', () => {
    const breakers = openedByOne();
    expect(breakers.reports(1_000)).toMatchObject([{ open: true, trial: false }]);
    expect(breakers.reports(2_000)).toMatchObject([{ open: true, trial: true }]);
    expect(breakers.ask('e', 'eu', 2_000)).toBe(true);
    expect(breakers.ask('e', 'eu', 2_000)).toBe(false);
    expect(breakers.reports(2_000)).toMatchObject([{ open: true, trial: false }]);
    breakers.succeeded('e', 'eu', by('b', 1), 2_100);
    expect(breakers.ask('e', 'eu', 2_100)).toBe(true);
  });

  it('a circuit that one organisation keeps open by itself lets others in, and heals by them', () => {
    const breakers = openedByOne();
    expect(breakers.reports(1)).toMatchObject([{ open: true, answers: true }]);
    // It takes each trial, and meets the failure again.
    expect(breakers.ask('e', 'eu', 2_000, 'a')).toBe(true);
    breakers.failed('e', 'eu', DOWN, by('a', 9), 2_010);
    expect(breakers.ask('e', 'eu', 2_020, 'a')).toBe(false);
    expect(breakers.ask('e', 'eu', 2_020, 'b')).toBe(true);
    // One that meets it too is not let in again.
    breakers.failed('e', 'eu', DOWN, by('b', 1), 2_030);
    expect(breakers.ask('e', 'eu', 2_040, 'b')).toBe(false);
    expect(breakers.ask('e', 'eu', 2_040, 'c')).toBe(true);
    breakers.succeeded('e', 'eu', by('c', 1), 2_050);
    expect(breakers.ask('e', 'eu', 2_060, 'a')).toBe(true);
    // Nor is any to what is not there, or to what very many have met.
    for (let n = 0; n < 5; n += 1) breakers.failed('e', 'us', DEAD, by('a', n), 0);
    expect(breakers.ask('e', 'us', 1, 'b')).toBe(false);
    expect(breakers.reports(3_000)).toContainEqual(
      expect.objectContaining({ region: 'us', answers: false }),
    );
    for (let n = 0; n < 40; n += 1) breakers.failed('e', 'uk', DOWN, by(`org_${n}`, n), 0);
    expect(breakers.ask('e', 'uk', 1, 'b')).toBe(false);
  });

  it('a circuit heals by the request that tries it, and by nothing else', () => {
    const breakers = openedByOne();
    for (let now = 2_000; now < 600_000; now += 1_000)
      expect(breakers.reports(now)).toMatchObject([{ open: true, trial: true }]);
    expect(breakers.ask('e', 'eu', 600_000)).toBe(true);
    breakers.succeeded('e', 'eu', by('a', 9), 600_010);
    expect(breakers.reports(600_010)).toEqual([{ endpoint: 'e', region: 'eu', open: false }]);
  });

  it('an address at which something answers is announced with the trial, until the circuit opens again', () => {
    const breakers = openedByOne();
    expect(breakers.unreached(1_000)).toEqual([]);
    expect(breakers.unreached(2_000)).toMatchObject([{ endpoint: 'e', region: 'eu' }]);
    breakers.reached('e', 'eu');
    expect(breakers.unreached(2_000)).toEqual([]);
    expect(breakers.reports(2_000)).toMatchObject([{ open: true, trial: true, reached: true }]);
    expect(breakers.ask('e', 'eu', 2_000)).toBe(true);
    expect(breakers.reports(2_000)).toMatchObject([{ open: true, trial: false, reached: false }]);
    breakers.failed('e', 'eu', DEAD, by('a', 9), 2_010);
    expect(breakers.reports(90_000)).toMatchObject([{ trial: true, reached: false }]);
  });

  it('streams that begin and break off open a circuit, though each of them has begun well', () => {
    const breakers = new Breakers(() => {});
    for (let n = 0; n < 5; n += 1) {
      expect(breakers.ask('e', 'eu', n)).toBe(true);
      breakers.began('e', 'eu', by('a', n), n);
      breakers.failed('e', 'eu', DEAD, by('a', n), n);
    }
    expect(breakers.ask('e', 'eu', 5)).toBe(false);
    // Half open: the stream that tries it begins, which lets others through, and breaks off, which shuts them out.
    expect(breakers.ask('e', 'eu', 2_100)).toBe(true);
    breakers.began('e', 'eu', by('a', 6), 2_110);
    expect(breakers.ask('e', 'eu', 2_120)).toBe(true);
    breakers.failed('e', 'eu', DEAD, by('a', 6), 2_130);
    expect(breakers.ask('e', 'eu', 5_000)).toBe(false);
  });

  it.each([
    { kind: 'rejected' },
    { kind: 'aborted' },
    { kind: 'too_large' },
    { kind: 'slow_client' },
    { kind: 'rate_limited', status: 429 },
    { kind: 'misconfigured', status: 404 },
    { kind: 'misconfigured', status: 403 },
    { kind: 'unavailable', status: 408 },
    { kind: 'misconfigured', status: 501 },
    { kind: 'own_fault' },
  ] as const)('what a caller provokes, or we do, opens no circuit: $kind $status', (failure) => {
    const breakers = new Breakers(() => {});
    for (let n = 0; n < 50; n += 1)
      breakers.failed('e', 'eu', { ...failure, detail: '' }, by(`org_${n % 3}`, n), 0);
    expect(isOpen(breakers)).toBe(false);
  });

  it.each([
    { kind: 'unavailable', status: 500 },
    { kind: 'unfinished' },
    { kind: 'malformed' },
    { kind: 'connection' },
    { kind: 'connection', errno: 'UND_ERR_SOCKET' },
  ] as const)(
    'a failure that may be the request’s own counts once for each request: $kind $errno',
    (failure) => {
      const breakers = new Breakers(() => {});
      const fail = (n: number) =>
        breakers.failed('e', 'eu', { ...failure, detail: '' }, by('a', n), 0);
      for (let call = 0; call < 20; call += 1) fail(call % 4);
      expect(isOpen(breakers)).toBe(false);
      fail(4);
      expect(isOpen(breakers)).toBe(true);
    },
  );

  it('one organisation alone opens no circuit for another that is there; both together do', () => {
    const breakers = new Breakers(() => {});
    breakers.succeeded('e', 'eu', by('b', 0), 0);
    for (let n = 0; n < 50; n += 1) breakers.failed('e', 'eu', DOWN, by('a', n), 0);
    expect(isOpen(breakers)).toBe(false);
    breakers.failed('e', 'eu', DOWN, by('b', 1), 0);
    expect(isOpen(breakers)).toBe(true);
  });

  it('a few organisations open no circuit for as many others that called in the last minute', () => {
    const breakers = new Breakers(() => {});
    const fail = (orgId: string, now: number): void => {
      for (let n = 0; n < 50; n += 1) breakers.failed('e', 'eu', DOWN, by(orgId, n), now);
    };
    breakers.succeeded('e', 'eu', by('innocent', 0), 0);
    breakers.succeeded('e', 'eu', by('other', 0), 0);
    for (const orgId of ['a', 'b']) fail(orgId, 1);
    expect(isOpen(breakers)).toBe(false);
    breakers.failed('e', 'eu', DOWN, by('other', 1), 2);
    expect(isOpen(breakers)).toBe(true);
  });

  it('among very many organisations those that called last decide: seventeen that fail open it, sixteen do not', () => {
    const breakers = new Breakers(() => {});
    for (let n = 0; n < 1_000; n += 1) breakers.succeeded('e', 'eu', by(`org ${n}`, 0), 0);
    for (let n = 0; n < 16; n += 1) breakers.failed('e', 'eu', DOWN, by(`failing ${n}`, n), 1);
    expect(isOpen(breakers)).toBe(false);
    breakers.failed('e', 'eu', DOWN, by('failing 16', 16), 1);
    expect(isOpen(breakers)).toBe(true);
  });

  it('organisations that failed more than a minute ago open no circuit for those that call', () => {
    const breakers = new Breakers(() => {});
    for (const orgId of ['a', 'b', 'c', 'd']) breakers.failed('e', 'eu', DOWN, by(orgId, 0), 0);
    for (const orgId of ['f', 'g']) breakers.began('e', 'eu', by(orgId, 0), 60_000);
    breakers.failed('e', 'eu', DOWN, by('a', 1), 60_000);
    expect(isOpen(breakers)).toBe(false);
  });

  it('organisations that called more than a minute ago stand against no failure', () => {
    const breakers = new Breakers(() => {});
    for (const orgId of ['b', 'c', 'd']) breakers.succeeded('e', 'eu', by(orgId, 0), 0);
    for (let n = 0; n < 50; n += 1) breakers.failed('e', 'eu', DOWN, by('a', n), 60_000);
    expect(isOpen(breakers)).toBe(true);
  });

  it('what no request provokes counts each time, for any caller', () => {
    const breakers = new Breakers(() => {});
    breakers.succeeded('e', 'eu', by('b', 0), 0);
    for (let n = 0; n < 5; n += 1) breakers.failed('e', 'eu', DEAD, by('a', 1), 0);
    expect(isOpen(breakers)).toBe(true);
  });

  it('connections that break off under what one organisation sends open no circuit for others that call', () => {
    const breakers = new Breakers(() => {});
    const broken = { kind: 'connection', detail: '', errno: 'ECONNRESET' } as const;
    breakers.succeeded('e', 'eu', by('b', 0), 0);
    for (let n = 0; n < 50; n += 1) breakers.failed('e', 'eu', broken, by('a', n), 0);
    expect(isOpen(breakers)).toBe(false);
    breakers.failed('e', 'eu', broken, by('b', 1), 0);
    expect(isOpen(breakers)).toBe(true);
  });

  it('long answers that one organisation asks for, and that begin too late, open no circuit for others that call', () => {
    const breakers = new Breakers(() => {});
    const silent = (orgId: string, n: number): void =>
      breakers.failed('e', 'eu', { kind: 'timeout', detail: '' }, by(orgId, n), 0);
    breakers.succeeded('e', 'eu', by('b', 0), 0);
    for (let n = 0; n < 50; n += 1) silent('a', n);
    expect(isOpen(breakers)).toBe(false);
    silent('b', 1);
    expect(isOpen(breakers)).toBe(true);
    // Where nothing comes there is nothing to be found out by waiting as long once more.
    expect(breakers.ask('e', 'eu', 1, 'c')).toBe(false);
  });

  it('silence that one organisation alone has met lets each other try once in a minute, and heals by it', () => {
    const breakers = new Breakers(() => {});
    const silence = { kind: 'timeout', detail: '' } as const;
    for (let n = 0; n < 5; n += 1) breakers.failed('e', 'eu', silence, by('a', n), 0);
    expect(breakers.reports(1)).toMatchObject([{ open: true, answers: true }]);
    expect(breakers.ask('e', 'eu', 1, 'a')).toBe(false);
    expect(breakers.ask('e', 'eu', 1, 'b')).toBe(true);
    // One may wait for nothing, and not all that it sends.
    expect(breakers.ask('e', 'eu', 2, 'b')).toBe(false);
    expect(breakers.ask('e', 'eu', 2, 'c')).toBe(true);
    breakers.succeeded('e', 'eu', by('b', 1), 3);
    expect(breakers.ask('e', 'eu', 4, 'a')).toBe(true);
  });
});
