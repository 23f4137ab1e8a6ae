/** What one stream keeps until its end. */
export interface Kept {
  /** So many characters are kept now. */
  set(chars: number): void;
  /** Nothing is kept any more. */
  release(): void;
}

interface Keeper {
  chars: number;
  letGo: () => void;
}

/**
 * Bounds what the streams of one worker keep until their end, in characters. Beyond the bound the one that keeps most has
 * to let go: those of others go on as they were.
 */
export class KeptByStreams {
  readonly #charsMax: number;
  readonly #keepers = new Set<Keeper>();
  #chars = 0;

  constructor(charsMax: number) {
    this.#charsMax = charsMax;
  }

  get chars(): number {
    return this.#chars;
  }

  /** `letGo` is called when this is the one that keeps most; it counts nothing from then on. */
  open(letGo: () => void): Kept {
    const keeper: Keeper = { chars: 0, letGo };
    this.#keepers.add(keeper);
    return {
      set: (chars) => {
        if (!this.#keepers.has(keeper)) return;
        this.#count(keeper, chars);
        if (this.#chars > this.#charsMax) this.#cutLargest();
      },
      release: () => this.#forget(keeper),
    };
  }

  #cutLargest(): void {
    const largest = [...this.#keepers].reduce((most, one) => (one.chars > most.chars ? one : most));
    this.#forget(largest);
    largest.letGo();
  }

  #forget(keeper: Keeper): void {
    this.#count(keeper, 0);
    this.#keepers.delete(keeper);
  }

  #count(keeper: Keeper, chars: number): void {
    this.#chars += chars - keeper.chars;
    keeper.chars = chars;
  }
}
