import { setTimeout as sleep } from 'node:timers/promises';
import { afterOthers } from '#primitives';

/** So many characters streams read in one turn of the event loop, beside the share of each: some milliseconds of work. */
export const TURN_CHARS = 262_144;
/** What an event costs beside its characters: a token of a few of them is as much work as so many in a large event. */
export const EVENT_CHARS = 1_024;
/**
 * What is beyond the share of each stream is read no faster than this. All of it passes through Redis and the api processes,
 * which others need too; in frames of tokens it is more than a worker can read.
 */
const CHARS_PER_MS = 16_384;

/** Of the steady clock, in milliseconds. */
export interface Clock {
  now: () => number;
  sleep: (ms: number) => Promise<unknown>;
}

const CLOCK: Clock = { now: () => performance.now(), sleep };

/**
 * Bounds what the streams of one worker read in one turn of its event loop, so that everything else waits for a part of
 * what has come and not for all of it. What is beyond the bound is read in turns to come, the streams in the order in which
 * they began to wait. A turn is counted where one is waited for: what is read without any wait until then is of the same.
 */
export class StreamTurns {
  readonly #whenRoom: () => Promise<void>;
  readonly #clock: Clock;
  readonly #waiting = new Set<() => void>();
  #left = TURN_CHARS;
  /** Characters of this turn, without what events cost beside theirs, and when it began. */
  #chars = 0;
  #begunAt = -Infinity;
  #number = 0;
  #isGiving = false;

  /** `whenRoom` resolves when more may be sent on: what has been read is in memory until then. */
  constructor(whenRoom: () => Promise<void>, clock: Clock = CLOCK) {
    this.#whenRoom = whenRoom;
    this.#clock = clock;
  }

  /** Of this turn. */
  get number(): number {
    return this.#number;
  }

  /** There is no more in this turn than what others wait for. */
  get isOver(): boolean {
    return this.#left <= 0 || this.#waiting.size > 0;
  }

  /** Counts characters that are read. */
  read(chars: number): void {
    this.#left -= chars;
    this.#chars += chars;
  }

  /** Counts an event among them. */
  event(): void {
    this.#left -= EVENT_CHARS;
  }

  /** Calls back, once, when a stream may read on by a share. */
  wait(go: () => void): void {
    this.#waiting.add(go);
    if (!this.#isGiving) void this.#give();
  }

  /** Waits no more. */
  leave(go: () => void): void {
    this.#waiting.delete(go);
  }

  async #give(): Promise<void> {
    this.#isGiving = true;
    while (this.#waiting.size > 0) {
      await this.#whenRoom();
      await this.#keepPace();
      // Not in line with long work: what is counted of a hundred streams would make each of these turns as long.
      await new Promise<void>(afterOthers);
      this.#number += 1;
      this.#left = TURN_CHARS;
      // One that has more waits again, behind the others.
      for (const go of this.#waiting) {
        if (this.#left <= 0) break;
        this.#waiting.delete(go);
        this.#left -= EVENT_CHARS;
        go();
      }
    }
    this.#isGiving = false;
  }

  async #keepPace(): Promise<void> {
    const { now, sleep: wait } = this.#clock;
    // What shares bring beyond it delays no turn, in which each of them is renewed.
    const chars = Math.min(this.#chars, TURN_CHARS);
    const waitMs = this.#begunAt + chars / CHARS_PER_MS - now();
    if (waitMs > 0) await wait(waitMs);
    this.#begunAt = now();
    this.#chars = 0;
  }
}
