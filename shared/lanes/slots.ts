/** Counts what a worker can still take on. A reader asks for as much as is free and waits while nothing is. */
export class Slots {
  readonly #size: number;
  #taken = 0;
  #waiting: (() => void)[] = [];

  constructor(size: number) {
    this.#size = size;
  }

  get free(): number {
    return Math.max(0, this.#size - this.#taken);
  }

  take(count: number = 1): void {
    this.#taken += count;
  }

  release(count: number = 1): void {
    this.#taken -= count;
    this.#wake();
  }

  /** Resolves once a slot is free. */
  async whenFree(): Promise<void> {
    while (this.free === 0) await new Promise<void>((resolve) => this.#waiting.push(resolve));
  }

  /** Resolves once nothing is taken: the drain of a stopping worker. */
  async whenIdle(): Promise<void> {
    while (this.#taken > 0) await new Promise<void>((resolve) => this.#waiting.push(resolve));
  }

  #wake(): void {
    const waiting = this.#waiting;
    this.#waiting = [];
    for (const resolve of waiting) resolve();
  }
}
