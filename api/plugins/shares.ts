/**
 * Shares of something that there is so much of. A caller has at most a part of as much as is free then. Where that is a
 * quarter, as unless said otherwise, it is alone a fifth of all, and each further one that takes what it can has a fifth of
 * what is left, so that it needs dozens of them to keep out one that comes.
 */
export class Shares {
  readonly #max: number;
  readonly #partOfFree: number;
  readonly #ofCaller = new Map<string, number>();
  #all = 0;

  constructor(max: number, partOfFree = 1 / 4) {
    this.#max = max;
    this.#partOfFree = partOfFree;
  }

  /** Takes one, or says whose bound is reached. Without a caller it is bounded with all alone. */
  take(caller: string | undefined): 'address' | 'all' | undefined {
    const free = this.#max - this.#all;
    if (free <= 0) return 'all';
    if (caller !== undefined) {
      const taken = this.#ofCaller.get(caller) ?? 0;
      if (taken >= free * this.#partOfFree) return 'address';
      this.#ofCaller.set(caller, taken + 1);
    }
    this.#all += 1;
    return undefined;
  }

  giveBack(caller: string | undefined): void {
    this.#all -= 1;
    if (caller === undefined) return;
    const left = this.#ofCaller.get(caller)! - 1;
    if (left === 0) this.#ofCaller.delete(caller);
    else this.#ofCaller.set(caller, left);
  }
}
