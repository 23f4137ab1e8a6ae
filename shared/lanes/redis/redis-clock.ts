import type { RedisClient } from './connect.ts';
import { receiptsLane } from '../keys.ts';

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

  /**
   * Redis has just said that it is this time, in microseconds; it was asked at `askedAt` of the steady clock. A clock that
   * cannot be as far ahead as it was is another one, of a node that has taken over, or has been set: nothing of before
   * counts.
   */
  observe(redisUs: number, askedAt: number): void {
    const known = redisUs / 1_000 - askedAt < Math.max(...this.#leadsMs) ? [] : this.#leadsMs;
    this.#leadsMs = [...known, redisUs / 1_000 - performance.now()].slice(-SAMPLES);
  }

  /** Redis's clock was found to be elsewhere: it was set, or another node answers. What is known is forgotten. */
  reset(redisUs: number): void {
    this.#leadsMs = [redisUs / 1_000 - performance.now()];
  }

  /** Redis's time in so many milliseconds, in whole microseconds; null before it has been heard of. */
  timeUs(inMs: number): number | null {
    if (this.#leadsMs.length === 0) return null;
    return Math.floor((Math.max(...this.#leadsMs) + performance.now() + inMs) * 1_000);
  }
}

/** The clock that a shard's scripts go by: on a single node one for all, on a cluster that of the shard's master. */
export class RedisClocks {
  readonly #client: RedisClient;
  readonly #clocks: readonly RedisClock[];

  constructor(client: RedisClient, shards: number) {
    this.#client = client;
    const clocks = client.isCluster ? shards : 1;
    this.#clocks = Array.from({ length: clocks }, () => new RedisClock());
  }

  of(shard: number): RedisClock {
    return this.#clocks[shard % this.#clocks.length]!;
  }

  /** Asks for every time; a master that is away is left out. */
  async sample(): Promise<void> {
    await Promise.allSettled(
      this.#clocks.map(async (clock, shard) => {
        const askedAt = performance.now();
        const [seconds, micros] = await this.#time(shard);
        clock.observe(Number(seconds) * 1_000_000 + Number(micros), askedAt);
      }),
    );
  }

  async #time(shard: number): Promise<(string | number)[]> {
    if (!this.#client.isCluster) return this.#client.time();
    // By a key of the shard, because the client sends a command without one to any node.
    const time = await this.#client.eval("return redis.call('TIME')", 1, receiptsLane(shard));
    return time as string[];
  }
}
