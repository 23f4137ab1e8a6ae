const PART_OF_FREE = 1 / 4;

/**
 * Shares of something that there is so much of. A caller has at most a quarter as much as is free then: alone a fifth of all,
 * and each further one that takes what it can a fifth of what is left, so that it needs dozens of them to keep out one that
 * comes.
 */
export class Shares {
  readonly #max: number;
  readonly #ofCaller = new Map<string, number>();
  #all = 0;

  constructor(max: number) {
    this.#max = max;
  }

  /**
   * Takes one, or says whose bound is reached. Without a caller it is bounded with all alone; one may have another part of
   * what is free than others.
   */
  take(caller: string | undefined, partOfFree = PART_OF_FREE): 'address' | 'all' | undefined {
    const free = this.#max - this.#all;
    if (free <= 0) return 'all';
    if (caller !== undefined) {
      const taken = this.#ofCaller.get(caller) ?? 0;
      if (taken >= free * partOfFree) return 'address';
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
