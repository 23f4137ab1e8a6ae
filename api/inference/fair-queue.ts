/**
 * Lets requests in to what few can have at once: a bounded number of an organisation at a time, in the order in which they
 * came, so that an organisation with many of them waits for itself.
 */
export class FairQueue {
  readonly #insideMax: number;
  readonly #ofOneMax: number;
  readonly #inside = new Map<string, number>();
  #insideCount = 0;
  readonly #waiting: { orgId: string; enter: () => void }[] = [];

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

  leave(orgId: string): void {
    this.#count(orgId, -1);
    const next = this.#waiting.findIndex((one) => this.#isFree(one.orgId));
    if (next === -1) return;
    const [one] = this.#waiting.splice(next, 1);
    this.#count(one!.orgId, 1);
    one!.enter();
  }

  #isFree(orgId: string): boolean {
    return this.#insideCount < this.#insideMax && (this.#inside.get(orgId) ?? 0) < this.#ofOneMax;
  }

  #count(orgId: string, by: 1 | -1): void {
    this.#insideCount += by;
    const now = (this.#inside.get(orgId) ?? 0) + by;
    if (now === 0) this.#inside.delete(orgId);
    else this.#inside.set(orgId, now);
  }
}
