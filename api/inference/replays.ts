import { PATIENCE } from '#patience';
import { Fault } from '#shared/kernel/errors.ts';
import type { KeptAnswer } from './idempotency.ts';
import { FairQueue } from '#api/plugins/fair-queue.ts';

/** Longer than a large answer takes from a healthy PostgreSQL, and short for a caller who waits. */
const PATIENCE_MS = 5_000 * PATIENCE;
/** Large answers that are read at once, of different organisations: each is in memory several times meanwhile. */
const LARGE_AT_ONCE = 2;
const RETRY_MS = 5_000;

/** Reads an answer. `whenLarge` is to be waited for before a large one is in memory. */
type ReadKept = (claim: string, whenLarge: () => Promise<void>) => Promise<KeptAnswer | null>;

/**
 * Reads stored answers that are to be given back. A repeated request is small, and its answer may be a hundred thousand
 * times its size: of large ones an organisation has one read at a time, so that it waits for itself and the process
 * goes on serving others.
 */
export class Replays {
  readonly #read: ReadKept;
  readonly #queue = new FairQueue(LARGE_AT_ONCE);

  constructor(read: ReadKept) {
    this.#read = read;
  }

  /**
   * The answer under a claim; null when it is no longer there.
   * @throws Fault when it cannot be read in time
   */
  async read(claim: string, orgId: string): Promise<KeptAnswer | null> {
    const { promise: late, reject } = Promise.withResolvers<never>();
    const timer = setTimeout(() => reject(new Error('a stored answer is late')), PATIENCE_MS);
    let isLate = false;
    let isInside = false;
    const whenLarge = async (): Promise<void> => {
      await this.#queue.enter(orgId);
      isInside = true;
      if (isLate) throw new Error('nobody waits for this stored answer any more');
    };
    // One that is read too late is in memory all the same, and keeps its place.
    const reading = this.#read(claim, whenLarge).finally(() => {
      if (isInside) this.#queue.leave(orgId);
    });
    try {
      return await Promise.race([reading, late]);
    } catch (error) {
      throw new Fault('dispatch_unavailable', {
        message: 'The stored answer to this request cannot be read now. Try again.',
        retryAfterMs: RETRY_MS,
        cause: error,
      });
    } finally {
      isLate = true;
      clearTimeout(timer);
    }
  }
}
