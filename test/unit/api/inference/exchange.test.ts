import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import {
  Exchange,
  type ExchangeHost,
  type ExchangeSink,
} from '#api/inference/exchange/exchange.ts';
import type { Fault } from '#shared/kernel/errors.ts';
import { multihashOf } from '#shared/kernel/multihash.ts';
import type { InferenceEntry } from '#shared/lanes/messages.ts';
import { startSaltedDigest } from '#shared/receipts/digest.ts';
import { entry } from './doubles.ts';

const RECEIPT_WAIT_MS = 2_000;
const PATIENCE_MS = 605_000;

interface Heard extends ExchangeSink {
  log: unknown[];
}

function listen(): Heard {
  const log: unknown[] = [];
  return {
    log,
    frames: (text) => log.push(['frames', text]),
    done: (payload, receipt) => log.push(['done', payload, receipt]),
    failed: (fault: Fault) => log.push(['failed', fault.code]),
    settled: () => log.push(['settled']),
  };
}

function exchange(claimed: string | null = 'large', more: Partial<InferenceEntry> = {}) {
  const ends: number[] = [];
  const givenUp: number[] = [];
  const standing: (() => boolean | Promise<boolean>)[] = [];
  const host: ExchangeHost = {
    receiptWaitMs: RECEIPT_WAIT_MS,
    fetchAnswer: () => Promise.resolve(claimed),
    isEnded: () => standing.shift()?.() ?? true,
    acknowledge: () => {},
    gaveUp: () => givenUp.push(1),
    clientLeft: () => {},
    closed: () => ends.push(1),
  };
  const one = new Exchange(entry({ id: 'req_1', ...more }), host);
  return { one, ends, givenUp, standing };
}

/** The number of a delivery is called `attempt` in messages. */
const from = (delivery: number) => ({ id: 'req_1', attempt: delivery });
const answer = (delivery = 1, seq = 1) => ({ ...from(delivery), seq, kind: 'answer' as const });
const frames = (delivery: number, seq: number) => ({
  ...from(delivery),
  seq,
  kind: 'frames' as const,
});
const receipt = (delivery = 1) => ({ ...from(delivery), kind: 'receipt' as const });

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

describe('an exchange', () => {
  it('answer and receipt are joined, in whichever order they come', () => {
    for (const order of [
      [0, 1],
      [1, 0],
    ]) {
      const sink = listen();
      const { one, ends } = exchange();
      one.open(sink);
      const steps = [() => one.take(answer(), 'A'), () => one.take(receipt(), 'R')];
      for (const step of order) steps[step]!();
      expect(sink.log).toEqual([['done', 'A', 'R']]);
      expect(ends).toEqual([1]);
    }
  });

  it('an answer is given without a receipt when that is late, and the receipt is ignored when it comes', () => {
    const sink = listen();
    const { one } = exchange();
    one.open(sink);
    one.take(answer(), 'A');
    vi.advanceTimersByTime(RECEIPT_WAIT_MS - 1);
    expect(sink.log).toEqual([]);
    vi.advanceTimersByTime(1);
    one.take(receipt(), 'R');
    expect(sink.log).toEqual([['done', 'A', null]]);
  });

  it('no answer is given without a receipt while another delivery may answer, nor right after that has: the receipt will be of its answer [survives.inference-worker]', async () => {
    const sink = listen();
    const { one, standing } = exchange();
    one.open(sink);
    one.take(answer(1), 'A1');
    standing.push(
      () => false,
      () => Promise.reject(new Error('away')),
      () => Promise.resolve(true),
    );
    while (standing.length > 0) {
      await vi.advanceTimersByTimeAsync(RECEIPT_WAIT_MS);
      expect(sink.log).toEqual([]);
    }
    one.take(answer(2), 'A2');
    await vi.advanceTimersByTimeAsync(RECEIPT_WAIT_MS);
    expect(sink.log).toEqual([['done', 'A2', null]]);
  });

  it('what comes before an exchange is opened is kept, in order', () => {
    const sink = listen();
    const { one } = exchange();
    one.take(frames(1, 1), 'a');
    one.take(frames(1, 2), 'b');
    expect(sink.log).toEqual([]);
    one.open(sink);
    expect(sink.log).toEqual([
      ['frames', 'a'],
      ['frames', 'b'],
    ]);
  });

  it('frames that come twice are dropped', () => {
    const sink = listen();
    const { one } = exchange();
    one.open(sink);
    for (const seq of [1, 2, 1, 2, 3]) one.take(frames(1, seq), String(seq));
    expect(sink.log).toEqual([
      ['frames', '1'],
      ['frames', '2'],
      ['frames', '3'],
    ]);
  });

  it('the answer of a second delivery is taken when nothing of the first was seen, with the receipt of the same delivery', () => {
    const sink = listen();
    const { one } = exchange();
    one.open(sink);
    one.take(answer(1), 'first');
    one.take(receipt(2), 'R2');
    expect(sink.log).toEqual([]);
    one.take(answer(1, 2), 'late');
    expect(sink.log).toEqual([]);
    one.take(answer(2), 'second');
    expect(sink.log).toEqual([['done', 'second', 'R2']]);
  });

  describe('a request of which two deliveries answered', () => {
    const another = { id: 'req_1', attempt: 2, kind: 'receipt_of_another' as const };
    const heard = (...steps: ((one: Exchange) => void)[]): unknown[] => {
      const sink = listen();
      const { one } = exchange();
      one.open(sink);
      for (const step of steps) step(one);
      return sink.log;
    };
    const first = (one: Exchange) => one.take(answer(1), 'first');
    const second = (one: Exchange) => one.take(answer(2), 'second');
    const ofFirst = (one: Exchange) => one.take(receipt(1), 'R1');
    const ofSecond = (one: Exchange) => one.take(receipt(2), 'R2');
    const ofAnother = (one: Exchange) => one.take(another, '');

    it('the client gets the answer that the receipt is of, in whichever order the two are heard of', () => {
      expect(heard(first, second, ofFirst)).toEqual([['done', 'first', 'R1']]);
      expect(heard(first, ofFirst, second)).toEqual([['done', 'first', 'R1']]);
      expect(heard(first, second, ofSecond)).toEqual([['done', 'second', 'R2']]);
      expect(heard(first, ofSecond, second)).toEqual([['done', 'second', 'R2']]);
      expect(heard(first, second, ofAnother, ofFirst)).toEqual([['done', 'first', 'R1']]);
      expect(heard(first, second, ofFirst, ofAnother)).toEqual([['done', 'first', 'R1']]);
    });

    it('the client gets the answer that the receipt will be of when that receipt is late', () => {
      const sink = listen();
      const { one } = exchange();
      one.open(sink);
      for (const step of [first, second, ofAnother]) step(one);
      vi.advanceTimersByTime(RECEIPT_WAIT_MS);
      expect(sink.log).toEqual([['done', 'first', null]]);
    });

    it('the client gets no answer with another receipt: an error where the right answer is not here, or the stored one', () => {
      expect(heard(second, ofAnother)).toEqual([['failed', 'worker_lost']]);
      const sink = listen();
      const { one } = exchange(null, { claim: 'claim' });
      one.open(sink);
      for (const step of [second, ofAnother]) step(one);
      expect(sink.log).toEqual([['settled']]);
    });

    it('of three deliveries that answered, the client gets the answer that the receipt is of, with that receipt', () => {
      const third = (one: Exchange) => one.take(answer(3), 'third');
      const ofThird = (one: Exchange) => one.take(receipt(3), 'R3');
      expect(heard(first, second, third, ofFirst)).toEqual([['done', 'first', 'R1']]);
      expect(heard(first, second, third, ofSecond)).toEqual([['done', 'second', 'R2']]);
      expect(heard(first, second, third, ofThird)).toEqual([['done', 'third', 'R3']]);
      for (const text of ['first', 'second']) {
        const digest = startSaltedDigest(entry({}).salt).update(text).end();
        const signed = `{"responseDigest":"${multihashOf(digest, 'responseDigest')}"}`;
        const told = (one: Exchange) => one.take({ ...another, attempt: 3 }, signed);
        expect(heard(first, second, third, told)).toEqual([['done', text, signed]]);
      }
    });

    it('the client gets no answer with a receipt that is of none of those that came', () => {
      const told = (one: Exchange) => one.take(another, '{"responseDigest":"uEiAnother"}');
      expect(heard(first, second, told)).toEqual([['failed', 'worker_lost']]);
    });

    it('an answer of an abandoned delivery that cannot be fetched fails nothing', async () => {
      const sink = listen();
      const { one } = exchange(null);
      one.open(sink);
      one.take({ ...answer(1), ref: 'reply:req_1:1' }, '');
      for (const step of [second, ofSecond]) step(one);
      await vi.advanceTimersByTimeAsync(0);
      expect(sink.log).toEqual([['done', 'second', 'R2']]);
    });

    it('a stream that the client has seen a part of is not answered from the store', () => {
      const sink = listen();
      const { one } = exchange(null, { claim: 'claim' });
      one.open(sink);
      one.take(frames(2, 1), 'a');
      one.take({ id: 'req_1', attempt: 2, seq: 2, kind: 'last' }, 'last');
      ofAnother(one);
      expect(sink.log).toEqual([
        ['frames', 'a'],
        ['failed', 'worker_lost'],
      ]);
    });
  });

  it('an answer is not taken back by its delivery, which has not heard that it was written', () => {
    const sink = listen();
    const { one } = exchange();
    one.open(sink);
    one.take(answer(), 'A');
    const error = { code: 'worker_lost', message: 'lost' } as const;
    one.take({ id: 'req_1', attempt: 1, seq: 2, kind: 'error', error }, '');
    one.take(receipt(), 'R');
    expect(sink.log).toEqual([['done', 'A', 'R']]);
  });

  it('a stream of which the client has seen a part is never restarted', () => {
    const sink = listen();
    const { one } = exchange();
    one.open(sink);
    one.take(frames(1, 1), 'a');
    one.take(frames(2, 1), 'again');
    expect(sink.log).toEqual([
      ['frames', 'a'],
      ['failed', 'worker_lost'],
    ]);
  });

  it('a request fails when its answer, too large for its message, is no longer there', async () => {
    const sink = listen();
    const { one } = exchange(null);
    one.open(sink);
    one.take({ ...answer(), ref: 'reply:req_1:1' }, '');
    await vi.waitFor(() => expect(sink.log).toEqual([['failed', 'dispatch_unavailable']]));
  });

  it('an answer that was too large for its message is fetched', async () => {
    const sink = listen();
    const { one } = exchange();
    one.open(sink);
    one.take({ ...answer(), ref: 'reply:req_1:1' }, '');
    one.take(receipt(), 'R');
    await vi.waitFor(() => expect(sink.log).toEqual([['done', 'large', 'R']]));
  });

  it('a request is given up after a silence, telling the pipeline first; a stream that speaks is not silent', () => {
    const sink = listen();
    const { one, givenUp } = exchange();
    one.open(sink);
    vi.advanceTimersByTime(PATIENCE_MS - 1);
    one.take(frames(1, 1), 'a');
    vi.advanceTimersByTime(PATIENCE_MS - 1);
    expect(givenUp).toEqual([]);
    vi.advanceTimersByTime(1);
    expect(givenUp).toEqual([1]);
    expect(sink.log.at(-1)).toEqual(['failed', 'upstream_timeout']);
  });

  it('nothing is heard once an exchange has ended', () => {
    const sink = listen();
    const { one, ends } = exchange();
    one.open(sink);
    one.close();
    one.take(answer(), 'A');
    one.take(receipt(), 'R');
    expect(vi.getTimerCount()).toBe(0);
    expect(sink.log).toEqual([]);
    expect(ends).toEqual([1]);
  });

  it('an answer is given once, and no timer outlives it', () => {
    const sink = listen();
    const { one } = exchange();
    one.open(sink);
    one.take(answer(), 'A');
    one.take(receipt(), 'R');
    expect(vi.getTimerCount()).toBe(0);
    expect(sink.log).toEqual([['done', 'A', 'R']]);
  });
});
