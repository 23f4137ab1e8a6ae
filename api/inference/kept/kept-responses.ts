import { PATIENCE } from '#patience';
import { Fault } from '#shared/kernel/errors.ts';
import { type KeptResponse, packResponse, unpackResponse } from '#shared/lanes/kept-response.ts';
import type { createKeptResponses } from '#shared/lanes/postgres/kept-responses.ts';
import { SealProblem, type Seals } from '#shared/lanes/seals.ts';
import type { ApiEvents } from '#api/events.ts';
import { FairQueue } from '../fair-queue.ts';

const MIB = 1024 * 1024;
/** As much as Redis keeps of an organisation's stored answers of a day. */
const BYTES_OF_ORG_MAX = 256 * MIB;
/** Processes count anew after this, so that much may be kept beyond the bound as all of them write meanwhile. */
const COUNTED_MS = 10_000;
/** Organisations whose count is remembered. */
const COUNTS_MAX = 10_000;
/** Longer conversations are for no context window. */
const TURNS_MAX = 1_000;
/** Inputs that wait in this process for their answers, so that both are kept: of all, and of one organisation. */
const WAITING_CHARS_MAX = 64 * MIB;
const WAITING_CHARS_OF_ORG_MAX = WAITING_CHARS_MAX / 4;
/** A longer answer would hold up other requests while it is kept. */
const RESPONSE_CHARS_MAX = 4 * MIB;
/** An answer waits so long to be kept: a healthy PostgreSQL takes milliseconds. */
const KEEPING_MS = 1_000 * PATIENCE;
const READING_MS = 5_000 * PATIENCE;
const RETRY_MS = 5_000;
/** PostgreSQL is asked for no other: it takes no text with a NUL. */
const NAME = /^resp_\w{1,64}$/;
/** Conversations in memory at once: of all, and of one organisation. */
const READ_AT_ONCE = 4;
const READ_OF_ONE = 2;

export interface KeptResponsesOptions {
  store: ReturnType<typeof createKeptResponses>;
  seals: Pick<Seals, 'sealBytes' | 'sealBytesInTurns' | 'openBytesInTurns'>;
  /** Of a conversation, as it is read: as much as a body that has all of it. */
  bodyBytesMax: number;
  events: Pick<ApiEvents, 'storeFailed'>;
  /** Monotonic milliseconds. */
  now: () => number;
}

/** What is to be kept of a request, beside its answer. */
export interface Keeping {
  readonly orgId: string;
  /** The id of its response. */
  readonly id: string;
  readonly previous: string | null;
  /** Its own input, as JSON text. */
  readonly input: string;
}

/**
 * Responses that are kept for 24 hours. What cannot be kept (no room, a late PostgreSQL, an organisation that has none kept)
 * costs its caller nothing but that: the answer says so and goes out.
 */
export class KeptResponses {
  readonly #options: KeptResponsesOptions;
  readonly #reading = new FairQueue(READ_AT_ONCE, READ_OF_ONE);
  readonly #counts = new Map<string, { bytes: number; until: number }>();
  readonly #waiting = new Map<string, number>();
  readonly #open = new Set<Promise<unknown>>();
  #waitingChars = 0;

  constructor(options: KeptResponsesOptions) {
    this.#options = options;
  }

  /**
   * Counts an input that waits for its answer; undefined where this process has no room for it. Otherwise to be followed by
   * one call of what is returned.
   */
  hold({ orgId, input: { length } }: Keeping): (() => void) | undefined {
    const ofOrg = (this.#waiting.get(orgId) ?? 0) + length;
    const ofAll = this.#waitingChars + length;
    if (ofOrg > WAITING_CHARS_OF_ORG_MAX || ofAll > WAITING_CHARS_MAX) return undefined;
    this.#waiting.set(orgId, ofOrg);
    this.#waitingChars = ofAll;
    return () => {
      this.#waitingChars -= length;
      const left = this.#waiting.get(orgId)! - length;
      if (left === 0) this.#waiting.delete(orgId);
      else this.#waiting.set(orgId, left);
    };
  }

  /** Keeps a response as it is sent; false where that was not done in time. Never rejects. */
  async keep(keeping: Keeping, response: string): Promise<boolean> {
    if (response.length > RESPONSE_CHARS_MAX) return false;
    const { orgId, id } = keeping;
    const written = this.#write(keeping, { input: keeping.input, response });
    let isLate = false;
    // What its caller was told is not kept must not be there.
    const settle = async (): Promise<void> => {
      try {
        const isKept = await written;
        if (isKept && isLate) await this.#options.store.drop(orgId, id);
      } catch (error) {
        this.#options.events.storeFailed(error);
      } finally {
        this.#open.delete(settled);
      }
    };
    const settled = settle();
    this.#open.add(settled);
    return within(KEEPING_MS, written).catch(() => {
      isLate = true;
      return false;
    });
  }

  async #write(keeping: Keeping, content: KeptResponse): Promise<boolean> {
    const { orgId, id, previous } = keeping;
    const { store, seals } = this.#options;
    const count = await this.#countOf(orgId);
    // What is compressed is smaller, so that most of what has no room is refused before that is done.
    if (count.bytes >= BYTES_OF_ORG_MAX) return false;
    const sealed = await packResponse(seals, keeping, content);
    if (count.bytes + sealed.length > BYTES_OF_ORG_MAX) return false;
    count.bytes += sealed.length;
    return store.keep({ orgId, id, previous, sealed }, TURNS_MAX);
  }

  async #countOf(orgId: string): Promise<{ bytes: number }> {
    const { store, now } = this.#options;
    const known = this.#counts.get(orgId);
    if (known !== undefined && now() < known.until) return known;
    if (this.#counts.size >= COUNTS_MAX) this.#counts.clear();
    const count = { bytes: await store.bytesOf(orgId), until: now() + COUNTED_MS };
    this.#counts.set(orgId, count);
    return count;
  }

  /** Whether a response is there; false where that cannot be known in time. */
  async has(orgId: string, id: string): Promise<boolean> {
    try {
      return await within(KEEPING_MS, this.#options.store.has(orgId, id));
    } catch (error) {
      this.#options.events.storeFailed(error);
      return false;
    }
  }

  /**
   * Reads the conversation that ends with a response, oldest first, each turn as `keptIn` reads it; null where a part of it is
   * not there.
   * @throws Fault when it is too long, and when PostgreSQL cannot be asked
   */
  async conversation(orgId: string, id: string): Promise<string[] | null> {
    if (!NAME.test(id)) return null;
    await this.#reading.enter(orgId);
    try {
      return await this.#asked(this.#read(orgId, id));
    } finally {
      this.#reading.leave(orgId);
    }
  }

  async #read(orgId: string, id: string): Promise<string[] | null> {
    const { store, bodyBytesMax: bytesMax } = this.#options;
    const rows = await store.chain(orgId, id, { turnsMax: TURNS_MAX, bytesMax });
    if (rows.some(({ sealed }) => sealed === null)) throw TOO_LONG;
    // Its beginning was deleted, or it was never kept.
    if (rows[0]?.previous !== null) return null;
    const turns: string[] = [];
    let left = bytesMax;
    for (const { id: name, sealed } of rows) {
      const turn = await this.#opened(orgId, name, sealed!, left);
      if (turn === undefined) return null;
      left -= Buffer.byteLength(turn);
      turns.push(turn);
    }
    return turns;
  }

  /** One response, as `keptIn` reads it; null where it is not there. @throws Fault when PostgreSQL cannot be asked */
  async read(orgId: string, id: string): Promise<string | null> {
    if (!NAME.test(id)) return null;
    const row = await this.#asked(this.#options.store.read(orgId, id));
    if (row === null) return null;
    return (await this.#opened(orgId, id, row.sealed, UNPACKED_MAX)) ?? null;
  }

  /** Deletes a response; false where it was not there. @throws Fault when PostgreSQL cannot be asked */
  async drop(orgId: string, id: string): Promise<boolean> {
    if (!NAME.test(id)) return false;
    const isDropped = await this.#asked(this.#options.store.drop(orgId, id));
    this.#counts.delete(orgId);
    return isDropped;
  }

  /** Undefined where its key is there no longer. */
  async #opened(
    orgId: string,
    id: string,
    sealed: Buffer,
    bytesMax: number,
  ): Promise<string | undefined> {
    const { seals, events } = this.#options;
    try {
      const text = await unpackResponse(seals, { orgId, id }, sealed, bytesMax);
      if (text === null) throw TOO_LONG;
      return text;
    } catch (error) {
      if (!(error instanceof SealProblem)) throw error;
      events.storeFailed(error);
      return undefined;
    }
  }

  async #asked<T>(reading: Promise<T>): Promise<T> {
    try {
      return await within(READING_MS, reading);
    } catch (error) {
      if (error instanceof Fault) throw error;
      this.#options.events.storeFailed(error);
      throw new Fault('dispatch_unavailable', {
        message: 'Kept responses cannot be reached now. Try again.',
        retryAfterMs: RETRY_MS,
        cause: error,
      });
    }
  }

  /** Resolves when nothing is being kept. */
  async drained(): Promise<void> {
    while (this.#open.size > 0) await Promise.all(this.#open);
  }
}

/** An input and its response, which are bounded apart, in UTF-8. */
const UNPACKED_MAX = 3 * (WAITING_CHARS_OF_ORG_MAX + RESPONSE_CHARS_MAX) + MIB;

const TOO_LONG = new Fault('request_too_large', {
  message:
    'The conversation that `previous_response_id` goes on from is longer than a request may be. Send what matters of it in `input`.',
  param: 'previous_response_id',
});

async function within<T>(ms: number, work: Promise<T>): Promise<T> {
  const { promise: late, reject } = Promise.withResolvers<never>();
  const timer = setTimeout(() => reject(new Error('kept responses are late')), ms);
  try {
    return await Promise.race([work, late]);
  } finally {
    clearTimeout(timer);
  }
}
