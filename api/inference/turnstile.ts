/**
 * Lets large requests in to be read: one of an organisation at a time, in the order in which they came, so
 * that an organisation with many of them waits for itself. Those that wait hold their bytes and nothing more.
 */
export class Turnstile {
  readonly #insideMax: number;
  readonly #inside = new Set<string>();
  readonly #waiting: { orgId: string; enter: () => void }[] = [];

  /** `insideMax`: how many are read at once, of different organisations. */
  constructor(insideMax: number) {
    this.#insideMax = insideMax;
  }

  /** Resolves when this request may be read; to be followed by `leave`. */
  async enter(orgId: string): Promise<void> {
    if (!this.#isFree(orgId)) {
      await new Promise<void>((enter) => this.#waiting.push({ orgId, enter }));
      return;
    }
    this.#inside.add(orgId);
  }

  leave(orgId: string): void {
    this.#inside.delete(orgId);
    const next = this.#waiting.findIndex((one) => this.#isFree(one.orgId));
    if (next === -1) return;
    const [one] = this.#waiting.splice(next, 1);
    this.#inside.add(one!.orgId);
    one!.enter();
  }

  #isFree(orgId: string): boolean {
    return this.#inside.size < this.#insideMax && !this.#inside.has(orgId);
  }
}
