import type { KeyUseStore } from '#shared/keys/postgres/credentials.ts';

/** How long a time of last use may wait to be written. */
const FLUSH_MS = 10_000;
/** Keys remembered while PostgreSQL is away; beyond it the newest are not noted, which costs a date, not a request. */
const KEYS_MAX = 50_000;

/** Notes when keys are used, on the hot path a write into a map, and writes the times down in batches. */
export class KeyUseRecorder {
  readonly #store: KeyUseStore;
  #uses = new Map<string, number>();
  readonly #timer: NodeJS.Timeout;
  #flushing: Promise<void> = Promise.resolve();

  constructor(store: KeyUseStore, flushMs: number = FLUSH_MS) {
    this.#store = store;
    this.#timer = setInterval(() => void this.flush(), flushMs).unref();
  }

  /** `now` in epoch milliseconds. */
  used(keyId: string, now: number): void {
    if (this.#uses.size < KEYS_MAX || this.#uses.has(keyId)) this.#uses.set(keyId, now);
  }

  /** Writes what has been noted. Never rejects: what could not be written is kept for the next time. */
  flush(): Promise<void> {
    this.#flushing = this.#flushing.then(() => this.#write());
    return this.#flushing;
  }

  /** Writes what is left and stops. */
  async close(): Promise<void> {
    clearInterval(this.#timer);
    await this.flush();
  }

  async #write(): Promise<void> {
    if (this.#uses.size === 0) return;
    const uses = this.#uses;
    this.#uses = new Map();
    try {
      await this.#store.recordUses(uses);
    } catch {
      // A time that was noted meanwhile is later and stays.
      for (const [keyId, at] of uses) if (!this.#uses.has(keyId)) this.used(keyId, at);
    }
  }
}
