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
/** Lua passes a command at most about 8,000 arguments. */
const ARGUMENTS_MAX = 4_000;

/** What is sealed and opened in one go holds up the event loop of both sides for a few milliseconds at most. */
const BATCH_CHARS_MAX = 4 * 1024 * 1024;

type Command = [name: string, key: string, ...args: (string | number | Buffer)[]];

interface Batch {
  /** inbox key → messages. */
  messages: Map<string, Outgoing[]>;
  /** Shard → what must happen there together. */
  transactions: Map<number, Command[]>;
  /** lane key → ids to acknowledge and delete. */
  done: Map<string, { shard: number; ids: string[] }>;
  settled: (() => void)[];
}

const emptyBatch = (): Batch => ({
  messages: new Map(),
  transactions: new Map(),
  done: new Map(),
  settled: [],
});

/**
 * Everything a worker writes to Redis for its requests, gathered for one turn of the event loop and written at once:
 * many chunks, one XADD per inbox; many outcomes, one script (apply.lua: what MULTI does, at half the cost here). On a
 * single node replies, hand-over and acknowledgement are one transaction, so no crash can separate them. On a cluster
 * replies go first, then one transaction per shard; a crash between the two means a redelivery, which the reader
 * recognises by its number.
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

  /** Queues a reply for the api process that waits for it. */
  send(processId: string, reply: Reply, payload: string = ''): void {
    const key = inboxKey(processId);
    const message = { reply, payload };
    const queued = this.#batch.messages.get(key);
    if (queued === undefined) this.#batch.messages.set(key, [message]);
    else queued.push(message);
    this.#schedule();
  }

  /** Queues a command that belongs to a shard's transaction. */
  command(shard: number, ...command: Command): void {
    const commands = this.#batch.transactions.get(shard);
    if (commands === undefined) this.#batch.transactions.set(shard, [command]);
    else commands.push(command);
    this.#schedule();
  }

  /** Queues the acknowledgement and removal of the entry that was delivered. */
  done({ shard, lane, entryId }: Pick<Delivery, 'shard' | 'lane' | 'entryId'>): void {
    const done = this.#batch.done.get(lane);
    if (done === undefined) this.#batch.done.set(lane, { shard, ids: [entryId] });
    else done.ids.push(entryId);
    this.#schedule();
  }

  /** Resolves when everything queued so far is in Redis. */
  flushed(): Promise<void> {
    const batch = this.#batch;
    if (batch.messages.size + batch.transactions.size + batch.done.size === 0) {
      return this.#writing ?? Promise.resolve();
    }
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
      if (batch.messages.size + batch.transactions.size + batch.done.size === 0) break;
      this.#batch = emptyBatch();
      await this.#writeUntilDone(batch);
      for (const resolve of batch.settled) resolve();
    }
    this.#writing = undefined;
  }

  /** Repeats a failed write until it succeeds: every reader recognises repeated messages. */
  async #writeUntilDone(batch: Batch): Promise<void> {
    while (!this.#closed) {
      try {
        await this.#write(batch);
        return;
      } catch (error) {
        this.#onError(error);
        await new Promise((resolve) => setTimeout(resolve, RETRY_MS));
      }
    }
  }

  async #write(batch: Batch): Promise<void> {
    const byShard = transactionsOf(batch);
    const replies = repliesOf(batch, this.#seals);
    if (isCluster(this.#client)) {
      await Promise.all(replies.map((reply) => this.#transaction([reply])));
      await Promise.all([...byShard.values()].map((commands) => this.#transaction(commands)));
    } else {
      await this.#transaction([...[...byShard.values()].flat(), ...replies]);
    }
  }

  async #transaction(commands: Command[]): Promise<void> {
    if (commands.length === 0) return;
    if (commands.length === 1) {
      const [name, ...args] = commands[0]!;
      await callReplicated(this.#client, args[0], name, ...args);
      return;
    }
    const keys = commands.map(([, key]) => key);
    const rest = commands.flatMap(([name, , ...args]) => [name, args.length, ...args]);
    await this.#scripts.apply(keys.length, ...keys, ...rest);
  }
}

function isCluster(client: RedisClient): client is Cluster {
  return client.isCluster;
}

function transactionsOf(batch: Batch): Map<number, Command[]> {
  const byShard = batch.transactions;
  for (const [lane, { shard, ids }] of batch.done) {
    const commands = byShard.get(shard) ?? [];
    for (const some of pieces(ids)) {
      commands.push(['XACK', lane, CONSUMER_GROUP, ...some], ['XDEL', lane, ...some]);
    }
    byShard.set(shard, commands);
  }
  batch.done = new Map();
  return byShard;
}

function repliesOf(batch: Batch, seals: Pick<Seals, 'seal'>): Command[] {
  const replies: Command[] = [];
  for (const [key, messages] of batch.messages) {
    for (const some of inBatches(messages)) {
      const sealed = encodeBatch(seals, key, some);
      replies.push(['XADD', key, 'NOMKSTREAM', 'MAXLEN', '~', INBOX_MAX, '*', BATCH_FIELD, sealed]);
    }
  }
  return replies;
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

/** So many that, with a field name each, one command can carry them. */
function pieces<T>(all: T[]): T[][] {
  const size = ARGUMENTS_MAX / 2;
  if (all.length <= size) return [all];
  return Array.from({ length: Math.ceil(all.length / size) }, (_, i) =>
    all.slice(i * size, (i + 1) * size),
  );
}
