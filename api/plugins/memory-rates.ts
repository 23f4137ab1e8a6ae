import { SecondChanceMap } from '#api/auth/second-chance-map.ts';
import type { Rate } from '#shared/kernel/plan.ts';

/** About 10 MB of names. */
const NAMES_MAX = 50_000;

/** Rates by name, in the memory of this process: what is refused asks no store. */
export class MemoryRates {
  readonly #intervalMs: number;
  readonly #burst: number;
  readonly #now: () => number;
  /** When the next arrival of a name is due, as in admission.lua. */
  readonly #due = new SecondChanceMap<number>(NAMES_MAX);

  /** `now` in monotonic milliseconds. */
  constructor({ requestsPerSecond, burst }: Rate, now: () => number = () => performance.now()) {
    this.#intervalMs = 1_000 / requestsPerSecond;
    this.#burst = burst;
    this.#now = now;
  }

  /** Counts a request that weighs so much; returns in how many milliseconds it would be taken, 0 when it is. */
  take(name: string, weight = 1): number {
    const waitMs = this.waitOf(name);
    if (waitMs === 0) this.spend(name, weight);
    return waitMs;
  }

  /** Counts what was taken already: its weight is known only now. */
  spend(name: string, weight: number): void {
    this.#due.set(name, this.#now() + this.#aheadMs(name) + weight * this.#intervalMs);
  }

  /** The same as `take` without counting it. */
  waitOf(name: string): number {
    return Math.max(0, Math.ceil(this.#aheadMs(name) - (this.#burst - 1) * this.#intervalMs));
  }

  // A difference: a full bucket is exactly zero ahead at any time of the clock.
  #aheadMs(name: string): number {
    return Math.max(0, (this.#due.get(name) ?? 0) - this.#now());
  }
}
