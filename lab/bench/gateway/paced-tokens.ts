/** The stream that the upstream paces and the load reads: so many tokens, so far apart. */
export const TOKENS = 60;
export const PACE_MS = 20;

const MARK = '@@';
const DIGITS = 16;
const LENGTH = MARK.length + 2 + DIGITS;

/** Microseconds of the clock that all processes of a machine share. */
export function nowUs(): number {
  return Number(process.hrtime.bigint() / 1_000n);
}

/** The text of a token: its number, and the moment at which it is written. */
export function stamp(number: number): string {
  return `${MARK}${String(number).padStart(2, '0')}${String(nowUs()).padStart(DIGITS, '0')}`;
}

/** Finds the stamps in pieces of a stream, however the gateway in between has cut its frames. */
export class StampReader {
  readonly #onStamp: (number: number, writtenUs: number) => void;
  /** The end of the last piece, which may be the begin of a stamp, or of the end of the stream. */
  #held = '';

  constructor(onStamp: (number: number, writtenUs: number) => void) {
    this.#onStamp = onStamp;
  }

  read(piece: Buffer): void {
    const text = this.#held + piece.toString('latin1');
    let from = 0;
    for (;;) {
      const at = text.indexOf(MARK, from);
      if (at === -1 || at + LENGTH > text.length) break;
      from = at + LENGTH;
      const digits = at + MARK.length;
      this.#onStamp(Number(text.slice(digits, digits + 2)), Number(text.slice(digits + 2, from)));
    }
    this.#held = text.slice(Math.max(from, text.length - LENGTH));
  }

  /** Whether the stream has ended as it should. The next one begins. */
  end(): boolean {
    const whole = this.#held.includes('[DONE]');
    this.#held = '';
    return whole;
  }
}
