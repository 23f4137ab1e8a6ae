import type { ServerResponse } from 'node:http';

/** Smaller answers fit into the buffers of a connection. */
const SMALL_CHARS = 256 * 1024;
/** Sixteen answers of the largest request for embeddings, for an organisation; and for all of them. */
const CHARS_OF_ORG_MAX = 320 * 1024 * 1024;
const CHARS_OF_ALL_MAX = 2 * CHARS_OF_ORG_MAX;
/** A reader that takes nothing for so long is not reading. */
const READER_PATIENCE_MS = 60_000;

/** The part of a response that is asked of it. */
export type UnreadResponse = Pick<ServerResponse, 'destroyed' | 'destroy' | 'setTimeout'> & {
  once(event: 'close', listener: () => void): unknown;
};

interface Unread {
  orgId: string;
  chars: number;
  response: UnreadResponse;
}

/**
 * Bounds the large answers that were handed to connections whose readers have not taken them yet: a client that asks for
 * many and reads none would have the process hold them all. Over the bound, those go first that have been waiting longest
 * among the answers of the organisation with the most.
 */
export class UnreadAnswers {
  /** Oldest first. */
  readonly #unread = new Set<Unread>();
  readonly #charsOf = new Map<string, number>();
  #chars = 0;

  /** Characters of all of them. */
  get chars(): number {
    return this.#chars;
  }

  /** An answer of so many characters is being sent. */
  add(orgId: string, chars: number, response: UnreadResponse): void {
    if (chars <= SMALL_CHARS || response.destroyed) return;
    const one = { orgId, chars, response };
    this.#unread.add(one);
    this.#count(orgId, chars);
    response.once('close', () => this.#remove(one));
    // Node counts a write that goes on, however slowly, as activity.
    response.setTimeout(READER_PATIENCE_MS, () => void response.destroy());
    while (this.#charsOf.get(orgId)! > CHARS_OF_ORG_MAX && this.#cutOldest(orgId, one));
    while (this.#chars > CHARS_OF_ALL_MAX && this.#cutOldest(this.#largest(), one));
  }

  /** Returns whether there was one to be cut off beside the newest, which has had no time to be read. */
  #cutOldest(orgId: string, newest: Unread): boolean {
    for (const one of this.#unread) {
      if (one.orgId !== orgId || one === newest) continue;
      this.#remove(one);
      one.response.destroy();
      return true;
    }
    return false;
  }

  #largest(): string {
    return [...this.#charsOf].reduce((most, one) => (one[1] > most[1] ? one : most))[0];
  }

  #remove(one: Unread): void {
    if (this.#unread.delete(one)) this.#count(one.orgId, -one.chars);
  }

  #count(orgId: string, chars: number): void {
    this.#chars += chars;
    const counted = (this.#charsOf.get(orgId) ?? 0) + chars;
    if (counted === 0) this.#charsOf.delete(orgId);
    else this.#charsOf.set(orgId, counted);
  }
}
