import fc from 'fast-check';
import { gzipSync, brotliCompressSync } from 'node:zlib';
import type { Dispatcher } from 'undici';
import { describe, expect, it } from 'vitest';
import { UpstreamResponse } from '#workers/inference/providers/openai-compatible/response.ts';
import type { UpstreamFailure } from '#workers/inference/providers/upstream-failure.ts';
import { until } from '#test/support/until.ts';

const controller = { abort: () => {} } as unknown as Dispatcher.DispatchController;

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
    stream,
    undefined,
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
  .record({ id: fc.string(), text: fc.string({ unit: 'binary' }), n: fc.integer() })
  .map((value) => JSON.stringify(value));
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
  it('a stream is read the same however it is cut, with any line ends, with comments and other fields between', () => {
    fc.assert(
      fc.property(
        fc.array(fc.tuple(json, noise), { maxLength: 20 }),
        lineEnd,
        fc.array(fc.nat(), { maxLength: 40 }),
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
      ),
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
    fc.assert(
      fc.property(fc.array(fc.uint8Array({ maxLength: 60 }), { maxLength: 20 }), (pieces) => {
        const heard = receive(pieces);
        expect(heard.ends.length + heard.failures.length).toBe(1);
      }),
    );
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

describe('a whole answer of an upstream', () => {
  it('a whole answer arrives as it was, however it is cut', () => {
    fc.assert(
      fc.property(json, fc.array(fc.nat(), { maxLength: 10 }), (text, places) => {
        const heard = receive(cut(Buffer.from(text), places), {
          stream: false,
          headers: { 'content-type': 'application/json' },
        });
        expect(heard.answers).toEqual([text]);
      }),
    );
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
      false,
      undefined,
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
