export interface AlarmOptions {
  /** Monotonic milliseconds. */
  now: () => number;
  /** Who was rung looks often for so long. */
  awakeMs: number;
  /** Ends every pause. */
  signal: AbortSignal;
}

/** Lets who looks for work sleep while there is none, and wakes them when there is. They begin awake. */
export class Alarm {
  readonly #options: AlarmOptions;
  #awakeUntil: number;
  #rung = false;
  #end = (): void => {};

  constructor(options: AlarmOptions) {
    const { now, awakeMs, signal } = options;
    this.#options = options;
    this.#awakeUntil = now() + awakeMs;
    signal.addEventListener('abort', () => this.#end(), { once: true });
  }

  get isAwake(): boolean {
    return this.#options.now() < this.#awakeUntil;
  }

  /** There is work, and more may follow. Who sleeps wakes now; who is awake finds it at the next look. */
  ring(): void {
    const wasAwake = this.isAwake;
    this.#awakeUntil = this.#options.now() + this.#options.awakeMs;
    if (wasAwake) return;
    this.#rung = true;
    this.#end();
  }

  /** Resolves after this time, or when a sleeper is rung, also just before. */
  async pause(ms: number): Promise<void> {
    if (!this.#rung && !this.#options.signal.aborted) {
      const { promise, resolve } = Promise.withResolvers<void>();
      const timer = setTimeout(resolve, ms);
      this.#end = resolve;
      await promise;
      clearTimeout(timer);
    }
    this.#rung = false;
  }
}
