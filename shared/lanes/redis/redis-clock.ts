/** Samples that are looked at: at one a second, older ones say less of two clocks that drift apart. */
const SAMPLES = 16;

/**
 * What time it is for Redis, as far as this process knows it for certain. Each sample is Redis's time as it was some time
 * before its answer came, so Redis is at least that far ahead of this process's steady clock; the largest of the last
 * samples is the closest. The time that is told is never later than Redis's own.
 */
export class RedisClock {
  /** Milliseconds by which Redis's clock is ahead of this process's steady one, at least. */
  #leadsMs: number[] = [];

  /** Redis has just said that it is this time, in microseconds. */
  observe(redisUs: number): void {
    this.#leadsMs = [...this.#leadsMs, redisUs / 1_000 - performance.now()].slice(-SAMPLES);
  }

  /** Redis's clock was found to be elsewhere: it was set, or another node answers. What is known is forgotten. */
  reset(redisUs: number): void {
    this.#leadsMs = [];
    this.observe(redisUs);
  }

  /** Redis's time in so many milliseconds, in whole microseconds; null before it has been heard of. */
  timeUs(inMs: number): number | null {
    if (this.#leadsMs.length === 0) return null;
    return Math.floor((Math.max(...this.#leadsMs) + performance.now() + inMs) * 1_000);
  }
}
