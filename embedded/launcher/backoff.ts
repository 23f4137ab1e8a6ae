/** The first restart comes almost at once: most deaths are single. */
const FIRST_MS = 250;
/** A process that cannot live is tried six times a minute. */
const MOST_MS = 10_000;
/** A process that has lived this long starts over with a short wait. */
const HEALTHY_MS = 30_000;

/** The wait before the next restart: doubled with each early death. */
export class Backoff {
  #deaths = 0;

  /** @param livedMs how long the process was alive */
  next(livedMs: number): number {
    if (livedMs >= HEALTHY_MS) this.#deaths = 0;
    const waitMs = Math.min(FIRST_MS * 2 ** this.#deaths, MOST_MS);
    this.#deaths += 1;
    return waitMs;
  }
}
