import { firstReceiptIdAt, isId, timeOfId } from '#shared/kernel/ids.ts';

/** Promises that a look misses are found by the next sweep: a fifth of the maximum merge delay. */
const SWEEP_MS = 2_000;
/** How much older than the newest promise of the last look another may be to be found without a sweep. */
const LOOK_BACK_MS = 2_000;

/**
 * Where to look for promises. Ids begin with a time, so new promises lie at the end of the index; before them lie those
 * that were kept, dead until the next vacuum, and a look from the beginning passes them all: at thousands of receipts
 * per second that was nearly half of what integration cost the database. Only a sweep looks from the beginning, for
 * the receipts of requests that took long and of databases that were away.
 */
export class ClaimWindow {
  readonly #now: () => number;
  #sweptAt = -Infinity;
  #newestMs = -Infinity;

  /** `now` in monotonic milliseconds. */
  constructor(now: () => number) {
    this.#now = now;
  }

  /** The smallest receipt id to look at now; '' for all. */
  next(): string {
    if (this.#now() - this.#sweptAt >= SWEEP_MS || this.#newestMs === -Infinity) {
      this.#sweptAt = this.#now();
      return '';
    }
    return firstReceiptIdAt(Math.max(0, this.#newestMs - LOOK_BACK_MS));
  }

  /**
   * Takes note of the newest receipt id that a look has found, if it found any. Not the newest ever: an id from a clock
   * that is ahead must not hide the others for long.
   */
  found(newest: string | undefined): void {
    if (newest !== undefined && isId('rcpt', newest)) this.#newestMs = timeOfId(newest);
  }
}
