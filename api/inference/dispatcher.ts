import type { RedisClient } from '#shared/lanes/redis/connect.ts';
import { Fault } from '#shared/kernel/errors.ts';
import type { Admission, AdmissionRequest, Admissions } from '#shared/lanes/redis/admission.ts';
import { LEASE_MS, LEASE_RENEWAL_MS } from '#shared/lanes/redis/admission.ts';
import { readClaim } from '#shared/lanes/redis/claims.ts';
import { CONSUMER_GROUP, inboxKey, inferenceLane, leasesKey } from '#shared/lanes/keys.ts';
import type { InferenceEntry, Reply } from '#shared/lanes/messages.ts';
import { InFlight } from '#shared/lanes/in-flight.ts';
import type { LaneScripts } from '#shared/lanes/redis/scripts.ts';
import type { StoredAnswer } from '#shared/lanes/stored-answer.ts';
import { encodeMessage } from '#shared/lanes/wire-format.ts';
import type { StoredAnswers } from '#shared/lanes/postgres/stored-answers.ts';
import { Exchange, type ExchangeSink } from './exchange.ts';

/** How much longer than the pipeline's own deadline the api waits: the pipeline's word is better than a time-out. */
const PATIENCE_MS = 5_000;

export interface DispatcherOptions {
  admissions: Admissions;
  scripts: LaneScripts;
  /** An interactive connection. */
  client: RedisClient;
  /** Stored answers that are too large for Redis. */
  largeAnswers: Pick<StoredAnswers, 'read'>;
  processId: string;
  receiptWaitMs: number;
  onError: (error: unknown) => void;
}

/** A request that somebody waits for. */
interface Open {
  exchange: Exchange;
  entry: InferenceEntry;
  /** Its entry on the lane, once it is admitted. */
  laneEntryId: string | undefined;
}

/** Sends requests into the pipeline and hands what comes back to whoever holds the connection. */
export class Dispatcher {
  readonly #options: DispatcherOptions;
  readonly #open = new InFlight<Open>();
  #renewal: NodeJS.Timeout | undefined;
  #whenEmpty: (() => void)[] = [];

  constructor(options: DispatcherOptions) {
    this.#options = options;
  }

  get processId(): string {
    return this.#options.processId;
  }

  get openCount(): number {
    return this.#open.size;
  }

  start(): void {
    this.#renewal = setInterval(() => this.#renewLeases(), LEASE_RENEWAL_MS);
    this.#renewal.unref();
  }

  /** For the inbox reader. */
  take = (reply: Reply, payload: string): void => {
    this.#open.get(reply.id)?.exchange.take(reply, payload);
  };

  /** Shard of an organisation's keys. */
  shardOf(orgId: string): number {
    return this.#options.admissions.shardOf(orgId);
  }

  /**
   * Listens for a request's replies, then admits it. The exchange exists before the first reply can.
   * Ends the exchange by itself when the request is not admitted.
   */
  async dispatch(request: AdmissionRequest, sink: ExchangeSink): Promise<[Admission, Exchange]> {
    const { entry } = request;
    const exchange = this.#expect(entry, sink);
    try {
      const admission = await this.#options.admissions.admit(request);
      if (admission.verdict === 'admitted') {
        const open = this.#open.get(entry.id);
        if (open !== undefined) open.laneEntryId = admission.laneEntryId;
      } else if (admission.verdict !== 'wait') {
        exchange.abandon();
      }
      return [admission, exchange];
    } catch (error) {
      exchange.abandon();
      this.#options.onError(error);
      throw new Fault(
        'internal_error',
        'The gateway cannot take requests at the moment. Try again shortly.',
        {
          cause: error,
          retryAfterMs: 1_000,
        },
      );
    }
  }

  /** The stored answer to an idempotent request. */
  async replay(claim: string): Promise<{ answer: StoredAnswer; receipt: string } | null> {
    const { client, largeAnswers } = this.#options;
    return readClaim(client, largeAnswers, claim);
  }

  /** The client has gone: withdraws the request, or has its worker stop the upstream. Best effort. */
  cancel(entry: InferenceEntry, laneEntryId: string): void {
    const { scripts, client, onError } = this.#options;
    const withdraw = async (): Promise<void> => {
      const lane = inferenceLane(entry.shard, entry.region);
      const worker = String(await scripts.withdraw(lane, CONSUMER_GROUP, laneEntryId));
      if (worker === '') return;
      const message = encodeMessage({ kind: 'cancel', id: entry.id });
      await client.xadd(inboxKey(worker), 'NOMKSTREAM', '*', 'm', message);
    };
    withdraw().catch(onError);
  }

  /** Resolves when every open exchange has ended. */
  async drained(): Promise<void> {
    while (this.#open.size > 0) await new Promise<void>((resolve) => this.#whenEmpty.push(resolve));
  }

  /** Ends what is still open with an error the client may act on. */
  stop(): void {
    clearInterval(this.#renewal);
    for (const { exchange } of this.#open.values()) exchange.fail(SHUTTING_DOWN);
  }

  #expect(entry: InferenceEntry, sink: ExchangeSink): Exchange {
    const exchange = new Exchange({
      id: entry.id,
      receiptWaitMs: this.#options.receiptWaitMs,
      onGiveUp: () => this.#giveUp(entry),
      patienceMs: entry.deadlineAt - entry.startedAt + PATIENCE_MS,
      sink,
      onEnd: () => this.#ended(entry),
      fetchClaimed: (ref) => this.#options.client.get(ref),
    });
    this.#open.set(entry.id, { exchange, entry, laneEntryId: undefined });
    return exchange;
  }

  #giveUp(entry: InferenceEntry): void {
    const laneEntryId = this.#open.get(entry.id)?.laneEntryId;
    if (laneEntryId !== undefined) this.cancel(entry, laneEntryId);
  }

  #ended(entry: InferenceEntry): void {
    const admitted = this.#open.get(entry.id)?.laneEntryId !== undefined;
    this.#open.delete(entry.id);
    if (entry.stream && admitted) this.#releaseLease(entry);
    if (this.#open.size > 0) return;
    const waiting = this.#whenEmpty;
    this.#whenEmpty = [];
    for (const resolve of waiting) resolve();
  }

  #releaseLease({ shard, orgId, id }: InferenceEntry): void {
    this.#options.client.zrem(leasesKey(shard, orgId), id).catch(this.#options.onError);
  }

  #renewLeases(): void {
    const until = Date.now() + LEASE_MS;
    for (const { entry, laneEntryId } of this.#open.values()) {
      if (!entry.stream || laneEntryId === undefined) continue;
      const { shard, orgId, id } = entry;
      const key = leasesKey(shard, orgId);
      this.#options.client.zadd(key, 'XX', until, id).catch(this.#options.onError);
      this.#options.client.pexpire(key, LEASE_MS * 2).catch(this.#options.onError);
    }
  }
}

const SHUTTING_DOWN = new Fault('dispatch_unavailable', 'The gateway is restarting. Try again.', {
  retryAfterMs: 1_000,
});
