/**
 * So many characters of a stream may be on their way to its client before its upstream is read no further: enough for
 * megabytes a second with an api process that answers within milliseconds.
 */
const WINDOW_CHARS = 256 * 1024;
/** After so many the api process is asked to say when its client has taken them. Most streams are shorter, and pay nothing. */
const STEP_CHARS = 64 * 1024;
/** Where more of all streams is on its way, each waits once it has sent a step that was not taken. */
const CHARS_OF_ALL_MAX = 64 * 1024 * 1024;
/** What has not been heard for so long is asked for again: question or answer may be lost, and the api process gone. */
const ASK_MS = 5_000;

/** What the reader of an upstream's stream asks before it reads on. */
export interface Pace {
  /** The stream is ahead of its client: no more should be read until `whenCaughtUp` has called back. */
  readonly isAhead: boolean;
  /** Calls back, once, when the client has caught up. */
  whenCaughtUp(resume: () => void): void;
}

/** What the streams of one worker have on its way to their clients, in characters. */
export class OnTheWay {
  #chars = 0;
  #most = 0;

  get chars(): number {
    return this.#chars;
  }

  /** The most there ever was at once. */
  get most(): number {
    return this.#most;
  }

  add(chars: number): void {
    this.#chars += chars;
    this.#most = Math.max(this.#most, this.#chars);
  }
}

/** Keeps a stream close to its client, who may read more slowly than the upstream writes. */
export class StreamPace implements Pace {
  readonly #all: OnTheWay;
  readonly #askAgain: () => void;
  #sent = 0;
  #asked = 0;
  #taken = 0;
  #resume: (() => void) | undefined;
  #asking: NodeJS.Timeout | undefined;

  /** `askAgain` is called now and then while the stream waits for its client. */
  constructor(all: OnTheWay, askAgain: () => void) {
    this.#all = all;
    this.#askAgain = askAgain;
  }

  /** Characters sent so far. */
  get sent(): number {
    return this.#sent;
  }

  /** Counts what is sent. Returns whether the api process is to say when its client has everything up to here. */
  send(chars: number): boolean {
    this.#sent += chars;
    this.#all.add(chars);
    if (this.#sent - this.#asked < STEP_CHARS) return false;
    this.#asked = this.#sent;
    return true;
  }

  /** The client has everything up to here, or will never have it. */
  taken(chars: number): void {
    const taken = Math.min(chars, this.#sent);
    if (taken <= this.#taken) return;
    this.#all.add(this.#taken - taken);
    this.#taken = taken;
    const resume = this.#resume;
    if (resume === undefined || this.isAhead) return;
    this.#wait(undefined);
    resume();
  }

  get isAhead(): boolean {
    const window = this.#all.chars > CHARS_OF_ALL_MAX ? STEP_CHARS : WINDOW_CHARS;
    return this.#sent - this.#taken > window;
  }

  /** What waits here goes on by its own client's taking alone: no other stream can hold it up. */
  whenCaughtUp(resume: () => void): void {
    this.#wait(resume);
  }

  /** The stream is over: nothing waits any more. */
  end(): void {
    this.#wait(undefined);
    this.taken(this.#sent);
  }

  #wait(resume: (() => void) | undefined): void {
    this.#resume = resume;
    clearInterval(this.#asking);
    this.#asking = resume && setInterval(this.#askAgain, ASK_MS);
  }
}
