import { Fault } from '#shared/kernel/errors.ts';
import { InFlight } from '#shared/lanes/in-flight.ts';
import { CONSUMER_GROUP, heldKey, inboxKey, inferenceLane, leasesKey } from '#shared/lanes/keys.ts';
import type { InferenceEntry, Reply } from '#shared/lanes/messages.ts';
import { LEASE_MS, LEASE_RENEWAL_MS } from '#shared/lanes/redis/admission.ts';
import type { RedisClient } from '#shared/lanes/redis/connect.ts';
import type { LaneScripts } from '#shared/lanes/redis/scripts.ts';
import type { Seals } from '#shared/lanes/seals.ts';
import { encodeMessage } from '#shared/lanes/wire-format.ts';
import type { ApiEvents } from '#api/events.ts';
import { Exchange, type ExchangeHost, type ExchangeSink } from './exchange.ts';

export interface OpenExchangesOptions {
  /** An interactive connection. */
  client: Pick<RedisClient, 'getBuffer' | 'pexpire' | 'xadd' | 'zadd' | 'zrem'>;
  scripts: Pick<LaneScripts, 'withdraw'>;
  seals: Pick<Seals, 'openBytes'>;
  receiptWaitMs: number;
  events: Pick<ApiEvents, 'clientGone' | 'storeFailed'>;
}

/**
 * The exchanges that are open in this process: hands each the replies to its request, renews and gives back the leases of
 * those that are streams, and cancels what is no longer wanted.
 */
export class OpenExchanges implements ExchangeHost {
  readonly #options: OpenExchangesOptions;
  readonly #open = new InFlight<Exchange>();
  #renewal: NodeJS.Timeout | undefined;
  #whenEmpty: (() => void)[] = [];

  constructor(options: OpenExchangesOptions) {
    this.#options = options;
  }

  get receiptWaitMs(): number {
    return this.#options.receiptWaitMs;
  }

  start(): void {
    this.#renewal = setInterval(() => this.#renewLeases(), LEASE_RENEWAL_MS);
    this.#renewal.unref();
  }

  /** Begins to listen for the replies to a request. */
  expect(entry: InferenceEntry, sink: ExchangeSink): Exchange {
    const exchange = new Exchange(entry, sink, this);
    this.#open.set(entry.id, exchange);
    return exchange;
  }

  /** For the inbox reader. A reply to a request that is not open (its client has gone, say) is dropped. */
  take = (reply: Reply, payload: string): void => {
    this.#open.get(reply.id)?.take(reply, payload);
  };

  /** Resolves when every open exchange has ended. */
  async drained(): Promise<void> {
    while (this.#open.size > 0) await new Promise<void>((resolve) => this.#whenEmpty.push(resolve));
  }

  /** Ends what is still open with an error the client may act on. */
  stop(): void {
    clearInterval(this.#renewal);
    for (const exchange of this.#open.values()) exchange.fail(SHUTTING_DOWN);
  }

  async fetchAnswer(ref: string): Promise<string | null> {
    const { client, seals } = this.#options;
    const sealed = await client.getBuffer(ref);
    return sealed === null ? null : seals.openBytes(sealed, ref).toString();
  }

  gaveUp(exchange: Exchange): void {
    this.#cancel(exchange);
  }

  clientLeft(exchange: Exchange): void {
    this.#options.events.clientGone(exchange.entry);
    this.#cancel(exchange);
  }

  closed({ entry, laneEntryId }: Exchange): void {
    this.#open.delete(entry.id);
    if (entry.stream && laneEntryId !== undefined) this.#giveLeaseBack(entry);
    if (this.#open.size > 0) return;
    const waiting = this.#whenEmpty;
    this.#whenEmpty = [];
    for (const resolve of waiting) resolve();
  }

  /** Withdraws the request, or has its worker stop the upstream. Best effort. */
  #cancel({ entry, laneEntryId }: Exchange): void {
    if (laneEntryId === undefined) return;
    const { scripts, client, events } = this.#options;
    const withdraw = async (): Promise<void> => {
      const lane = inferenceLane(entry.shard, entry.region);
      const worker = String(await scripts.withdraw(lane, CONSUMER_GROUP, laneEntryId));
      if (worker === '') {
        await client.zrem(heldKey(entry.shard, entry.region, entry.orgId), entry.id);
        return;
      }
      const message = encodeMessage({ kind: 'cancel', id: entry.id });
      await client.xadd(inboxKey(worker), 'NOMKSTREAM', '*', 'm', message);
    };
    withdraw().catch(events.storeFailed);
  }

  #giveLeaseBack({ shard, orgId, id }: InferenceEntry): void {
    const { client, events } = this.#options;
    client.zrem(leasesKey(shard, orgId), id).catch(events.storeFailed);
  }

  #renewLeases(): void {
    const { client, events } = this.#options;
    const until = Date.now() + LEASE_MS;
    for (const { entry, laneEntryId } of this.#open.values()) {
      if (!entry.stream || laneEntryId === undefined) continue;
      const key = leasesKey(entry.shard, entry.orgId);
      client.zadd(key, 'XX', until, entry.id).catch(events.storeFailed);
      client.pexpire(key, LEASE_MS * 2).catch(events.storeFailed);
    }
  }
}

const SHUTTING_DOWN = new Fault('dispatch_unavailable', {
  message: 'The gateway is restarting. Try again.',
  retryAfterMs: 1_000,
});
