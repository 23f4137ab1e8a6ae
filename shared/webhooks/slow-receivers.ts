import { MINUTE_MS } from '#shared/kernel/time.ts';

/** An attempt of so many milliseconds says that a receiver is slow: most answer within a fraction of that. */
export const SLOW_MS = 500;
/** A turn has no further message after so long, so that those of receivers that are just not slow are over soon. */
export const TURN_MS = 1_000;
/** Turns of organisations with slow receivers at once: a quarter of those that a process has. */
export const SLOW_AT_ONCE = 8;
/** So long an organisation is remembered for a slow receiver. */
const REMEMBERED_MS = 10 * MINUTE_MS;
/** Of more the one that was slow longest ago is forgotten, and found slow again within one attempt. */
const REMEMBERED_MAX = 10_000;

/**
 * Which organisations have slow receivers. Their turns have a few places of their own, so that they wait for each other, and those
 * whose receivers answer wait for none of them.
 */
export class SlowReceivers {
  /** Organisation → until when it is remembered, in epoch milliseconds. */
  readonly #until = new Map<string, number>();
  #inside = 0;

  /** Does a turn of an organisation, unless it has slow receivers and there is no place for it now: then it is due again soon. */
  async turn(orgId: string, now: number, work: () => Promise<void>): Promise<void> {
    if ((this.#until.get(orgId) ?? 0) <= now) return work();
    if (this.#inside >= SLOW_AT_ONCE) return;
    this.#inside += 1;
    try {
      await work();
    } finally {
      this.#inside -= 1;
    }
  }

  /** Notes that an attempt took so long. True where that was slow: then the turn has lasted long enough. */
  took(orgId: string, ms: number, now: number): boolean {
    if (ms < SLOW_MS) return false;
    this.#until.delete(orgId);
    this.#until.set(orgId, now + REMEMBERED_MS);
    if (this.#until.size > REMEMBERED_MAX) this.#until.delete(this.#until.keys().next().value!);
    return true;
  }
}
