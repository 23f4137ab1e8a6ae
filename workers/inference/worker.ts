import { Fault } from '#shared/kernel/errors.ts';
import type { Failure, UnknownUsage, Usage } from '#shared/kernel/inference.ts';
import { textOfBytes } from '#shared/kernel/long-text.ts';
import { turnFor } from '#shared/kernel/turns.ts';
import { InFlight } from '#shared/lanes/in-flight.ts';
import { begunKey } from '#shared/lanes/keys.ts';
import {
  type Cancellation,
  type InferenceEntry,
  type Taken,
  unknownInRequest,
  wireFault,
} from '#shared/lanes/messages.ts';
import type { RedisClient } from '#shared/lanes/redis/connect.ts';
import type { Delivery } from '#shared/lanes/redis/lane-consumer.ts';
import { decodeRelayed, type Relayed } from '#shared/lanes/relayed.ts';
import type { Slots } from '#shared/lanes/slots.ts';
import { type Seals } from '#shared/lanes/seals.ts';
import { decodeInferenceEntry, type SealedEntry } from '#shared/lanes/wire-format.ts';
import type { InferenceEvents } from './events.ts';
import { Run, type RunDeps } from './run.ts';
import { unknownUsage } from './usage.ts';
import { type InVain, Settlement, type SettlementDeps, type Spent } from './settlement.ts';

export interface WorkerDeps extends RunDeps, SettlementDeps {
  client: Pick<RedisClient, 'exists' | 'get' | 'getBuffer' | 'set'>;
  seals: Pick<Seals, 'open' | 'openBytesInTurns' | 'sealBytes' | 'sealBytesInTurns'>;
  events: InferenceEvents;
  /** A request of this lane has ended, however. */
  finished: (lane: string) => void;
}

/** After this many workers died with an entry in hand, the entry itself is suspect. */
const DELIVERIES_MAX = 3;

/** An endpoint that gets all of a request. */
const TAKES_ALL = { responses: true, reasoningContent: true };
const NOT_COUNTED: UnknownUsage = { source: 'unknown', reason: 'not_counted' };
const WORKER_LOST = wireFault(new Fault('worker_lost'));
const UNOPENED = wireFault(
  new Fault('internal_error', {
    message: 'The request was sealed with a key that is no longer there. Send it again.',
  }),
);
const TOO_LATE = wireFault(
  new Fault('dispatch_unavailable', {
    message: 'No worker could take the request in time. Try again.',
  }),
);

const OF_NEWER_BUILD = wireFault(
  new Fault('dispatch_unavailable', {
    message: 'The worker that took the request is of an older release than it. Try again.',
  }),
);

interface CalledBefore {
  calls: number;
  failure?: Failure;
}

/** What earlier deliveries have called. Each worker that died with this entry is taken to have made one call. */
function calledBefore({ number }: Delivery, { before }: InferenceEntry): CalledBefore {
  const calls = number - 1 + (before?.calls ?? 0);
  const failure = number > 1 ? 'worker_lost' : before?.failure;
  return failure === undefined ? { calls } : { calls, failure };
}

function inVain({ calls, failure }: CalledBefore): InVain | undefined {
  return failure && { calls, failure };
}

/** Runs what the lanes of its regions bring, as many requests at once as there are slots. */
export class InferenceWorker {
  readonly #deps: WorkerDeps;
  readonly #slots: Slots;
  readonly #runs = new InFlight<Run>();

  constructor(deps: WorkerDeps, slots: Slots) {
    this.#deps = deps;
    this.#slots = slots;
  }

  /** Takes what a lane delivers. Each entry holds a slot until its outcome is in Redis. */
  take(deliveries: Delivery[]): void {
    for (const delivery of deliveries) {
      void this.#take(delivery).finally(() => {
        this.#slots.release();
        this.#deps.finished(delivery.lane);
      });
    }
  }

  /**
   * Hears of a request's client: that it has gone, which stops the request, or what it has taken of its stream. Of one that
   * has ended meanwhile nothing is to be done.
   */
  hear(message: Cancellation | Taken): void {
    const run = this.#runs.get(message.id);
    if (message.kind === 'cancel') run?.cancel();
    else if (message.kind === 'taken') run?.taken(message.chars);
  }

  async #take(delivery: Delivery): Promise<void> {
    let message: SealedEntry;
    try {
      message = decodeInferenceEntry(delivery.texts[0] ?? '');
    } catch (error) {
      // It is acknowledged, or it would come back for ever; without its head there is no caller to answer.
      this.#deps.events.entryUnreadable(delivery, error);
      this.#deps.outbox.asHolder(delivery).done();
      return;
    }
    const entry = this.#deps.events.runTaken(delivery, message.head);
    message.head = entry;
    const settlement = new Settlement(this.#deps, delivery, entry);
    try {
      await this.#run(delivery, message, settlement);
    } catch (error) {
      this.#deps.events.runCrashed(entry, error);
      await settlement.failed(WORKER_LOST, inVain(calledBefore(delivery, entry)));
    } finally {
      this.#deps.events.runLeft(entry);
    }
  }

  async #run(delivery: Delivery, message: SealedEntry, settlement: Settlement): Promise<void> {
    const { client, now } = this.#deps;
    const { head: entry } = message;
    const { number } = delivery;
    const before = calledBefore(delivery, entry);
    const body = await this.#bodyOf(message);
    if (number > 1) {
      const noted = entry.stream ? await client.get(begunKey(entry.shard, entry.id)) : null;
      if (noted !== null) {
        // The client has part of the answer, so it cannot start over.
        const spent = await this.#spentOfLost(entry, body, decodeRelayed(noted));
        return settlement.broke(WORKER_LOST, spent);
      }
      if (number > DELIVERIES_MAX) return settlement.failed(WORKER_LOST, inVain(before));
    }
    settlement.arrived();
    const unknown = unknownInRequest(entry);
    if (unknown !== undefined) {
      this.#deps.events.requestUnknown(entry, unknown);
      return settlement.failed(OF_NEWER_BUILD, inVain(before));
    }
    if (body === undefined) return settlement.failed(UNOPENED, inVain(before));
    if (body === null || now() >= entry.deadlineAt)
      return settlement.failed(TOO_LATE, inVain(before));
    const run = new Run(this.#deps, settlement, entry, body, before);
    this.#runs.set(entry.id, run);
    try {
      await run.execute();
    } catch (error) {
      this.#deps.events.runCrashed(entry, error);
      const { calls } = run;
      await settlement.failed(
        WORKER_LOST,
        calls === 0 ? undefined : { calls, failure: 'internal_error' },
      );
    } finally {
      // It may run here again already, for another region.
      if (this.#runs.get(entry.id) === run) this.#runs.delete(entry.id);
    }
  }

  /** The request's body: null when it waited for too long, undefined when it cannot be opened. */
  async #bodyOf({ head, sealed, place }: SealedEntry): Promise<string | null | undefined> {
    const { client, seals, events } = this.#deps;
    const apart = head.bodyRef === undefined ? null : await client.getBuffer(head.bodyRef);
    if (sealed === undefined && apart === null) return null;
    try {
      if (sealed !== undefined) return seals.open(sealed, place);
      const bytes = await seals.openBytesInTurns(apart!, place);
      // They are made into a text, and that into bytes for the upstream.
      await turnFor(bytes.length);
      const body = await textOfBytes(bytes);
      await turnFor(bytes.length);
      return body;
    } catch (error) {
      events.runCrashed(head, error);
      return undefined;
    }
  }

  /** What an upstream was asked that is not known any more. */
  async #promptOfLost(
    request: Pick<InferenceEntry, 'asMessage' | 'model' | 'route' | 'stream'> & { body: string },
  ): Promise<Usage | UnknownUsage> {
    const { bodies, countUsage } = this.#deps;
    if (await bodies.dependsOnEndpoint(await bodies.asked(request, TAKES_ALL))) return NOT_COUNTED;
    return countUsage(request.model, await bodies.asked(request, {}), []);
  }

  /** What a dead worker's stream used, and what of it the client was sent for certain, as that worker noted it. */
  async #spentOfLost(
    entry: InferenceEntry,
    body: string | null | undefined,
    { payloads, tokens, digest, model, calls, upstreamAnswerId, queuedMs }: Relayed,
  ): Promise<Spent> {
    const prompt =
      typeof body === 'string' ? await this.#promptOfLost({ ...entry, body }) : NOT_COUNTED;
    const spent: Spent = {
      usage: unknownUsage('worker_lost', prompt),
      calls,
      responseDigest: digest,
      relayedPayloads: payloads,
      relayedTokens: tokens,
      queuedMs,
    };
    if (model !== undefined) spent.upstreamModel = model;
    if (upstreamAnswerId !== undefined) spent.upstreamAnswerId = upstreamAnswerId;
    return spent;
  }
}
