/**
 * Lets requests in to what few can have at once: a bounded number of an organisation at a time, and of those that wait the
 * first of the organisation that was let in longest ago, so that one with many of them waits for itself.
 */
export class FairQueue {
  readonly #insideMax: number;
  readonly #ofOneMax: number;
  readonly #inside = new Map<string, number>();
  #insideCount = 0;
  readonly #waiting: { orgId: string; enter: () => void }[] = [];
  /** Which turn it was when an organisation that has any inside, or waiting, was let in last. */
  readonly #lastTurns = new Map<string, number>();
  #turn = 0;

  /** `insideMax`: how many are in at once; `ofOneMax`: how many of one organisation. */
  constructor(insideMax: number, ofOneMax: number = 1) {
    this.#insideMax = insideMax;
    this.#ofOneMax = ofOneMax;
  }

  /** Resolves when this request may go in; to be followed by `leave`. */
  async enter(orgId: string): Promise<void> {
    if (!this.#isFree(orgId)) {
      await new Promise<void>((enter) => this.#waiting.push({ orgId, enter }));
      return;
    }
    this.#count(orgId, 1);
  }

  /** Does one thing inside, when it is its turn. */
  async run<T>(orgId: string, work: () => Promise<T>): Promise<T> {
    await this.enter(orgId);
    try {
      return await work();
    } finally {
      this.leave(orgId);
    }
  }

  leave(orgId: string): void {
    this.#count(orgId, -1);
    const free = this.#waiting.filter((one) => this.#isFree(one.orgId));
    // A sort is stable: of one organisation, and of those that had no turn yet, the first that came is first.
    const [one] = free.toSorted((a, b) => this.#lastTurnOf(a) - this.#lastTurnOf(b));
    if (one !== undefined) {
      this.#waiting.splice(this.#waiting.indexOf(one), 1);
      this.#count(one.orgId, 1);
      one.enter();
    }
    const isThere = this.#inside.has(orgId) || this.#waiting.some((other) => other.orgId === orgId);
    if (!isThere) this.#lastTurns.delete(orgId);
  }

  #lastTurnOf({ orgId }: { orgId: string }): number {
    return this.#lastTurns.get(orgId) ?? 0;
  }

  #isFree(orgId: string): boolean {
    return this.#insideCount < this.#insideMax && (this.#inside.get(orgId) ?? 0) < this.#ofOneMax;
  }

  #count(orgId: string, by: 1 | -1): void {
    this.#insideCount += by;
    const now = (this.#inside.get(orgId) ?? 0) + by;
    if (now === 0) this.#inside.delete(orgId);
    else this.#inside.set(orgId, now);
    if (by === -1) return;
    this.#turn += 1;
    this.#lastTurns.set(orgId, this.#turn);
  }
}
