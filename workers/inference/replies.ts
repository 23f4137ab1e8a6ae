import { begunKey } from '#shared/lanes/keys.ts';
import type { InferenceEntry, WireFault } from '#shared/lanes/messages.ts';
import type { Outbox } from '#shared/lanes/redis/outbox.ts';
import { encodeMessage } from '#shared/lanes/wire-format.ts';
import { INLINE_BYTES_MAX } from '#shared/lanes/redis/admission.ts';
import { claimedReplyKey } from '#shared/lanes/keys.ts';
import type { RedisClient } from '#shared/lanes/redis/connect.ts';

/** A begun stream is remembered for as long as its entry can possibly be redelivered. */
const BEGUN_S = 3_600;
/** How often a running stream notes its progress, for the receipt should this process die. */
const PROGRESS_MS = 1_000;
/** A large answer waits this long for its api process to fetch it. */
const CLAIMED_REPLY_S = 120;

/** Sends one attempt's replies to the api process that holds the connection. */
export class Replies {
  readonly #entry: InferenceEntry;
  readonly #attempt: number;
  readonly #outbox: Outbox;
  #seq = 0;
  #progressAt = 0;

  constructor(entry: InferenceEntry, attempt: number, outbox: Outbox) {
    this.#entry = entry;
    this.#attempt = attempt;
    this.#outbox = outbox;
  }

  /** Stream frames. `tokens` is a count of pieces so far, kept in case this process dies. */
  frames(text: string, pieces: number, now: number): void {
    if (now - this.#progressAt >= PROGRESS_MS) {
      this.#progressAt = now;
      const { shard, id } = this.#entry;
      this.#outbox.command(shard, 'SET', begunKey(shard, id), pieces, 'EX', BEGUN_S);
    }
    this.#send('frames', text);
  }

  /** The payload that will carry the receipt. */
  last(payload: string): void {
    this.#send('last', payload);
  }

  /** A whole answer; a large one is left under its own key first. */
  async answer(text: string, client: RedisClient): Promise<void> {
    if (text.length <= INLINE_BYTES_MAX) return this.#send('answer', text);
    const ref = claimedReplyKey(this.#entry.id, this.#attempt);
    await client.set(ref, text, 'EX', CLAIMED_REPLY_S);
    this.#send('answer', '', { ref });
  }

  error(error: WireFault): void {
    this.#send('error', '', { error });
  }

  #send(kind: string, payload: string, rest: object = {}): void {
    this.#seq += 1;
    const head = { id: this.#entry.id, attempt: this.#attempt, seq: this.#seq, kind, ...rest };
    this.#outbox.send(this.#entry.inbox, encodeMessage(head, payload));
  }
}
