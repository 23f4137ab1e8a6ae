import { EVENT_CHARS, type StreamTurns } from './stream-turns.ts';

/**
 * So many characters of a stream may be on their way to its client before its upstream is read no further: enough for
 * megabytes a second with an api process that answers within milliseconds.
 */
const WINDOW_CHARS = 256 * 1024;
/** After so many the api process is asked to say when its client has taken them. Most streams are shorter, and pay nothing. */
const STEP_CHARS = 64 * 1024;
/**
 * Where more of all streams is on its way, each waits once it has sent a step that was not taken. What is on its way is read
 * in its order, so an answer to another caller stands behind all of it: so much is read in some 100 ms.
 */
const CHARS_OF_ALL_MAX = 8 * 1024 * 1024;
/** What has not been heard for so long is asked for again: question or answer may be lost, and the api process gone. */
const ASK_MS = 5_000;
/**
 * So many characters each stream may read in any turn of the event loop, however much others read: a stream of tokens waits
 * for none of them, and a thousand streams read no more than a few times what a turn has.
 */
export const SHARE_CHARS = 4_096;

/** What the reader of an upstream's stream asks before it reads on. */
export interface Pace {
  /** Counts characters that are read of an upstream. */
  read(chars: number): void;
  /** Counts an event among them. */
  event(): void;
  /**
   * The stream is ahead of its client, or of the other streams of its worker: no more should be read until `whenCaughtUp` has
   * called back.
   */
  readonly isAhead: boolean;
  /** Calls back, once, when the client has caught up, or the others had their turn. */
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

/** What the streams of one worker share. */
export interface SharedByStreams {
  onTheWay: OnTheWay;
  turns: StreamTurns;
}

/**
 * Keeps a stream close to its client, who may read more slowly than the upstream writes, and to the other streams of its
 * worker, which have their turns.
 */
export class StreamPace implements Pace {
  readonly #all: OnTheWay;
  readonly #turns: StreamTurns;
  readonly #askAgain: () => void;
  #sent = 0;
  #asked = 0;
  #taken = 0;
  #resume: (() => void) | undefined;
  /** The turn of which it last read, and what is left of its share there. */
  #turn = -1;
  #share = 0;
  #onTurn: (() => void) | undefined;
  #asking: NodeJS.Timeout | undefined;

  /** `askAgain` is called now and then while the stream waits for its client. */
  constructor({ onTheWay, turns }: SharedByStreams, askAgain: () => void) {
    this.#all = onTheWay;
    this.#turns = turns;
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
    if (resume === undefined || this.#isAheadOfClient) return;
    this.#wait(undefined);
    resume();
  }

  read(chars: number): void {
    this.#shareOfTurn(chars);
    this.#turns.read(chars);
  }

  event(): void {
    this.#shareOfTurn(EVENT_CHARS);
    this.#turns.event();
  }

  get isAhead(): boolean {
    return this.#isAheadOfClient || this.#isAheadOfOthers;
  }

  /** What waits for its client goes on by that one's taking alone: no other stream can hold it up. */
  whenCaughtUp(resume: () => void): void {
    if (this.#isAheadOfClient) return this.#wait(resume);
    this.#onTurn = () => {
      this.#beginShare();
      resume();
    };
    this.#turns.wait(this.#onTurn);
  }

  get #isAheadOfClient(): boolean {
    const window = this.#all.chars > CHARS_OF_ALL_MAX ? STEP_CHARS : WINDOW_CHARS;
    return this.#sent - this.#taken > window;
  }

  get #isAheadOfOthers(): boolean {
    return this.#share <= 0 && this.#turn === this.#turns.number && this.#turns.isOver;
  }

  #shareOfTurn(chars: number): void {
    if (this.#turn !== this.#turns.number) this.#beginShare();
    this.#share -= chars;
  }

  #beginShare(): void {
    this.#turn = this.#turns.number;
    this.#share = SHARE_CHARS;
  }

  /** The stream is over: nothing waits any more. */
  end(): void {
    this.#wait(undefined);
    if (this.#onTurn !== undefined) this.#turns.leave(this.#onTurn);
    this.taken(this.#sent);
  }

  #wait(resume: (() => void) | undefined): void {
    this.#resume = resume;
    clearInterval(this.#asking);
    this.#asking = resume && setInterval(this.#askAgain, ASK_MS);
  }
}
