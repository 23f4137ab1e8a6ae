/** What one stream keeps until its end. */
export interface Kept {
  /** So many characters are kept now. */
  set(chars: number): void;
  /** Nothing is kept any more. */
  release(): void;
}

interface Keeper {
  orgId: string;
  chars: number;
  letGo: () => void;
}

/**
 * Bounds what the streams of one worker keep until their end, in characters. Beyond the bound the one that keeps most has
 * to let go, of the organisation whose streams keep most together: those of others go on as they were.
 */
export class KeptByStreams {
  readonly #charsMax: number;
  readonly #keepers = new Set<Keeper>();
  readonly #ofOrganisations = new Map<string, number>();
  #chars = 0;

  constructor(charsMax: number) {
    this.#charsMax = charsMax;
  }

  get chars(): number {
    return this.#chars;
  }

  /** `letGo` is called when this is the one that has to; it counts nothing from then on. */
  open(orgId: string, letGo: () => void): Kept {
    const keeper: Keeper = { orgId, chars: 0, letGo };
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
    const [orgId] = [...this.#ofOrganisations].reduce((most, one) =>
      one[1] > most[1] ? one : most,
    );
    const largest = [...this.#keepers]
      .filter((one) => one.orgId === orgId)
      .reduce((most, one) => (one.chars > most.chars ? one : most));
    this.#forget(largest);
    largest.letGo();
  }

  #forget(keeper: Keeper): void {
    this.#count(keeper, 0);
    this.#keepers.delete(keeper);
  }

  #count(keeper: Keeper, chars: number): void {
    const { orgId } = keeper;
    const more = chars - keeper.chars;
    this.#chars += more;
    const ofOrganisation = (this.#ofOrganisations.get(orgId) ?? 0) + more;
    if (ofOrganisation === 0) this.#ofOrganisations.delete(orgId);
    else this.#ofOrganisations.set(orgId, ofOrganisation);
    keeper.chars = chars;
  }
}
