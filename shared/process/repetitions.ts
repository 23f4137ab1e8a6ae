/** How often a state that lasts is told again, with how many lines it would have been. */
const WINDOW_MS = 10_000;
/** More different lines at once than any fault has; those beyond are counted together. */
const KEYS_MAX = 256;
const OTHERS = 'others';

/** A line of this key has been counted `times` since it was last written. */
export type TellCount = (times: number) => void;

interface Repeated {
  written: number;
  counted: number;
  tell: TellCount;
}

/**
 * Keeps a state that lasts from filling the log: a store that is away is one line when it goes and a count every ten
 * seconds, not a line for every request, loop and connection that notices. Lines are alike when they have one key. A key
 * that was not seen for ten seconds is new again.
 */
export class Repetitions {
  readonly #lines = new Map<string, Repeated>();
  #timer: NodeJS.Timeout | undefined;

  /**
   * True when the line is to be written.
   * @param most how many lines of this key are written in ten seconds; further ones are counted
   * @param tell called with the count at the end of the ten seconds; the last one given is called
   */
  admit(key: string, most: number, tell: TellCount): boolean {
    const known = this.#lines.has(key) || this.#lines.size < KEYS_MAX;
    const line = this.#lineOf(known ? key : OTHERS);
    this.#timer ??= setInterval(() => this.#endWindow(), WINDOW_MS).unref();
    if (line.written < most) {
      line.written += 1;
      return true;
    }
    line.counted += 1;
    line.tell = tell;
    return false;
  }

  #lineOf(key: string): Repeated {
    let line = this.#lines.get(key);
    if (line === undefined) {
      line = { written: 0, counted: 0, tell: () => {} };
      this.#lines.set(key, line);
    }
    return line;
  }

  #endWindow(): void {
    for (const [key, line] of this.#lines) {
      // Nothing more than what was written: the next line is news again. What goes on has its count told.
      if (line.counted === 0) this.#lines.delete(key);
      else line.tell(line.counted);
      line.counted = 0;
    }
    if (this.#lines.size > 0) return;
    clearInterval(this.#timer);
    this.#timer = undefined;
  }
}
