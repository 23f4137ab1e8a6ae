import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { InferenceDeps } from '#api/inference/handle.ts';
import { Fault } from '#shared/kernel/errors.ts';
import { testSeals } from '#test/support/seals.ts';
import {
  NOW,
  openEdge,
  RECEIPT_ID,
  RECEIPT_WAIT_MS,
  refused,
  REQUEST_ID,
  reused,
  same,
} from './doubles.ts';

const ANSWER = '{"id":"chatcmpl-1"}';
const RECEIPT = '{"proof":{}}';

/** Lets what is ready happen, without letting time pass. */
const turn = () => vi.advanceTimersByTimeAsync(0);

beforeEach(() => void vi.useFakeTimers({ now: NOW }));
afterEach(() => void vi.useRealTimers());

describe('a whole answer', () => {
  it('a whole answer is sent with its signed receipt, the limits and the region', async () => {
    const { ask, hear, happened } = openEdge();
    const { reply } = ask();
    await turn();
    hear({ kind: 'answer' }, ANSWER);
    await turn();
    expect(reply.sent).toBeUndefined();
    hear({ kind: 'receipt' }, RECEIPT);
    await turn();
    expect(reply.sent).toEqual({
      text: '{"id":"chatcmpl-1","receipt":{"proof":{}}}',
      headers: {
        'content-type': 'application/json; charset=utf-8',
        'x-receipt-id': RECEIPT_ID,
        'x-request-id': REQUEST_ID,
        'x-region': 'eu',
        'openai-processing-ms': '0',
        'x-ratelimit-limit-requests': '50',
        'x-ratelimit-remaining-requests': '199',
        'x-ratelimit-reset-requests': '20ms',
        'x-ratelimit-limit-requests-day': '100000',
        'x-ratelimit-remaining-requests-day': '999',
        'x-ratelimit-reset-requests-day': '1h0m0s',
      },
    });
    expect(happened).toEqual(['answered']);
  });

  it('a long answer is sent as the bytes of its text, which are made in turns of their own', async () => {
    const { ask, hear } = openEdge();
    const { reply, handled } = ask();
    await turn();
    const long = `{"id":"chatcmpl-1","text":"${'é'.repeat(1_048_576)}"}`;
    hear({ kind: 'answer' }, long);
    hear({ kind: 'receipt' }, RECEIPT);
    await turn();
    expect(reply.sent).toBeUndefined();
    await vi.advanceTimersByTimeAsync(10);
    await handled;
    const sent = reply.sent!.text as unknown;
    expect(sent).toBeInstanceOf(Buffer);
    expect((sent as Buffer).toString()).toBe(`${long.slice(0, -1)},"receipt":${RECEIPT}}`);
  });

  it('a request that is in the pipeline holds nothing of its body any more', async () => {
    const { ask, hear, holdAdmissions, released } = openEdge();
    const release = holdAdmissions();
    const { request, handled } = ask();
    await turn();
    expect([released(), request.body]).toEqual([0, expect.anything()]);
    release();
    await turn();
    expect([released(), request.body]).toEqual([1, undefined]);
    hear({ kind: 'answer' }, ANSWER);
    hear({ kind: 'receipt' }, RECEIPT);
    await handled;
  });

  it('a new request to a region without a worker is told at once that the region is degraded [limits.regions]', async () => {
    const { ask, willSay, exchanges, asked } = openEdge({
      roomIn: () => Promise.resolve({ region: 0, org: 0 }),
    });
    willSay(refused('saturated'), refused('saturated'));
    await expect(ask().handled).rejects.toMatchObject({
      code: 'region_degraded',
      message: 'No region takes requests for this model now.',
    });
    expect(asked.map(({ regionCapacity }) => regionCapacity)).toEqual([0, 0]);
    await exchanges.drained();
  });

  it('an answer is sent although it came, with its receipt, before the word of its admission', async () => {
    const { ask, hear, holdAdmissions } = openEdge();
    const release = holdAdmissions();
    const { reply } = ask();
    await turn();
    hear({ kind: 'answer' }, ANSWER);
    hear({ kind: 'receipt' }, RECEIPT);
    await turn();
    expect(reply.sent).toBeUndefined();
    release();
    await turn();
    expect(reply.sent?.text).toBe('{"id":"chatcmpl-1","receipt":{"proof":{}}}');
  });

  it('an answer whose receipt is late announces it: pending, with its id and where to fetch it, and never called degraded', async () => {
    const { ask, hear, happened, pending } = openEdge();
    const { reply } = ask();
    await turn();
    hear({ kind: 'answer' }, ANSWER);
    await vi.advanceTimersByTimeAsync(RECEIPT_WAIT_MS - 1);
    expect(reply.sent).toBeUndefined();
    await vi.advanceTimersByTimeAsync(1);
    await turn();
    const { receipt } = JSON.parse(reply.sent!.text) as { receipt: Record<string, unknown> };
    expect(receipt).toEqual({
      id: `https://gateway.example/receipts/${RECEIPT_ID}`,
      type: ['PendingReceipt'],
      tier: 'pending',
      explanation: expect.stringContaining('can be fetched shortly') as string,
      retrieve: `https://gateway.example/v1/receipts/${RECEIPT_ID}`,
    });
    expect(reply.sent!.text).not.toContain('degraded');
    expect(pending).toEqual([['org_1', RECEIPT_ID]]);
    expect(happened).toEqual(['receiptLate', 'answered']);
  });

  it('a request that requires a receipt is refused when the receipt is late, and named the one that will come', async () => {
    const { ask, hear } = openEdge();
    const { reply, handled } = ask({ body: { receipt: 'required' } });
    await turn();
    hear({ kind: 'answer' }, ANSWER);
    await vi.advanceTimersByTimeAsync(RECEIPT_WAIT_MS);
    await expect(handled).rejects.toMatchObject({ code: 'receipt_generation_failed' });
    expect(reply.sent).toBeUndefined();
    expect(reply.set['x-receipt-id']).toBe(RECEIPT_ID);
  });

  it('an answer that was kept apart because of its size is fetched', async () => {
    const { ask, hear, redis } = openEdge();
    redis.values.set('reply:1', testSeals().sealBytes(ANSWER, 'reply:1'));
    const { reply } = ask();
    await turn();
    hear({ kind: 'answer', ref: 'reply:1' });
    hear({ kind: 'receipt' }, RECEIPT);
    await turn();
    expect(reply.sent?.text).toContain('"id":"chatcmpl-1"');
  });

  it('a failure in the pipeline is what the client gets, with its parameter, its wait and the limits, and no receipt', async () => {
    const { ask, hear } = openEdge();
    const { reply, handled } = ask();
    await turn();
    const error = {
      code: 'invalid_tools',
      message: 'No.',
      param: 'tools',
      retryAfterMs: 5,
    } as const;
    hear({ kind: 'error', error });
    await expect(handled).rejects.toMatchObject(error);
    expect(reply.set).toMatchObject({
      'x-request-id': REQUEST_ID,
      'x-region': 'eu',
      'x-ratelimit-remaining-requests': '199',
      'x-ratelimit-remaining-requests-day': '999',
    });
    expect(reply.set).not.toHaveProperty('x-receipt-id');
  });
});

describe('admission', () => {
  it('a request that the policy forbids is never asked to be admitted', async () => {
    const verdict = { rule: 'r', code: 'dual_use_screen_block' };
    const screen = { check: () => verdict } as unknown as InferenceDeps['screen'];
    const { ask, asked } = openEdge({ screen });
    await expect(ask().handled).rejects.toMatchObject({ code: 'dual_use_screen_block' });
    expect(asked).toEqual([]);
  });

  it.each([
    [refused('rate'), 'requests_per_second_exceeded', { retryAfterMs: 1_500 }],
    [refused('day'), 'daily_budget_exceeded', { retryAfterMs: 1_500 }],
    [refused('streams'), 'concurrent_streams_exceeded', { retryAfterMs: 1_500 }],
    [refused('backlog'), 'dispatch_unavailable', { retryAfterMs: 1_500 }],
    [reused(), 'idempotency_key_reused', { param: 'Idempotency-Key', retryAfterMs: undefined }],
  ] as const)(
    'a request that is not admitted is refused with the limits, and nothing stays open: $0.verdict',
    async (admission, code, details) => {
      const { ask, willSay, exchanges, redis } = openEdge();
      willSay(admission);
      await expect(ask().handled).rejects.toMatchObject({
        code,
        ...details,
        headers: { 'x-ratelimit-remaining-requests': '199' },
      });
      await exchanges.drained();
      expect(redis.commands).toEqual([]);
    },
  );

  it('the next region is asked only while one is saturated, and the answer names the region that took the request', async () => {
    const { ask, willSay, hear, asked } = openEdge();
    willSay(refused('saturated'));
    const { reply } = ask();
    await turn();
    expect(asked.map(({ region }) => region)).toEqual(['eu', 'us']);
    hear({ kind: 'answer' }, ANSWER);
    hear({ kind: 'receipt' }, RECEIPT);
    await turn();
    expect(reply.sent?.headers['x-region']).toBe('us');
  });

  it('a request that no region takes is told of none that it did not ask for, and one that is pinned of its own [codes.region_saturated]', async () => {
    const { ask, willSay, asked } = openEdge();
    willSay(refused('saturated'), refused('saturated'), refused('saturated'));
    const none = 'No region takes requests for this model now.';
    const code = 'region_saturated';
    await expect(ask().handled).rejects.toMatchObject({ code, message: none });
    expect(asked).toHaveLength(2);
    const pinned = ask({ body: { region: 'us' } }).handled;
    const message = 'The region us is at capacity.';
    await expect(pinned).rejects.toMatchObject({ code, message });
  });

  it('an admission that Redis does not answer is store_unavailable with a wait, and nothing stays open', async () => {
    const cause = new Error('Command timed out');
    const { ask, exchanges, happened } = openEdge({
      admissions: {
        admit: () => Promise.reject(cause),
        recall: () => Promise.reject(cause),
        record: () => Promise.reject(cause),
        takeArrival: () => Promise.reject(cause),
      },
    });
    await expect(ask().handled).rejects.toMatchObject({
      code: 'store_unavailable',
      retryAfterMs: 1_000,
      cause,
    });
    await exchanges.drained();
    expect(happened).toEqual([]);
  });
});

describe('an identical request with an Idempotency-Key', () => {
  const stored = {
    answer: { frames: '', last: '{"id":"first"}' },
    receipt: '{"credentialSubject":{"region":"north"}}',
  };
  const REPLAYED = {
    'x-receipt-id': 'rcpt_01HZX3V9M6K2J8Q4T5W7Y9FRST',
    'x-region': 'north',
    'idempotent-replayed': 'true',
  };

  it('an identical request gets the stored answer with the first receipt', async () => {
    const claims: string[] = [];
    const { ask, willSay, exchanges } = openEdge({
      readClaim: (claim) => {
        claims.push(claim);
        return Promise.resolve(stored);
      },
    });
    willSay(same('replay'));
    const { reply } = ask({ idempotencyKey: 'k' });
    await turn();
    expect(claims).toEqual([expect.stringMatching(/^\{s0\}:idem:org_1:/)]);
    expect(reply.sent?.text).toBe(`{"id":"first","receipt":${stored.receipt}}`);
    expect(reply.sent?.headers).toMatchObject(REPLAYED);
    await exchanges.drained();
  });

  it('an identical request waits while the first runs, and gets its answer when that is stored', async () => {
    const { ask, willSay, hear } = openEdge({ readClaim: () => Promise.resolve(stored) });
    willSay(same('wait'));
    const { reply } = ask({ idempotencyKey: 'k' });
    await turn();
    expect(reply.sent).toBeUndefined();
    hear({ kind: 'settled' });
    await turn();
    expect(reply.sent?.headers).toMatchObject(REPLAYED);
  });

  it('an identical request that waits fails as the first does', async () => {
    const { ask, willSay, hear } = openEdge();
    willSay(same('wait'));
    const { handled } = ask({ idempotencyKey: 'k' });
    await turn();
    hear({ kind: 'error', error: { code: 'upstream_error', message: 'It failed.' } });
    await expect(handled).rejects.toMatchObject({ code: 'upstream_error' });
  });

  it('an identical request is internal_error when the stored answer has expired meanwhile', async () => {
    const { ask, willSay } = openEdge({ readClaim: () => Promise.resolve(null) });
    willSay(same('replay'));
    await expect(ask({ idempotencyKey: 'k' }).handled).rejects.toMatchObject({
      code: 'internal_error',
    });
  });
});

describe('an identical request that is not told of the end of the first', () => {
  const stored = {
    answer: { frames: '', last: '{"id":"first"}' },
    receipt: '{"credentialSubject":{"region":"north"}}',
  };
  const FIRST = 'req_01HZX3V9M6K2J8Q4T5W7Y9FRST';
  /** A waiting request, ten minutes of which have not passed. */
  const waiting = async (requestId: string, state: 'running' | 'answered' | 'done') => {
    const edge = openEdge({ readClaim: () => Promise.resolve(stored) });
    edge.standing.now = { requestId, state };
    edge.exchanges.start();
    edge.willSay(same('wait'));
    const asked = edge.ask({ idempotencyKey: 'k' });
    await turn();
    await vi.advanceTimersByTimeAsync(6_000);
    return { ...edge, ...asked };
  };

  it('a request that waits goes on waiting while the first runs', async () => {
    const { reply, hear } = await waiting(FIRST, 'running');
    await vi.advanceTimersByTimeAsync(500_000);
    expect(reply.sent).toBeUndefined();
    hear({ kind: 'settled' });
    await turn();
    expect(reply.sent?.text).toContain('"id":"first"');
  });

  it('a request that waits is told to come again, within seconds, when the receipt of the answer cannot be committed', async () => {
    const { handled, exchanges } = await waiting(FIRST, 'answered');
    await expect(handled).rejects.toMatchObject({
      code: 'dispatch_unavailable',
      message: expect.stringContaining('receipt') as string,
      retryAfterMs: 5_000,
    });
    await exchanges.drained();
  });

  it('a request that waits gets the answer when only the word of it was lost', async () => {
    const { reply } = await waiting(FIRST, 'done');
    expect(reply.sent?.text).toContain('"id":"first"');
  });

  it('a request that waits is told to come again when the first came to nothing and another has the key', async () => {
    const { handled } = await waiting('req_another', 'running');
    await expect(handled).rejects.toMatchObject({ code: 'dispatch_unavailable' });
  });
});

describe('a key that is revoked while its request comes in', () => {
  const revoked = () => Promise.reject(new Fault('revoked_api_key'));

  it('a request whose key was revoked since its headers came is refused at admission', async () => {
    const { ask, asked, becomes } = openEdge();
    becomes(revoked());
    await expect(ask().handled).rejects.toMatchObject({ code: 'revoked_api_key' });
    expect(asked).toEqual([]);
  });

  it('a stored answer is not given to a key that was revoked since the headers came', async () => {
    const { ask, becomes, willSay } = openEdge();
    willSay(same('replay'));
    becomes(revoked());
    await expect(ask({ idempotencyKey: 'k' }).handled).rejects.toMatchObject({
      code: 'revoked_api_key',
    });
  });
});

describe('a client that goes', () => {
  it('a client that goes before its request is admitted has it withdrawn', async () => {
    const { ask, hear, redis, happened, exchanges, holdAdmissions } = openEdge();
    const release = holdAdmissions();
    const { raw, reply } = ask();
    await turn();
    raw.destroy();
    release();
    await turn();
    expect(redis.commands).toEqual([
      [
        'withdraw',
        {
          lane: '{s0}:lane:inference:eu',
          group: 'workers',
          entryId: '7-0',
          moreKeys: [],
          moreArguments: [],
        },
      ],
      ['zrem', '{s0}:held:eu:org_1', REQUEST_ID],
    ]);
    expect(happened).toEqual(['clientGone']);
    await exchanges.drained();
    hear({ kind: 'answer' }, ANSWER);
    hear({ kind: 'receipt' }, RECEIPT);
    await turn();
    expect(reply.sent).toBeUndefined();
  });

  it('a client that goes while a worker runs its request has that worker stop', async () => {
    const { ask, redis, happened } = openEdge();
    redis.holder = 'inference-9';
    const { raw } = ask();
    await turn();
    expect(redis.commands).toEqual([]);
    raw.destroy();
    await turn();
    expect(redis.named('xadd')).toEqual([
      [
        'xadd',
        'inbox:inference-9',
        'NOMKSTREAM',
        '*',
        'm',
        `{"kind":"cancel","id":"${REQUEST_ID}"}`,
      ],
    ]);
    expect(happened).toEqual(['clientGone']);
  });

  it('a request with an Idempotency-Key runs on when its client goes, which may come back for the answer', async () => {
    const { ask, redis, happened, exchanges } = openEdge();
    const { raw } = ask({ idempotencyKey: 'k' });
    await turn();
    raw.destroy();
    await turn();
    expect(redis.commands).toEqual([]);
    expect(happened).toEqual([]);
    await exchanges.drained();
  });

  it('a client that goes with its answer cancels nothing', async () => {
    const { ask, hear, redis, happened } = openEdge();
    const { raw } = ask();
    await turn();
    hear({ kind: 'answer' }, ANSWER);
    hear({ kind: 'receipt' }, RECEIPT);
    await turn();
    raw.destroy();
    await turn();
    expect(redis.commands).toEqual([]);
    expect(happened).toEqual(['answered']);
  });
});

describe('a process that stops', () => {
  it('a process that stops fails what is open with an error that says to try again, also what is not admitted yet', async () => {
    const { ask, exchanges, holdAdmissions } = openEdge();
    const release = holdAdmissions();
    const { handled } = ask();
    await turn();
    exchanges.stop();
    release();
    await turn();
    await expect(handled).rejects.toMatchObject({ code: 'dispatch_unavailable' });
  });
});
