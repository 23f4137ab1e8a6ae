import { SecondChanceMap } from '#api/auth/second-chance-map.ts';
import type { Attempts } from '#shared/persons/postgres/persons.ts';

/** About 10 MB of names that have had enough: far more than are refused within a minute. */
const REFUSED_MAX = 50_000;
const REMEMBERED_MS_MAX = 60_000;

/**
 * Counts attempts where `take` keeps them, over all processes, and remembers here which names have had enough: a flood of
 * what is refused asks no store. A wait never becomes shorter, so what is remembered stays true.
 */
export class AttemptCounter {
  readonly #take: (name: string, rate: Attempts) => Promise<number>;
  readonly #now: () => number;
  /** One after the other: those that wait for one row would hold every connection that pages have. */
  readonly #counting = new Map<string, Promise<void>>();
  /** Until when a name is refused. */
  readonly #refused = new SecondChanceMap<number>(REFUSED_MAX);

  /** `now` in monotonic milliseconds. */
  constructor(
    take: (name: string, rate: Attempts) => Promise<number>,
    now: () => number = () => performance.now(),
  ) {
    this.#take = take;
    this.#now = now;
  }

  /** Counts an attempt; returns in how many milliseconds there is one again, 0 when it is taken. */
  async take(name: string, rate: Attempts): Promise<number> {
    while (this.#counting.has(name)) await this.#counting.get(name);
    const remembered = this.#waitOf(name);
    if (remembered > 0) return remembered;
    const counting = Promise.withResolvers<void>();
    this.#counting.set(name, counting.promise);
    try {
      const waitMs = await this.#take(name, rate);
      if (waitMs > 0) this.#refused.set(name, this.#now() + Math.min(waitMs, REMEMBERED_MS_MAX));
      return waitMs;
    } finally {
      this.#counting.delete(name);
      counting.resolve();
    }
  }

  /** Counts an attempt under each name; false when one of them has had enough, and then those behind it are not counted. */
  async takeEach(attempts: readonly (readonly [string, Attempts])[]): Promise<boolean> {
    if (attempts.some(([name]) => this.#waitOf(name) > 0)) return false;
    for (const [name, rate] of attempts) if ((await this.take(name, rate)) > 0) return false;
    return true;
  }

  #waitOf(name: string): number {
    return Math.max(0, Math.ceil((this.#refused.get(name) ?? 0) - this.#now()));
  }
}
