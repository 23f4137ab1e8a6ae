import { PATIENCE } from '#patience';
import { Fault } from '#shared/kernel/errors.ts';
import { responseOfItem } from '#shared/kernel/answer-ids.ts';
import {
  foreignItemIds,
  type KeptResponse,
  packResponse,
  unpackResponse,
} from '#shared/lanes/kept-response.ts';
import type { ChainUse, createKeptResponses } from '#shared/lanes/postgres/kept-responses.ts';
import { SealProblem, type Seals } from '#shared/lanes/seals.ts';
import type { ApiEvents } from '#api/events.ts';
import { FairQueue } from '#api/plugins/fair-queue.ts';

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
/** A longer answer would hold up other requests while it is kept, so it is not to be given to `keep`. */
export const RESPONSE_CHARS_MAX = 4 * MIB;
/** An answer waits so long to be kept: a healthy PostgreSQL takes milliseconds. */
const KEEPING_MS = 1_000 * PATIENCE;
const READING_MS = 5_000 * PATIENCE;
/** PostgreSQL is asked for no other: it takes no text with a NUL. */
const NAME = /^resp_\w{1,64}$/;
const ITEM = /^[\w.:-]{1,128}$/;
/** Conversations and responses in memory at once, from when they are read until they are used: of all, and of one organisation. */
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

/** What a request names of what is kept. */
export interface Named {
  readonly orgId: string;
  /** The response that it goes on from. */
  readonly previous: string | undefined;
  /** The ids of items that its input refers to. */
  readonly items: readonly string[];
}

/** What was found of that, each as `keptIn` reads it. */
export interface Before {
  /** The conversation that it goes on from, oldest first. */
  readonly turns: readonly string[];
  /** Responses beside them that items are of. */
  readonly referred: readonly string[];
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
  /** Those that are being written, by the ids of their responses. */
  readonly #open = new Map<string, Promise<void>>();
  /** What is being written, or was, of those that wait: a late PostgreSQL has it in memory for half a minute. */
  readonly #written = new WeakMap<Keeping, Promise<void>>();
  #waitingChars = 0;

  constructor(options: KeptResponsesOptions) {
    this.#options = options;
  }

  /**
   * Counts an input that waits for its answer; undefined where this process has no room for it. Otherwise to be followed by
   * one call of what is returned, after which it counts until it is written, if it is being.
   */
  hold(keeping: Keeping): (() => void) | undefined {
    const {
      orgId,
      input: { length },
    } = keeping;
    const ofOrg = (this.#waiting.get(orgId) ?? 0) + length;
    const ofAll = this.#waitingChars + length;
    if (ofOrg > WAITING_CHARS_OF_ORG_MAX || ofAll > WAITING_CHARS_MAX) return undefined;
    this.#waiting.set(orgId, ofOrg);
    this.#waitingChars = ofAll;
    const free = (): void => {
      this.#waitingChars -= length;
      const left = this.#waiting.get(orgId)! - length;
      if (left === 0) this.#waiting.delete(orgId);
      else this.#waiting.set(orgId, left);
    };
    return () => {
      const written = this.#written.get(keeping);
      if (written === undefined) free();
      else void written.then(free);
    };
  }

  /** Keeps a response as it is sent; false where that was not done in time. Never rejects. */
  async keep(keeping: Keeping, response: string): Promise<boolean> {
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
        this.#open.delete(id);
      }
    };
    const settled = settle();
    this.#open.set(id, settled);
    this.#written.set(keeping, settled);
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
    const items = foreignItemIds(content.response, id);
    const sealed = await packResponse(seals, keeping, content);
    if (count.bytes + sealed.length > BYTES_OF_ORG_MAX) return false;
    count.bytes += sealed.length;
    return store.keep({ orgId, id, previous, sealed, items }, TURNS_MAX);
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

  /** Whether a response is there, or is when this process has written it; false where that cannot be known in time. */
  async has(orgId: string, id: string): Promise<boolean> {
    const look = async (): Promise<boolean> => {
      await this.#open.get(id);
      return this.#options.store.has(orgId, id);
    };
    try {
      return await within(KEEPING_MS, look());
    } catch (error) {
      this.#options.events.storeFailed(error);
      return false;
    }
  }

  /**
   * Has what is left of the conversation used that ends with a response, oldest first, each turn as `keptIn` reads it; null
   * where that response is not there. Others wait for their turn meanwhile.
   * @throws Fault when it is too long, and when PostgreSQL cannot be asked
   */
  async conversation<T>(
    { orgId, id }: { orgId: string; id: string },
    work: (turns: readonly string[] | null) => T | Promise<T>,
  ): Promise<T> {
    if (!NAME.test(id)) return work(null);
    const read = async (): Promise<readonly string[] | null> =>
      (await this.#chain(orgId, id, 'list'))?.map(({ text }) => text) ?? null;
    return this.#inTurn(orgId, read, work);
  }

  /**
   * Has all used that a request names: the conversation that it goes on from, and the responses that items are of, as far as
   * they are there; null where a part of the conversation is not.
   * @throws Fault when it is too long, and when PostgreSQL cannot be asked
   */
  async before<T>(named: Named, work: (before: Before | null) => T | Promise<T>): Promise<T> {
    const { orgId, previous } = named;
    if (previous !== undefined && !NAME.test(previous)) return work(null);
    return this.#inTurn(orgId, () => this.#before(named), work);
  }

  async #before({ orgId, previous, items }: Named): Promise<Before | null> {
    const chain = previous === undefined ? [] : await this.#chain(orgId, previous, 'go on');
    if (chain === null) return null;
    const turns = chain.map(({ text }) => text);
    if (items.length === 0) return { turns, referred: [] };
    let left = this.#options.bodyBytesMax - bytesOf(turns);
    const responses = items.map(responseOfItem);
    const wanted = {
      responses: responses.filter((id) => id !== undefined),
      items: items.filter((id, at) => responses[at] === undefined && ITEM.test(id)),
      except: chain.map(({ id }) => id),
    };
    const referred: string[] = [];
    for (const { id, sealed } of await this.#options.store.ofItems(orgId, wanted, left)) {
      const text = sealed === null ? null : await this.#opened(orgId, id, sealed, left);
      if (text === null) throw TOO_LONG_ITEMS;
      if (text === undefined) continue;
      left -= Buffer.byteLength(text);
      referred.push(text);
    }
    return { turns, referred };
  }

  /** What is read and used has a place until both have ended: what is late goes on being read. */
  async #inTurn<R, T>(
    orgId: string,
    read: () => Promise<R>,
    work: (found: R) => T | Promise<T>,
  ): Promise<T> {
    await this.#reading.enter(orgId);
    const reading = read();
    try {
      return await work(await this.#asked(reading));
    } finally {
      void reading.catch(() => {}).finally(() => this.#reading.leave(orgId));
    }
  }

  async #chain(
    orgId: string,
    id: string,
    use: ChainUse,
  ): Promise<{ id: string; text: string }[] | null> {
    const { store, bodyBytesMax: bytesMax } = this.#options;
    const rows = await store.chain(orgId, id, use, { turnsMax: TURNS_MAX, bytesMax });
    if (rows.some(({ sealed }) => sealed === null)) throw TOO_LONG[use];
    const [first] = rows;
    // It was never kept, or its beginning was deleted: without that it is another conversation, of which the rest is listed.
    if (first === undefined || (use === 'go on' && first.previous !== null)) return null;
    const turns: { id: string; text: string }[] = [];
    let left = bytesMax;
    for (const { id: name, sealed } of rows) {
      const text = await this.#opened(orgId, name, sealed!, left);
      if (text === null) throw TOO_LONG[use];
      if (text === undefined) return null;
      left -= Buffer.byteLength(text);
      turns.push({ id: name, text });
    }
    return turns;
  }

  /**
   * Has a response used, as `keptIn` reads it; null where it is not there.
   * @throws Fault when PostgreSQL cannot be asked
   */
  async read<T>(
    orgId: string,
    id: string,
    work: (text: string | null) => T | Promise<T>,
  ): Promise<T> {
    if (!NAME.test(id)) return work(null);
    const read = async (): Promise<string | null> => {
      const row = await this.#options.store.read(orgId, id);
      return row === null
        ? null
        : ((await this.#opened(orgId, id, row.sealed, UNPACKED_MAX)) ?? null);
    };
    return this.#inTurn(orgId, read, work);
  }

  /** Deletes a response; false where it was not there. @throws Fault when PostgreSQL cannot be asked */
  async drop(orgId: string, id: string): Promise<boolean> {
    if (!NAME.test(id)) return false;
    const isDropped = await this.#asked(this.#options.store.drop(orgId, id));
    this.#counts.delete(orgId);
    return isDropped;
  }

  /** Undefined where its key is there no longer, null where it is longer than that. */
  async #opened(
    orgId: string,
    id: string,
    sealed: Buffer,
    bytesMax: number,
  ): Promise<string | null | undefined> {
    const { seals, events } = this.#options;
    try {
      return await unpackResponse(seals, { orgId, id }, sealed, bytesMax);
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
      throw new Fault('store_unavailable', {
        message: 'Kept responses cannot be reached now. Try again.',
        cause: error,
      });
    }
  }

  /** Resolves when nothing is being kept. */
  async drained(): Promise<void> {
    while (this.#open.size > 0) await Promise.all(this.#open.values());
  }
}

/** An input and its response, which are bounded apart, in UTF-8. */
const UNPACKED_MAX = 3 * (WAITING_CHARS_OF_ORG_MAX + RESPONSE_CHARS_MAX) + MIB;

const TOO_LONG: Readonly<Record<ChainUse, Fault>> = {
  'go on': new Fault('request_too_large', {
    message:
      'The conversation that `previous_response_id` goes on from is longer than a request may be. Send what matters of it in `input`.',
    param: 'previous_response_id',
  }),
  list: new Fault('request_too_large', {
    message:
      'The conversation of this response is longer than a request may be, and is not listed.',
  }),
};

const TOO_LONG_ITEMS = new Fault('request_too_large', {
  message:
    'The responses whose items `input` refers to are longer than a request may be. Send what matters of them in `input`.',
  param: 'input',
});

function bytesOf(texts: readonly string[]): number {
  return texts.reduce((sum, text) => sum + Buffer.byteLength(text), 0);
}

async function within<T>(ms: number, work: Promise<T>): Promise<T> {
  const { promise: late, reject } = Promise.withResolvers<never>();
  const timer = setTimeout(() => reject(new Error('kept responses are late')), ms);
  try {
    return await Promise.race([work, late]);
  } finally {
    clearTimeout(timer);
  }
}
