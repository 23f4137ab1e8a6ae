import fc from 'fast-check';
import { gzipSync, brotliCompressSync } from 'node:zlib';
import type { Dispatcher } from 'undici';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { UpstreamResponse } from '#workers/inference/providers/openai-compatible/response.ts';
import type { UpstreamFailure } from '#workers/inference/providers/upstream-failure.ts';
import { until } from '#test/support/until.ts';
import { anyCharacter } from '#test/support/any-character.ts';
import { forAll } from '#test/support/for-all.ts';

const PATIENT = { energyHeader: undefined, firstByteMs: 60_000, totalMs: 60_000 };
const controller = { abort: () => {} } as unknown as Dispatcher.DispatchController;

const OWN_FAULT = 'its answer could not be read for a fault of our own';

afterEach(() => void vi.useRealTimers());

interface Heard {
  payloads: string[];
  answers: string[];
  ends: boolean[];
  failures: UpstreamFailure[];
}

/** Feeds one HTTP answer, cut into these pieces, and returns what the sink heard. */
interface Answer {
  stream?: boolean;
  status?: number;
  headers?: Record<string, string>;
}

function receive(
  pieces: readonly Uint8Array[],
  { stream = true, status = 200, headers = { 'content-type': 'text/event-stream' } }: Answer = {},
): Heard {
  const heard: Heard = { payloads: [], answers: [], ends: [], failures: [] };
  const response = new UpstreamResponse(
    {
      onPayload: (text) => heard.payloads.push(text),
      onAnswer: (text) => heard.answers.push(text),
      onEnd: (clean) => heard.ends.push(clean),
      onFailure: (failure) => heard.failures.push(failure),
    },
    { stream, ...PATIENT },
  );
  response.onRequestStart(controller);
  response.onResponseStart(controller, status, headers);
  for (const piece of pieces) response.onResponseData(controller, Buffer.from(piece));
  response.onResponseEnd();
  return heard;
}

/** Cuts bytes at the given places. */
function cut(bytes: Buffer, places: readonly number[]): Buffer[] {
  const at = [...new Set(places.map((place) => place % (bytes.length + 1)))].toSorted(
    (a, b) => a - b,
  );
  return [0, ...at].map((from, i) => bytes.subarray(from, at[i] ?? bytes.length));
}

const json = fc
  .record({ id: fc.string(), text: fc.string({ unit: anyCharacter }), n: fc.integer() })
  .map((value) => JSON.stringify(value));
/** A call whose answer is fed piece by piece, with the failures it ends with and how often it was given up. */
function beginStream(stream = true, hasEmbeddings = false) {
  const failures: UpstreamFailure[] = [];
  let aborted = 0;
  const response = new UpstreamResponse(
    {
      onPayload: () => {},
      onAnswer: () => {},
      onEnd: () => {},
      onFailure: (failure) => failures.push(failure),
    },
    { stream, hasEmbeddings, ...PATIENT },
  );
  const call = { abort: () => (aborted += 1) } as never;
  response.onRequestStart(call);
  return { response, call, failures, aborts: () => aborted };
}

const lineEnd = fc.constantFrom('\n', '\r', '\r\n');
const noise = fc.constantFrom(
  '',
  ': ping',
  ':',
  'event: message',
  'id: 7',
  'retry: 10',
  'nonsense',
);

describe('a stream of an upstream', () => {
  it('a server that sends white space alone has failed before much of it has come', () => {
    const { response, call, failures, aborts } = beginStream();
    response.onResponseStart(call, 200, { 'content-type': 'text/event-stream' });
    const spaces = Buffer.alloc(16 * 1024, ' ');
    let read = 0;
    for (; failures.length === 0 && read < 100; read += 1) response.onResponseData(call, spaces);
    expect(failures).toMatchObject([{ kind: 'malformed' }]);
    expect([read, aborts()]).toEqual([5, 1]);
  });

  it('a stream is read the same however it is cut, with any line ends, with comments and other fields between', () => {
    forAll(
      [
        fc.array(fc.tuple(json, noise), { maxLength: 20 }),
        lineEnd,
        fc.array(fc.nat(), { maxLength: 40 }),
      ],
      (frames, end, places) => {
        const lines = frames.flatMap(([payload, extra]) => [
          ...(extra === '' ? [] : [extra]),
          `data: ${payload}`,
          '',
        ]);
        const bytes = Buffer.from([...lines, 'data: [DONE]', '', ''].join(end));
        const heard = receive(cut(bytes, places));
        expect(heard.payloads).toEqual(frames.map(([payload]) => payload));
        expect(heard.ends).toEqual([true]);
        expect(heard.failures).toEqual([]);
      },
    );
  });

  it('the lines of a payload that comes in several are joined', () => {
    const heard = receive([Buffer.from('data: {"a":1,\ndata: "b":2}\n\ndata: [DONE]\n\n')]);
    expect(heard.payloads).toEqual(['{"a":1,\n"b":2}']);
  });

  it('a stream that ends without [DONE] is not clean, and its last half frame is no frame', () => {
    const heard = receive([Buffer.from('data: {"a":1}\n\ndata: {"b"')]);
    expect(heard).toMatchObject({ payloads: ['{"a":1}'], ends: [false] });
  });

  it('nothing of a stream is read after [DONE]', () => {
    const heard = receive([Buffer.from('data: [DONE]\n\ndata: {"late":1}\n\n')]);
    expect(heard).toMatchObject({ payloads: [], ends: [true] });
  });

  it('reading a stream never crashes on any bytes', () => {
    forAll([fc.array(fc.uint8Array({ maxLength: 60 }), { maxLength: 20 })], (pieces) => {
      const heard = receive(pieces);
      expect(heard.ends.length + heard.failures.length).toBe(1);
    });
  });

  it.each([
    ['gzip', gzipSync],
    ['br', brotliCompressSync],
  ])(
    'an answer may be compressed as %s though it was not asked for',
    async (encoding, compress) => {
      const bytes = compress(Buffer.from('data: {"a":1}\n\ndata: [DONE]\n\n'));
      const heard = receive(cut(bytes, [1, 5, 9]), {
        headers: { 'content-type': 'text/event-stream', 'content-encoding': encoding },
      });
      await until(() => heard.ends.length === 1);
      expect(heard.payloads).toEqual(['{"a":1}']);
    },
  );
});

describe('a stream that is framed oddly', () => {
  it.each([
    ['without a space after the colon', 'data:{"a":1}\n\ndata:[DONE]\n\n'],
    ['with blanks after [DONE]', 'data: {"a":1}\n\ndata: [DONE] \r\n\r\n'],
    ['with a byte order mark', '\uFEFFdata: {"a":1}\n\ndata: [DONE]\n\n'],
    ['with carriage returns', 'data: {"a":1}\r\rdata: [DONE]\r\r'],
  ])('a stream is read %s, also byte by byte', (_, text) => {
    const bytes = Buffer.from(text);
    const single = Array.from(bytes, (byte) => Buffer.from([byte]));
    for (const pieces of [[bytes], single])
      expect(receive(pieces)).toEqual({
        payloads: ['{"a":1}'],
        answers: [],
        ends: [true],
        failures: [],
      });
  });

  it.each(['one line', 'many lines', 'compressed to a thousandth'])(
    'a frame of 100 MB in %s is too large, and is not held',
    async (how) => {
      const { response, call, failures, aborts } = beginStream();
      const encoding = how.startsWith('compressed') ? { 'content-encoding': 'gzip' } : {};
      response.onResponseStart(call, 200, { 'content-type': 'text/event-stream', ...encoding });
      const line = Buffer.from(
        how === 'many lines' ? 'data: '.padEnd(65_535, 'x') + '\n' : 'x'.repeat(65_536),
      );
      const rest = how.startsWith('compressed')
        ? cut(
            gzipSync(
              Buffer.concat([Buffer.from('data: '), ...Array.from({ length: 1_600 }, () => line)]),
            ),
            [1_000, 20_000, 60_000],
          )
        : Array.from({ length: 1_600 }, () => line);
      if (!how.startsWith('compressed')) response.onResponseData(call, Buffer.from('data: '));
      for (const piece of rest) response.onResponseData(call, piece);
      await until(() => failures.length > 0);
      expect(failures).toEqual([{ kind: 'too_large', detail: 'a stream frame is too large' }]);
      expect(aborts()).toBe(1);
    },
  );
});

it.each([
  [false, [{ kind: 'too_large', detail: 'the answer is too large' }]],
  [true, []],
])(
  'an answer of 40 MB is read to its end where it has embeddings alone: %s [limits.answers]',
  (hasEmbeddings, expected) => {
    const { response, call, failures, aborts } = beginStream(false, hasEmbeddings);
    response.onResponseStart(call, 200, { 'content-type': 'application/json' });
    const piece = Buffer.alloc(1_000_000, '1');
    for (let count = 0; count < 40; count += 1) response.onResponseData(call, piece);
    expect(failures).toEqual(expected);
    expect(aborts()).toBe(expected.length);
    response.abort();
  },
);

describe('a stream that goes wrong', () => {
  const open = 'data: {"choices":[{"index":0}]}\n\n';

  it.each([
    ['event: error\ndata: {"error":{"message":"out of memory"}}\n\n', 'out of memory'],
    ['event: error\ndata: {"message":"out of memory"}\n\n', 'out of memory'],
    ['event: error\ndata: Trying to keep the first 9 tokens\n\n', ''],
    ['error: {"code":500,"message":"out of memory","type":"server_error"}\n\n', 'out of memory'],
  ])('an error event ends it with anything in it, though [DONE] follows: %j', (frame, message) => {
    const heard = receive([Buffer.from(`${open}${frame}data: [DONE]\n\n`)]);
    expect(heard.payloads).toHaveLength(1);
    expect(heard.ends).toEqual([]);
    expect(heard.failures).toMatchObject([{ kind: 'unavailable' }]);
    expect(heard.failures[0]!.message ?? '').toBe(message);
  });

  it('a stream is over with [DONE], though the connection stays open, which is closed a second later', () => {
    vi.useFakeTimers();
    const ends: boolean[] = [];
    let aborted = 0;
    const counting = { abort: () => (aborted += 1) } as never;
    const response = new UpstreamResponse(
      {
        onPayload: () => {},
        onAnswer: () => {},
        onEnd: (clean) => ends.push(clean),
        onFailure: () => {},
      },
      { stream: true, ...PATIENT },
    );
    response.onRequestStart(counting);
    response.onResponseStart(counting, 200, { 'content-type': 'text/event-stream' });
    response.onResponseData(counting, Buffer.from(`${open}data: [DONE]\n\n`));
    expect([ends, aborted]).toEqual([[true], 0]);
    vi.advanceTimersByTime(1_000);
    expect([ends, aborted]).toEqual([[true], 1]);
    expect(vi.getTimerCount()).toBe(0);
  });

  it.each([
    ['its first byte does not come in time', { firstByteMs: 50, totalMs: 500 }, [], 50],
    ['it is not finished in time', { firstByteMs: 50, totalMs: 500 }, [10, 200, 400], 500],
    ['the whole may take less than the first byte', { firstByteMs: 900, totalMs: 100 }, [], 100],
  ])('a stream ends with a timeout when %s', (_, bounds, bytesAt, endsAt) => {
    vi.useFakeTimers();
    const failures: [string, number][] = [];
    const begun = performance.now();
    const response = new UpstreamResponse(
      {
        onPayload: () => {},
        onAnswer: () => {},
        onEnd: () => {},
        onFailure: ({ kind }) => failures.push([kind, performance.now() - begun]),
      },
      { stream: true, energyHeader: undefined, ...bounds },
    );
    response.onRequestStart(controller);
    response.onResponseStart(controller, 200, { 'content-type': 'text/event-stream' });
    for (const at of bytesAt) {
      vi.advanceTimersByTime(at - (performance.now() - begun));
      response.onResponseData(controller, Buffer.from(open));
    }
    vi.advanceTimersByTime(10_000);
    expect(failures).toEqual([['timeout', endsAt]]);
    expect(vi.getTimerCount()).toBe(0);
  });
});

describe('a whole answer of an upstream', () => {
  it('a whole answer arrives as it was, however it is cut', () => {
    forAll([json, fc.array(fc.nat(), { maxLength: 10 })], (text, places) => {
      const heard = receive(cut(Buffer.from(text), places), {
        stream: false,
        headers: { 'content-type': 'application/json' },
      });
      expect(heard.answers).toEqual([text]);
    });
  });

  it.each([
    [400, 'rejected'],
    [401, 'misconfigured'],
    [404, 'misconfigured'],
    [408, 'unavailable'],
    [422, 'rejected'],
    [429, 'rate_limited'],
    [500, 'unavailable'],
    [503, 'unavailable'],
  ])('an answer with status %i is a failure of the kind %s', (status, kind) => {
    const body = JSON.stringify({ error: { message: 'why', code: 'c', param: 'p' } });
    const heard = receive([Buffer.from(body)], { status, headers: { 'retry-after': '2' } });
    expect(heard.failures).toMatchObject([
      { kind, status, message: 'why', code: 'c', param: 'p', retryAfterMs: 2_000 },
    ]);
  });

  it('an error without an end is read no further than its words may go', () => {
    const { response, call, failures, aborts } = beginStream();
    response.onResponseStart(call, 503, { 'content-type': 'application/json' });
    for (let i = 0; i < 100; i += 1) response.onResponseData(call, Buffer.alloc(10_000, 'x'));
    expect(failures).toMatchObject([{ kind: 'unavailable', status: 503 }]);
    expect(aborts()).toBe(1);
  });

  it('of an error page the caller is given nothing', () => {
    const heard = receive([Buffer.from('<html>secret</html>')], { status: 502, headers: {} });
    expect(JSON.stringify(heard.failures)).not.toContain('secret');
  });

  it('an answer is abandoned at once when the caller goes', () => {
    const failures: UpstreamFailure[] = [];
    const response = new UpstreamResponse(
      {
        onPayload: () => {},
        onAnswer: () => {},
        onEnd: () => {},
        onFailure: (f) => failures.push(f),
      },
      { stream: false, ...PATIENT },
    );
    let aborted = 0;
    response.onRequestStart({
      abort: () => (aborted += 1),
    } as unknown as Dispatcher.DispatchController);
    response.abort();
    response.abort();
    response.onResponseStart(controller, 200, {});
    response.onResponseData(controller, Buffer.from('{}'));
    response.onResponseEnd();
    expect(aborted).toBe(1);
    expect(failures.map(({ kind }) => kind)).toEqual(['aborted']);
  });
});

describe('a stream that is ahead of its client', () => {
  const frame = (n: number): string => `data: {"n":${n}}\n\n`;

  /** A stream whose client takes ten payloads and then waits. */
  function slow(headers: Record<string, string>) {
    const heard: string[] = [];
    const calls: string[] = [];
    const state: { ended?: boolean; resume?: () => void; most: number; fault?: Error } = {
      most: 10,
    };
    const pace = {
      read: () => {},
      event: () => {},
      get isAhead() {
        return heard.length >= state.most;
      },
      whenCaughtUp: (resume: () => void) => void (state.resume = resume),
    };
    const response = new UpstreamResponse(
      {
        onPayload: (text) => {
          if (state.fault !== undefined) throw state.fault;
          heard.push(text);
        },
        onAnswer: () => {},
        onEnd: (clean) => void (state.ended = clean),
        onFailure: ({ detail }) => heard.push(detail),
      },
      { stream: true, ...PATIENT, pace },
    );
    const call = {
      abort: () => calls.push('abort'),
      pause: () => calls.push('pause'),
      resume: () => calls.push('resume'),
    } as never;
    response.onRequestStart(call);
    response.onResponseStart(call, 200, { 'content-type': 'text/event-stream', ...headers });
    return { response, call, calls, heard, state };
  }

  it('its upstream is read no further until it goes on, which is no time of the upstream’s', () => {
    vi.useFakeTimers();
    const { response, call, calls, heard, state } = slow({});
    for (let n = 0; n < 10; n += 1) response.onResponseData(call, Buffer.from(frame(n)));
    expect(calls).toEqual(['pause']);
    vi.advanceTimersByTime(PATIENT.totalMs * 10);
    state.most = Infinity;
    state.resume!();
    expect(calls).toEqual(['pause', 'resume']);
    vi.advanceTimersByTime(PATIENT.totalMs - 1);
    expect(heard).toHaveLength(10);
    response.onResponseData(call, Buffer.from('data: [DONE]\n\n'));
    expect(state.ended).toBe(true);
  });

  it('what has come compressed is unpacked no further either, and then to its end [limits.slow-readers]', async () => {
    const { response, call, heard, state } = slow({ 'content-encoding': 'gzip' });
    const frames = Array.from({ length: 200_000 }, (_, n) => frame(n));
    response.onResponseData(call, gzipSync([...frames, 'data: [DONE]\n\n'].join('')));
    response.onResponseEnd();
    await until(() => state.resume !== undefined);
    expect(heard.length).toBeLessThan(10_000);
    state.most = Infinity;
    state.resume!();
    await until(() => state.ended === true);
    expect(heard).toHaveLength(frames.length);
  });

  it('what is thrown while it is read on fails this answer, and is thrown to no other', () => {
    const { response, call, calls, heard, state } = slow({});
    for (let n = 0; n < 11; n += 1) response.onResponseData(call, Buffer.from(frame(n)));
    state.most = Infinity;
    state.fault = new Error('a fault of its reader');
    state.resume!();
    expect(heard.slice(10)).toEqual([OWN_FAULT]);
    expect(calls).toEqual(['pause', 'abort']);
  });

  it('what is thrown as it comes fails this answer at once, though more of it waits to be read', () => {
    const { response, call, calls, heard, state } = slow({});
    state.fault = new Error('a fault of its reader');
    const frames = Array.from({ length: 1_000 }, (_, n) => frame(n)).join('');
    response.onResponseData(call, Buffer.from(frames));
    expect(heard).toEqual([OWN_FAULT]);
    expect(calls).toEqual(['abort']);
  });

  it('what is thrown while it is unpacked fails this answer, and ends no process', async () => {
    const { response, call, calls, heard, state } = slow({ 'content-encoding': 'gzip' });
    state.fault = new Error('a fault of its reader');
    response.onResponseData(call, gzipSync(frame(0)));
    response.onResponseEnd();
    await until(() => heard.length > 0);
    expect(heard).toEqual([OWN_FAULT]);
    expect(calls).toEqual(['abort']);
  });
});

it('a long answer comes as it was, wherever its bytes are cut', async () => {
  const text = JSON.stringify({ text: 'aé€😀'.repeat(200_000) });
  const bytes = Buffer.from(text);
  const pieces = Array.from({ length: Math.ceil(bytes.length / 10_007) }, (_, at) =>
    bytes.subarray(at * 10_007, (at + 1) * 10_007),
  );
  const heard = receive(pieces, { stream: false, headers: {} });
  // It is made a text in turns.
  expect(heard.answers).toEqual([]);
  await until(() => heard.answers.length > 0);
  expect(heard.answers).toEqual([text]);
  expect(heard.failures).toEqual([]);
});
