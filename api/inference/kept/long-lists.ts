import { Fault } from '#shared/kernel/errors.ts';
import { FairQueue } from '#api/plugins/fair-queue.ts';

/** Long lists that are being made at once, each of another organisation: each holds a conversation in memory. */
const LONG_LISTS_MAX = 4;
const RETRY_MS = 1_000;

/** Bounds how many long lists are being made. An organisation has one, for which it waits its turn among the others. */
export class LongLists {
  readonly #organisations = new Set<string>();
  readonly #queue = new FairQueue(LONG_LISTS_MAX);

  /** @throws Fault for a second one of an organisation, which may be asked for again */
  async make<T>(orgId: string, work: () => Promise<T>): Promise<T> {
    if (this.#organisations.has(orgId)) {
      throw new Fault('dispatch_unavailable', {
        message: 'A long list is being made for this organisation. Wait and try again.',
        retryAfterMs: RETRY_MS,
      });
    }
    this.#organisations.add(orgId);
    try {
      return await this.#queue.run(orgId, work);
    } finally {
      this.#organisations.delete(orgId);
    }
  }
}
