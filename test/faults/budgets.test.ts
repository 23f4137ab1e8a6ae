import { beforeAll, describe, expect, it } from 'vitest';
import { payloadsIn } from '#test/support/calls.ts';
import { type Counts, mean } from '#test/support/costs.ts';
import { CountedSystem, over } from '#test/support/counted-system.ts';

/**
 * What work may cost, in counts that do not depend on how fast a machine is: each a little above what was measured when
 * it was last lowered. A change that makes something cheaper lowers it; one that must raise it says in the commit what for.
 */

/** One request alone, from its bytes to its entry in the ledger: what is shared with no other. */
const REQUEST_ALONE: Counts = {
  'redis commands': 26,
  'redis scripts': 3.2,
  'redis reads': 6.8,
  'redis writes': 6.8,
  'redis bytes in': 4_700,
  'redis bytes out': 3_200,
  'redis bytes logged': 4_200,
  // Of the worker that issues the receipt, and of the ledger when no other receipt is in its round. What became of requests
  // is a row of each, written once a second.
  'postgres transactions': 2.1,
  // As of one among 32: on a busy machine all that follows falls into the window, with a row or two of other work.
  'postgres rows written': 5.5,
  'postgres index entries': 6.3,
  'postgres bytes written ahead': 5_800,
  // A log's head, its hour and its day of usage, and its head again with a checkpoint.
  'postgres rows of rounds': 6,
  'api reads': 4.5,
  'api writes': 4.5,
  'inference reads': 3.5,
  'inference writes': 3.5,
  // The receipt goes over the connection to the api process, which says ten times a second what it has taken; its entry is
  // taken off the lane in Redis.
  'receipts reads': 4.5,
  'receipts writes': 4.5,
};

/** One alone whose two calls to upstreams fail, with the receipt that says so. Single requests are counted, so it is loose. */
const FAILED_ALONE: Counts = {
  'redis commands': 90,
  'redis scripts': 7,
  'redis reads': 24,
  'redis writes': 24,
  'redis bytes in': 10_000,
  'redis bytes out': 17_000,
  'redis bytes logged': 10_000,
  'postgres transactions': 4,
  // With the row of what became of it, which may be written later.
  'postgres rows written': 7,
  'postgres index entries': 10,
  'postgres bytes written ahead': 5_500,
  'postgres rows of rounds': 8,
  'api reads': 8,
  'api writes': 8,
  'inference reads': 24,
  'inference writes': 35,
  'receipts reads': 5.5,
  'receipts writes': 5.5,
};

/** One of 32 requests at once. How many share a write depends on the machine, so what is shared is bounded loosely. */
const REQUEST_OF_32: Counts = {
  'redis commands': 16.5,
  'redis scripts': 2.2,
  'redis reads': 3,
  'redis writes': 3,
  'redis bytes in': 3_900,
  'redis bytes out': 2_800,
  'redis bytes logged': 3_600,
  'postgres transactions': 0.6,
  // What is written once a second may be of requests before these.
  'postgres rows written': 5.5,
  'postgres index entries': 6.6,
  'postgres bytes written ahead': 5_800,
  'postgres rows of rounds': 1.5,
};

/** One token of a stream that is alone, its request's own costs spread over fifty. */
const TOKEN_ALONE: Counts = {
  'redis commands': 1.2,
  'redis scripts': 0.15,
  'redis reads': 0.5,
  'redis writes': 0.5,
  'redis bytes in': 180,
  'redis bytes out': 250,
  'redis bytes logged': 150,
  'api reads': 2.2,
  'api writes': 1.4,
  'inference reads': 1.4,
  'inference writes': 1.4,
};

/**
 * One token of 32 streams at once, of thirty tokens each: the write to its client is its own, most else is shared by those
 * that come within some milliseconds.
 */
const TOKEN_OF_32: Counts = {
  'redis commands': 1.1,
  'redis scripts': 0.15,
  'redis reads': 0.2,
  'redis writes': 0.2,
  'redis bytes in': 190,
  'redis bytes out': 130,
  'redis bytes logged': 180,
  'api reads': 0.4,
  'api writes': 1.2,
  'inference reads': 1.2,
  'inference writes': 0.4,
};

/** The signed receipt of a plain request, as its client gets it. */
const RECEIPT_BYTES = 3_300;

let counted: CountedSystem;
beforeAll(async () => {
  counted = await CountedSystem.start();
  await counted.costs.watchIdle();
});
const answer = (...asked: Parameters<CountedSystem['answer']>): Promise<string> =>
  counted.answer(...asked);

describe('what work costs', () => {
  it('a receipt fits into its budget of bytes', async () => {
    const text = await answer(1, 1);
    const receipt = text.slice(text.indexOf(',"receipt":') + ',"receipt":'.length, -1);
    expect(Object.keys(JSON.parse(receipt) as object)).toContain('proof');
    expect(Buffer.byteLength(receipt)).toBeLessThanOrEqual(RECEIPT_BYTES);
  });

  it('a request alone stays within its budget at Redis, PostgreSQL and in each process', async (context) => {
    const times = 20;
    const counts = await counted.costs.each(times, () => answer(times, 1));
    expect(await over(context, counts, REQUEST_ALONE)).toEqual([]);
  });

  it('a request that fails alone, and its receipt, stay within their budget', async (context) => {
    await counted.settle();
    // Fewer than what takes an endpoint out of use, in all rounds together. What the system does every few seconds is as much
    // as such a request, and falls into some of the rounds: what a request costs is in each. What PostgreSQL writes for one may
    // be read in the round after it, so of that all rounds count.
    const counts = await counted.costs.each(
      1,
      () => answer(1, 1, { sandbox_fault: 'status=500' }, 502),
      (rounds, name) => (name.startsWith('postgres') ? mean(rounds) : Math.min(...rounds)),
    );
    expect(await over(context, counts, FAILED_ALONE)).toEqual([]);
    // Endpoints are well again for the tests that follow.
    await answer(16, 1);
  });

  it('a request among 32 stays within its budget at Redis and PostgreSQL', async (context) => {
    const times = 160;
    const counts = await counted.costs.each(times, () => answer(times, 32));
    expect(await over(context, counts, REQUEST_OF_32)).toEqual([]);
  });

  it('a token of a stream that is alone stays within its budget', async (context) => {
    const tokens = 50;
    const body = { stream: true, max_tokens: tokens, sandbox_fault: 'pace=100' };
    const counts = await counted.costs.each(tokens, async () => {
      expect(payloadsIn(await answer(1, 1, body)).length).toBeGreaterThan(tokens);
    });
    expect(await over(context, counts, TOKEN_ALONE)).toEqual([]);
  });

  it('a token of 32 streams at once stays within its budget', async (context) => {
    const [streams, tokens] = [32, 30];
    const body = { stream: true, max_tokens: tokens, sandbox_fault: 'pace=50' };
    const counts = await counted.costs.each(streams * tokens, async () => {
      await answer(streams, streams, body);
    });
    expect(await over(context, counts, TOKEN_OF_32)).toEqual([]);
  });
});
