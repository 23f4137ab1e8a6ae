import { everySecond } from '#shared/kernel/every-second.ts';
import { BLOCK_MS, type RedisClient } from './connect.ts';
import { aliveKey, CONSUMER_GROUP, shardOfLane } from '../keys.ts';
import type { LaneScripts } from './scripts.ts';
import type { Slots } from '../slots.ts';

/** What Redis says that this worker holds may still be on its way here for this long. */
const UNDERWAY_MS = 1_000;
/** Entries of one worker that are looked through for lost ones; more than any worker has in hand. */
const OWN_MAX = 10_000;
const PAUSE_AFTER_ERROR_MS = 100;

/** An entry of a lane, as one worker was handed it. */
export interface Delivery {
  shard: number;
  lane: string;
  entryId: string;
  /** Who holds the entry while this delivery does. */
  consumer: string;
  /** 1 for the first delivery of the entry; rises with each redelivery. */
  number: number;
  /** What the entry holds: one on an inference lane; one or some, each for itself, on a receipts lane. */
  texts: readonly string[];
}

export interface LaneConsumerOptions {
  lane: string;
  consumer: string;
  /** Shared by all lanes of the worker. The handler releases one slot per entry when it is done with it. */
  slots: Slots;
  /** Bounds one read (in texts, by what the last one had); a free slot count above this is not used at once. */
  batchMax: number;
  /** One slot holds a whole batch, not one entry: while all are taken, entries gather for the next. */
  batched?: boolean;
  /** A connection of its own: reads park on it. */
  blocking: RedisClient;
  client: RedisClient;
  scripts: LaneScripts;
  /** Whether this worker may take another one for dead (see `Liveness.mayJudge`). */
  mayJudge: () => boolean;
  onDeliveries: (deliveries: Delivery[]) => void;
  onError: (error: unknown) => void;
}

type Fields = string[] | null;
/** An entry that a worker holds by the server's account. */
type PendingEntry = [id: string, consumer: string, idleMs: number, deliveries: number];

/**
 * One worker's hold on one lane: reads as many entries as there are free slots, and takes over what dead workers left.
 * Entries come at least once; acknowledging is the handler's business.
 */
export class LaneConsumer {
  readonly #options: LaneConsumerOptions;
  readonly #shard: number;
  readonly #stop = Promise.withResolvers<void>();
  /** Entries that this worker was given, until the server no longer counts it as held. */
  readonly #handed = new Set<string>();
  #stopped = false;
  /** Of the last batch: so many are to be expected of the next. */
  #textsPerEntry = 1;
  #loop: Promise<void> = Promise.resolve();
  #reaping: Promise<void> = Promise.resolve();
  #endReaping = (): void => {};

  constructor(options: LaneConsumerOptions) {
    this.#options = options;
    this.#shard = shardOfLane(options.lane);
  }

  async start(): Promise<void> {
    await this.#createGroup();
    this.#loop = this.#read();
    this.#endReaping = everySecond(() => {
      this.#reaping = this.#reaping.then(() => this.#reap().catch(this.#options.onError));
    });
  }

  /** Takes no new entries. Those already handed over stay with the handler. */
  async stop(): Promise<void> {
    this.#stopped = true;
    this.#stop.resolve();
    this.#endReaping();
    this.#options.blocking.disconnect();
    await Promise.all([this.#loop, this.#reaping]);
  }

  /** Leaves the group, once the handler has acknowledged everything. */
  async leave(): Promise<void> {
    const { scripts, lane, consumer } = this.#options;
    await scripts.dropConsumer({ lane, group: CONSUMER_GROUP, consumer });
  }

  async #createGroup(): Promise<void> {
    try {
      // From 0: entries that were admitted before the first worker ever started count too.
      await this.#options.client.xgroup(
        'CREATE',
        this.#options.lane,
        CONSUMER_GROUP,
        '0',
        'MKSTREAM',
      );
    } catch (error) {
      if (!String(error).includes('BUSYGROUP')) throw error;
    }
  }

  async #read(): Promise<void> {
    const { blocking, lane, consumer, slots } = this.#options;
    while (!this.#stopped) {
      if (slots.free === 0) await Promise.race([slots.whenFree(), this.#stop.promise]);
      if (this.#stopped) return;
      try {
        const reply = await blocking.xreadgroup(
          'GROUP',
          CONSUMER_GROUP,
          consumer,
          'COUNT',
          this.#room(),
          'BLOCK',
          BLOCK_MS,
          'STREAMS',
          lane,
          '>',
        );
        if (reply !== null) this.#hand(reply[0]![1], () => 1);
      } catch (error) {
        if (this.#stopped) return;
        await this.#recover(error);
      }
    }
  }

  /** How many entries may be taken now. */
  #room(): number {
    const { slots, batchMax, batched } = this.#options;
    if (batched === true) return slots.free > 0 ? Math.ceil(batchMax / this.#textsPerEntry) : 0;
    return Math.min(slots.free, batchMax);
  }

  #hand(entries: [string, Fields][], numberOf: (id: string) => number): void {
    const { lane, consumer, slots, onDeliveries } = this.#options;
    const shard = this.#shard;
    const batch: Delivery[] = [];
    let held = 0;
    for (const [id, fields] of entries) {
      // A claimed entry that was deleted meanwhile has no fields.
      if (fields === null) continue;
      this.#handed.add(id);
      const number = numberOf(id);
      const texts = fields.filter((_, i) => i % 2 === 1);
      batch.push({ shard, lane, entryId: id, consumer, number, texts });
      held += texts.length;
    }
    if (batch.length === 0) return;
    this.#textsPerEntry = held / batch.length;
    slots.take(this.#options.batched === true ? 1 : batch.length);
    onDeliveries(batch);
  }

  async #recover(error: unknown): Promise<void> {
    this.#options.onError(error);
    await new Promise((resolve) => setTimeout(resolve, PAUSE_AFTER_ERROR_MS));
    // A server that came back empty has forgotten the group.
    if (String(error).includes('NOGROUP')) await this.#createGroup().catch(this.#options.onError);
  }

  async #reap(): Promise<void> {
    const { client, lane, consumer, scripts, mayJudge } = this.#options;
    const handed = [...this.#handed];
    const consumers = (await client.xinfo('CONSUMERS', lane, CONSUMER_GROUP)) as unknown[][];
    const own = consumers.find((fields) => fieldOf(fields, 'name') === consumer) ?? [];
    // Most looks find nothing held, by the same command that names the others.
    if (Number(fieldOf(own, 'pending') ?? 0) > 0) await this.#recoverLost();
    else for (const id of handed) this.#handed.delete(id);
    for (const fields of consumers) {
      const name = String(fieldOf(fields, 'name'));
      if (name === consumer || this.#stopped) continue;
      if (!mayJudge()) return;
      const isAlive = (await client.exists(aliveKey(name))) === 1;
      if (isAlive) continue;
      if (!mayJudge()) return;
      if (await this.#claimFrom(name)) continue;
      await scripts.dropConsumer({ lane, group: CONSUMER_GROUP, consumer: name });
    }
  }

  /** Claims what a dead consumer left, as far as slots are free. Returns whether anything was left. */
  async #claimFrom(name: string): Promise<boolean> {
    const room = this.#room();
    const left = await this.#heldBy(name, Math.max(room, 1));
    if (left.length === 0) return false;
    if (room === 0) return true;
    // This process may have been stopped since it found the other one dead, and the other one with it.
    if (this.#options.mayJudge()) await this.#takeOver(name, left);
    return true;
  }

  /**
   * A connection that breaks may take a reply with it: the server then counts entries as held by this worker which it has
   * never seen, and no other worker takes them while this one lives.
   */
  async #recoverLost(): Promise<void> {
    const handed = [...this.#handed];
    const held = await this.#heldBy(this.#options.consumer, OWN_MAX);
    const lost = held.filter(([id, , idle]) => idle >= UNDERWAY_MS && !this.#handed.has(id));
    if (held.length < OWN_MAX) {
      const still = new Set(held.map(([id]) => id));
      for (const id of handed) if (!still.has(id)) this.#handed.delete(id);
    }
    const taken = lost.slice(0, this.#room());
    if (taken.length > 0 && !this.#stopped) await this.#takeOver(this.#options.consumer, taken);
  }

  async #heldBy(name: string, count: number): Promise<PendingEntry[]> {
    const { client, lane } = this.#options;
    const held = await client.xpending(lane, CONSUMER_GROUP, '-', '+', count, name);
    return held as PendingEntry[];
  }

  /** Takes over what `from` still holds of these, and hands it on with the number of this delivery. */
  async #takeOver(from: string, entries: readonly PendingEntry[]): Promise<void> {
    const { scripts, lane, consumer } = this.#options;
    const deliveries = new Map(entries.map(([id, , , count]) => [id, count]));
    const taken = (await scripts.takeOver({
      lane,
      group: CONSUMER_GROUP,
      from,
      to: consumer,
      moreArguments: [...deliveries].flat(),
    })) as [string, Fields][];
    this.#hand(taken, (id) => deliveries.get(id)! + 1);
  }
}

/** Of a reply that lists names and values in turn. */
function fieldOf(fields: readonly unknown[], name: string): unknown {
  const at = fields.indexOf(name);
  return at === -1 ? undefined : fields[at + 1];
}
