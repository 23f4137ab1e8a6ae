import type { Registry } from 'prom-client';
import { connectRedis, type RedisClient } from '#shared/lanes/redis/connect.ts';
import type { Cancellation, Reply, Taken } from '#shared/lanes/messages.ts';
import { checkDurability } from '#shared/lanes/redis/durability.ts';
import { createSettleClaim, type SettleClaim } from '#shared/lanes/redis/claims.ts';
import { Inbox } from '#shared/lanes/redis/inbox.ts';
import { type Delivery, LaneConsumer } from '#shared/lanes/redis/lane-consumer.ts';
import { Liveness } from '#shared/lanes/redis/liveness.ts';
import { Outbox } from '#shared/lanes/redis/outbox.ts';
import { defineLaneScripts, type LaneScripts } from '#shared/lanes/redis/scripts.ts';
import type { MasterChange } from '#shared/lanes/redis/following-cluster.ts';
import type { Seals } from '#shared/lanes/seals.ts';
import { ReplyChannels, type ReplyChannelsOptions } from '#shared/lanes/sockets/reply-channels.ts';
import { Slots } from '#shared/lanes/slots.ts';
import type { ReadinessChecks } from '#shared/process/health-server.ts';
import { keepPeers, type KeptPeers } from '#shared/process/keep-peers.ts';
import { masterEvents } from '#shared/process/master-events.ts';
import type { ProcessContext } from '#shared/process/run-process.ts';
import { metricsOf } from '#shared/process/metrics.ts';

export interface Consumption<Message> {
  lanes: readonly string[];
  /** Of the catalogue as it is now. */
  catalogueDigest: () => string;
  /** Entries taken at one read. */
  batchMax: number;
  /** One slot holds a whole batch, not one entry. */
  batched?: boolean;
  /** The handler releases one slot per entry when it is done with it. */
  onDeliveries: (deliveries: Delivery[]) => void;
  /** What others write to this process. */
  onMessage: (message: Message) => void;
}

/** Everything a worker holds of Redis: connections, outbox, inbox, sign of life, and its hold on the lanes. */
export class LaneConnections<Message extends Reply | Cancellation | Taken = never> {
  readonly client: RedisClient;
  readonly #scripts: LaneScripts;
  readonly #seals: Seals;
  readonly outbox: Outbox;
  readonly settleClaim: SettleClaim;
  readonly slots: Slots;
  readonly #context: ProcessContext;
  readonly #onError: (error: unknown) => void;
  readonly #writer: RedisClient;
  #inbox!: Inbox<Message>;
  #liveness!: Liveness;
  #peers!: KeptPeers;
  #consumers: LaneConsumer[] = [];

  /** `slotCount`: entries (or batches) in hand at once, over all lanes. */
  constructor(
    context: ProcessContext,
    seals: Seals,
    slotCount: number,
    onError: (error: unknown) => void,
  ) {
    this.#context = context;
    this.#seals = seals;
    this.#onError = onError;
    this.client = this.#connect('patient', masterEvents(context.log));
    this.#writer = this.#connect('patient');
    this.#scripts = defineLaneScripts(this.client);
    const { client } = this;
    const openChannels = (onBroken: ReplyChannelsOptions['onBroken']) =>
      new ReplyChannels({ client, seals, onError, onBroken });
    const isDirect = context.config.replies === 'direct';
    this.outbox = new Outbox(this.#writer, seals, onError, isDirect ? openChannels : undefined);
    this.settleClaim = createSettleClaim(this.#scripts, this.outbox);
    this.slots = new Slots(slotCount);
    showSlots(context.registry, this.slots, slotCount);
  }

  /** Says what is to be done with entries and messages; nothing is read before `start`. */
  consume(consumption: Consumption<Message>): void {
    const { lanes, catalogueDigest, batchMax, batched, onDeliveries, onMessage } = consumption;
    this.#peers = keepPeers(this.#context, this.client, catalogueDigest);
    const { client, slots } = this;
    const scripts = this.#scripts;
    const { processId } = this.#context;
    const onError = this.#onError;
    this.#inbox = new Inbox<Message>(
      this.#connect('blocking'),
      processId,
      this.#seals,
      onMessage,
      onError,
    );
    this.#liveness = new Liveness(client, processId, { lastRead: () => this.#inbox.lastRead });
    const batching = batched === true ? { batchMax, batched } : { batchMax };
    this.#consumers = lanes.map((lane) => {
      const own = { lane, consumer: processId, blocking: this.#connect('blocking') };
      return new LaneConsumer({
        ...own,
        ...batching,
        slots,
        client,
        scripts,
        mayJudge: () => this.#liveness.mayJudge(),
        onDeliveries,
        onError,
      });
    });
  }

  /** @throws Error when Redis would lose what is promised, unless that is allowed. */
  async start(): Promise<void> {
    if (!this.#context.config.allowVolatileRedis) await checkDurability(this.client);
    await this.#liveness.start();
    await this.#peers.join();
    this.#inbox.start();
    await Promise.all(this.#consumers.map((consumer) => consumer.start()));
  }

  /** Takes nothing new, waits for what is in hand, writes what is queued, leaves the groups. */
  async drain(): Promise<void> {
    await Promise.all(this.#consumers.map((consumer) => consumer.stop()));
    await this.slots.whenIdle();
    await this.outbox.settled();
    await Promise.all(this.#consumers.map((consumer) => consumer.leave()));
  }

  /** What must be so for the process to be ready. */
  get readiness(): ReadinessChecks {
    const { server, processId } = this.#context;
    return {
      redis: () => server.write(this.client, processId),
      peers: () => this.#peers.check(),
    };
  }

  async close(): Promise<void> {
    this.outbox.close();
    await this.#inbox.stop();
    await Promise.all([this.#liveness.stop(), this.#peers.leave()]);
    this.client.disconnect();
    this.#writer.disconnect();
  }

  #connect(
    use: 'patient' | 'blocking',
    onMaster: (change: MasterChange) => void = () => {},
  ): RedisClient {
    const { config, processId, server } = this.#context;
    return connectRedis(
      { url: config.secrets.redisUrl, name: processId, use, onMaster, server },
      this.#onError,
    );
  }
}

/** Shows how much a worker may have in hand at once, and how much it has. */
function showSlots(registry: Registry, slots: Slots, slotCount: number): void {
  const { gauge, reading } = metricsOf(registry);
  gauge(
    'docket_slots',
    'Requests that an inference worker runs at once, or batches that a receipts worker commits',
  ).set(slotCount);
  reading('docket_slots_taken', 'How many of them are in hand now', () => slotCount - slots.free);
}
