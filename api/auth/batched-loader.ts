import { PATIENCE } from '#patience';
import type { Credential } from '#shared/keys/credential.ts';
import type { CredentialSource } from '#shared/keys/postgres/credentials.ts';

/** Keys per query: one round trip then answers a whole burst. */
const BATCH_MAX = 256;
/** Queries at once, however many keys are invented at the door: the other connections of the pool stay free. */
const QUERIES_MAX = 2;
/** Keys waiting for their turn; beyond this the answer would come after the caller's patience. */
const WAITING_MAX = 10_000;
/** A query that takes longer is a store that does not answer. */
const ANSWER_MAX_MS = 1_500 * PATIENCE;

interface Waiter {
  hash: string;
  resolve: (credential: Credential | null) => void;
  reject: (error: unknown) => void;
}

/**
 * Turns look-ups that arrive together into one query. A flood of invented keys, each with a right
 * checksum, therefore costs PostgreSQL two queries at a time and not one each.
 */
export class BatchedLoader {
  readonly #source: CredentialSource;
  readonly #waiting: Waiter[] = [];
  #queries = 0;
  #scheduled = false;

  constructor(source: CredentialSource) {
    this.#source = source;
  }

  /** The credential of this hash, null when there is none. Rejects when the store does not answer. */
  load(hash: string): Promise<Credential | null> {
    return new Promise((resolve, reject) => {
      if (this.#waiting.length >= WAITING_MAX) {
        reject(new Error('too many keys are waiting to be looked up'));
        return;
      }
      this.#waiting.push({ hash, resolve, reject });
      this.#schedule();
    });
  }

  /** Waits for the end of this turn of the event loop, so that what arrives together travels together. */
  #schedule(): void {
    if (this.#scheduled) return;
    this.#scheduled = true;
    setImmediate(() => {
      this.#scheduled = false;
      while (this.#queries < QUERIES_MAX && this.#waiting.length > 0) {
        void this.#query(this.#waiting.splice(0, BATCH_MAX));
      }
    });
  }

  async #query(batch: readonly Waiter[]): Promise<void> {
    this.#queries += 1;
    try {
      const found = await withinBound(
        this.#source.findByHashes(batch.map((waiter) => waiter.hash)),
      );
      for (const waiter of batch) waiter.resolve(found.get(waiter.hash) ?? null);
    } catch (error) {
      for (const waiter of batch) waiter.reject(error);
    } finally {
      this.#queries -= 1;
      if (this.#waiting.length > 0) this.#schedule();
    }
  }
}

/** Rejects when the store takes too long; the late answer is dropped. */
function withinBound<T>(answer: Promise<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(
      () => reject(new Error(`the credential store did not answer within ${ANSWER_MAX_MS} ms`)),
      ANSWER_MAX_MS,
    );
    answer.then(resolve, reject).finally(() => clearTimeout(timer));
  });
}
