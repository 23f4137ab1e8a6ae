/** Keeps a stream at its rate: the n-th turn comes n intervals after the first, however late timers are. */
export class Pacer {
  readonly #intervalMs: number;
  #startedAt: number | undefined;
  #turns = 0;
  #timer: NodeJS.Timeout | undefined;
  #wake: (() => void) | undefined;
  #stopped = false;

  /** @param tokensPerSecond 0 for no pacing */
  constructor(tokensPerSecond: number) {
    this.#intervalMs = tokensPerSecond > 0 ? 1000 / tokensPerSecond : 0;
  }

  /** Waits for the next turn; `undefined` when it is due already. */
  turn(): Promise<void> | undefined {
    if (this.#intervalMs === 0) return undefined;
    const now = performance.now();
    this.#startedAt ??= now;
    this.#turns += 1;
    const waitMs = this.#startedAt + this.#turns * this.#intervalMs - now;
    return waitMs < 1 ? undefined : this.sleep(waitMs);
  }

  /** Waits, or returns at once when stopped. */
  sleep(ms: number): Promise<void> | undefined {
    if (this.#stopped) return undefined;
    return new Promise((resolve) => {
      this.#wake = resolve;
      this.#timer = setTimeout(resolve, ms);
    });
  }

  /** Ends the current wait and every later one: the client is gone. */
  stop(): void {
    this.#stopped = true;
    clearTimeout(this.#timer);
    this.#wake?.();
  }
}
