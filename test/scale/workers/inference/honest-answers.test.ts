import { gzipSync } from 'node:zlib';
import fc from 'fast-check';
import type { Dispatcher } from 'undici';
import { describe, expect, it } from 'vitest';
import type { InferenceRecord } from '#shared/kernel/inference.ts';
import { runs } from '#test/support/depth.ts';
import { forAllAsync } from '#test/support/for-all.ts';
import { UpstreamResponse } from '#workers/inference/providers/openai-compatible/response.ts';
import { recordedAnswers } from '#test/support/recorded-answers.ts';
import {
  type Behaviour,
  COUNTED,
  delivery,
  ScriptedProvider,
  workerWith,
} from '#test/unit/workers/inference/doubles.ts';

const controller = { abort: () => {} } as unknown as Dispatcher.DispatchController;
const FINISHING = ['stop', 'length', 'tool_calls'];
const UNFINISHED = [null, '', 'abort', 'error', undefined];

/** How bytes come over the network. */
interface Transport {
  /** Where they are cut into pieces. */
  places?: readonly number[];
  compressed?: boolean;
  /** The connection breaks after them, in place of being closed. */
  breaks?: boolean;
}

/** An upstream that answers with these bytes, and then closes the connection. */
const says =
  (
    bytes: Buffer,
    type: string,
    { places = [], compressed = false, breaks = false }: Transport = {},
  ): Behaviour =>
  (sink, { stream }) => {
    const bounds = { firstByteMs: 60_000, totalMs: 60_000 };
    const response = new UpstreamResponse(sink, { stream, energyHeader: undefined, ...bounds });
    response.onRequestStart(controller);
    const encoding = compressed ? { 'content-encoding': 'gzip' } : {};
    response.onResponseStart(controller, 200, { 'content-type': type, ...encoding });
    const sent = compressed ? gzipSync(bytes) : bytes;
    const at = [...new Set(places.map((place) => place % (sent.length + 1)))].toSorted(
      (a, b) => a - b,
    );
    for (const [i, from] of [0, ...at].entries())
      response.onResponseData(controller, sent.subarray(from, at[i] ?? sent.length));
    if (breaks) response.onResponseError(controller, new Error('other side closed'));
    else response.onResponseEnd();
  };

/** The record of a request that is answered like this; undefined when it failed, which states nothing of an answer. */
async function recordOf(
  behaviour: Behaviour,
  stream: boolean,
): Promise<InferenceRecord | undefined> {
  const { run, handed } = workerWith(new ScriptedProvider(behaviour));
  await run(delivery({ stream }));
  const record = handed()[0]?.record;
  if (record?.outcome !== 'failed') return record;
  expect(record).not.toHaveProperty('responseDigest');
  expect(record.usage.source).toBe('unknown');
  return undefined;
}

interface Choice {
  index: number;
  delta: { content?: string };
  finish_reason?: string | null | undefined;
}

interface Frame {
  choices?: Choice[];
  usage?: unknown;
}

/** Whether the choices of these frames have all come to their end. */
function isWhole(frames: readonly Frame[]): boolean {
  const choices = frames.flatMap((frame) => frame.choices ?? []);
  const seen = new Set(choices.map(({ index }) => index));
  const ended = choices.filter((one) => FINISHING.includes(one.finish_reason ?? ''));
  return seen.size > 0 && seen.size === new Set(ended.map(({ index }) => index)).size;
}

/** Whether a record says no more than was sent. */
function expectHonest(record: InferenceRecord, usages: readonly unknown[], whole: boolean): void {
  if (record.outcome === 'complete') expect(whole).toBe(true);
  else expect(record.outcome).toBe('truncated');
  const { usage } = record;
  if (usage.source === 'unknown') expect(usage.reason).toBe('upstream_cut');
  else if (usage.source === 'counted') expect(usage).toMatchObject(COUNTED);
  else
    expect(usages).toContainEqual(
      expect.objectContaining({
        prompt_tokens: usage.inputTokens,
        completion_tokens: usage.outputTokens,
      }),
    );
}

const anyReason = fc.constantFrom(...UNFINISHED, ...FINISHING);
const anyCount = fc.oneof(
  fc.constantFrom<unknown>(
    0,
    3,
    7,
    -1,
    1.5,
    null,
    '4',
    undefined,
    1e12,
    2 ** 53,
    true,
    [3],
    {},
    '',
  ),
  fc.integer(),
  fc.double(),
);
const anyUsage = fc.oneof(
  fc.constantFrom<unknown>(undefined, null, {}, 'none'),
  fc.record({ prompt_tokens: anyCount, completion_tokens: anyCount }),
);

/** A stream as its server means it: choices that speak and come to their end, usage, `[DONE]`. */
const meant = fc
  .record({
    said: fc.array(fc.integer({ min: 0, max: 2 }), { maxLength: 6 }),
    reasons: fc.array(anyReason, { minLength: 3, maxLength: 3 }),
    usage: anyUsage,
    done: fc.boolean(),
  })
  .map(({ said, reasons, usage, done }): string[] => {
    const indexes = [0, ...said];
    const frames: Frame[] = [
      ...indexes.map((index) => ({
        choices: [{ index, delta: { content: 'word ' }, finish_reason: null }],
      })),
      ...[...new Set(indexes)].map((index) => ({
        choices: [{ index, delta: {}, finish_reason: reasons[index] }],
      })),
      { choices: [], usage },
    ];
    return [...frames.map((frame) => JSON.stringify(frame)), ...(done ? ['[DONE]'] : [])];
  });

/** What a network, a proxy or a fault makes of it. The first frame arrives: before it nothing is owed to the caller. */
type Harm = (frames: string[], at: number) => string[];
const HARMS: Readonly<Record<string, Harm>> = {
  none: (frames) => frames,
  drop: (frames, at) => frames.toSpliced(at, 1),
  repeat: (frames, at) => frames.toSpliced(at, 0, frames[at]!),
  move: (frames, at) => frames.toSpliced(at, 1).toSpliced(1 + (at % 3), 0, frames[at]!),
  spoil: (frames, at) => frames.with(at, frames[at]!.slice(0, -1)),
  error: (frames, at) => frames.toSpliced(at, 0, '{"error":{"message":"out of memory"}}'),
  objectError: (frames, at) => frames.toSpliced(at, 0, '{"object":"error","message":"no"}'),
  doneEarly: (frames, at) => frames.toSpliced(at, 0, '[DONE]'),
  nonsense: (frames, at) => frames.toSpliced(at, 0, '{"choices":[null,7,{"index":"x"}]}'),
};

/** The legal ways to write a frame. */
const FRAMINGS: Readonly<Record<string, (frame: string) => string>> = {
  plain: (frame) => `data: ${frame}\n\n`,
  'no space': (frame) => `data:${frame}\n\n`,
  CRLF: (frame) => `data: ${frame}\r\n\r\n`,
  CR: (frame) => `data: ${frame}\r\r`,
  comments: (frame) => `: ping\n\nevent: message\nid: 7\ndata: ${frame}\n\n`,
  // JSON may be broken between its tokens.
  'several lines': (frame) => `data: ${frame.replaceAll(',"', ',\ndata: "')}\n\n`,
};
const anyPlaces = fc.array(fc.nat(), { maxLength: 5 });
/** What a broken connection has left of a compressed stream is not unpacked any more. */
const anyTransport = fc.oneof(
  fc.record({ places: anyPlaces, breaks: fc.boolean() }),
  fc.record({ places: anyPlaces, compressed: fc.constant(true) }),
);

/** The frames of which a reader knows: whole ones, until the end, an error or what is no JSON. Null after a failure. */
function heardOf(frames: readonly string[]): { frames: Frame[]; failed: boolean } {
  const heard: Frame[] = [];
  for (const text of frames) {
    if (text === '[DONE]') break;
    let frame: Frame & { error?: unknown; object?: string };
    try {
      frame = JSON.parse(text) as typeof frame;
    } catch {
      return { frames: heard, failed: true };
    }
    if (frame.error !== undefined || frame.object === 'error')
      return { frames: heard, failed: true };
    const choices = (frame.choices ?? []).map((one) =>
      typeof one?.index === 'number' ? one : { ...one, index: 0 },
    );
    heard.push({ ...frame, choices });
  }
  return { frames: heard, failed: false };
}

const anyHarms = fc.array(
  fc.record({ kind: fc.constantFrom(...Object.keys(HARMS)), at: fc.nat() }),
  { maxLength: 3 },
);
const anyCut = fc.option(fc.nat(), { nil: undefined });
const anyFraming = fc.constantFrom(...Object.keys(FRAMINGS));

/**
 * Sends a stream, harmed, framed and cut like this, and checks the record that is made of it against the frames that arrived.
 * Returns whether it was whole.
 */
async function expectHonestOf(
  stream: readonly string[],
  harms: readonly { kind: string; at: number }[],
  cut: number | undefined,
  framing: string,
  transport: Transport,
  label?: string,
): Promise<boolean> {
  let frames = [...stream];
  for (const { kind, at } of harms)
    if (frames.length > 1) frames = HARMS[kind]!(frames, 1 + (at % (frames.length - 1)));
  const texts = frames.map(FRAMINGS[framing]!);
  const all = Buffer.from(texts.join(''));
  const first = Buffer.byteLength(texts[0]!);
  const end = cut === undefined ? all.length : first + (cut % (all.length - first + 1));
  let bytes = 0;
  const arrived = frames.filter((_, i) => (bytes += Buffer.byteLength(texts[i]!)) <= end);
  // The empty line is over with the first of its two characters.
  const next = texts[arrived.length];
  const closed =
    framing === 'CRLF' &&
    next !== undefined &&
    end === bytesOf(texts, arrived.length) + Buffer.byteLength(next) - 1;
  if (closed) arrived.push(frames[arrived.length]!);
  const heard = heardOf(arrived);
  // A connection that breaks has ended nothing, unless the server had said the last word.
  const breaks = transport.breaks === true && !arrived.includes('[DONE]');
  const record = await recordOf(says(all.subarray(0, end), 'text/event-stream', transport), true);
  const spoke = heard.frames.some(({ choices }) => (choices ?? []).length > 0);
  if (!spoke) expect(record, label).toBeUndefined();
  if (record === undefined) return false;
  const whole = !heard.failed && !breaks && isWhole(heard.frames);
  expectHonest(
    record,
    heard.frames.map(({ usage }) => usage),
    whole,
  );
  // And what was finished is not called broken.
  if (whole) expect(record.outcome, label).toBe('complete');
  return whole;
}

const bytesOf = (texts: readonly string[], count: number): number =>
  texts.slice(0, count).reduce((sum, text) => sum + Buffer.byteLength(text), 0);

describe('a receipt', () => {
  it('no stream, however cut, reordered, repeated or spoilt, is called complete that its server did not finish, and no count the upstream’s that it did not send', async () => {
    let complete = 0;
    await forAllAsync(
      [meant, anyHarms, anyCut, anyFraming, anyTransport],
      { numRuns: runs(400) },
      async (...drawn) => {
        if (await expectHonestOf(...drawn)) complete += 1;
      },
    );
    expect(complete).toBeGreaterThan(0);
  });

  it('no whole answer is called complete that its server did not finish, and no count the upstream’s that it did not send', async () => {
    const SAID = { index: 0, message: { content: 'word' }, finish_reason: 'stop' };
    const anyChoice = fc.record({
      index: fc.nat(3),
      message: fc.record({ content: fc.string() }),
      finish_reason: anyReason,
    });
    await forAllAsync(
      [fc.array(anyChoice, { minLength: 1, maxLength: 3 }), anyUsage],
      { numRuns: runs(100), examples: [[[SAID], { prompt_tokens: 7, completion_tokens: -0 }]] },
      async (choices, usage) => {
        const bytes = Buffer.from(JSON.stringify({ id: 'x', choices, usage }));
        const record = await recordOf(says(bytes, 'application/json'), false);
        const whole = choices.every((one) => FINISHING.includes(one.finish_reason ?? ''));
        // What arrived is compared, not what was drawn: JSON writes -0 as 0.
        expectHonest(record!, [wholeFrame(bytes.toString()).usage], whole);
        expect(record!.outcome).toBe(whole ? 'complete' : 'truncated');
      },
    );
  });
});

describe('a receipt of an answer that a real server gave', () => {
  const answered = recordedAnswers().filter(
    ([, , { request, status, body }]) =>
      status === 200 && body !== '' && /(chat\/)?completions$/.test(request.path),
  );
  const streams = answered.flatMap(([server, name, { request, body }]) => {
    const frames = body
      .split(/\r?\n\r?\n/)
      .filter((frame) => frame.startsWith('data: '))
      .map((frame) => frame.slice(6));
    return request.body['stream'] === true && frames.length > 1
      ? [{ label: `${server}: ${name}`, frames }]
      : [];
  });

  it('is honest for every recording as it came', async () => {
    let complete = 0;
    for (const [server, name, { request, contentType, whole, body }] of answered) {
      const stream = request.body['stream'] === true;
      const record = await recordOf(says(Buffer.from(body), contentType), stream);
      if (record === undefined) continue;
      const frames = streams.find(({ label }) => label === `${server}: ${name}`)?.frames ?? [];
      const said = stream ? heardOf(frames).frames : [wholeFrame(body)];
      const isFinished = whole && isWhole(said);
      expect(record.outcome, `${server}: ${name}`).toBe(isFinished ? 'complete' : 'truncated');
      expectHonest(
        record,
        said.map(({ usage }) => usage),
        isFinished,
      );
      complete += isFinished ? 1 : 0;
    }
    expect(complete).toBeGreaterThan(20);
  });

  it('is honest for every recorded stream, however cut, reordered, repeated, spoilt, framed and sent', async () => {
    const some = fc.constantFrom(...streams);
    await forAllAsync(
      [some, anyHarms, anyCut, anyFraming, anyTransport],
      { numRuns: runs(400) },
      async (one, ...drawn) => {
        await expectHonestOf(one.frames, ...drawn, one.label);
      },
    );
  });

  it('is none for a whole answer that was cut anywhere', async () => {
    const wholes = answered.filter(([, , { request }]) => request.body['stream'] !== true);
    await forAllAsync(
      [fc.constantFrom(...wholes), fc.nat(), anyPlaces],
      // A call that fails is made again, after a pause.
      { numRuns: runs(30, 5) },
      async (one, at, places) => {
        const [, , { body, contentType }] = one;
        const bytes = Buffer.from(body.trim());
        const cut = bytes.subarray(0, at % bytes.length);
        expect(await recordOf(says(cut, contentType, { places }), false)).toBeUndefined();
      },
    );
  });
});

function wholeFrame(body: string): Frame {
  const { choices, usage } = JSON.parse(body) as Frame;
  return { choices: choices ?? [], usage };
}
