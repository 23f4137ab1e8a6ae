import { Fault } from '#shared/kernel/errors.ts';
import { textOfBytes } from '#shared/kernel/long-text.ts';
import { InFlight } from '#shared/lanes/in-flight.ts';
import {
  budgetKey,
  CONSUMER_GROUP,
  heldKey,
  holderName,
  holdersKey,
  inboxKey,
  inferenceLane,
  leasesKey,
} from '#shared/lanes/keys.ts';
import type { InferenceEntry, Reply } from '#shared/lanes/messages.ts';
import { LEASE_MS, LEASE_RENEWAL_MS, LEASES_MS } from '#shared/lanes/redis/admission.ts';
import { ANSWERED_MS, type ClaimStanding } from '#shared/lanes/redis/claims.ts';
import type { RedisClient } from '#shared/lanes/redis/connect.ts';
import { placeOfMoved } from '#shared/lanes/redis/hand-on.ts';
import { mayFailOver } from '#shared/lanes/redis/replicated.ts';
import type { LaneScripts } from '#shared/lanes/redis/scripts.ts';
import type { Seals } from '#shared/lanes/seals.ts';
import { CLEAR_FIELD, encodeMessage } from '#shared/lanes/wire-format.ts';
import type { ApiEvents } from '#api/events.ts';
import { Exchange, type ExchangeHost } from './exchange.ts';
import type { UnroutedEntry } from '../read.ts';

export interface OpenExchangesOptions {
  /** An interactive connection. */
  client: Pick<RedisClient, 'get' | 'isCluster' | 'pexpire' | 'xadd' | 'zadd' | 'zrem'>;
  /** A patient connection of its own, for large answers: the longest take more than a second, and hold up no other statement. */
  answers: Pick<RedisClient, 'getdelBuffer'>;
  scripts: Pick<LaneScripts, 'gone' | 'withdraw' | 'leave'>;
  seals: Pick<Seals, 'openBytesInTurns'>;
  /** How a claim stands; null when it is free. */
  readStanding: (claim: string) => Promise<ClaimStanding | null>;
  /** When the inbox was last read, in milliseconds of the steady clock. */
  inboxReadAt: () => number;
  receiptWaitMs: number;
  /** What time it is for Redis, in epoch milliseconds: leases end by that clock, and this machine's may be another. */
  redisNow: (shard: number) => number;
  events: Pick<ApiEvents, 'clientGone' | 'requestLost' | 'storeFailed'>;
}

/** How often the claims are looked at that requests wait for, and the entries of requests that nothing is heard of. */
const WATCH_MS = 2_000;
/** So often in a row a claim must be seen without one that runs, or an entry be gone: the word of its end may be on its way. */
const SIGHTINGS = 3;

/**
 * The exchanges that are open in this process: hands each the replies to its request, renews and gives back the leases of
 * those that are streams, and cancels what is no longer wanted.
 */
export class OpenExchanges implements ExchangeHost {
  readonly #options: OpenExchangesOptions;
  readonly #open = new InFlight<Exchange>();
  #renewal: NodeJS.Timeout | undefined;
  #watch: NodeJS.Timeout | undefined;
  #watchedAt = 0;
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
    this.#watch = setInterval(() => {
      this.#watchClaims();
      this.#watchEntries();
    }, WATCH_MS);
    this.#watch.unref();
  }

  /** Begins to listen for the replies to a request. */
  expect(entry: Readonly<UnroutedEntry>): Exchange {
    const exchange = new Exchange(entry, this);
    this.#open.set(entry.id, exchange);
    return exchange;
  }

  /** Listens from before a request is handed on; no longer than that where nothing comes of it (null) or it fails. */
  async whileExpecting<T>(
    entry: Readonly<UnroutedEntry>,
    handOn: (exchange: Exchange) => Promise<T>,
  ): Promise<T> {
    const exchange = this.expect(entry);
    try {
      const handedOn = await handOn(exchange);
      if (handedOn === null) exchange.close();
      return handedOn;
    } catch (error) {
      exchange.close();
      throw error;
    }
  }

  /** For the inbox reader. A reply to a request that is not open (its client has gone, say) is dropped. */
  take = (reply: Reply, payload: string): void => {
    const exchange = this.#open.get(reply.id);
    if (exchange === undefined) this.acknowledge(reply);
    else exchange.take(reply, payload);
  };

  acknowledge(reply: Reply): void {
    if (reply.kind !== 'frames' || reply.acknowledge === undefined) return;
    const { client, events } = this.#options;
    const { to, chars } = reply.acknowledge;
    const message = encodeMessage({ kind: 'taken', id: reply.id, chars });
    client.xadd(inboxKey(to), 'NOMKSTREAM', '*', CLEAR_FIELD, message).catch(events.storeFailed);
  }

  /** Resolves when every open exchange has ended. */
  async drained(): Promise<void> {
    while (this.#open.size > 0) await new Promise<void>((resolve) => this.#whenEmpty.push(resolve));
  }

  /** Ends what is still open with an error the client may act on. */
  stop(): void {
    clearInterval(this.#renewal);
    clearInterval(this.#watch);
    for (const exchange of this.#open.values()) exchange.fail(SHUTTING_DOWN);
  }

  async fetchAnswer(ref: string): Promise<string | null> {
    const { answers, seals } = this.#options;
    // No caller asks for it twice, and it may be large.
    const sealed = await answers.getdelBuffer(ref);
    if (sealed === null) return null;
    return textOfBytes(await seals.openBytesInTurns(sealed, ref));
  }

  /**
   * On a single node answer and end are one transaction. Where another may take its place, or has the inbox, the answer comes
   * first: there the request has ended when its entry has left the lane.
   */
  isEnded({ place }: Exchange): boolean | Promise<boolean> {
    const { client, scripts } = this.#options;
    if (!mayFailOver(client) || place === undefined) return true;
    const gone = scripts.gone({
      lane: place.lane,
      group: CONSUMER_GROUP,
      moreArguments: [place.entryId],
    });
    return gone.then((ids) => (ids as string[]).length > 0);
  }

  gaveUp(exchange: Exchange): void {
    this.#cancel(exchange);
  }

  clientLeft(exchange: Exchange): void {
    this.#options.events.clientGone(exchange.entry);
    this.#cancel(exchange);
  }

  closed({ entry, isLeased, waitsFor }: Exchange): void {
    this.#open.delete(entry.id);
    if (isLeased) this.#giveLeaseBack(entry, waitsFor);
    if (this.#open.size > 0) return;
    const waiting = this.#whenEmpty;
    this.#whenEmpty = [];
    for (const resolve of waiting) resolve();
  }

  /**
   * Withdraws a request that was admitted after its caller had been told that it failed. Not with an Idempotency-Key: the
   * caller's retry finds the claim, and gets the answer.
   */
  withdrawLate = (entry: InferenceEntry, entryId: string): void => {
    const { claim, shard, region, stream } = entry;
    if (claim !== undefined) {
      if (stream) this.#giveLeaseBack(entry);
      return;
    }
    this.#withdraw(entry, { lane: inferenceLane(shard, region), entryId, region });
  };

  /** Gives back the lease of a repeated stream whose caller had been told that it failed before it was to wait for `runs`. */
  leaveLate = (entry: InferenceEntry, runs: string): void => {
    if (entry.stream) this.#giveLeaseBack(entry, runs);
  };

  #cancel({ entry, place }: Exchange): void {
    if (place !== undefined) this.#withdraw(entry, place);
  }

  /** Withdraws the request, or has its worker stop the upstream. Best effort. */
  #withdraw(entry: Readonly<UnroutedEntry>, place: NonNullable<Exchange['place']>): void {
    const { scripts, client, events } = this.#options;
    const { id, shard, orgId, reserves = [] } = entry;
    const withdraw = async (): Promise<void> => {
      const worker = String(
        await scripts.withdraw({
          lane: place.lane,
          group: CONSUMER_GROUP,
          entryId: place.entryId,
          moreKeys: reserves.flatMap((reserve) => {
            const counter = budgetKey(shard, orgId, reserve);
            return [counter, holdersKey(counter)];
          }),
          moreArguments: reserves.map((reserve) => holderName(id, reserve)),
        }),
      );
      if (worker === '') {
        await client.zrem(heldKey(entry.shard, place.region, entry.orgId), entry.id);
        return;
      }
      const message = encodeMessage({ kind: 'cancel', id: entry.id });
      await client.xadd(inboxKey(worker), 'NOMKSTREAM', '*', CLEAR_FIELD, message);
    };
    withdraw().catch(events.storeFailed);
  }

  /** `runs`: the request that it waits for, of one that does not run itself. */
  #giveLeaseBack({ shard, orgId, id, claim }: Readonly<UnroutedEntry>, runs = id): void {
    const { client, scripts, events } = this.#options;
    const leases = leasesKey(shard, orgId);
    const left =
      claim === undefined
        ? client.zrem(leases, id)
        : scripts.leave({
            leases,
            claim,
            requestId: id,
            runs,
            answeredMs: ANSWERED_MS,
            leasesMs: LEASES_MS,
          });
    left.catch(events.storeFailed);
  }

  /**
   * A request that waits for an identical one is told when that ends. Where the word does not come (the receipt cannot be
   * committed now, or what was told got lost), it is answered within seconds all the same.
   */
  #watchClaims(): void {
    const waiting = new Map<string, Exchange[]>();
    for (const exchange of this.#open.values()) {
      const { claim } = exchange.entry;
      if (exchange.waitsFor === undefined || claim === undefined) continue;
      const others = waiting.get(claim);
      if (others === undefined) waiting.set(claim, [exchange]);
      else others.push(exchange);
    }
    const { readStanding, events } = this.#options;
    const look = async (claim: string, exchanges: readonly Exchange[]): Promise<void> => {
      const standing = await readStanding(claim);
      for (const exchange of exchanges) endWait(exchange, standing);
    };
    for (const [claim, exchanges] of waiting) look(claim, exchanges).catch(events.storeFailed);
  }

  /**
   * An entry, or the answer to it, is lost with a Redis that dies before its replica, or its disk, has what it was told.
   * No other process would say so, and the client would wait for the whole of its deadline.
   */
  #watchEntries(): void {
    const { scripts, inboxReadAt, events } = this.#options;
    const isInboxRead = inboxReadAt() >= this.#watchedAt;
    this.#watchedAt = performance.now();
    // What says how a request ended may lie in the inbox.
    if (!isInboxRead) return;
    const silent: Exchange[] = [];
    for (const exchange of this.#open.values()) {
      if (exchange.beginSilence() && exchange.awaitsWorker) silent.push(exchange);
    }
    for (const [lane, exchanges] of Map.groupBy(silent, ({ place }) => place!.lane)) {
      const ids = exchanges.map(({ place }) => place!.entryId);
      const look = async (): Promise<void> => {
        const gone = new Set(
          (await scripts.gone({ lane, group: CONSUMER_GROUP, moreArguments: ids })) as string[],
        );
        const isLost = async (exchange: Exchange): Promise<boolean> =>
          gone.has(exchange.place!.entryId) && !(await this.#isElsewhere(exchange));
        await Promise.all(
          exchanges.map(async (exchange) => this.#count(exchange, await isLost(exchange))),
        );
      };
      look().catch(events.storeFailed);
    }
  }

  /** Finds a request in another region though the worker has not said so that handed it on: it may have died before. */
  async #isElsewhere(exchange: Exchange): Promise<boolean> {
    const { entry, place } = exchange;
    if (entry.elsewhere === undefined) return false;
    const moved = await placeOfMoved(this.#options.client, entry);
    // It never comes back to a region.
    if (moved === null || moved.region === place!.region) return false;
    exchange.moved(moved);
    return true;
  }

  #count(exchange: Exchange, isGone: boolean): void {
    if (exchange.countMissed(isGone && exchange.isSilent) < SIGHTINGS) return;
    this.#options.events.requestLost(exchange.entry);
    exchange.fail(REQUEST_LOST);
  }

  #renewLeases(): void {
    const { client, events, redisNow } = this.#options;
    for (const { entry, isLeased } of this.#open.values()) {
      if (!isLeased) continue;
      const key = leasesKey(entry.shard, entry.orgId);
      const until = redisNow(entry.shard) + LEASE_MS;
      client.zadd(key, 'XX', until, entry.id).catch(events.storeFailed);
      client.pexpire(key, LEASES_MS).catch(events.storeFailed);
    }
  }
}

function endWait(exchange: Exchange, standing: ClaimStanding | null): void {
  if (exchange.waitsFor === undefined) return;
  const isTheirs = standing?.requestId === exchange.waitsFor;
  const runs = isTheirs && standing.state === 'running';
  if (exchange.countMissed(!runs) < SIGHTINGS) return;
  if (!isTheirs) exchange.fail(FIRST_LOST);
  else if (standing.state === 'done') exchange.take({ id: exchange.entry.id, kind: 'settled' }, '');
  else exchange.fail(RECEIPT_OUTSTANDING);
}

const FIRST_LOST = new Fault('dispatch_unavailable', {
  message: 'The first request with this Idempotency-Key came to no answer. Try again.',
  retryAfterMs: 1_000,
});
const RECEIPT_OUTSTANDING = new Fault('dispatch_unavailable', {
  message:
    'The answer to the first request with this Idempotency-Key is kept, and its receipt is not committed yet. Try again.',
  retryAfterMs: 5_000,
});
const REQUEST_LOST = new Fault('dispatch_unavailable', {
  message: 'The request, or the answer to it, was lost on its way. Try again.',
  retryAfterMs: 1_000,
});
const SHUTTING_DOWN = new Fault('dispatch_unavailable', {
  message: 'The gateway is restarting. Try again.',
  retryAfterMs: 1_000,
});
