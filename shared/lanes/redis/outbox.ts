import type { Cluster } from 'ioredis';
import type { RedisClient } from './connect.ts';
import { CONSUMER_GROUP, inboxKey } from '../keys.ts';
import type { Reply } from '../messages.ts';
import type { Seals } from '../seals.ts';
import { BATCH_FIELD, encodeBatch, type Outgoing } from '../wire-format.ts';
import type { Delivery } from './lane-consumer.ts';
import { callReplicated } from './replicated.ts';
import { defineLaneScripts, type LaneScripts } from './scripts.ts';

/** Unread messages an inbox may hold; a reader that is this far behind is not coming back in time. */
const INBOX_MAX = 200_000;
const RETRY_MS = 100;

/** What is sealed and opened in one go holds up the event loop of both sides for a few milliseconds at most. */
const BATCH_CHARS_MAX = 4 * 1024 * 1024;

type Command = [name: string, key: string, ...args: (string | number | Buffer)[]];

/**
 * Whether a delivery holds its entry: `held`, or `taken` by a later delivery (or another worker), or `gone`, because the
 * entry has been acknowledged or Redis has lost it.
 */
export type Holding = 'held' | 'taken' | 'gone';

/** What one delivery writes together, and only while it holds its entry. It gathers until its outbox writes. */
export interface HolderWrite {
  /** More can be added. */
  readonly isOpen: boolean;
  /** `held` when it was written; otherwise none of it was. */
  readonly written: Promise<Holding>;
  /** A reply for the api process that waits for it. */
  send(processId: string, reply: Reply, payload?: string): void;
  /** A command on a key of the entry's shard. */
  command(...command: Command): void;
  /** The entry is acknowledged and removed, once everything else is written. */
  done(): void;
}

class Write implements HolderWrite {
  readonly delivery: Delivery;
  readonly commands: Command[] = [];
  readonly messages: Messages = new Map();
  readonly written: Promise<Holding>;
  settle!: (holding: Holding) => void;
  isOpen = true;
  isLast = false;

  constructor(delivery: Delivery) {
    this.delivery = delivery;
    this.written = new Promise((resolve) => {
      this.settle = resolve;
    });
  }

  send(processId: string, reply: Reply, payload: string = ''): void {
    queue(this.messages, processId, { reply, payload });
  }

  command(...command: Command): void {
    this.commands.push(command);
  }

  done(): void {
    this.isLast = true;
  }
}

/** inbox key → what it is to be told, in order. */
type Messages = Map<string, Outgoing[]>;

function queue(messages: Messages, processId: string, message: Outgoing): void {
  const key = inboxKey(processId);
  const queued = messages.get(key);
  if (queued === undefined) messages.set(key, [message]);
  else queued.push(message);
}

interface Batch {
  messages: Messages;
  writes: Write[];
  settled: (() => void)[];
}

const emptyBatch = (): Batch => ({ messages: new Map(), writes: [], settled: [] });

/**
 * Everything a worker writes to Redis for its requests, gathered for one turn of the event loop and written at once by one
 * script (apply.lua): many chunks, one XADD per inbox; many outcomes, one XACK per lane. What ends or begins a request is
 * written as the holder of its entry: not at all when another worker has taken the entry over meanwhile.
 *
 * On a single node a write is one transaction, replies included, so no crash can separate its parts. A cluster has the
 * inboxes elsewhere: there the holding is looked up, then replies go out, then one script per shard writes the rest. A
 * crash between the two means a redelivery, which the reader recognises by its number.
 */
export class Outbox {
  readonly #client: RedisClient;
  readonly #scripts: LaneScripts;
  readonly #seals: Pick<Seals, 'seal'>;
  readonly #onError: (error: unknown) => void;
  #batch = emptyBatch();
  #scheduled = false;
  #writing: Promise<void> | undefined;
  #closed = false;

  constructor(client: RedisClient, seals: Pick<Seals, 'seal'>, onError: (error: unknown) => void) {
    this.#client = client;
    this.#seals = seals;
    this.#scripts = defineLaneScripts(client);
    this.#onError = onError;
  }

  /** Queues a reply for the api process that waits for it, whoever holds the entry. */
  send(processId: string, reply: Reply, payload: string = ''): void {
    queue(this.#batch.messages, processId, { reply, payload });
    this.#schedule();
  }

  /** Queues what is to be written for a delivery while it holds its entry; the caller fills it in this turn. */
  asHolder(delivery: Delivery): HolderWrite {
    const write = new Write(delivery);
    this.#batch.writes.push(write);
    this.#schedule();
    return write;
  }

  /** Resolves when everything queued so far is in Redis. */
  flushed(): Promise<void> {
    const batch = this.#batch;
    if (isEmpty(batch)) return this.#writing ?? Promise.resolve();
    return new Promise((resolve) => batch.settled.push(resolve));
  }

  /** Gives up retrying: for a process whose time to stop is over. */
  close(): void {
    this.#closed = true;
  }

  #schedule(): void {
    if (this.#scheduled || this.#writing !== undefined) return;
    this.#scheduled = true;
    setImmediate(() => {
      this.#scheduled = false;
      this.#writing = this.#drain();
    });
  }

  async #drain(): Promise<void> {
    for (;;) {
      const batch = this.#batch;
      if (isEmpty(batch)) break;
      this.#batch = emptyBatch();
      for (const write of batch.writes) write.isOpen = false;
      await this.#writeUntilDone(batch);
      for (const resolve of batch.settled) resolve();
    }
    this.#writing = undefined;
  }

  /** Repeats what failed until it succeeds: every reader recognises repeated messages. */
  async #writeUntilDone(batch: Batch): Promise<void> {
    let left: Pick<Batch, 'messages' | 'writes'> = batch;
    while (!this.#closed) {
      try {
        const failed = await this.#write(left);
        if (failed.length === 0) return;
        left = { messages: new Map(), writes: failed.map(({ write }) => write) };
        for (const { error } of failed) this.#onError(new Error(error));
      } catch (error) {
        this.#onError(error);
      }
      await new Promise((resolve) => setTimeout(resolve, RETRY_MS));
    }
  }

  /** Writes everything it can, and returns what it could not. */
  async #write({ messages, writes }: Pick<Batch, 'messages' | 'writes'>): Promise<Failed[]> {
    if (!isCluster(this.#client)) return this.#apply(messages, writes);
    const holdings = await Promise.all(writes.map(({ delivery }) => this.#holding(delivery)));
    const held = writes.filter((write, i) => {
      if (holdings[i] !== 'held') write.settle(holdings[i]!);
      return holdings[i] === 'held';
    });
    await this.#reply([messages, ...held.map((write) => write.messages)]);
    const failed = [...byShard(held)].map((some) => this.#apply(new Map(), some));
    return (await Promise.all(failed)).flat();
  }

  async #apply(messages: Messages, writes: readonly Write[]): Promise<Failed[]> {
    const isOneNode = !isCluster(this.#client);
    const script = new ScriptArguments();
    if (messages.size > 0) script.addMessages(this.#sealed(messages));
    for (const write of writes) script.add(write, isOneNode ? this.#sealed(write.messages) : []);
    const results = (await this.#scripts.apply(
      script.keys.length,
      ...script.keys,
      ...script.args,
    )) as string[];
    const ofWrites = messages.size > 0 ? results.slice(1) : results;
    return writes.flatMap((write, i) => {
      const result = ofWrites[i]!;
      if (!isHolding(result)) return [{ write, error: result }];
      write.settle(result);
      return [];
    });
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

  /** To inboxes on a cluster, one command for each. */
  async #reply(all: readonly Messages[]): Promise<void> {
    const sealed = all.flatMap((messages) => this.#sealed(messages));
    const byInbox = Map.groupBy(sealed, ([inbox]) => inbox);
    const sent = [...byInbox].flatMap(([inbox, values]) =>
      pieces(values).map((piece) =>
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
          ...piece.flatMap(([, value]) => [BATCH_FIELD, value]),
        ),
      ),
    );
    await Promise.all(sent);
  }

  /** What inboxes are told, sealed: of one write together, because all of it is written or nothing. */
  #sealed(messages: Messages): [inbox: string, sealed: string][] {
    return [...messages].flatMap(([inbox, some]) =>
      inBatches(some).map((batch): [string, string] => [
        inbox,
        encodeBatch(this.#seals, inbox, batch),
      ]),
    );
  }
}

interface Failed {
  write: Write;
  error: string;
}

/** Keys and arguments of apply.lua. */
class ScriptArguments {
  readonly keys: string[] = [];
  readonly args: (string | number | Buffer)[] = [CONSUMER_GROUP, INBOX_MAX, BATCH_FIELD];
  readonly #places = new Map<string, number>();

  /** Messages of no delivery. */
  addMessages(sealed: [inbox: string, sealed: string][]): void {
    this.args.push(0, 0);
    this.#messages(sealed);
    this.args.push(0);
  }

  add({ delivery, commands, isLast }: Write, sealed: [inbox: string, sealed: string][]): void {
    const { lane, entryId, consumer, number } = delivery;
    this.args.push(this.#placeOf(lane), entryId, consumer, number, commands.length);
    for (const [name, key, ...rest] of commands) {
      this.args.push(name, this.#placeOf(key), rest.length, ...rest);
    }
    this.#messages(sealed);
    this.args.push(isLast ? 1 : 0);
  }

  #messages(sealed: [inbox: string, sealed: string][]): void {
    this.args.push(sealed.length);
    for (const [inbox, value] of sealed) this.args.push(this.#placeOf(inbox), value);
  }

  #placeOf(key: string): number {
    const known = this.#places.get(key);
    if (known !== undefined) return known;
    const place = this.keys.push(key);
    this.#places.set(key, place);
    return place;
  }
}

function isEmpty({ messages, writes }: Batch): boolean {
  return messages.size + writes.length === 0;
}

function isHolding(result: string): result is Holding {
  return result === 'held' || result === 'taken' || result === 'gone';
}

function isCluster(client: RedisClient): client is Cluster {
  return client.isCluster;
}

function byShard(writes: readonly Write[]): Iterable<Write[]> {
  return Map.groupBy(writes, ({ delivery }) => delivery.shard).values();
}

/** Messages in order, in batches of some megabytes: one that is larger than that travels alone. */
function inBatches(messages: Outgoing[]): Outgoing[][] {
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

/** So many values that one command can carry them. */
const PIECE = 1_000;

function pieces<T>(all: readonly T[]): T[][] {
  return Array.from({ length: Math.ceil(all.length / PIECE) }, (_, i) =>
    all.slice(i * PIECE, (i + 1) * PIECE),
  );
}
