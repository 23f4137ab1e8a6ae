import { createHash } from 'node:crypto';
import { afterEach, describe, expect, it, vi } from 'vitest';
import {
  aliveKey,
  begunKey,
  bodyKey,
  budgetKey,
  claimedReplyKey,
  heldKey,
  holdersKey,
} from '#shared/lanes/keys.ts';
import { decodeRelayed, encodeRelayed } from '#shared/lanes/relayed.ts';
import { INLINE_BYTES_MAX } from '#shared/lanes/redis/admission.ts';
import { AnswerRoom } from '#workers/inference/answer-room.ts';
import { Breakers } from '#workers/inference/breakers.ts';
import { KeptByStreams } from '#workers/inference/kept-by-streams.ts';
import { openStreamBounds } from '#workers/inference/stream-bounds.ts';
import { OnTheWay } from '#workers/inference/stream-pace.ts';
import type { UpstreamSink } from '#workers/inference/providers/provider.ts';
import type { UpstreamFailure } from '#workers/inference/providers/upstream-failure.ts';
import {
  catalogue,
  endpoint as endpointNamed,
  model,
  region,
} from '#test/unit/catalogue/routed-catalogue.ts';
import { inShort, LEFT } from '#test/support/outbox.ts';
import { roundsDuring } from '#test/support/rounds.ts';
import { until } from '#test/support/until.ts';
import {
  answers,
  asTold,
  type Behaviour,
  chunk,
  completion,
  COUNTED,
  delivery,
  fails,
  ScriptedProvider,
  sealedFor,
  streams,
  UNAVAILABLE,
  workerWith,
} from '#test/unit/workers/inference/doubles.ts';
import { testSeals } from '#test/support/seals.ts';

const ANSWER = completion({ prompt_tokens: 11, completion_tokens: 4 });
const TIMED_OUT: UpstreamFailure = { kind: 'timeout', detail: 'no first byte' };
const MISCONFIGURED: UpstreamFailure = { kind: 'misconfigured', status: 401, detail: 'HTTP 401' };
const REJECTED: UpstreamFailure = { kind: 'rejected', status: 400, detail: 'HTTP 400' };
const ONE = ['first'];
const TWO = ['first', 'second'];
const TO_RECEIPTS = 'XADD {s0}:lane:receipts';

/** SHA-256 of salt and payloads, as their holder would compute it. */
function digestOf(salt: string, ...payloads: string[]): string {
  const hash = createHash('sha256').update(Buffer.from(salt, 'base64url'));
  for (const payload of payloads) hash.update(payload);
  return hash.digest('base64url');
}

afterEach(() => void vi.useRealTimers());

describe('a request for a whole answer', () => {
  it('a whole answer is sent, handed to the receipts lane and acknowledged in one write', async () => {
    const { run, outbox, handed } = workerWith(new ScriptedProvider(answers(ANSWER)));
    const one = delivery();
    await run(one);
    expect(outbox.writes.map(inShort)).toEqual([['answer', TO_RECEIPTS, ...LEFT]]);
    expect(outbox.replies).toEqual([
      {
        inbox: one.entry.inbox,
        id: one.entry.id,
        attempt: 1,
        seq: 1,
        kind: 'answer',
        payload: asTold(ANSWER, one),
      },
    ]);
    expect(handed()).toEqual([
      {
        record: expect.objectContaining({
          requestId: one.entry.id,
          outcome: 'complete',
          attempts: 1,
          usage: {
            inputTokens: 11,
            cachedInputTokens: 0,
            outputTokens: 4,
            source: 'upstream',
          },
          responseDigest: digestOf(one.entry.salt, asTold(ANSWER, one)),
        }) as unknown,
        inbox: one.entry.inbox,
        attempt: 1,
        receipt: 'best_effort',
      },
    ]);
  });

  it('the record says how the answer calls itself and its model, how long the request waited, and how long its upstream took', async () => {
    let answered = (): void => {};
    const answer = ANSWER.replace('chatcmpl-1', 'chatcmpl-7').replace('up/m', 'org/m-instruct');
    const provider = new ScriptedProvider((sink) => {
      answered();
      sink.onAnswer(answer);
    });
    const { run, handed, clock } = workerWith(provider);
    answered = () => void (clock.now += 400);
    const one = delivery();
    clock.now = one.entry.startedAt + 250;
    await run(one);
    expect(handed()[0]?.record).toMatchObject({
      upstreamAnswerId: 'chatcmpl-7',
      upstreamModel: 'org/m-instruct',
      queuedMs: 250,
      upstreamMs: 400,
    });
  });

  it('tokens are counted here when the upstream did not count them, and the client is told so', async () => {
    for (const usage of [undefined, {}, { prompt_tokens: 5, completion_tokens: null }]) {
      const { run, handed, outbox } = workerWith(new ScriptedProvider(answers(completion(usage))));
      const one = delivery();
      await run(one);
      expect(handed()[0]!.record.usage).toEqual(COUNTED);
      const { payload } = outbox.replies[0]!;
      expect(JSON.parse(payload)).toMatchObject({
        usage: { prompt_tokens: 7, completion_tokens: 3, total_tokens: 10, source: 'counted' },
      });
      expect(handed()[0]!.record.responseDigest).toBe(digestOf(one.entry.salt, payload));
    }
  });

  it('counts that were stated and cannot be are told from none, so that a receipt says which it was', async () => {
    const zeros = completion({ prompt_tokens: 0, completion_tokens: 0 });
    const { run, handed } = workerWith(new ScriptedProvider(answers(zeros)));
    await run(delivery());
    expect(handed()[0]!.record.usage).toEqual({ ...COUNTED, overruled: true });
  });

  it.each([{ prompt_tokens: 0, completion_tokens: 0, total_tokens: 0 }, { prompt_tokens: 9 }])(
    'a caller is told no usage where the receipt says that it is not known, even if its server reports some (%j)',
    async (theirs) => {
      const notKnown = { source: 'unknown', reason: 'not_counted' } as const;
      const { run, outbox, handed } = workerWith(
        new ScriptedProvider(answers(completion(theirs))),
        { countUsage: () => Promise.resolve(notKnown) },
      );
      await run(delivery());
      expect(handed()[0]!.record.usage).toEqual(notKnown);
      expect(JSON.parse(outbox.replies.at(-1)!.payload)).toMatchObject({ usage: null });
    },
  );

  it('the upstream gets its own name for the model, and otherwise the body as it came', async () => {
    const provider = new ScriptedProvider(answers(ANSWER));
    await workerWith(provider).run(delivery({}, { body: '{ "a":1.0, "model": "m" }' }));
    expect(provider.requests[0]!.body).toBe('{ "a":1.0, "model": "up/m" }');
  });

  it('a large answer is left under a key before the reply names that key', async () => {
    const usage = { prompt_tokens: 1, completion_tokens: 1 };
    const large = completion({ ...usage, padding: 'x'.repeat(INLINE_BYTES_MAX) });
    const { run, outbox, redis } = workerWith(new ScriptedProvider(answers(large)));
    const one = delivery();
    await run(one);
    const ref = claimedReplyKey(one.entry.id, 1);
    expect(outbox.replies).toMatchObject([{ kind: 'answer', ref, payload: '' }]);
    expect(
      testSeals()
        .openBytes(redis.get(ref) as Buffer, ref)
        .toString(),
    ).toBe(asTold(large, one));
  });

  it('a request whose body is kept apart runs with that body, which is deleted with the entry', async () => {
    const provider = new ScriptedProvider(answers(ANSWER));
    const { run, outbox, redis } = workerWith(provider);
    const bodyRef = bodyKey(0, 'req_large');
    const one = delivery({ bodyRef });
    redis.set(bodyRef, sealedFor(one, '{"model":"m","large":true}'));
    await run(one);
    expect(provider.requests[0]!.body).toContain('"large":true');
    expect(inShort(outbox.writes.at(-1)!)).toEqual([
      'answer',
      TO_RECEIPTS,
      `DEL ${bodyRef}`,
      ...LEFT,
    ]);
  });

  it('a long body is opened, and a long answer told, in turns that others have between them', async () => {
    const bodyRef = bodyKey(0, 'req_long');
    const roundsOf = async (bodyMib: number, answerMib: number): Promise<number> => {
      const padding = 'x'.repeat(answerMib * 1_048_576);
      const usage = { prompt_tokens: 1, completion_tokens: 1 };
      const provider = new ScriptedProvider(answers(completion({ ...usage, padding })));
      const { run, redis } = workerWith(provider, { answerRoom: new AnswerRoom(2 ** 26) });
      const one = delivery({ bodyRef });
      const body = `{"model":"m","padding":"${'x'.repeat(bodyMib * 1_048_576)}"}`;
      redis.set(bodyRef, sealedFor(one, body));
      const rounds = await roundsDuring(() => run(one));
      expect(provider.requests[0]!.body.length).toBeGreaterThan(bodyMib * 1_048_576);
      return rounds;
    };
    const short = await roundsOf(0, 0);
    // Four turns to open what is a little over four megabytes, one to make a text, one to send it.
    expect(await roundsOf(4, 0)).toBeGreaterThanOrEqual(short + 6);
    // One turn each after it is parsed, before it is digested and after that; four to seal it.
    expect(await roundsOf(0, 4)).toBeGreaterThanOrEqual(short + 7);
  });

  it('a request whose body has expired is not run', async () => {
    const provider = new ScriptedProvider(answers(ANSWER));
    const { run, outbox } = workerWith(provider);
    await run(delivery({ bodyRef: bodyKey(0, 'req_gone') }));
    expect(provider.requests).toEqual([]);
    expect(outbox.replies).toMatchObject([{ error: { code: 'dispatch_unavailable' } }]);
  });

  it('when one endpoint fails the next is called, and the receipt counts both calls', async () => {
    const provider = new ScriptedProvider(fails(UNAVAILABLE), answers(ANSWER));
    const { run, handed, outbox } = workerWith(provider);
    await run(delivery());
    expect(provider.requests.map(({ endpoint }) => endpoint.name)).toEqual(['first', 'second']);
    expect(handed()[0]!.record).toMatchObject({ attempts: 2, outcome: 'complete' });
    expect(outbox.replies.map(({ kind }) => kind)).toEqual(['answer']);
  });

  it.each([
    [['first'], 'second'],
    [['first', 'second'], 'first'],
  ])(
    'endpoints that others have opened by silence (%j) are asked where none other is left',
    async (silent, asked) => {
      const breakers = new Breakers(() => {});
      const provider = new ScriptedProvider(answers(ANSWER));
      const { run, clock } = workerWith(provider, { breakers });
      for (const endpoint of silent)
        for (let n = 0; n < 5; n += 1) {
          const caller = { requestId: `req_${n}`, orgId: 'org_b' };
          breakers.failed(endpoint, 'eu-west', TIMED_OUT, caller, clock.now);
        }
      await run(delivery());
      expect(provider.requests.map(({ endpoint }) => endpoint.name)).toEqual([asked]);
    },
  );

  it('after four refused connections a request gets an error and no receipt, and leaves the lane', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout'] });
    const refused: UpstreamFailure = { kind: 'connection', detail: 'x', errno: 'ECONNREFUSED' };
    const provider = new ScriptedProvider(fails(refused));
    const { run, outbox, handed, events } = workerWith(provider);
    const over = run(delivery());
    await vi.advanceTimersByTimeAsync(10_000);
    await over;
    expect(provider.requests).toHaveLength(4);
    expect(outbox.replies).toMatchObject([
      { kind: 'error', seq: 1, error: { code: 'upstream_error' } },
    ]);
    expect(outbox.writes.map(inShort)).toEqual([['error', ...LEFT]]);
    expect(handed()).toEqual([]);
    expect(events.filter((event) => event === 'upstreamFailed')).toHaveLength(4);
    expect(events.at(-1)).toBe('runFailed');
  });

  it.each([false, true])(
    'a request whose upstreams were called and failed has a receipt that says so, announced, handed over and told with its error in one write (stream: %s) [receipts.failed]',
    async (stream) => {
      const { run, outbox, handed, events } = workerWith(
        new ScriptedProvider(fails(UNAVAILABLE), fails(TIMED_OUT)),
      );
      const one = delivery({ stream, claim: '{s0}:claim:a' });
      await run(one);
      expect(outbox.replies).toMatchObject([
        { kind: 'error', error: { code: 'upstream_timeout', hasReceipt: true, calls: 3 } },
      ]);
      const receipt = one.entry.id.replace('req_', 'rcpt_');
      expect(outbox.writes).toHaveLength(1);
      expect(inShort(outbox.writes[0]!)).toEqual(
        expect.arrayContaining([
          'error',
          `SET {s0}:pending:${one.entry.orgId}:${receipt}`,
          TO_RECEIPTS,
          'done',
        ]),
      );
      const [told, ...others] = handed();
      expect(others).toEqual([]);
      expect(told).not.toHaveProperty('claim');
      expect(told!.record).toMatchObject({
        requestId: one.entry.id,
        outcome: 'failed',
        failure: 'upstream_timeout',
        attempts: 3,
        usage: { source: 'unknown' },
      });
      expect(told!.record).not.toHaveProperty('responseDigest');
      expect(events.at(-1)).toBe('runFailed');
    },
  );

  it.each<[string, readonly UpstreamFailure[], string | undefined]>([
    ['it timed out', [TIMED_OUT], 'upstream_timeout'],
    ['it broke off', [{ kind: 'connection', detail: 'x', errno: 'ECONNRESET' }], 'upstream_error'],
    ['no error says how it ended', [{ kind: 'connection', detail: 'x' }], 'upstream_error'],
    ['it answered 502', [UNAVAILABLE], 'upstream_error'],
    ['it answered 501', [{ ...MISCONFIGURED, status: 501 }], 'upstream_error'],
    ['an error came with 200', [{ kind: 'unavailable', detail: 'x' }], 'upstream_error'],
    ['its answer is none', [{ kind: 'malformed', detail: 'x' }], 'upstream_error'],
    ['its answer is too large', [{ kind: 'too_large', detail: 'x' }], 'upstream_error'],
    ['its answer met a fault of ours', [{ kind: 'own_fault', detail: 'x' }], 'internal_error'],
    ['it failed, and another refused it', [UNAVAILABLE, REJECTED], 'upstream_error'],
    ['it refused it', [REJECTED], undefined],
    ['it answered 401', [MISCONFIGURED], undefined],
    ['it answered 429', [{ kind: 'rate_limited', status: 429, detail: 'x' }], undefined],
    ['it answered 409', [{ kind: 'unavailable', status: 409, detail: 'x' }], undefined],
    ['it was refused in the words of 200', [{ kind: 'misconfigured', detail: 'x' }], undefined],
    ['there is no host', [{ kind: 'connection', detail: 'x', errno: 'ENOTFOUND' }], undefined],
    [
      'its certificate is not known',
      [{ kind: 'connection', detail: 'x', errno: 'DEPTH_ZERO_SELF_SIGNED_CERT' }],
      undefined,
    ],
    ['nothing was sent', [{ kind: 'own_fault', detail: 'x', isUnsent: true }], undefined],
  ])('where %s, the receipt of the failure says %3$s', async (_, failures, said) => {
    vi.useFakeTimers({ toFake: ['setTimeout'] });
    const { run, handed, outbox } = workerWith(new ScriptedProvider(...failures.map(fails)));
    const over = run(delivery());
    await vi.advanceTimersByTimeAsync(10_000);
    await over;
    expect(handed().map(({ record }) => record.failure)).toEqual(said === undefined ? [] : [said]);
    const [reply] = outbox.replies as { error?: { hasReceipt?: true } }[];
    expect(reply!.error!.hasReceipt).toBe(said === undefined ? undefined : true);
  });

  it('a crash of ours after an answer had come is a failure with a receipt', async () => {
    const { run, handed } = workerWith(new ScriptedProvider(answers(completion({}))), {
      countUsage: () => Promise.reject(new Error('a fault of ours')),
    });
    await run(delivery());
    expect(handed()).toMatchObject([
      { record: { outcome: 'failed', failure: 'internal_error', attempts: 1 } },
    ]);
  });

  it.each<[string, UpstreamFailure, readonly string[], readonly string[]]>([
    ['a server’s error is tried at the other endpoints', UNAVAILABLE, TWO, TWO],
    ['… or once more where there is none', UNAVAILABLE, ONE, [...ONE, ...ONE]],
    ['a call that timed out is not made again there', TIMED_OUT, ONE, ONE],
    ['… but at another endpoint', TIMED_OUT, TWO, TWO],
    ['a refused credential is not shown again', MISCONFIGURED, ONE, ONE],
  ])('%s', async (_, failure, endpoints, called) => {
    const provider = new ScriptedProvider(fails(failure));
    const { run, outbox } = workerWith(provider, {
      catalogue: () =>
        catalogue(
          [region('eu-west')],
          endpoints.map((name) => endpointNamed(name, ['eu-west'])),
          [model('m', [...endpoints])],
        ),
    });
    await run(delivery());
    expect(provider.requests.map((request) => request.endpoint.name)).toEqual(called);
    expect(outbox.replies.map(({ kind }) => kind)).toEqual(['error']);
  });

  it('the record has the cost by the price of the endpoint that answered, and none where tokens are not known', async () => {
    const price = { from: 0, input: 1, cachedInput: 1, output: 1 };
    const priced = {
      ...catalogue(
        [region('eu-west')],
        TWO.map((name) => endpointNamed(name, ['eu-west'])),
        [
          model('m', [...TWO], {
            prices: [price, { ...price, endpoint: TWO[1]!, input: 2_000_000, output: 3_000_000 }],
          }),
        ],
      ),
      currency: 'EUR',
    };
    const over = { catalogue: () => priced };
    const second = workerWith(new ScriptedProvider(fails(UNAVAILABLE), answers(ANSWER)), over);
    await second.run(delivery());
    expect(second.handed()[0]!.record.cost).toBe('EUR 0.000034');
    const unknown = workerWith(new ScriptedProvider(answers(completion(undefined))), {
      ...over,
      countUsage: () => Promise.resolve({ source: 'unknown', reason: 'not_counted' } as const),
    });
    await unknown.run(delivery());
    expect(unknown.handed()[0]!.record).not.toHaveProperty('cost');
  });

  it('an answer that its server did not finish is the client’s, and its receipt is truncated', async () => {
    const usage = { prompt_tokens: 11, completion_tokens: 4 };
    const { run, outbox, handed, events } = workerWith(
      new ScriptedProvider(answers(completion(usage, null))),
    );
    await run(delivery());
    expect(outbox.replies.map(({ kind }) => kind)).toEqual(['answer']);
    expect(handed()[0]!.record).toMatchObject({ outcome: 'truncated', attempts: 1 });
    expect(events).toContain('upstreamFailed');
  });

  it.each([
    ['{"object":"error","message":"out of memory","code":50001}'],
    ['{"error":{"message":"overloaded"}}'],
    ['{"detail":"Internal error"}'],
    ['{"id":"x","choices":[]}'],
    ['{"id":"x"}'],
    ['[]'],
  ])('a body that is no answer is a failure, even with status 200: %s', async (body) => {
    const provider = new ScriptedProvider(answers(body), answers(ANSWER));
    const { run, handed } = workerWith(provider);
    await run(delivery());
    expect(handed()[0]!.record).toMatchObject({ attempts: 2, outcome: 'complete' });
  });

  it.each([
    ['a chat', 'chat.completions', 'messages'],
    ['a response that goes as a chat', 'responses', 'input'],
  ] as const)(
    'an endpoint that refuses the role `developer` gets `system`, and nothing else of %s changes',
    async (_what, route, field) => {
      const body = (role: string) =>
        `{"model":"m", "${field}" : [ {"content":"a developer","role" : "${role}","n":1.0 } , {"role":"user","content":"{\\"role\\":\\"developer\\"}"} ],"seed":9007199254740993}`;
      const sent = async (text: string, developerRole?: boolean): Promise<string> => {
        const provider = new ScriptedProvider(answers(ANSWER));
        const one = endpointNamed(
          'first',
          ['eu-west'],
          developerRole === undefined ? {} : { developerRole },
        );
        await workerWith(provider, {
          catalogue: () => catalogue([region('eu-west')], [one], [model('m', ['first'])]),
        }).run(delivery({ route }, { body: text }));
        return provider.requests[0]!.body;
      };
      const system = await sent(body('system'));
      expect(await sent(body('developer'), false)).toBe(system);
      expect(await sent(body('d\\u0065veloper'), false)).toBe(system);
      if (route === 'chat.completions')
        expect(await sent(body('developer'))).toBe(body('developer').replace('"m"', '"up/m"'));
    },
  );

  it('the time for an answer is that of its endpoint, part by part, and never beyond the request’s own', async () => {
    const provider = new ScriptedProvider(answers(ANSWER));
    const one = endpointNamed('first', ['eu-west'], {
      timeoutMs: 5_000,
      timeouts: { headersMs: 1_000, totalMs: 900_000 },
    });
    await workerWith(provider, {
      catalogue: () => catalogue([region('eu-west')], [one], [model('m', ['first'])]),
    }).run(delivery());
    expect(provider.requests[0]!.timeouts).toEqual({
      headersMs: 1_000,
      firstByteMs: 5_000,
      betweenBytesMs: 5_000,
      totalMs: 60_000,
    });
  });

  it('a stream may go on beyond its request’s deadline, for an hour, while its server is not silent', async () => {
    const provider = new ScriptedProvider(streams(chunk('a', 'stop')));
    await workerWith(provider).run(delivery({ stream: true }));
    expect(provider.requests[0]!.timeouts).toMatchObject({
      betweenBytesMs: 1_000,
      totalMs: 3_600_000,
    });
  });

  it('a request that an upstream refuses as malformed is not tried again, and its caller is told why', async () => {
    const rejected = {
      kind: 'rejected',
      detail: 'HTTP 400',
      message: 'too hot',
      param: 'temperature',
    };
    const provider = new ScriptedProvider(fails(rejected as never));
    const { run, outbox } = workerWith(provider);
    await run(delivery());
    expect(provider.requests).toHaveLength(1);
    expect(outbox.replies).toMatchObject([
      { error: { code: 'invalid_temperature', message: 'too hot', param: 'temperature' } },
    ]);
  });

  it.each(['too_large', 'slow_client', 'own_fault'] as const)(
    'a call that its caller made fail, or our own code, is made at no other endpoint, nor in another region: %s',
    async (kind) => {
      const provider = new ScriptedProvider(fails({ kind, detail: '' }));
      let regionsAsked = 0;
      const take = async () => {
        regionsAsked += 1;
        return null;
      };
      await workerWith(provider, { elsewhere: { take } }).run(delivery());
      expect([provider.requests.length, regionsAsked]).toEqual([1, 0]);
    },
  );

  it('a request that our own code fails on gets an error and does not come back for ever', async () => {
    const broken = () => {
      throw new Error('a bug');
    };
    const { run, outbox, events } = workerWith(new ScriptedProvider(answers(ANSWER)), {
      catalogue: broken,
    });
    await run(delivery());
    expect(outbox.writes.map(inShort)).toEqual([['error', ...LEFT]]);
    expect(events).toContain('runCrashed');
  });
});

describe('a request for a stream', () => {
  const hello = [chunk('he'), chunk('llo'), chunk('', 'stop')] as const;

  it('a stream is relayed chunk by chunk; its last chunk, hand-over and acknowledgement are one write', async () => {
    let upstream!: UpstreamSink;
    const provider = new ScriptedProvider((sink) => void (upstream = sink));
    const { run, outbox, handed } = workerWith(provider);
    const one = delivery({ stream: true });
    const over = run(one);
    await until(() => upstream !== undefined);
    upstream.onPayload(hello[0]);
    await outbox.flushed();
    upstream.onPayload(hello[1]);
    await outbox.flushed();
    upstream.onPayload(hello[2]);
    upstream.onEnd(true);
    await over;
    const begun = begunKey(0, one.entry.id);
    expect(outbox.writes.map(inShort)).toEqual([
      [`SET ${begun}`, 'frames'],
      ['frames'],
      ['last', TO_RECEIPTS, `DEL ${begun}`, ...LEFT],
    ]);
    const told = hello.map((payload) => asTold(payload, one));
    expect(outbox.replies.map(({ payload }) => payload)).toEqual([
      `data: ${told[0]}\n\n`,
      `data: ${told[1]}\n\n`,
      told[2],
    ]);
    expect(outbox.replies.map((reply) => 'seq' in reply && reply.seq)).toEqual([1, 2, 3]);
    expect(handed()[0]!.record).toMatchObject({
      outcome: 'complete',
      responseDigest: digestOf(one.entry.salt, ...told),
    });
  });

  it('a stream that runs beyond its deadline keeps its Idempotency-Key claimed, its place in the region counted, and its part of budgets [idempotency.replay, budgets.hard]', async () => {
    let upstream!: UpstreamSink;
    const { run, outbox, clock } = workerWith(
      new ScriptedProvider((sink) => void (upstream = sink)),
    );
    const claim = '{s0}:idem:org_a:d';
    const reserve = { budget: 'bgt_a', since: 0, measure: 'tokens', amount: 70 } as const;
    const one = delivery({ stream: true, claim, reserves: [reserve] });
    const { startedAt, deadlineAt, region: code, orgId, id, shard } = one.entry;
    const over = run(one);
    await until(() => upstream !== undefined);
    for (const at of [startedAt - 1, deadlineAt - 30_000, deadlineAt + 30_000]) {
      clock.now = at;
      upstream.onPayload(chunk(`${at}`));
      await outbox.flushed();
    }
    const commands = outbox.queued.flatMap(({ command }) => (command ? [command] : []));
    expect(commands.filter(([name]) => name === 'EXPIRE')).toEqual([['EXPIRE', claim, 3_660]]);
    expect(commands.filter(([name]) => name === 'ZADD')).toEqual([
      ['ZADD', heldKey(shard, code, orgId), deadlineAt + 3_660_000, id],
      // Where it is held no more, it is not taken again.
      [
        'ZADD',
        holdersKey(budgetKey(shard, orgId, reserve)),
        'XX',
        deadlineAt + 3_660_000,
        `${id} 70`,
      ],
    ]);
    upstream.onEnd(true);
    await over;
  });

  it('a stream notes with its first frame that it has begun, and once a second how far it is: payloads, tokens and their digest [survives.inference-worker]', async () => {
    let upstream!: UpstreamSink;
    const { run, outbox, clock } = workerWith(
      new ScriptedProvider((sink) => void (upstream = sink)),
    );
    const one = delivery({ stream: true });
    const over = run(one);
    await until(() => upstream !== undefined);
    const sent: string[] = [];
    for (const elapsedMs of [0, 500, 999, 1_000, 1_990, 2_000]) {
      clock.now = one.entry.startedAt + elapsedMs;
      sent.push(chunk(elapsedMs === 0 ? '' : `${elapsedMs}`));
      upstream.onPayload(sent.at(-1)!);
      await outbox.flushed();
    }
    upstream.onEnd(true);
    await over;
    const told = sent.map((payload) => asTold(payload, one));
    const notes = outbox.queued.flatMap(({ command }) => (command?.[0] === 'SET' ? [command] : []));
    const begun = begunKey(0, one.entry.id);
    expect(notes.map(([, key, , ...life]) => [key, ...life])).toEqual(
      [1, 4, 6].map(() => [begun, 'EX', 3_600]),
    );
    expect(notes.map(([, , note]) => decodeRelayed(String(note)))).toEqual(
      [1, 4, 6].map((payloads) => ({
        payloads,
        tokens: payloads - 1,
        digest: digestOf(one.entry.salt, ...told.slice(0, payloads)),
        upstreamAnswerId: 'c',
        calls: 1,
        queuedMs: 0,
      })),
    );
  });

  it('a stream whose entry another worker has taken over says no more, stops its upstream, and hands nothing over [survives.stopped-worker]', async () => {
    let upstream!: UpstreamSink;
    const provider = new ScriptedProvider((sink) => void (upstream = sink));
    const { run, outbox, clock, handed, events } = workerWith(provider);
    const one = delivery({ stream: true, claim: '{s0}:idem:org_a:digest' });
    const over = run(one);
    await until(() => upstream !== undefined);
    upstream.onPayload(hello[0]);
    await outbox.flushed();
    outbox.holding = () => 'taken';
    // Awake after seven seconds.
    clock.now += 7_000;
    upstream.onPayload(hello[1]);
    await outbox.flushed();
    upstream.onPayload(hello[2]);
    upstream.onEnd(true);
    await over;
    expect(outbox.replies.map(({ payload }) => payload)).toEqual([
      `data: ${asTold(hello[0], one)}\n\n`,
    ]);
    expect(provider.aborts).toBe(1);
    expect(handed()).toEqual([]);
    expect(outbox.freed).toEqual([]);
    expect(events).toEqual(['outcomeStale taken']);
  });

  it('a stream of which nothing was sent yet sends nothing once another worker has taken its entry over [survives.stopped-worker]', async () => {
    const provider = new ScriptedProvider((sink) => {
      for (const payload of hello) sink.onPayload(payload);
    });
    const { run, outbox, handed, events } = workerWith(provider);
    outbox.holding = () => 'taken';
    await run(delivery({ stream: true }));
    expect(outbox.queued).toEqual([]);
    expect(handed()).toEqual([]);
    expect(events).toEqual(['outcomeStale taken']);
  });

  it('a stream whose first chunk is an error is asked of the next endpoint, and nothing of the first is relayed', async () => {
    const failing = streams('{"error":{"message":"overloaded"}}', chunk('stray'));
    const provider = new ScriptedProvider(failing, streams(...hello));
    const { run, outbox, handed } = workerWith(provider);
    await run(delivery({ stream: true }));
    expect(outbox.replies.map(({ payload }) => payload).join('')).not.toContain('stray');
    expect(outbox.replies.map(({ kind }) => kind)).toEqual(['frames', 'frames', 'last']);
    expect(handed()[0]!.record).toMatchObject({ outcome: 'complete', attempts: 2 });
  });

  it.each<[string, Behaviour]>([
    [
      'the connection breaks',
      (sink) => {
        sink.onPayload(hello[0]);
        sink.onPayload(hello[2]);
        sink.onFailure({ kind: 'connection', detail: 'reset' });
      },
    ],
    [
      'an error comes in a chunk, also when more chunks follow',
      (sink) => {
        sink.onPayload(hello[0]);
        sink.onPayload(hello[2]);
        sink.onPayload('{"error":{"message":"out of memory"}}');
        sink.onPayload(chunk('stray'));
        sink.onEnd(true);
      },
    ],
  ])(
    'a stream ends with an error frame and a truncated receipt over what was sent when %s',
    async (_, behaviour) => {
      const { run, outbox, handed } = workerWith(new ScriptedProvider(behaviour));
      const one = delivery({ stream: true });
      await run(one);
      expect(outbox.writes.map(inShort)).toEqual([
        [
          `SET ${begunKey(0, one.entry.id)}`,
          'frames',
          'frames',
          'error',
          TO_RECEIPTS,
          `DEL ${begunKey(0, one.entry.id)}`,
          ...LEFT,
        ],
      ]);
      expect(outbox.replies.at(-1)).toMatchObject({ seq: 3, error: { code: 'upstream_error' } });
      expect(handed()[0]!.record).toMatchObject({
        outcome: 'truncated',
        usage: COUNTED,
        responseDigest: digestOf(one.entry.salt, asTold(hello[0], one), asTold(hello[2], one)),
        relayedPayloads: 2,
      });
    },
  );

  it('a stream that ends is whole when every choice has finished, and broken when not, with [DONE] or without', async () => {
    for (const clean of [true, false]) {
      const closing =
        (...payloads: string[]): Behaviour =>
        (sink) => {
          for (const payload of payloads) sink.onPayload(payload);
          sink.onEnd(clean);
        };
      const whole = workerWith(new ScriptedProvider(closing(...hello)));
      await whole.run(delivery({ stream: true }));
      expect(whole.handed()[0]!.record.outcome).toBe('complete');
      const broken = workerWith(new ScriptedProvider(closing(hello[0], hello[1])));
      await broken.run(delivery({ stream: true }));
      expect(broken.handed()[0]!.record).toMatchObject({
        outcome: 'truncated',
        relayedPayloads: 2,
      });
      expect(broken.outbox.replies.at(-1)!.kind).toBe('error');
      expect(broken.events).toContain('upstreamFailed');
    }
  });

  it('streams that break off count against their endpoint: after five of them requests go to the next', async () => {
    const breaking: Behaviour = (sink, request) => {
      sink.onPayload(hello[0]);
      if (request.endpoint.name === 'first')
        return sink.onFailure({ kind: 'connection', detail: 'reset' });
      sink.onPayload(hello[2]);
      sink.onEnd(true);
    };
    const provider = new ScriptedProvider(breaking);
    const { run, handed } = workerWith(provider);
    for (let n = 0; n < 7; n += 1) await run(delivery({ stream: true, id: `req_${n}` }));
    expect(handed().map(({ record }) => record.outcome)).toEqual([
      ...Array.from({ length: 5 }, () => 'truncated'),
      'complete',
      'complete',
    ]);
  });

  it('of a stream that is cut before it has said anything no tokens are known', async () => {
    const provider = new ScriptedProvider((sink) => {
      sink.onPayload('{"choices":[{"index":0,"delta":{"role":"assistant"},"finish_reason":null}]}');
      sink.onFailure({ kind: 'connection', detail: 'reset' });
    });
    const { run, handed } = workerWith(provider);
    await run(delivery({ stream: true }));
    expect(handed()[0]!.record).toMatchObject({
      outcome: 'truncated',
      usage: { source: 'unknown', reason: 'upstream_cut' },
    });
  });

  it('a stream that fails before its first choice is asked of the next endpoint: the client has seen nothing', async () => {
    const provider = new ScriptedProvider(
      streams('{"choices":[],"prompt_filter_results":[]}', '{"object":"error","message":"no"}'),
      streams(...hello),
    );
    const { run, handed, outbox } = workerWith(provider);
    await run(delivery({ stream: true }));
    expect(handed()[0]!.record).toMatchObject({ outcome: 'complete', attempts: 2 });
    expect(outbox.replies.map(({ kind }) => kind)).toEqual(['frames', 'frames', 'last']);
  });
});

describe('a stream that is ahead of its client', () => {
  const LONG = chunk('x'.repeat(64 * 1024));
  const END = [chunk('', 'stop')];

  it('the worker asks what the client has taken, and says to the reader of its upstream when to go on', async () => {
    const ended = Promise.withResolvers<UpstreamSink>();
    const provider = new ScriptedProvider((sink) => {
      for (let i = 0; i < 5; i += 1) sink.onPayload(LONG);
      ended.resolve(sink);
    });
    const { worker, run, outbox, handed } = workerWith(provider);
    const one = delivery({ stream: true }, { consumer: 'inference-7' });
    const over = run(one);
    const sink = await ended.promise;
    const pace = provider.requests[0]!.pace!;
    expect(pace.isAhead).toBe(true);
    const resumed = new Promise<void>((resolve) => pace.whenCaughtUp(resolve));
    const asked = outbox.replies.map((reply) => 'acknowledge' in reply && reply.acknowledge);
    const frame = outbox.replies[0]!.payload.length;
    expect(asked).toEqual([1, 2, 3, 4, 5].map((n) => ({ to: 'inference-7', chars: n * frame })));
    worker.hear({ kind: 'taken', id: one.entry.id, chars: 3 * frame });
    await resumed;
    for (const payload of END) sink.onPayload(payload);
    sink.onEnd(true);
    await over;
    expect(handed()[0]!.record.outcome).toBe('complete');
  });

  it('what is not heard of is asked for again, and a stream whose api process is gone goes on without', async () => {
    vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] });
    const ended = Promise.withResolvers<UpstreamSink>();
    const provider = new ScriptedProvider((sink) => {
      for (let i = 0; i < 5; i += 1) sink.onPayload(LONG);
      ended.resolve(sink);
    });
    const { run, outbox, gone } = workerWith(provider);
    const one = delivery({ stream: true });
    const over = run(one);
    const sink = await ended.promise;
    const pace = provider.requests[0]!.pace!;
    const resumed = new Promise<void>((resolve) => pace.whenCaughtUp(resolve));
    await vi.advanceTimersByTimeAsync(5_000);
    await until(() => outbox.replies.length === 6);
    expect(outbox.replies.at(-1)).toMatchObject({ kind: 'frames', payload: '', seq: 5 });
    gone.add(aliveKey(one.entry.inbox));
    await vi.advanceTimersByTimeAsync(5_000);
    await resumed;
    sink.onPayload(END[0]!);
    sink.onEnd(true);
    await over;
  });

  it('a stream that its client has made last more than an hour ends with an error that says so and a receipt, and its upstream is not blamed', async () => {
    const provider = new ScriptedProvider((sink) => sink.onPayload(LONG));
    const { worker, run, outbox, handed, clock, events } = workerWith(provider);
    const one = delivery({ stream: true });
    const over = run(one);
    await until(() => outbox.replies.length === 1);
    clock.now += 3_600_001;
    worker.hear({ kind: 'taken', id: one.entry.id, chars: 1 });
    await over;
    expect(provider.aborts).toBe(1);
    expect(outbox.replies.at(-1)).toMatchObject({
      error: {
        code: 'upstream_error',
        message: 'The answer was read so slowly that its stream took more than an hour.',
      },
    });
    expect(handed()[0]!.record.outcome).toBe('truncated');
    expect(events).toEqual(['streamCut', 'runFinished']);
  });

  it('streams that generate more than their worker keeps cost the largest of them its end, with an error and a receipt [limits.slow-readers]', async () => {
    const bounds = {
      ...openStreamBounds(() => Promise.resolve()),
      texts: new KeptByStreams(100_000),
    };
    const provider = new ScriptedProvider((sink) => {
      for (let i = 0; i < 3; i += 1) sink.onPayload(LONG);
    });
    const { run, outbox, handed, events } = workerWith(provider, { streams: bounds });
    await run(delivery({ stream: true }));
    expect(outbox.replies.at(-1)).toMatchObject({ error: { code: 'upstream_error' } });
    expect(handed()[0]!.record.outcome).toBe('truncated');
    expect(events).toEqual(['streamCut', 'runFinished']);
    expect(bounds.texts.chars).toBe(0);
  });

  it('frames that are kept for a repeated request are kept no longer when they are the most of too many, and the stream goes on [limits.slow-readers]', async () => {
    const bounds = {
      ...openStreamBounds(() => Promise.resolve()),
      frames: new KeptByStreams(100_000),
    };
    const provider = new ScriptedProvider(streams(LONG, LONG, ...END));
    const { run, outbox, handed } = workerWith(provider, { streams: bounds });
    await run(delivery({ stream: true, claim: '{s0}:idem:org_a:d' }));
    expect(handed()[0]!.record.outcome).toBe('complete');
    expect(outbox.freed).toMatchObject([
      [{ claim: '{s0}:idem:org_a:d' }, { code: 'upstream_error' }],
    ]);
    expect(bounds.frames.chars).toBe(0);
  });
});

describe('a fault of our own while an answer is read', () => {
  const changes: unknown[][] = [];
  const broken = () => {
    const onTheWay = new OnTheWay();
    let frames = 0;
    vi.spyOn(onTheWay, 'add').mockImplementation((chars) => {
      if (chars > 0 && ++frames % 2 === 0) throw new Error('a bug');
    });
    return {
      streams: { ...openStreamBounds(() => Promise.resolve()), onTheWay },
      breakers: new Breakers((...change) => changes.push(change)),
    };
  };

  it('ends its stream at once, with an error and a receipt, and counts against no endpoint', async () => {
    const provider = new ScriptedProvider((sink) => {
      for (const text of ['a', 'b', 'c']) sink.onPayload(chunk(text));
    });
    const { run, outbox, handed, events } = workerWith(provider, broken());
    for (let n = 1; n <= 9; n += 1) {
      await run(delivery({ stream: true, id: `req_${n}` }));
      expect(outbox.replies.at(-1)).toMatchObject({ error: { code: 'internal_error' } });
      expect(handed()).toHaveLength(n);
      expect(provider.aborts).toBe(n);
    }
    expect(handed()[0]!.record.outcome).toBe('truncated');
    expect(events.slice(0, 2)).toEqual(['runCrashed', 'runFinished']);
    expect(events).not.toContain('upstreamFailed');
    expect(changes).toEqual([]);
  });

  it('is signed as no one’s but ours: without text its receipt says that nothing could be counted', async () => {
    const role = '{"choices":[{"index":0,"delta":{"role":"assistant"},"finish_reason":null}]}';
    const provider = new ScriptedProvider((sink) => {
      sink.onPayload(role);
      sink.onPayload(role);
    });
    const { run, handed } = workerWith(provider, broken());
    await run(delivery({ stream: true }));
    expect(handed()[0]!.record).toMatchObject({
      outcome: 'truncated',
      usage: { source: 'unknown', reason: 'not_counted' },
    });
  });
});

describe('a cancelled request', () => {
  it('a cancelled stream stops the upstream and says no more; its receipt is partial and covers what was sent', async () => {
    const provider = new ScriptedProvider((sink) => sink.onPayload(chunk('he')));
    const { worker, run, outbox, handed } = workerWith(provider);
    const one = delivery({ stream: true });
    const over = run(one);
    await until(() => outbox.replies.length === 1);
    worker.hear({ kind: 'cancel', id: one.entry.id });
    await over;
    expect(provider.aborts).toBe(1);
    expect(outbox.replies.map(({ kind }) => kind)).toEqual(['frames']);
    expect(handed()[0]!.record).toMatchObject({
      outcome: 'partial',
      responseDigest: digestOf(one.entry.salt, asTold(chunk('he'), one)),
    });
    expect(outbox.queued.at(-1)).toEqual({ done: '1-0' });
  });

  it('a request that is cancelled before the upstream has answered is receipted: the call has used energy', async () => {
    const provider = new ScriptedProvider(() => {});
    const { worker, run, outbox, handed } = workerWith(provider);
    const one = delivery();
    const over = run(one);
    await until(() => provider.requests.length === 1);
    worker.hear({ kind: 'cancel', id: one.entry.id });
    await over;
    expect(outbox.replies).toEqual([]);
    expect(handed()[0]!.record).toMatchObject({ outcome: 'partial', attempts: 1 });
    // 186 tokens or none: it is not known here, so no zero is signed.
    expect(handed()[0]!.record.usage).toEqual({
      source: 'unknown',
      reason: 'caller_left',
      inputTokens: COUNTED.inputTokens,
    });
  });

  it('a cancelled request makes no further call', async () => {
    const provider = new ScriptedProvider(fails(UNAVAILABLE));
    const { worker, run, handed, events } = workerWith(provider);
    const one = delivery();
    const over = run(one);
    await until(() => events.includes('upstreamFailed'));
    worker.hear({ kind: 'cancel', id: one.entry.id });
    await over;
    expect(provider.requests).toHaveLength(1);
    expect(handed()[0]!.record.outcome).toBe('partial');
  });

  it('cancelling a request that this worker does not run, or no longer, changes nothing', async () => {
    const { worker, run, handed } = workerWith(new ScriptedProvider(answers(ANSWER)));
    const one = delivery();
    worker.hear({ kind: 'cancel', id: one.entry.id });
    await run(one);
    worker.hear({ kind: 'cancel', id: one.entry.id });
    expect(handed()).toHaveLength(1);
    expect(handed()[0]!.record.outcome).toBe('complete');
  });
});

describe('an outcome that is refused', () => {
  it('an answer is neither sent nor handed over when another worker has taken its entry over [survives.stopped-worker]', async () => {
    const { run, outbox, events } = workerWith(new ScriptedProvider(answers(ANSWER)));
    outbox.holding = () => 'taken';
    await run(delivery());
    expect(outbox.queued).toEqual([]);
    expect(events).toEqual(['outcomeStale taken']);
  });

  it('a caller is told that the request was lost when Redis has lost it, so that it need not wait in vain', async () => {
    const { run, outbox, events } = workerWith(new ScriptedProvider(answers(ANSWER)));
    outbox.holding = () => 'gone';
    await run(delivery());
    expect(outbox.replies).toMatchObject([{ kind: 'error', error: { code: 'worker_lost' } }]);
    expect(outbox.queued).toHaveLength(1);
    expect(events).toEqual(['outcomeStale gone']);
  });
});

describe('an entry that is delivered again', () => {
  it('an entry that is delivered again runs again when nothing of its answer was sent; the call of the lost worker is counted', async () => {
    const { run, outbox, handed } = workerWith(new ScriptedProvider(answers(ANSWER)));
    await run(delivery({}, { number: 2 }));
    expect(outbox.replies).toMatchObject([{ kind: 'answer', attempt: 2, seq: 1 }]);
    expect(handed()).toMatchObject([{ attempt: 2, record: { attempts: 2, outcome: 'complete' } }]);
  });

  it.each([
    ['in the entry', {}],
    ['kept apart', { bodyRef: bodyKey(0, 'req_large') }],
  ])(
    'a stream that a lost worker had begun is not run again: the client is told, and the receipt says truncated (body %s)',
    async (_, more) => {
      const provider = new ScriptedProvider(streams(chunk('again')));
      const bodies: string[] = [];
      const { run, outbox, redis, handed } = workerWith(provider, {
        countUsage: (_model, { body }) => {
          bodies.push(body);
          return Promise.resolve({ ...COUNTED, outputTokens: 0 } as const);
        },
      });
      const body = '{"model":"m"}';
      const one = delivery({ stream: true, ...more }, { number: 2, body });
      redis.set(bodyKey(0, 'req_large'), sealedFor(one, body));
      const digest = digestOf(one.entry.salt, chunk('a'), chunk('b'));
      const noted = { payloads: 2, tokens: 42, digest, model: 'up/m', queuedMs: 7, calls: 3 };
      redis.set(begunKey(0, one.entry.id), encodeRelayed(noted));
      await run(one);
      expect(provider.requests).toEqual([]);
      expect(bodies).toEqual([body]);
      expect(outbox.replies).toMatchObject([
        { kind: 'error', attempt: 2, error: { code: 'worker_lost' } },
      ]);
      const [told] = handed();
      expect(told!.record).toMatchObject({
        outcome: 'truncated',
        attempts: 3,
        upstreamModel: 'up/m',
        responseDigest: digest,
        relayedPayloads: 2,
        relayedTokens: 42,
        queuedMs: 7,
        usage: { source: 'unknown', reason: 'worker_lost', inputTokens: COUNTED.inputTokens },
      });
      expect(outbox.queued.at(-1)).toEqual({ done: '1-0' });
    },
  );

  it('an entry is given up at its fourth delivery: it may be what kills its workers', async () => {
    const provider = new ScriptedProvider(answers(ANSWER));
    const third = workerWith(provider);
    await third.run(delivery({}, { number: 3 }));
    expect(provider.requests).toHaveLength(1);
    const fourth = workerWith(provider);
    await fourth.run(delivery({}, { number: 4 }));
    expect(provider.requests).toHaveLength(1);
    expect(fourth.outbox.replies).toMatchObject([{ error: { code: 'worker_lost' } }]);
    expect(fourth.handed()).toMatchObject([
      { attempt: 4, record: { outcome: 'failed', failure: 'worker_lost', attempts: 3 } },
    ]);
  });

  it('a request whose worker died and whose time is over has a receipt that says so: it may have been called', async () => {
    const { run, handed, clock } = workerWith(new ScriptedProvider(answers(ANSWER)));
    const one = delivery({}, { number: 2 });
    clock.now = one.entry.deadlineAt;
    await run(one);
    expect(handed()).toMatchObject([
      { record: { outcome: 'failed', failure: 'worker_lost', attempts: 1 } },
    ]);
  });

  it('what other regions failed with is on the receipt of one that no further region can call', async () => {
    const before = { deliveries: 1, calls: 2, failure: 'upstream_timeout' } as const;
    const { run, handed, clock } = workerWith(new ScriptedProvider(answers(ANSWER)));
    const one = delivery({ before });
    clock.now = one.entry.deadlineAt;
    await run(one);
    expect(handed()).toMatchObject([{ record: { failure: 'upstream_timeout', attempts: 2 } }]);
    const refusedThere = workerWith(new ScriptedProvider(answers(ANSWER)));
    refusedThere.clock.now = one.entry.deadlineAt;
    await refusedThere.run(delivery({ before: { deliveries: 1, calls: 2 } }));
    expect(refusedThere.handed()).toEqual([]);
  });
});

describe('an entry that cannot be run', () => {
  it('an entry whose deadline has passed is answered with an error and not run', async () => {
    const provider = new ScriptedProvider(answers(ANSWER));
    const { run, outbox, clock, handed } = workerWith(provider);
    const one = delivery();
    clock.now = one.entry.deadlineAt;
    await run(one);
    expect(provider.requests).toEqual([]);
    expect(outbox.replies).toMatchObject([{ error: { code: 'dispatch_unavailable' } }]);
    expect(inShort(outbox.queued)).toEqual(['error', ...LEFT]);
    expect(handed()).toEqual([]);
  });

  it('an entry whose body cannot be fetched is answered with an error', async () => {
    const { run, outbox, events } = workerWith(new ScriptedProvider(answers(ANSWER)), {
      client: { get: () => Promise.reject(new Error('WRONGTYPE')) } as never,
    });
    await run(delivery({ bodyRef: bodyKey(0, 'req_large') }));
    expect(outbox.replies).toMatchObject([{ error: { code: 'worker_lost' } }]);
    expect(events[0]).toBe('runCrashed');
    expect(outbox.queued.at(-1)).toEqual({ done: '1-0' });
  });

  it.each([{ secrecy: 'high' }, { route: 'songs' }])(
    'a request with %o, which this build does not know, is not run, and may be sent again [survives.newer-messages]',
    async (newer) => {
      const provider = new ScriptedProvider(answers(ANSWER));
      const { run, outbox, handed, events } = workerWith(provider);
      await run(delivery(newer as never));
      expect(provider.requests).toEqual([]);
      expect(outbox.replies).toMatchObject([{ error: { code: 'dispatch_unavailable' } }]);
      expect(inShort(outbox.queued)).toEqual(['error', ...LEFT]);
      expect(handed()).toEqual([]);
      expect(events).toContain('requestUnknown');
    },
  );

  it('an entry that cannot be read leaves the lane, and the log says so', async () => {
    const { run, outbox, events } = workerWith(new ScriptedProvider(answers(ANSWER)));
    await run(delivery({}, { texts: ['no head'] }));
    expect(events).toEqual(['entryUnreadable']);
    expect(inShort(outbox.queued)).toEqual(['done']);
  });
});

describe('a slot', () => {
  it('a slot is held until the outcome is written', async () => {
    const { worker, slots, outbox } = workerWith(new ScriptedProvider(answers(ANSWER)));
    const written = Promise.withResolvers<void>();
    outbox.held = written.promise;
    slots.take();
    worker.take([delivery()]);
    await until(() => outbox.queued.length > 0);
    await outbox.flushed();
    expect(slots.free).toBe(0);
    written.resolve();
    await slots.whenIdle();
    expect(slots.free).toBe(1);
  });
});
