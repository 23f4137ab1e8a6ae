/** An answer of up to this size is read however little room there is: most are far smaller, and it goes into one message. */
const SMALL_BYTES = 256 * 1024;

/** What the reader of an upstream's answer asks before it reads on. */
export interface AnswerHold {
  /** Counts bytes that have come. False when no more should be read until `whenRoom` has called back. */
  take(bytes: number): boolean;
  /** Calls back, once, when there is room again. */
  whenRoom(resume: () => void): void;
}

/**
 * Bounds the bytes of large answers that one worker has in hand, from their arrival until they are in Redis. When there is
 * no room, answers are not read on: their upstreams wait, with their connections open. The one that was large first may
 * always go on, so that what waits for room gets it.
 */
export class AnswerRoom {
  readonly #bytesMax: number;
  /** The holds of large answers, oldest first. */
  readonly #large = new Set<Hold>();
  #taken = 0;
  #most = 0;

  constructor(bytesMax: number) {
    this.#bytesMax = bytesMax;
  }

  /** Bytes of all answers in hand. */
  get taken(): number {
    return this.#taken;
  }

  /** The most that was ever in hand at once. */
  get most(): number {
    return this.#most;
  }

  /** Room for the answers of one request, one after the other. */
  open(): AnswerHold & { release(): void } {
    return new Hold(
      (hold, bytes) => this.#take(hold, bytes),
      (hold) => this.#release(hold),
    );
  }

  #take(hold: Hold, bytes: number): boolean {
    hold.bytes += bytes;
    this.#taken += bytes;
    this.#most = Math.max(this.#most, this.#taken);
    if (hold.bytes > SMALL_BYTES) this.#large.add(hold);
    return this.#mayGoOn(hold);
  }

  #release(hold: Hold): void {
    this.#taken -= hold.bytes;
    hold.bytes = 0;
    this.#large.delete(hold);
    for (const waiting of this.#large) {
      if (!this.#mayGoOn(waiting)) break;
      waiting.goOn();
    }
  }

  #mayGoOn(hold: Hold): boolean {
    if (hold.bytes <= SMALL_BYTES || this.#taken <= this.#bytesMax) return true;
    const [oldest] = this.#large;
    return hold === oldest;
  }
}

class Hold implements AnswerHold {
  bytes = 0;
  readonly #take: (hold: Hold, bytes: number) => boolean;
  readonly #release: (hold: Hold) => void;
  #resume: (() => void) | undefined;

  constructor(take: (hold: Hold, bytes: number) => boolean, release: (hold: Hold) => void) {
    this.#take = take;
    this.#release = release;
  }

  take(bytes: number): boolean {
    return this.#take(this, bytes);
  }

  whenRoom(resume: () => void): void {
    this.#resume = resume;
  }

  goOn(): void {
    const resume = this.#resume;
    this.#resume = undefined;
    resume?.();
  }

  /** What was read is in Redis, or of no use. */
  release(): void {
    this.#resume = undefined;
    this.#release(this);
  }
}
