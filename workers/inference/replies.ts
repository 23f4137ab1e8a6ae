import { isEstimated } from '#shared/kernel/budget-measures.ts';
import { bytesOfText } from '#shared/kernel/long-text.ts';
import {
  aliveKey,
  begunKey,
  budgetKey,
  claimedReplyKey,
  heldKey,
  holderName,
  holdersKey,
} from '#shared/lanes/keys.ts';
import type { InferenceEntry, Reply, WireFault } from '#shared/lanes/messages.ts';
import { INLINE_BYTES_MAX } from '#shared/lanes/redis/admission.ts';
import type { RedisClient } from '#shared/lanes/redis/connect.ts';
import type { Seals } from '#shared/lanes/seals.ts';
import type { Delivery } from '#shared/lanes/redis/lane-consumer.ts';
import type { HolderWrite, Holding, Outbox } from '#shared/lanes/redis/outbox.ts';
import { encodeRelayed, type Relayed } from '#shared/lanes/relayed.ts';
import type { ReplyChannel } from '#shared/lanes/sockets/reply-channels.ts';

/** A begun stream is remembered for as long as its entry can possibly be redelivered. */
const BEGUN_S = 3_600;
/** Until when a claim or a place in a region is known to be taken by a stream that runs beyond its request's deadline. */
const RUNS_S_MAX = BEGUN_S + 60;
/** A note that comes this close to the deadline, or after it, says that the stream goes on beyond it. */
const NEAR_DEADLINE_MS = 60_000;
/** How often a running stream notes how far it is: so much of it the receipt may lack should this process die. */
const NOTE_MS = 1_000;
/** A large answer waits this long for its api process to fetch it. */
const CLAIMED_REPLY_S = 120;

type FramesReply = Extract<Reply, { kind: 'frames' }>;

export interface RepliesDeps {
  outbox: Pick<Outbox, 'send' | 'asHolder' | 'channelTo'>;
  client: Pick<RedisClient, 'exists' | 'set'>;
  seals: Pick<Seals, 'sealBytes' | 'sealBytesInTurns'>;
}

/** Which delivery of a request this is, those in other regions included. */
export function numberOf({ number }: Delivery, { before }: InferenceEntry): number {
  return number + (before?.deliveries ?? 0);
}

/** What one delivery of an entry tells the api process that holds the connection. */
export class Replies {
  /** Called when another delivery turns out to hold the entry: nothing that comes after is wanted. */
  onLost: () => void = () => {};
  readonly #deps: RepliesDeps;
  readonly #entry: InferenceEntry;
  readonly #delivery: Delivery;
  /** What every reply begins with. */
  readonly #head: { id: string; attempt: number; region?: string };
  /** By which all frames go, as long as it is open. */
  readonly #channel: ReplyChannel | undefined;
  #seq = 0;
  #notedAt = 0;
  #note: HolderWrite | undefined;
  /** Whether frames go with the open note. */
  #isBeside = false;
  /** Whether the note is written that keeps another worker from running this stream again. */
  #begun = false;
  /** Whether the stream is known to run beyond its deadline. */
  #isLong = false;
  #lost = false;

  constructor(deps: RepliesDeps, entry: InferenceEntry, delivery: Delivery) {
    this.#deps = deps;
    this.#entry = entry;
    this.#delivery = delivery;
    const { id, region, before } = entry;
    const attempt = numberOf(delivery, entry);
    this.#head = before === undefined ? { id, attempt } : { id, attempt, region };
    this.#channel = entry.stream ? deps.outbox.channelTo(entry.inbox) : undefined;
  }

  /**
   * Frames of a stream. Now and then, and with the first of them, it is noted how far the stream was `relayed`: should
   * this process die, a stream of which anything was noted is not run again. Frames go out with a note, as the holder of
   * the entry, until one is known to be written; and none go out once the entry is another's. Later notes are of frames
   * that are out before them where those go by a channel, which no transaction holds: a worker that dies in between has
   * noted nothing that its client does not get. `chars`: what the api process is to say when the client has these.
   */
  frames(text: string, relayed: () => Relayed, now: number, chars?: number): void {
    if (this.#lost) return;
    const reply = this.#framesReply(this.#next(), chars);
    const isDue = now - this.#notedAt >= NOTE_MS;
    if (isDue || (!this.#begun && this.#note?.isOpen !== true)) this.#takeNote(relayed(), now);
    this.#sendFrames(reply, text);
  }

  /** Asks again what the client has taken; false while there is no process that could say so. */
  async ask(chars: number): Promise<boolean> {
    const reply = this.#framesReply(this.#seq, chars);
    if ((await this.#deps.client.exists(aliveKey(this.#entry.inbox))) === 0) return false;
    if (!this.#lost) this.#sendFrames(reply);
    return true;
  }

  /** The payload of a stream that will carry the receipt. */
  last(write: HolderWrite, payload: string): void {
    write.send(this.#entry.inbox, { ...this.#head, seq: this.#next(), kind: 'last' }, payload);
  }

  /** Leaves a whole answer that is too large for a message under a key of its own, which it returns. */
  async leave(text: string): Promise<string | undefined> {
    if (text.length <= INLINE_BYTES_MAX) return undefined;
    const ref = claimedReplyKey(this.#entry.id, this.#head.attempt);
    const sealed = await this.#deps.seals.sealBytesInTurns(await bytesOfText(text), ref);
    await this.#deps.client.set(ref, sealed, 'EX', CLAIMED_REPLY_S);
    return ref;
  }

  /** A whole answer, or `ref`, where it was left. */
  answer(write: HolderWrite, text: string, ref: string | undefined): void {
    const { inbox } = this.#entry;
    const head = { ...this.#head, seq: this.#next(), kind: 'answer' } as const;
    if (ref === undefined) write.send(inbox, head, text);
    else write.send(inbox, { ...head, ref });
  }

  error(write: Pick<HolderWrite, 'send'>, error: WireFault): void {
    write.send(this.#entry.inbox, { ...this.#head, seq: this.#next(), kind: 'error', error });
  }

  /** With the open note, where there is one: the outbox writes what stands beside notes before them. */
  #sendFrames(reply: FramesReply, text = ''): void {
    const write = this.#noteWithFrames ?? this.#deps.outbox;
    write.send(this.#entry.inbox, reply, text, this.#channel);
  }

  get #noteWithFrames(): HolderWrite | undefined {
    return this.#isBeside && this.#note?.isOpen === true ? this.#note : undefined;
  }

  #takeNote(relayed: Relayed, now: number): void {
    this.#notedAt = now;
    const { id, shard, claim, region, orgId, deadlineAt, reserves = [] } = this.#entry;
    // Until the stream has begun, nothing of it may go out without a note: the client waits for both.
    const note = this.#deps.outbox.asHolder(this.#delivery, { mayWait: this.#begun });
    // Admission gave the claim no longer than the deadline: without this, a repeated request would run beside this one.
    if (claim !== undefined && !this.#begun) note.command('EXPIRE', claim, RUNS_S_MAX);
    note.command('SET', begunKey(shard, id), encodeRelayed(relayed), 'EX', BEGUN_S);
    if (!this.#isLong && now > deadlineAt - NEAR_DEADLINE_MS) {
      this.#isLong = true;
      const until = deadlineAt + RUNS_S_MAX * 1_000;
      note.command('ZADD', heldKey(shard, region, orgId), until, id);
      // What it may use of budgets is not given back while it runs, or its end would find nothing to count it by.
      for (const reserve of reserves) {
        // These are held for longer already.
        if (isEstimated(reserve.measure)) continue;
        const holders = holdersKey(budgetKey(shard, orgId, reserve));
        note.command('ZADD', holders, 'XX', until, holderName(id, reserve));
      }
    }
    const mustWait = this.#channel === undefined || !this.#begun;
    // What an open note holds already comes before what follows.
    this.#isBeside = mustWait || this.#noteWithFrames !== undefined;
    this.#note = note;
    void this.#learn(note.written);
  }

  async #learn(written: Promise<Holding>): Promise<void> {
    if ((await written) === 'held') {
      this.#begun = true;
    } else if (!this.#lost) {
      this.#lost = true;
      this.onLost();
    }
  }

  #framesReply(seq: number, chars: number | undefined): FramesReply {
    const reply = { ...this.#head, seq, kind: 'frames' } as const;
    if (chars === undefined) return reply;
    return { ...reply, acknowledge: { to: this.#delivery.consumer, chars } };
  }

  #next(): number {
    this.#seq += 1;
    return this.#seq;
  }
}
