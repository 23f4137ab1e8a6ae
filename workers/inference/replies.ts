import { begunKey, claimedReplyKey } from '#shared/lanes/keys.ts';
import type { InferenceEntry, WireFault } from '#shared/lanes/messages.ts';
import { INLINE_BYTES_MAX } from '#shared/lanes/redis/admission.ts';
import type { RedisClient } from '#shared/lanes/redis/connect.ts';
import type { Seals } from '#shared/lanes/seals.ts';
import type { Outbox } from '#shared/lanes/redis/outbox.ts';

/** A begun stream is remembered for as long as its entry can possibly be redelivered. */
const BEGUN_S = 3_600;
/** How often a running stream notes its progress, for the receipt should this process die. */
const PROGRESS_MS = 1_000;
/** A large answer waits this long for its api process to fetch it. */
const CLAIMED_REPLY_S = 120;

export interface RepliesDeps {
  outbox: Pick<Outbox, 'send' | 'command'>;
  client: Pick<RedisClient, 'set'>;
  seals: Pick<Seals, 'sealBytes'>;
}

/** What one delivery of an entry tells the api process that holds the connection. */
export class Replies {
  readonly #deps: RepliesDeps;
  readonly #entry: InferenceEntry;
  readonly #delivery: number;
  #seq = 0;
  #notedAt = 0;

  constructor(deps: RepliesDeps, entry: InferenceEntry, delivery: number) {
    this.#deps = deps;
    this.#entry = entry;
    this.#delivery = delivery;
  }

  /**
   * Frames of a stream. `relayed`, the number of payloads so far, is noted with the first of them and once a second from
   * then on: should this process die, a stream of which anything was noted is not run again.
   */
  frames(text: string, relayed: number, now: number): void {
    const { id, inbox, shard } = this.#entry;
    if (now - this.#notedAt >= PROGRESS_MS) {
      this.#notedAt = now;
      this.#deps.outbox.command(shard, 'SET', begunKey(shard, id), relayed, 'EX', BEGUN_S);
    }
    const reply = { id, attempt: this.#delivery, seq: this.#next(), kind: 'frames' } as const;
    this.#deps.outbox.send(inbox, reply, text);
  }

  /** The payload of a stream that will carry the receipt. */
  last(payload: string): void {
    const { id, inbox } = this.#entry;
    const reply = { id, attempt: this.#delivery, seq: this.#next(), kind: 'last' } as const;
    this.#deps.outbox.send(inbox, reply, payload);
  }

  /** A whole answer; a large one is left under a key of its own first. */
  async answer(text: string): Promise<void> {
    const { id, inbox } = this.#entry;
    const attempt = this.#delivery;
    if (text.length <= INLINE_BYTES_MAX) {
      this.#deps.outbox.send(inbox, { id, attempt, seq: this.#next(), kind: 'answer' }, text);
      return;
    }
    const ref = claimedReplyKey(id, attempt);
    const sealed = this.#deps.seals.sealBytes(text, ref);
    await this.#deps.client.set(ref, sealed, 'EX', CLAIMED_REPLY_S);
    this.#deps.outbox.send(inbox, { id, attempt, seq: this.#next(), kind: 'answer', ref });
  }

  error(error: WireFault): void {
    const { id, inbox } = this.#entry;
    const attempt = this.#delivery;
    this.#deps.outbox.send(inbox, { id, attempt, seq: this.#next(), kind: 'error', error });
  }

  #next(): number {
    this.#seq += 1;
    return this.#seq;
  }
}
