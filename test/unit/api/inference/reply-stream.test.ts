import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import {
  NOW,
  openEdge,
  RECEIPT_ID,
  RECEIPT_WAIT_MS,
  refused,
  REQUEST_ID,
  same,
} from './doubles.ts';

const RECEIPT = '{"proof":{}}';
const FRAME = 'data: {"a":1}\n\n';
const ENDED = 'data: {"id":"x","receipt":{"proof":{}}}\n\ndata: [DONE]\n\n';
const FAILURE = {
  kind: 'error',
  error: { code: 'upstream_error', message: 'The upstream broke.' },
} as const;

/** Lets what is ready happen, without letting time pass. */
const turn = () => vi.advanceTimersByTimeAsync(0);

/** A stream that is admitted. */
async function open(edge = openEdge(), asked: Parameters<typeof edge.ask>[0] = {}) {
  const { raw, reply } = edge.ask({ stream: true, ...asked });
  await turn();
  return { ...edge, raw, reply };
}

beforeEach(() => void vi.useFakeTimers({ now: NOW }));
afterEach(() => void vi.useRealTimers());

describe('a stream', () => {
  it('a stream is frames as they come, then the receipt on the last payload, then [DONE]', async () => {
    const { raw, reply, hear, happened } = await open();
    expect(reply.hijacked).toBe(true);
    expect(raw.head).toBeUndefined();
    hear({ kind: 'frames' }, FRAME);
    hear({ kind: 'last', seq: 2 }, '{"id":"x"}');
    expect(raw.written).toEqual([FRAME]);
    hear({ kind: 'receipt' }, RECEIPT);
    expect(raw.written).toEqual([FRAME, ENDED]);
    expect(raw.ended).toBe(true);
    expect(raw.head).toEqual({
      status: 200,
      headers: expect.objectContaining({
        'content-type': 'text/event-stream; charset=utf-8',
        'x-receipt-id': RECEIPT_ID,
        'x-request-id': REQUEST_ID,
        'x-region': 'eu',
        'x-ratelimit-remaining-requests': '199',
      }) as unknown,
    });
    expect(happened).toEqual(['answered']);
  });

  it('failure case 30: a chunk is on the socket before anything else can happen: no timer, no next turn', async () => {
    const { raw, hear } = await open();
    hear({ kind: 'frames' }, FRAME);
    expect(raw.written).toEqual([FRAME]);
    hear({ kind: 'frames', seq: 2 }, FRAME);
    expect(raw.written).toEqual([FRAME, FRAME]);
  });

  it('a stream begins with what its worker sent before the word of its admission came', async () => {
    const { ask, hear, holdAdmissions } = openEdge();
    const release = holdAdmissions();
    const { raw } = ask({ stream: true });
    await turn();
    hear({ kind: 'frames' }, FRAME);
    expect(raw.written).toEqual([]);
    release();
    await turn();
    expect(raw.written).toEqual([FRAME]);
  });

  it('a stream whose receipt is late ends with the announcement of it, and with [DONE]', async () => {
    const { raw, hear, happened } = await open();
    hear({ kind: 'last' }, '{"id":"x"}');
    await vi.advanceTimersByTimeAsync(RECEIPT_WAIT_MS);
    expect(raw.written.at(-1)).toMatch(
      /^data: \{"id":"x","receipt":\{.*"type":\["PendingReceipt"\],"tier":"pending".*\}\}\n\ndata: \[DONE\]\n\n$/,
    );
    expect(happened).toEqual(['receiptLate', 'answered']);
  });

  it('a stream that requires a receipt ends with an error frame and without [DONE] when the receipt is late', async () => {
    const { raw, hear } = await open(openEdge(), { body: { receipt: 'required' } });
    hear({ kind: 'frames' }, FRAME);
    hear({ kind: 'last', seq: 2 }, '{"id":"x"}');
    await vi.advanceTimersByTimeAsync(RECEIPT_WAIT_MS);
    expect(raw.written.at(-1)).toContain('"code":"receipt_generation_failed"');
    expect(raw.written.at(-1)).not.toContain('[DONE]');
    expect(raw.ended).toBe(true);
  });

  it('a last payload of several lines is sent as lines of data', async () => {
    const { raw, hear } = await open();
    hear({ kind: 'last' }, '{\r\n"id":"x"\n}');
    hear({ kind: 'receipt' }, RECEIPT);
    expect(raw.written.at(-1)).toBe(
      'data: {\ndata: "id":"x","receipt":{"proof":{}}\ndata: }\n\ndata: [DONE]\n\n',
    );
  });
});

describe('a client that reads slowly', () => {
  const asking = (chars: number) => ({
    kind: 'frames' as const,
    seq: chars,
    acknowledge: { to: 'inference-7', chars },
  });

  it('the worker is told when its client has taken what the worker asks about, once for all of it', async () => {
    const { raw, hear, redis } = await open();
    const told = () => redis.named('xadd').map((command) => command.at(-1));
    hear(asking(1), FRAME);
    await turn();
    expect(told()).toEqual([expect.stringContaining('"kind":"taken"')]);
    expect(redis.named('xadd')[0]![1]).toBe('inbox:inference-7');
    raw.writableNeedDrain = true;
    hear(asking(2), FRAME);
    hear(asking(3), FRAME);
    await turn();
    expect(told()).toHaveLength(1);
    raw.writableNeedDrain = false;
    raw.emit('drain');
    await turn();
    expect(told()).toHaveLength(2);
    expect(told()[1]).toContain('"chars":3');
  });

  it('a client that has left holds no worker up, whether its stream was waiting or is still being sent', async () => {
    const { raw, hear, redis } = await open();
    raw.writableNeedDrain = true;
    hear(asking(1), FRAME);
    raw.destroy();
    await turn();
    hear(asking(2), FRAME);
    await turn();
    const told = redis.named('xadd').map((command) => String(command.at(-1)));
    expect(told.filter((text) => text.includes('"kind":"taken"'))).toHaveLength(2);
  });

  it('a client that does not catch up for minutes is let go', async () => {
    const { raw, hear } = await open();
    raw.writableNeedDrain = true;
    hear(asking(1), FRAME);
    await vi.advanceTimersByTimeAsync(239_999);
    expect(raw.destroyed).toBe(false);
    await vi.advanceTimersByTimeAsync(1);
    expect(raw.destroyed).toBe(true);
  });
});

describe('silence (failure case 7)', () => {
  it('a silent stream commits its status after 15 s and sends comments until its end [clients.silence]', async () => {
    const { raw, hear } = await open();
    await vi.advanceTimersByTimeAsync(14_999);
    expect(raw.head).toBeUndefined();
    await vi.advanceTimersByTimeAsync(1);
    expect(raw.head?.status).toBe(200);
    expect(raw.written).toEqual([': keepalive\n\n']);
    await vi.advanceTimersByTimeAsync(60_000);
    expect(raw.written).toHaveLength(5);
    hear({ kind: 'last' }, '{"id":"x"}');
    hear({ kind: 'receipt' }, RECEIPT);
    expect(raw.written.at(-1)).toBe(ENDED);
    await vi.advanceTimersByTimeAsync(60_000);
    expect(raw.written).toHaveLength(6);
  });

  it.each([
    { asked: {}, may: 'may still go elsewhere', named: undefined },
    { asked: { body: { region: 'eu' } }, may: 'is pinned', named: 'eu' },
  ])(
    'a silent stream whose request $may names a region only where that is its last',
    async ({ asked, named }) => {
      const { raw } = await open(openEdge(), asked);
      await vi.advanceTimersByTimeAsync(15_000);
      expect(raw.head?.status).toBe(200);
      expect(raw.head?.headers['x-region']).toBe(named);
    },
  );

  it('a stream of a message is named events: one for a sign of life, one for what breaks it, and no [DONE]', async () => {
    const message = { route: 'messages', body: { max_tokens: 9 } } as const;
    const { raw, hear } = await open(openEdge(), message);
    await vi.advanceTimersByTimeAsync(15_000);
    expect(raw.head?.headers).toMatchObject({ 'request-id': REQUEST_ID });
    hear({ kind: 'last' }, '{"type":"message_stop"}');
    hear({ kind: 'receipt' }, RECEIPT);
    expect(raw.written).toEqual([
      'event: ping\ndata: {"type":"ping"}\n\n',
      `event: message_stop\ndata: {"type":"message_stop","receipt":${RECEIPT}}\n\n`,
    ]);
    const broken = await open(openEdge(), message);
    broken.hear({ kind: 'frames' }, FRAME);
    broken.hear({ ...FAILURE, seq: 2 });
    const [head, data] = broken.raw.written.at(-1)!.split('\ndata: ');
    expect(head).toBe('event: error');
    expect(JSON.parse(data!)).toEqual({
      type: 'error',
      error: {
        type: 'api_error',
        message: 'The upstream broke.',
        code: 'upstream_error',
        param: null,
        docket_type: 'inference_error',
      },
      request_id: REQUEST_ID,
    });
  });

  it('the silence of a stream is counted from its last frame', async () => {
    const { raw, hear } = await open();
    for (let seq = 1; seq <= 6; seq += 1) {
      hear({ kind: 'frames', seq }, FRAME);
      await vi.advanceTimersByTimeAsync(10_000);
    }
    expect(raw.written).toEqual([FRAME, FRAME, FRAME, FRAME, FRAME, FRAME]);
  });
});

describe('silence in a stream of a response', () => {
  const eventOf = (type: string, at: number, more: object = {}) =>
    `event: ${type}\ndata: ${JSON.stringify({ type, sequence_number: at, ...more })}\n\n`;
  const BEGINNING = eventOf('response.created', 0) + eventOf('response.in_progress', 1);
  const LAST = JSON.stringify({ type: 'response.completed', sequence_number: 3, response: {} });
  const delta = (at: number) => eventOf('response.output_text.delta', at, { delta: '\n\nHi' });
  const openResponse = (edge = openEdge(), asked: Parameters<typeof edge.ask>[0] = {}) =>
    open(edge, { route: 'responses', ...asked });
  const typesIn = (written: readonly string[]) =>
    [...written.join('').matchAll(/^data: (.*)$/gm)].map(([, data]) => {
      const { type, sequence_number: at } = JSON.parse(data!) as Record<string, unknown>;
      return `${String(at)} ${String(type).replace('response.', '')}`;
    });
  const ALIVE = ['0 created', '1 in_progress', '2 in_progress', '3 in_progress'];

  it('has an event every 10 s, and goes on with the numbers, announced once [clients.silence]', async () => {
    const asked = { body: { previous_response_id: 'resp_0' } };
    const { raw, hear } = await openResponse(openEdge(), asked);
    await vi.advanceTimersByTimeAsync(9_999);
    expect(raw.head).toBeUndefined();
    await vi.advanceTimersByTimeAsync(20_001);
    expect(raw.head?.status).toBe(200);
    expect(typesIn(raw.written)).toEqual(ALIVE);
    expect(raw.written.join('')).toContain('"status":"in_progress"');
    expect(raw.written.join('')).toContain('"previous_response_id":"resp_0"');
    hear({ kind: 'frames' }, BEGINNING + delta(2));
    expect(raw.written.at(-1)).toBe(delta(4));
    await vi.advanceTimersByTimeAsync(10_000);
    hear({ kind: 'last', seq: 2 }, LAST);
    hear({ kind: 'receipt' }, RECEIPT);
    expect(typesIn(raw.written)).toEqual([
      ...ALIVE,
      '4 output_text.delta',
      '5 in_progress',
      '6 completed',
    ]);
    expect(raw.written.at(-1)).toContain(`"receipt":${RECEIPT}`);
    expect(raw.ended).toBe(true);
  });

  it('leaves a stream as its worker wrote it where there is none', async () => {
    const { raw, hear } = await openResponse();
    const frames = [BEGINNING, delta(2)];
    for (const [at, text] of frames.entries()) {
      hear({ kind: 'frames', seq: at + 1 }, text);
      await vi.advanceTimersByTimeAsync(9_000);
    }
    expect(raw.written).toEqual(frames);
  });

  it('ends by the failure of a response where nothing comes of it, with the reason', async () => {
    const { raw, hear } = await openResponse();
    await vi.advanceTimersByTimeAsync(30_000);
    hear(FAILURE);
    expect(typesIn(raw.written)).toEqual([...ALIVE, '4 failed']);
    const { code, message } = FAILURE.error;
    const last = /^data: (.*)$/m.exec(raw.written.at(-1)!)![1]!;
    expect(JSON.parse(last)).toMatchObject({
      response: { status: 'failed', error: { code, message } },
      error: { code, message },
    });
  });

  it.each([
    ['prompt_too_long', 'context_length_exceeded'],
    ['invalid_tools', 'invalid_prompt'],
  ] as const)(
    'ends by a failure that would come again with a code by which agents ask no more: %s',
    async (code, known) => {
      const { raw, hear } = await openResponse();
      await vi.advanceTimersByTimeAsync(10_000);
      hear({ ...FAILURE, error: { code, message: 'No.', param: 'input' } });
      const last = /^data: (.*)$/m.exec(raw.written.at(-1)!)![1]!;
      expect(JSON.parse(last)).toMatchObject({
        response: { status: 'failed', error: { code: known, message: 'No.' } },
        error: { code, message: 'No.', param: 'input' },
      });
    },
  );

  it('of a prompt that its upstream finds too long is 400, and events to a client that takes nothing else [clients.compaction]', async () => {
    const error = { code: 'prompt_too_long', message: 'Too long.', param: 'input' } as const;
    for (const accept of ['application/json', 'application/json, text/event-stream', '*/*']) {
      const { raw, hear } = await openResponse(openEdge(), { accept });
      hear({ ...FAILURE, error });
      expect(raw.head?.status).toBe(400);
    }
    const { raw, hear } = await openResponse(openEdge(), { accept: 'text/event-stream' });
    hear({ ...FAILURE, error });
    expect(raw.head).toMatchObject({
      status: 200,
      headers: { 'content-type': 'text/event-stream; charset=utf-8', 'x-should-retry': 'false' },
    });
    expect(raw.head?.headers).not.toHaveProperty('x-receipt-id');
    expect(typesIn(raw.written)).toEqual(['0 created', '1 in_progress', '2 failed']);
    expect(raw.written.join('')).toContain('"code":"context_length_exceeded"');
    const other = await openResponse(openEdge(), { accept: 'text/event-stream' });
    other.hear(FAILURE);
    expect(other.raw.head?.status).toBe(502);
  });

  it('is no reason to commit the status of one that fails before', async () => {
    const { raw, hear } = await openResponse();
    await vi.advanceTimersByTimeAsync(9_999);
    hear(FAILURE);
    expect(raw.head?.status).toBe(502);
  });

  it('of an identical request is told by the id of the first, whose stored events go on from there', async () => {
    const receipt = '{"credentialSubject":{"region":"north"}}';
    const stored = { answer: { frames: BEGINNING + delta(2), last: LAST }, receipt };
    const edge = openEdge({ readClaim: () => Promise.resolve(stored) });
    edge.willSay(same('wait'));
    const { raw, hear } = await openResponse(edge, { idempotencyKey: 'k' });
    await vi.advanceTimersByTimeAsync(30_000);
    expect(raw.written.join('')).toContain('"id":"resp_01HZX3V9M6K2J8Q4T5W7Y9FRST"');
    hear({ kind: 'settled' });
    await turn();
    expect(typesIn(raw.written)).toEqual([...ALIVE, '4 output_text.delta', '5 completed']);
  });
});

describe('a stream that fails', () => {
  it('a stream that fails before its first byte is an ordinary error answer with the limits, and without a receipt', async () => {
    const { raw, hear, happened } = await open();
    hear(FAILURE);
    expect(raw.head).toMatchObject({
      status: 502,
      headers: {
        'content-type': 'application/json; charset=utf-8',
        'x-request-id': REQUEST_ID,
        'x-ratelimit-remaining-requests': '199',
        'x-region': 'eu',
        'openai-processing-ms': expect.stringMatching(/^\d+$/) as string,
        'x-should-retry': 'true',
      },
    });
    expect(raw.head?.headers).not.toHaveProperty('x-receipt-id');
    expect(JSON.parse(raw.written.join(''))).toEqual({
      error: {
        code: 'upstream_error',
        type: 'inference_error',
        message: 'The upstream broke.',
        param: null,
      },
    });
    expect(raw.head?.headers['content-length']).toBe(Buffer.byteLength(raw.written.join('')));
    expect(happened).toEqual(['refused upstream_error']);
    await vi.advanceTimersByTimeAsync(60_000);
    expect(raw.written).toHaveLength(1);
  });

  it('a stream that is refused for its estimate names the degraded receipt that it has', async () => {
    const { raw, hear } = await open();
    const error = { code: 'receipt_generation_failed', message: 'No.', hasReceipt: true } as const;
    hear({ kind: 'receipt_failed', error });
    expect(raw.head).toMatchObject({ status: 500, headers: { 'x-receipt-id': RECEIPT_ID } });
  });

  it('a stream that fails after its first byte ends with an error frame and without [DONE]', async () => {
    const { raw, hear } = await open();
    hear({ kind: 'frames' }, FRAME);
    hear({ ...FAILURE, seq: 2 });
    expect(raw.ended).toBe(true);
    expect(raw.written.at(-1)).toMatch(/^data: \{"error":\{.*"code":"upstream_error".*\}\}\n\n$/);
  });

  it('a stream that is not admitted is an error answer with its wait, and nothing stays open', async () => {
    const edge = openEdge();
    edge.willSay(refused('streams', 1_500));
    const { handled } = edge.ask({ stream: true });
    await expect(handled).rejects.toMatchObject({
      code: 'concurrent_streams_exceeded',
      retryAfterMs: 1_500,
      headers: { 'x-ratelimit-limit-requests': '50' },
    });
    await edge.exchanges.drained();
  });

  it('a stream whose admission Redis does not answer is store_unavailable', async () => {
    const admit = () => Promise.reject(new Error('Connection is closed.'));
    const { ask } = openEdge({
      admissions: { admit, recall: admit, record: admit, takeArrival: admit },
    });
    await expect(ask({ stream: true }).handled).rejects.toMatchObject({
      code: 'store_unavailable',
    });
  });
});

describe('an identical stream with an Idempotency-Key', () => {
  const stored = {
    answer: { frames: FRAME, last: '{"id":"first"}' },
    receipt: '{"credentialSubject":{"region":"north"}}',
  };
  const edge = () => openEdge({ readClaim: () => Promise.resolve(stored) });
  const REPLAYED = {
    'x-receipt-id': 'rcpt_01HZX3V9M6K2J8Q4T5W7Y9FRST',
    'idempotent-replayed': 'true',
  };
  const LAST = `data: {"id":"first","receipt":${stored.receipt}}\n\ndata: [DONE]\n\n`;

  it('an identical stream is sent from the stored frames, with the first receipt and region', async () => {
    const replaying = edge();
    replaying.willSay(same('replay'));
    const { raw } = await open(replaying, { idempotencyKey: 'k' });
    expect(raw.written).toEqual([FRAME, LAST]);
    expect(raw.head?.headers).toMatchObject({ ...REPLAYED, 'x-region': 'north' });
  });

  it('an identical stream waits while the first runs, with keepalives after the headers of a replay', async () => {
    const waiting = edge();
    waiting.willSay(same('wait'));
    const { raw, hear } = await open(waiting, { idempotencyKey: 'k' });
    await vi.advanceTimersByTimeAsync(15_000);
    expect(raw.head?.headers).toMatchObject(REPLAYED);
    hear({ kind: 'settled' });
    await turn();
    expect(raw.written).toEqual([': keepalive\n\n', FRAME, LAST]);
  });

  it('an identical stream whose client has left meanwhile is not written', async () => {
    const read = Promise.withResolvers<typeof stored>();
    const leaving = openEdge({ readClaim: () => read.promise });
    leaving.willSay(same('replay'));
    const { raw, happened } = await open(leaving, { idempotencyKey: 'k' });
    raw.destroy();
    read.resolve(stored);
    await turn();
    expect(raw.written).toEqual([]);
    expect(happened).toEqual([]);
  });

  it('an identical stream is an ordinary error answer, and no replay, when the stored answer has expired', async () => {
    const expired = openEdge({ readClaim: () => Promise.resolve(null) });
    expired.willSay(same('replay'));
    const { raw } = await open(expired, { idempotencyKey: 'k' });
    expect(raw.head?.status).toBe(500);
    expect(raw.head?.headers).not.toHaveProperty('idempotent-replayed');
    expect(raw.head?.headers).not.toHaveProperty('x-receipt-id');
  });
});

describe('a large stored stream', () => {
  const frames = `data: ${'x'.repeat(1_000_000)}\n\n`;
  const large = {
    answer: { frames, last: '{"id":"first"}' },
    receipt: '{"credentialSubject":{"region":"north"}}',
  };
  /** A replay to a reader that takes nothing yet. */
  const replay = async () => {
    const edge = openEdge({ readClaim: () => Promise.resolve(large) });
    edge.willSay(same('replay'));
    const { raw } = edge.ask({ stream: true, idempotencyKey: 'k' });
    raw.writableNeedDrain = true;
    await turn();
    return { raw, ...edge };
  };

  it('a large stored stream is sent piece by piece, as fast as it is read, with its lease held to the end', async () => {
    const { raw, redis } = await replay();
    expect(raw.written.join('')).toHaveLength(256 * 1024);
    for (let piece = 2; piece <= 4; piece += 1) {
      raw.emit('drain');
      await turn();
      expect(raw.written).toHaveLength(piece);
      expect(redis.named('leave')).toEqual([]);
    }
    raw.emit('drain');
    await turn();
    expect(raw.written.join('')).toBe(
      `${frames}data: {"id":"first","receipt":${large.receipt}}\n\ndata: [DONE]\n\n`,
    );
    expect(redis.named('leave')).toHaveLength(1);
  });

  it('a reader that takes nothing of a large stored stream for a minute is let go, and its lease with it', async () => {
    const { raw, redis } = await replay();
    await vi.advanceTimersByTimeAsync(60_000);
    await turn();
    expect(raw.destroyed).toBe(true);
    expect(raw.written).toHaveLength(1);
    expect(redis.named('leave')).toHaveLength(1);
  });
});

describe('a client that leaves a stream', () => {
  it('a client that leaves before its stream is admitted has it withdrawn, and its lease given back', async () => {
    const { ask, redis, happened, exchanges, holdAdmissions } = openEdge();
    const release = holdAdmissions();
    const { raw } = ask({ stream: true });
    await turn();
    raw.destroy();
    release();
    await turn();
    expect(redis.commands).toEqual([
      ['zrem', '{s0}:leases:org_1', REQUEST_ID],
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
  });

  it('a client that leaves while its stream runs has the worker stop, and is sent no more', async () => {
    const { raw, hear, redis, happened } = await open();
    redis.holder = 'inference-9';
    hear({ kind: 'frames' }, FRAME);
    raw.destroy();
    hear({ kind: 'frames', seq: 2 }, FRAME);
    await turn();
    expect(raw.written).toEqual([FRAME]);
    expect(redis.named('xadd')).toHaveLength(1);
    expect(happened).toEqual(['clientGone']);
  });

  it('a client that leaves at the end of its stream cancels nothing', async () => {
    const { raw, hear, redis, happened } = await open();
    hear({ kind: 'last' }, '{"id":"x"}');
    hear({ kind: 'receipt' }, RECEIPT);
    raw.destroy();
    await turn();
    expect(redis.named('withdraw')).toEqual([]);
    expect(happened).toEqual(['answered']);
  });

  it('a client that reads too slowly is cut off, and counts as gone', async () => {
    const { raw, hear, happened } = await open();
    raw.writableLength = 9 * 1024 * 1024;
    hear({ kind: 'frames' }, FRAME);
    expect(raw.destroyed).toBe(true);
    expect(happened).toEqual(['clientGone']);
    hear({ kind: 'frames', seq: 2 }, FRAME);
    expect(raw.written).toEqual([FRAME]);
  });
});
