import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { KeptByStreams } from '#workers/inference/kept-by-streams.ts';
import { OnTheWay, StreamPace } from '#workers/inference/stream-pace.ts';
import { StreamTurns } from '#workers/inference/stream-turns.ts';
import { forAll } from '#test/support/for-all.ts';

const openTurns = (): StreamTurns => new StreamTurns(() => Promise.resolve());
const KIB = 1024;
const WINDOW = 256 * KIB;
const STEP = 64 * KIB;
const MUCH = 8 * 1024 * KIB;

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

/** An upstream that sends as fast as it may, and asks are counted. */
function stream(onTheWay = new OnTheWay(), turns = openTurns()) {
  const asked: number[] = [];
  const acknowledged: number[] = [];
  const pace = new StreamPace({ onTheWay, turns }, () => asked.push(pace.sent));
  const one = { pace, asked, acknowledged, waits: false, left: 0 };
  const read = (): void => {
    one.waits = false;
    while (one.left > 0 && !pace.isAhead) {
      one.left -= 1;
      if (pace.send(KIB)) acknowledged.push(pace.sent);
    }
    if (!pace.isAhead) return;
    one.waits = true;
    pace.whenCaughtUp(read);
  };
  const send = (frames: number): void => {
    one.left += frames;
    if (!one.waits) read();
  };
  return { ...one, send, state: one };
}

describe('the pace of a stream', () => {
  it('a stream that is ahead of its client waits, and goes on as far as its client does [limits.slow-readers]', () => {
    const { pace, send, acknowledged, state } = stream();
    send(1_000);
    expect(state.waits).toBe(true);
    expect(pace.sent).toBe(WINDOW + KIB);
    while (acknowledged.length > 0) pace.taken(acknowledged.shift()!);
    expect([state.left, pace.sent]).toEqual([0, 1_000 * KIB]);
  });

  it('a short stream asks for no word of its client, and a long one for one in 64 KiB', () => {
    const short = stream();
    short.send(63);
    expect(short.acknowledged).toEqual([]);
    const long = stream();
    long.send(256);
    expect(long.acknowledged).toEqual([1, 2, 3, 4].map((steps) => steps * STEP));
  });

  it('what no word comes of is asked for again, until one has come', () => {
    const { pace, send, asked, state } = stream();
    send(1_000);
    vi.advanceTimersByTime(10_000);
    expect(asked).toEqual([pace.sent, pace.sent]);
    state.left = 0;
    pace.taken(pace.sent);
    vi.advanceTimersByTime(60_000);
    expect(asked).toHaveLength(2);
  });

  it('a stream that is over waits for nothing and counts for nothing', () => {
    const all = new OnTheWay();
    const { pace, send, state, asked } = stream(all);
    send(1_000);
    const { left } = state;
    pace.end();
    vi.advanceTimersByTime(60_000);
    expect([state.left, all.chars, asked]).toEqual([left, 0, []]);
  });

  it('in whichever order clients take what they are sent, every stream is sent whole, and no more is on its way than its window, and of all than the bound and a step of each [limits.slow-readers]', () => {
    forAll(
      [
        fc.array(fc.integer({ min: 1, max: 3_000 }), { minLength: 1, maxLength: 400 }),
        fc.infiniteStream(fc.nat()),
      ],
      { numRuns: 10 },
      (sizes, choices) => {
        const all = new OnTheWay();
        const streams = sizes.map(() => stream(all));
        for (const [i, one] of streams.entries()) one.send(sizes[i]!);
        let open = streams;
        while (open.length > 0) {
          const one = open[choices.next().value % open.length]!;
          // Its client takes what it was asked about; a stream that waits has always asked for something.
          if (one.acknowledged.length === 0) expect(one.state.waits).toBe(false);
          else one.pace.taken(one.acknowledged.shift()!);
          open = open.filter(({ state, acknowledged }) => state.waits || acknowledged.length > 0);
        }
        for (const [i, { pace }] of streams.entries()) expect(pace.sent).toBe(sizes[i]! * KIB);
        expect(all.most).toBeLessThanOrEqual(MUCH + sizes.length * (STEP + 2 * KIB));
        for (const { pace } of streams) pace.end();
        expect(all.chars).toBe(0);
      },
    );
  });
});

describe('what streams keep until their end', () => {
  it('beyond the bound the one that keeps most lets go, and the others go on [limits.slow-readers]', () => {
    const kept = new KeptByStreams(100);
    const gone: string[] = [];
    const [a, b, c] = ['a', 'b', 'c'].map((name) => kept.open('org', () => gone.push(name)));
    a!.set(30);
    b!.set(60);
    expect([gone, kept.chars]).toEqual([[], 90]);
    c!.set(20);
    expect([gone, kept.chars]).toEqual([['b'], 50]);
    b!.set(70);
    expect(kept.chars).toBe(50);
    a!.release();
    c!.release();
    b!.release();
    expect(kept.chars).toBe(0);
  });

  it('lets go of what the organisation keeps that keeps most, never of the one long stream of another', () => {
    const kept = new KeptByStreams(1_000);
    const gone: string[] = [];
    const other = kept.open('other', () => gone.push('other'));
    other.set(28);
    const many = Array.from({ length: 50 }, () => kept.open('many', () => gone.push('many')));
    for (const one of many) one.set(27);
    expect(new Set(gone)).toEqual(new Set(['many']));
    expect(kept.chars).toBeLessThanOrEqual(1_000);
    other.release();
    for (const one of many) one.release();
    expect(kept.chars).toBe(0);
  });
});
