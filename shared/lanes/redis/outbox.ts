import type { RedisClient } from './connect.ts';
import {
  answerKey,
  CONSUMER_GROUP,
  holdersKey,
  inboxKey,
  receiptsLane,
  waiterOf,
  waitersKey,
} from '../keys.ts';
import type { ReceiptEntry, Reply, WireFault } from '../messages.ts';
import type { Seals } from '../seals.ts';
import {
  BATCH_FIELD,
  CLEAR_FIELD,
  encodeBatch,
  encodeMessage,
  type Outgoing,
} from '../wire-format.ts';
import type { StoredAnswerName } from '../stored-answer.ts';
import type { ReplyChannel, ReplyChannels } from '../sockets/reply-channels.ts';
import type { Delivery } from './lane-consumer.ts';
import { callReplicated, mayFailOver } from './replicated.ts';
import { defineLaneScripts, type LaneScripts } from './scripts.ts';

/**
 * Frames of streams that come so soon after the last write wait for those of other streams, or the next of their own: each
 * write wakes Redis and the api process, which cost more than the frames in it. The frame of a stream that is alone comes
 * later than that after the one before it, and never waits.
 */
const GATHER_MS = 4;

/** Where so much has gathered it is written without a wait for more: some milliseconds of sealing and writing. */
const FULL_CHARS = 262_144;

/** Unread entries an inbox may hold; a reader that is this far behind is not coming back in time. */
const INBOX_MAX = 200_000;
const RETRY_MS = 100;

/** What is sealed and opened, or sent and read, in one go holds up the event loop of both sides for a few milliseconds at most. */
const BATCH_CHARS_MAX = 4 * 1024 * 1024;

/** Records of one turn that travel in one entry: half of what is committed together, so that halves can be. */
const TOGETHER_MAX = 16;
/** Where so many entries wait in a receipts lane, its readers do not keep up, and each record has an entry of its own. */
const TOGETHER_BELOW = 1_000;

type Command = [name: string, key: string, ...args: (string | number | Buffer)[]];

/**
 * Whether a delivery holds its entry: `held`, or `taken` by a later delivery (or another worker), or `gone`, because the
 * entry has been acknowledged or Redis has lost it.
 */
export type Holding = 'held' | 'taken' | 'gone';

/** What a request that ends has used of a budget. */
interface SettledBudget {
  /** The key of the budget's counter. */
  counter: string;
  /** The request, as it stands among those that hold a part of it. */
  holder: string;
  used: number;
}

/** What one delivery writes together, and only while it holds its entry. It gathers until its outbox writes. */
export interface HolderWrite {
  /** More can be added. */
  readonly isOpen: boolean;
  /** `held` when it was written; otherwise none of it was. */
  readonly written: Promise<Holding>;
  /**
   * A reply for the api process that waits for it. Frames of a stream that has a channel go by that, once the rest is
   * written, and a receipt by any that leads there: it is committed, so it waits for nothing.
   */
  send(processId: string, reply: Reply, payload?: string, channel?: ReplyChannel): void;
  /** A command on a key of the entry's shard. */
  command(...command: Command): void;
  /** What happened, for the receipts lane of the entry's shard. */
  record(entry: ReceiptEntry): void;
  /** The request ends, and has used so much of a budget: what it held of that is given back. */
  settleBudget(settled: SettledBudget): void;
  /** The idempotency key may be used again; the requests that wait for this one fail with the same fault. */
  free(name: StoredAnswerName, fault: WireFault): void;
  /** The entry is acknowledged and removed, once everything else is written. */
  done(): void;
}

/** What one process is to be told. */
interface Addressed extends Outgoing {
  processId: string;
  /** By which it goes while that is open; else by the inbox. */
  channel?: ReplyChannel | undefined;
}

/** A claim that is freed, and how its request failed. */
interface Freed {
  name: StoredAnswerName;
  fault: WireFault;
}

class Write implements HolderWrite {
  readonly delivery: Delivery;
  readonly commands: Command[] = [];
  readonly records: string[] = [];
  /** What is written with the rest, what goes before it, and what goes after it. */
  readonly messages: Addressed[] = [];
  readonly receipts: Addressed[] = [];
  readonly frames: Addressed[] = [];
  readonly budgets: SettledBudget[] = [];
  readonly freed: Freed[] = [];
  readonly written: Promise<Holding>;
  isOpen = true;
  isLast = false;
  isSettled = false;
  readonly #batch: Batch;
  readonly #channelTo: (processId: string) => ReplyChannel | undefined;
  #resolve!: (holding: Holding) => void;

  constructor(
    delivery: Delivery,
    batch: Batch,
    channelTo: (processId: string) => ReplyChannel | undefined,
  ) {
    this.delivery = delivery;
    this.#batch = batch;
    this.#channelTo = channelTo;
    this.written = new Promise((resolve) => {
      this.#resolve = resolve;
    });
  }

  settle(holding: Holding): void {
    this.isSettled = true;
    this.#resolve(holding);
  }

  send(processId: string, reply: Reply, payload: string = '', channel?: ReplyChannel): void {
    this.#batch.chars += payload.length;
    if (saysReceipt(reply)) {
      this.receipts.push({ processId, reply, payload, channel: this.#channelTo(processId) });
    } else if (channel === undefined) this.messages.push({ processId, reply, payload });
    else this.frames.push({ processId, reply, payload, channel });
  }

  command(...command: Command): void {
    this.commands.push(command);
  }

  record(entry: ReceiptEntry): void {
    this.records.push(encodeMessage(entry));
  }

  settleBudget(settled: SettledBudget): void {
    this.budgets.push(settled);
  }

  free(name: StoredAnswerName, fault: WireFault): void {
    this.freed.push({ name, fault });
  }

  done(): void {
    this.isLast = true;
  }
}

/**
 * `messages` belong to no delivery, and come before those of `writes`. Before all of them comes what was `returned`: it was
 * given to channels that broke.
 */
interface Batch {
  returned: Addressed[];
  messages: Addressed[];
  writes: Write[];
  /** Of payloads. */
  chars: number;
  /** Called when it is being written. */
  begun: (() => void)[];
  settled: (() => void)[];
  /** It holds more than frames, and notes of how far streams are. */
  isUrgent: boolean;
}

const emptyBatch = (): Batch => ({
  returned: [],
  messages: [],
  writes: [],
  chars: 0,
  begun: [],
  settled: [],
  isUrgent: false,
});

/**
 * Everything a worker writes to Redis for its requests, gathered for one turn of the event loop (frames of running streams
 * for `GATHER_MS` at most) and written at once by one script (apply.lua): many chunks, sealed together, in one entry per
 * inbox; many outcomes in one entry of the receipts lane; one XACK per lane. What ends or begins a request is written as
 * the holder of its entry: not at all when another worker has taken the entry over meanwhile. So the script writes while
 * all deliveries of the turn hold their entries, which is nearly always; where one does not, its write is left out, and the
 * others are written again.
 *
 * On a single node this is one transaction, replies included, so no crash can separate its parts. A cluster has the
 * inboxes elsewhere: there the holding is looked up, then answers go out, then one script per shard writes the rest, and
 * then failures are told. A crash after an answer means a redelivery, which the reader recognises by its number. A failure
 * that was told and not written would let a request run that its caller sends again.
 *
 * Frames and receipts spare Redis where a channel leads to their process: nothing else depends on where they are. Frames
 * that stand beside a note go when it is written, others at once. A stream that has begun by a channel ends it when that
 * breaks, and goes by the inbox from then on, behind what the channel has handed back; so its frames keep their order.
 */
export class Outbox {
  readonly #client: RedisClient;
  readonly #scripts: LaneScripts;
  readonly #seals: Pick<Seals, 'seal'>;
  readonly #onError: (error: unknown) => void;
  #batch = emptyBatch();
  /** Is to write the batch: in this turn, or when it has gathered for long enough. */
  #soon: NodeJS.Immediate | undefined;
  #later: NodeJS.Timeout | undefined;
  #writing: Promise<void> | undefined;
  /** When something was last written, in milliseconds of the steady clock. */
  #writtenAt = -Infinity;
  readonly #channels: ReplyChannels | undefined;
  #closed = false;

  /** `openChannels`: where processes can be told without Redis; it is given whom to tell that a channel has broken. */
  constructor(
    client: RedisClient,
    seals: Pick<Seals, 'seal'>,
    onError: (error: unknown) => void,
    openChannels?: (onBroken: (channel: ReplyChannel) => void) => ReplyChannels,
  ) {
    this.#client = client;
    this.#seals = seals;
    this.#scripts = defineLaneScripts(client);
    this.#onError = onError;
    this.#channels = openChannels?.((channel) => this.#takeBack(channel));
  }

  /** What leads to a process at this moment. A stream has it, or the inbox, for all of its frames. */
  channelTo = (processId: string): ReplyChannel | undefined => this.#channels?.to(processId);

  /** Queues a reply for the api process that waits for it, also where another holds the entry. Frames may wait for others. */
  send(processId: string, reply: Reply, payload: string = '', channel?: ReplyChannel): void {
    this.#batch.messages.push({ processId, reply, payload, channel });
    this.#batch.chars += payload.length;
    this.#schedule(reply.kind !== 'frames');
  }

  /**
   * Queues what is to be written for a delivery while it holds its entry; the caller fills it in this turn. `mayWait`: it
   * goes with the frames that it notes.
   */
  asHolder(delivery: Delivery, { mayWait = false } = {}): HolderWrite {
    const write = new Write(delivery, this.#batch, this.channelTo);
    this.#batch.writes.push(write);
    this.#schedule(!mayWait);
    return write;
  }

  /** Resolves when more may gather than has already: at once, or when that is being written. */
  whenRoom(): Promise<void> {
    const { begun } = this.#batch;
    if (!this.#isFull) return Promise.resolve();
    this.#schedule(false);
    return new Promise((resolve) => begun.push(resolve));
  }

  /** Resolves when everything queued so far is in Redis. */
  flushed(): Promise<void> {
    const batch = this.#batch;
    if (isEmpty(batch)) return this.#writing ?? Promise.resolve();
    this.#schedule(true);
    return new Promise((resolve) => batch.settled.push(resolve));
  }

  /** Resolves when everything queued so far is in Redis, or known to be with the process that it is for. */
  async settled(): Promise<void> {
    await this.flushed();
    await this.#channels?.settled();
    await this.flushed();
  }

  /** Gives up retrying: for a process whose time to stop is over. */
  close(): void {
    this.#closed = true;
    this.#channels?.close();
  }

  #takeBack(channel: ReplyChannel): void {
    const { processId } = channel;
    this.#batch.returned.push(...channel.takeBack().map((one) => ({ ...one, processId })));
    this.#schedule(true);
  }

  #schedule(isUrgent: boolean): void {
    this.#batch.isUrgent ||= isUrgent;
    // What is being written looks for more when it is done.
    if (this.#soon !== undefined || this.#writing !== undefined) return;
    if (this.#isDue()) {
      clearTimeout(this.#later);
      this.#soon = setImmediate(() => this.#begin());
      return;
    }
    const waitMs = this.#writtenAt + GATHER_MS - performance.now();
    this.#later ??= setTimeout(() => this.#begin(), waitMs);
  }

  #isDue(): boolean {
    if (this.#batch.isUrgent || this.#isFull) return true;
    return performance.now() - this.#writtenAt >= GATHER_MS;
  }

  get #isFull(): boolean {
    return this.#batch.chars >= FULL_CHARS;
  }

  #begin(): void {
    this.#soon = undefined;
    this.#later = undefined;
    this.#writing = this.#drain();
  }

  async #drain(): Promise<void> {
    do {
      const batch = this.#batch;
      this.#batch = emptyBatch();
      this.#writtenAt = performance.now();
      for (const write of batch.writes) write.isOpen = false;
      for (const resolve of batch.begun) resolve();
      await this.#writeUntilDone(batch);
      for (const resolve of batch.settled) resolve();
    } while (!isEmpty(this.#batch) && this.#isDue());
    this.#writing = undefined;
    if (!isEmpty(this.#batch)) this.#schedule(false);
  }

  /** Repeats what failed until it succeeds: every reader recognises repeated messages. */
  async #writeUntilDone({ returned, messages, writes }: Batch): Promise<void> {
    const byInbox = [...returned, ...tellByChannels(messages)];
    for (const { receipts, messages: own } of writes) own.push(...tellByChannels(receipts));
    if (byInbox.length + writes.length === 0) return;
    if (writes.length > 0) {
      // What ends a stream, or notes how far it is, must not outlive frames that are in this process alone.
      await this.#channels?.passed();
      byInbox.push(...this.#batch.returned.splice(0));
    }
    let left = { messages: byInbox, writes };
    while (!this.#closed) {
      try {
        const failed = await this.#write(left.messages, left.writes);
        if (failed.length === 0) return;
        left = { messages: [], writes: failed.map(({ write }) => write) };
        for (const { error } of failed) this.#onError(new Error(error));
      } catch (error) {
        this.#onError(error);
        left.writes = left.writes.filter(({ isSettled }) => !isSettled);
      }
      await new Promise((resolve) => setTimeout(resolve, RETRY_MS));
    }
  }

  /** Writes everything it can, and returns what it could not. */
  async #write(messages: Addressed[], writes: Write[]): Promise<Failed[]> {
    if (writes.length === 0) {
      // Frames of streams, mostly: what depends on no entry needs no script.
      await this.#tell(messages);
      return [];
    }
    if (!mayFailOver(this.#client)) return this.#together(messages, writes);
    const holdings = await Promise.all(writes.map(({ delivery }) => this.#holding(delivery)));
    const held = writes.filter((write, i) => settleUnlessHeld(write, holdings[i]!));
    const answers = held.flatMap((write) => write.messages.filter((one) => !saysFailed(one)));
    await this.#tell([...messages, ...answers]);
    const failed = [...byShard(held)].map((some) => this.#together([], some));
    return (await Promise.all(failed)).flat();
  }

  /** Writes all at once; leaves out what is not held any more; and where a command fails, writes each by itself. */
  async #together(messages: Addressed[], writes: Write[]): Promise<Failed[]> {
    let left = writes;
    while (left.length > 0) {
      const groups = [...byHolder(left)];
      const told = mayFailOver(this.#client)
        ? []
        : [...messages, ...left.flatMap((write) => write.messages)];
      const given = argumentsOf(groups, this.#entriesOf(told));
      const [result, ...rest] = (await this.#scripts.apply(given)) as [
        'written' | 'stale' | 'failed',
        ...string[],
      ];
      if (result === 'written') {
        this.#tellWaiters(groups.flat(), rest);
        if (mayFailOver(this.#client)) {
          this.#batch.messages.push(...left.flatMap(({ messages: own }) => own.filter(saysFailed)));
        }
        // What a channel handed back in the meantime comes before them.
        for (const { frames } of left) this.#batch.returned.push(...tellByChannels(frames));
        for (const write of left) write.settle('held');
        return [];
      }
      if (result === 'failed') return this.#eachAlone(messages, left, rest[0]!);
      left = groups.flat().filter((write, i) => settleUnlessHeld(write, rest[i] as Holding));
    }
    await this.#tell(messages);
    return [];
  }

  /**
   * Tells those who waited for claims that are free now. Where this process dies before it has, they notice: each process
   * looks after the claims that its requests wait for.
   */
  #tellWaiters(writes: readonly Write[], waiting: readonly string[]): void {
    const freed = writes.flatMap((write) => write.freed);
    for (let i = 0; i < waiting.length; i += 2) {
      const { inbox, id } = waiterOf(waiting[i + 1]!);
      const error = freed[Number(waiting[i])]!.fault;
      this.send(inbox, { id, attempt: 1, seq: 1, kind: 'error', error });
    }
  }

  async #eachAlone(messages: Addressed[], writes: Write[], error: string): Promise<Failed[]> {
    if (messages.length === 0 && writes.length === 1) return [{ write: writes[0]!, error }];
    await this.#tell(messages);
    const failed: Failed[] = [];
    for (const write of writes) failed.push(...(await this.#together([], [write])));
    return failed;
  }

  async #holding({ lane, entryId, consumer, number }: Delivery): Promise<Holding> {
    const [found] = (await this.#client
      .xpending(lane, CONSUMER_GROUP, entryId, entryId, 1)
      .catch((error: unknown) => {
        // A server that came back empty has forgotten the group.
        if (String(error).includes('NOGROUP')) return [];
        throw error;
      })) as [id: string, consumer: string, idleMs: number, deliveries: number][];
    if (found === undefined) return 'gone';
    return found[1] === consumer && found[3] === number ? 'held' : 'taken';
  }

  /** Tells processes, with one command for each inbox. */
  async #tell(messages: readonly Addressed[]): Promise<void> {
    const sent = this.#entriesOf(messages).map(([inbox, fields]) =>
      callReplicated(
        this.#client,
        inbox,
        'XADD',
        inbox,
        'NOMKSTREAM',
        'MAXLEN',
        '~',
        INBOX_MAX,
        '*',
        ...fields,
      ),
    );
    await Promise.all(sent);
  }

  /**
   * What inboxes are told: all of one inbox together, and sealed. Receipts are not: they hold nothing of prompt and
   * answer, are signed, and stand in PostgreSQL as they are; sealed, they were most of what a request brought to Redis.
   */
  #entriesOf(messages: readonly Addressed[]): InboxEntry[] {
    return [...Map.groupBy(messages, ({ processId }) => processId)].flatMap(([processId, some]) => {
      const inbox = inboxKey(processId);
      const receipts = some.filter(({ reply }) => reply.kind === 'receipt');
      const others = some.filter(({ reply }) => reply.kind !== 'receipt');
      return [
        ...inBatches(others).map((batch): InboxEntry => [
          inbox,
          [BATCH_FIELD, encodeBatch(this.#seals, inbox, batch)],
        ]),
        ...inBatches(receipts).map((batch): InboxEntry => [
          inbox,
          batch.flatMap(({ reply, payload }) => [CLEAR_FIELD, encodeMessage(reply, payload)]),
        ]),
      ];
    });
  }
}

/** One entry of an inbox: its fields and their values, in turn. */
type InboxEntry = [inbox: string, fields: string[]];

interface Failed {
  write: Write;
  error: string;
}

/** Whether a write is to be written; one that is not, because its delivery has lost the entry, is told. */
function settleUnlessHeld(write: Write, holding: Holding): boolean {
  if (holding !== 'held') write.settle(holding);
  return holding === 'held';
}

/** What apply.lua is given. */
function argumentsOf(
  groups: readonly Write[][],
  told: readonly InboxEntry[],
): Parameters<LaneScripts['apply']>[0] {
  const places = new Map<string, number>();
  const placeOf = (key: string): number => {
    const place = places.get(key) ?? places.size + 1;
    places.set(key, place);
    return place;
  };
  const args: (string | number | Buffer)[] = [groups.length];
  for (const group of groups) {
    const { lane, consumer } = group[0]!.delivery;
    args.push(placeOf(lane), consumer, group.length);
    for (const { delivery, isLast } of group) {
      args.push(delivery.entryId, delivery.number, isLast ? 1 : 0);
    }
  }
  const writes = groups.flat();
  const commands = merged(writes.flatMap((write) => write.commands));
  args.push(commands.length);
  for (const [name, key, ...rest] of commands) args.push(name, placeOf(key), rest.length, ...rest);
  const recorded = [...byShard(writes.filter(({ records }) => records.length > 0))];
  args.push(recorded.length);
  for (const some of recorded) {
    const records = some.flatMap((write) => write.records);
    args.push(placeOf(receiptsLane(some[0]!.delivery.shard)), records.length, ...records);
  }
  args.push(told.length);
  for (const [inbox, fields] of told) args.push(placeOf(inbox), fields.length, ...fields);
  const budgets = writes.flatMap((write) => write.budgets);
  args.push(budgets.length);
  for (const { counter, holder, used } of budgets)
    args.push(placeOf(counter), placeOf(holdersKey(counter)), holder, used);
  const freed = writes.flatMap((write) => write.freed);
  args.push(freed.length);
  for (const { name } of freed) {
    const keys = [name.claim, waitersKey(name.claim), answerKey(name)];
    args.push(...keys.map(placeOf), name.requestId);
  }
  return {
    group: CONSUMER_GROUP,
    inboxMax: INBOX_MAX,
    togetherMax: TOGETHER_MAX,
    togetherBelow: TOGETHER_BELOW,
    moreKeys: [...places.keys()],
    moreArguments: args,
  };
}

/** Members that leave one sorted set do so in one command. */
function merged(commands: readonly Command[]): Command[] {
  const bySet = new Map<string, Command>();
  return commands.flatMap((command) => {
    const [name, key, ...members] = command;
    if (name !== 'ZREM') return [command];
    const first = bySet.get(key);
    if (first !== undefined) {
      first.push(...members);
      return [];
    }
    // A copy, because a write may come again.
    const copy: Command = [name, key, ...members];
    bySet.set(key, copy);
    return [copy];
  });
}

function isEmpty({ returned, messages, writes, settled }: Batch): boolean {
  return returned.length + messages.length + writes.length + settled.length === 0;
}

function saysFailed({ reply }: Addressed): boolean {
  return reply.kind === 'error';
}

function saysReceipt({ kind }: Reply): boolean {
  return kind === 'receipt' || kind === 'receipt_of_another';
}

/** Tells processes by the channels that are open. Returns what must go by inboxes, in order. */
function tellByChannels(messages: readonly Addressed[]): Addressed[] {
  const byInbox: Addressed[] = [];
  for (const [channel, some] of Map.groupBy(messages, (one) => one.channel)) {
    if (channel?.isOpen === true) channel.tell(inBatches(some));
    else byInbox.push(...some);
  }
  return byInbox;
}

/** Those of one lane and consumer together, which is one worker's hold on one lane. */
function byHolder(writes: readonly Write[]): Iterable<Write[]> {
  return Map.groupBy(writes, ({ delivery: { lane, consumer } }) => `${consumer} ${lane}`).values();
}

function byShard(writes: readonly Write[]): Iterable<Write[]> {
  return Map.groupBy(writes, ({ delivery }) => delivery.shard).values();
}

/** Messages in order, in batches of some megabytes: one that is larger than that travels alone. */
function inBatches(messages: readonly Outgoing[]): Outgoing[][] {
  const batches: Outgoing[][] = [];
  let chars = Infinity;
  for (const message of messages) {
    chars += message.payload.length;
    if (chars > BATCH_CHARS_MAX) {
      batches.push([]);
      chars = message.payload.length;
    }
    batches.at(-1)!.push(message);
  }
  return batches;
}
