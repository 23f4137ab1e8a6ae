import type { Answered } from '#api/plugins/answered.ts';
import type { ApiEvents } from '#api/events.ts';
import { isStoreAway } from '#shared/kernel/store-away.ts';
import type { RequestRow } from '#shared/requests/row.ts';
import { FoldedRequests } from './folded-requests.ts';
import { rowOfAnswer } from './row-of-answer.ts';

/** How long a row waits to be written: what a killed process loses. */
export const FLUSH_MS = 1_000;
/** Rows of one statement: more would hold the event loop up for milliseconds while they are put into its parameters. */
const BATCH = 250;
/** Rows that wait while PostgreSQL is away, of less than a kilobyte each: ten seconds of a busy process. */
const ROWS_MAX = 20_000;

/** A process that stops has other things to end, and PostgreSQL may be what holds it up. */
const CLOSE_MS = 3_000;

export interface RequestRecorderOptions {
  write: (rows: readonly RequestRow[]) => Promise<void>;
  events: Pick<ApiEvents, 'requestsUnwritten' | 'requestsUnrecorded'>;
  /** Epoch milliseconds. */
  now?: () => number;
  rowsMax?: number;
}

/** Notes what became of requests, which is a push into an array, and writes it down in batches, off the way of any request. */
export class RequestRecorder {
  readonly #options: RequestRecorderOptions;
  readonly #now: () => number;
  readonly #rowsMax: number;
  readonly #folded = new FoldedRequests();
  #rows: RequestRow[] = [];
  #timer: NodeJS.Timeout | undefined;
  #flushing: Promise<void> = Promise.resolve();
  #closed = false;
  #isFailing = false;

  constructor(options: RequestRecorderOptions) {
    this.#options = options;
    this.#now = options.now ?? Date.now;
    this.#rowsMax = options.rowsMax ?? ROWS_MAX;
  }

  /** Notes an answer, when it has ended. */
  note(answered: Answered): void {
    const row = rowOfAnswer(answered);
    if (row === undefined) return;
    if (answered.isFree) for (const one of this.#folded.take(row, this.#now())) this.#add(one);
    else this.#add(row);
    this.#arm();
  }

  /** Writes what has been noted. Never rejects: what PostgreSQL does not take now waits for the next time. */
  flush(): Promise<void> {
    this.#flushing = this.#flushing.then(() => this.#write());
    return this.#flushing;
  }

  /** Writes what is left, counts of a minute that is not over too, and stops. What cannot be written now is lost. */
  async close(): Promise<void> {
    this.#closed = true;
    clearTimeout(this.#timer);
    for (const row of this.#folded.due()) this.#add(row);
    const { promise: late, resolve } = Promise.withResolvers<void>();
    const patience = setTimeout(resolve, CLOSE_MS);
    await Promise.race([this.flush(), late]);
    clearTimeout(patience);
    this.#lose(this.#rows.length);
    this.#rows = [];
  }

  #add(row: RequestRow): void {
    this.#rows.push(row);
    if (this.#rows.length <= this.#rowsMax) return;
    // Many at once: taking one off the beginning moves all others.
    const dropped = Math.max(1, Math.floor(this.#rowsMax / 20));
    this.#rows.splice(0, dropped);
    this.#lose(dropped);
  }

  #lose(rows: number): void {
    if (rows > 0) this.#options.events.requestsUnrecorded(rows);
  }

  /** A process without requests has no timer. */
  #arm(): void {
    if (this.#timer !== undefined || this.#closed) return;
    if (this.#rows.length === 0 && !this.#folded.areWaiting) return;
    this.#timer = setTimeout(() => {
      for (const row of this.#folded.due(this.#now())) this.#add(row);
      void this.#flushAndArm();
    }, FLUSH_MS).unref();
  }

  async #flushAndArm(): Promise<void> {
    await this.flush();
    this.#timer = undefined;
    this.#arm();
  }

  async #write(): Promise<void> {
    while (this.#rows.length > 0) {
      const batch = this.#rows.splice(0, BATCH);
      try {
        await this.#options.write(batch);
        this.#isFailing = false;
      } catch (error) {
        if (!this.#isFailing) this.#options.events.requestsUnwritten(error);
        this.#isFailing = true;
        // What PostgreSQL refuses for what it is would be refused again, and hold all others up.
        if (!isStoreAway(error)) {
          this.#lose(batch.length);
          continue;
        }
        const room = Math.max(0, this.#rowsMax - this.#rows.length);
        const kept = batch.slice(Math.max(0, batch.length - room));
        this.#lose(batch.length - kept.length);
        this.#rows = [...kept, ...this.#rows];
        return;
      }
    }
  }
}
