import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { nextTurn } from '#shared/kernel/turns.ts';
import { forAllAsync } from '#test/support/for-all.ts';
import { until } from '#test/support/until.ts';
import { UpstreamResponse } from '#workers/inference/providers/openai-compatible/response.ts';
import { openStreamBounds, type StreamBounds } from '#workers/inference/stream-bounds.ts';
import { SHARE_CHARS, StreamPace } from '#workers/inference/stream-pace.ts';
import { EVENT_CHARS, TURN_CHARS } from '#workers/inference/stream-turns.ts';

const PATIENT = { energyHeader: undefined, firstByteMs: 60_000, totalMs: 60_000 };
const SOCKET_BYTES = 64 * 1024;
/** What a stream reads beyond its bound: the slice that it began with, and the events of that. */
const BEYOND = SHARE_CHARS + 400 * EVENT_CHARS;

const frame = (text: string): string => `data: {"text":"${text}"}\n\n`;
/** Where no time passes, and what is waited for comes at once. */
const TIMELESS = { now: () => 0, sleep: () => Promise.resolve() };
const open = (): StreamBounds => openStreamBounds(() => Promise.resolve(), TIMELESS);

/** Streams whose upstreams have everything ready, as one worker reads them, and what was heard in which order. */
function reading(bounds = open()) {
  const heard: string[] = [];
  const turns: number[] = [];
  return {
    heard,
    turns,
    bounds,
    /** Begins to read what an upstream sends, in pieces as a socket gives them. */
    read: (name: string, sent: string, pieceBytes = SOCKET_BYTES) => {
      const pace = new StreamPace(bounds, () => {});
      const response = new UpstreamResponse(
        {
          onPayload: (text) => {
            heard.push(`${name} ${text}`);
            const turn = bounds.turns.number;
            turns[turn] = (turns[turn] ?? 0) + text.length;
          },
          onAnswer: () => {},
          onEnd: (clean) => heard.push(`${name} ${clean ? 'end' : 'cut'}`),
          onFailure: ({ kind }) => heard.push(`${name} ${kind}`),
        },
        { stream: true, ...PATIENT, pace },
      );
      let rest = Buffer.from(sent);
      const state = { isPaused: false };
      const controller = {
        abort: () => void (rest = Buffer.alloc(0)),
        pause: () => void (state.isPaused = true),
        resume: () => {
          state.isPaused = false;
          flow();
        },
      } as never;
      const flow = (): void => {
        while (!state.isPaused && rest.length > 0) {
          const piece = rest.subarray(0, pieceBytes);
          rest = rest.subarray(pieceBytes);
          response.onResponseData(controller, piece);
        }
      };
      response.onRequestStart(controller);
      response.onResponseStart(controller, 200, { 'content-type': 'text/event-stream' });
      flow();
      return {
        response,
        controller,
        pace,
        left: () => rest.length,
        isPaused: () => state.isPaused,
      };
    },
  };
}

const LARGE = frame('x'.repeat(16_000));
const TEN_MB = LARGE.repeat(625);
const ofStream = (heard: readonly string[], name: string): string[] =>
  heard.filter((one) => one.startsWith(`${name} `)).map((one) => one.slice(name.length + 1));

describe('what streams read in one turn of the event loop', () => {
  it('a small stream behind ten megabytes of others waits for none of them, and they are read in turns, to their ends [limits.slow-readers]', async () => {
    const { read, heard, turns } = reading();
    for (const name of ['a', 'b', 'c']) read(name, `${TEN_MB}data: [DONE]\n\n`);
    expect(heard.join('').length).toBeLessThanOrEqual(TURN_CHARS + 3 * SOCKET_BYTES);
    const before = heard.length;
    read('small', `${frame('one')}${frame('two')}data: [DONE]\n\n`, frame('one').length);
    expect(heard.slice(before)).toEqual([
      'small {"text":"one"}',
      'small {"text":"two"}',
      'small end',
    ]);
    await until(() => ['a', 'b', 'c'].every((name) => heard.includes(`${name} end`)));
    for (const name of ['a', 'b', 'c']) expect(ofStream(heard, name)).toHaveLength(626);
    expect(Math.max(...turns)).toBeLessThanOrEqual(TURN_CHARS + 4 * (SHARE_CHARS + LARGE.length));
    expect(turns.length).toBeGreaterThan(25);
  });

  it('a stream that has more than its share has the next behind each of the others that wait', async () => {
    const { read, heard } = reading();
    const names = Array.from({ length: 50 }, (_, i) => `s${i}`);
    read('first', TEN_MB);
    const before = heard.length;
    for (const name of names) read(name, frame('y'.repeat(1_000)).repeat(40));
    await until(() => names.every((name) => ofStream(heard, name).length === 40));
    const last = heard.findLastIndex((one) => !one.startsWith('first '));
    // Each of the others has as much as ten shares.
    const ofFirst = ofStream(heard.slice(before, last), 'first').join('').length;
    expect(ofFirst).toBeLessThanOrEqual(10 * SHARE_CHARS + LARGE.length);
  });

  it('however frames are cut, and with other streams beside it, each stream comes whole, in its order, and then ends [limits.slow-readers]', async () => {
    const stream = fc.record({
      lengths: fc.array(fc.oneof(fc.nat(50), fc.nat(60_000)), { maxLength: 40 }),
      pieceBytes: fc.integer({ min: 1_000, max: SOCKET_BYTES }),
      isDone: fc.boolean(),
    });
    await forAllAsync(
      [fc.array(stream, { minLength: 1, maxLength: 8 })],
      { numRuns: 20 },
      async (streams) => {
        const { read, heard, turns } = reading();
        const given = streams.map(({ lengths, pieceBytes, isDone }, at) => {
          const texts = lengths.map((length, i) => `${i}ж`.repeat(length / 4 + 1));
          const sent = texts.map(frame).join('') + (isDone ? 'data: [DONE]\n\n' : '');
          const one = read(`${at}`, sent, pieceBytes);
          return { one, isDone, payloads: texts.map((text) => `{"text":"${text}"}`) };
        });
        await until(() => given.every(({ one }) => one.left() === 0));
        for (const { one, isDone } of given) if (!isDone) one.response.onResponseEnd();
        const ends = (): number => heard.filter((one) => / (end|cut)$/.test(one)).length;
        await until(() => ends() === streams.length);
        for (const [at, { payloads, isDone }] of given.entries())
          expect(ofStream(heard, `${at}`)).toEqual([...payloads, isDone ? 'end' : 'cut']);
        const most = TURN_CHARS + streams.length * (BEYOND + 60_000);
        expect(Math.max(0, ...turns.filter(Boolean))).toBeLessThanOrEqual(most);
      },
    );
  });

  it('tiny events count as more than their characters', () => {
    const { read, heard } = reading();
    read('tiny', frame('').repeat(10_000));
    expect(heard.length).toBeLessThanOrEqual((TURN_CHARS + BEYOND) / EVENT_CHARS);
  });
});

it('what streams read beyond their shares comes at sixteen megabytes a second, however long they were silent before [limits.slow-readers]', async () => {
  const clock = { ms: 0, slept: [] as number[] };
  const bounds = openStreamBounds(() => Promise.resolve(), {
    now: () => clock.ms,
    sleep: (ms) => {
      clock.slept.push(ms);
      clock.ms += ms;
      return Promise.resolve();
    },
  });
  const { read, heard } = reading(bounds);
  for (const name of ['a', 'b', 'c']) read(name, `${TEN_MB}data: [DONE]\n\n`);
  await until(() => ['a', 'b', 'c'].every((name) => heard.includes(`${name} end`)));
  const seconds = (3 * TEN_MB.length) / (16 * 1024 * 1024);
  expect(clock.ms / 1_000).toBeGreaterThan(0.8 * seconds);
  expect(clock.ms / 1_000).toBeLessThan(1.2 * seconds);
  clock.ms += 60_000;
  clock.slept = [];
  read('later', LARGE.repeat(20));
  await until(() => ofStream(heard, 'later').length === 20);
  expect(clock.slept).toEqual([]);
});

it('streams that stay within their shares never slow each other down', async () => {
  const slept: number[] = [];
  const bounds = openStreamBounds(() => Promise.resolve(), {
    now: () => 0,
    sleep: (ms) => {
      slept.push(ms);
      return Promise.resolve();
    },
  });
  const { read, heard } = reading(bounds);
  const names = Array.from({ length: 2_000 }, (_, i) => `s${i}`);
  for (let round = 0; round < 3; round += 1)
    for (const name of names) read(`${name} ${round}`, frame('z'.repeat(1_000)));
  read('large', TEN_MB);
  await until(() => ofStream(heard, 'large').length === 625);
  // However much they read together, one turn lasts no longer than its own part takes.
  expect(Math.max(...slept)).toBeLessThanOrEqual(2 * (TURN_CHARS / 16_384));
});

describe('a stream that waits for its turn', () => {
  /** One that waits, behind another that has used the turn up, with the last of what its upstream has sent. */
  function waiting(last: string) {
    const all = reading();
    const first = all.read('first', TEN_MB);
    const one = all.read('one', `${LARGE.repeat(3)}${last}`);
    expect(one.left()).toBe(0);
    expect(ofStream(all.heard, 'one')).toEqual([]);
    return { ...all, one, first };
  }
  const payload = LARGE.slice('data: '.length).trim();

  it('ends behind what has come of it', async () => {
    const { one, heard } = waiting('');
    one.response.onResponseEnd();
    await until(() => heard.includes('one cut'));
    expect(ofStream(heard, 'one')).toEqual([payload, payload, payload, 'cut']);
  });

  it('fails behind what has come of it, or not at all, where that is its end', async () => {
    for (const [last, outcome] of [
      ['', 'connection'],
      ['data: [DONE]\n\n', 'end'],
    ] as const) {
      const { one, heard } = waiting(last);
      one.response.onResponseError(one.controller, new Error('reset'));
      await until(() => heard.includes(`one ${outcome}`));
      expect(ofStream(heard, 'one')).toEqual([payload, payload, payload, outcome]);
    }
  });

  it('leaves its connection to the next request once its last word has been read', async () => {
    const { one, heard } = waiting('data: [DONE]\n\n');
    expect(one.isPaused()).toBe(true);
    await until(() => heard.includes('one end'));
    expect(one.isPaused()).toBe(false);
    one.response.onResponseEnd();
  });

  it('is read no further once it is aborted, and nothing of it waits', async () => {
    const { one, first, heard, bounds } = waiting('');
    one.response.abort();
    first.response.abort();
    expect(bounds.turns.isOver).toBe(true);
    for (const { pace } of [one, first]) pace.end();
    await nextTurn();
    await nextTurn();
    expect(ofStream(heard, 'one')).toEqual(['aborted']);
    expect(heard.at(-1)).toBe('first aborted');
    expect([bounds.turns.isOver, bounds.turns.number]).toEqual([false, 1]);
  });

  it('waits until what has been read is on its way, and a share of each is in memory until then [limits.slow-readers]', async () => {
    const room = Promise.withResolvers<void>();
    const { read, heard } = reading(openStreamBounds(() => room.promise, TIMELESS));
    for (const name of ['a', 'b']) read(name, TEN_MB);
    for (let i = 0; i < 50; i += 1) await nextTurn();
    expect(heard.join('').length).toBeLessThanOrEqual(TURN_CHARS + 2 * LARGE.length);
    room.resolve();
    await until(() => heard.length === 2 * 625);
  });
});
