import { begunKey, shardOfLane } from '#shared/lanes/keys.ts';
import { InFlight } from '#shared/lanes/in-flight.ts';
import type { LaneEntry } from '#shared/lanes/redis/lane-consumer.ts';
import type { Cancellation, InferenceEntry, WireFault } from '#shared/lanes/messages.ts';
import type { Slots } from '#shared/lanes/slots.ts';
import { decodeMessage, type Message } from '#shared/lanes/wire-format.ts';
import { Replies } from './replies.ts';
import { Run } from './run.ts';
import type { RunDeps } from './run-deps.ts';
import { Settlement } from './settlement.ts';

/** After this many workers died with an entry in hand, the entry itself is suspect. */
const DELIVERIES_MAX = 3;

const WORKER_LOST: WireFault = {
  code: 'worker_lost',
  message: 'The process that ran this request was lost. Try again.',
};
const TOO_LATE: WireFault = {
  code: 'dispatch_unavailable',
  message: 'No worker could take the request in time. Try again.',
};

/** Runs what the lanes of its regions bring, as many requests at once as there are slots. */
export class InferenceWorker {
  readonly #deps: RunDeps;
  readonly #slots: Slots;
  readonly #runs = new InFlight<Run>();

  constructor(deps: RunDeps, slots: Slots) {
    this.#deps = deps;
    this.#slots = slots;
  }

  /** Takes entries off a lane. Each holds a slot until its outcome is in Redis. */
  take(entries: LaneEntry[]): void {
    for (const entry of entries) {
      void this.#take(entry).finally(() => this.#slots.release());
    }
  }

  /** Stops a request whose client has gone. One that has ended meanwhile is nobody's business. */
  cancel({ id }: Cancellation): void {
    this.#runs.get(id)?.cancel();
  }

  async #take(lane: LaneEntry): Promise<void> {
    let message: Message<InferenceEntry>;
    try {
      message = decodeMessage<InferenceEntry>(lane.text);
    } catch (error) {
      // An entry that cannot be read must not come back for ever; there is nobody to tell but the log.
      this.#deps.events.entryUnreadable(lane, error);
      this.#deps.outbox.done(shardOfLane(lane.lane), lane.lane, lane.id);
      return;
    }
    const { head, payload } = message;
    try {
      await this.#run(lane, head, payload);
    } catch (error) {
      this.#deps.events.runCrashed(head, error);
      await this.#fail(lane, head, WORKER_LOST);
    }
  }

  async #run(lane: LaneEntry, head: InferenceEntry, payload: string): Promise<void> {
    const refusal = await this.#refusal(lane, head);
    if (refusal !== null) return refusal();
    const body = head.bodyRef === undefined ? payload : await this.#deps.client.get(head.bodyRef);
    if (body === null) return this.#fail(lane, head, TOO_LATE);
    const run = new Run(this.#deps, lane, head, body);
    this.#runs.set(head.id, run);
    try {
      await run.execute();
    } finally {
      this.#runs.delete(head.id);
    }
  }

  /** Why this delivery must not run the request, as what to do instead; null when it may. */
  async #refusal(lane: LaneEntry, head: InferenceEntry): Promise<(() => Promise<void>) | null> {
    if (lane.attempt > 1) {
      const pieces = head.stream
        ? await this.#deps.client.get(begunKey(head.shard, head.id))
        : null;
      if (pieces !== null) return () => this.#truncate(lane, head, Number(pieces));
      if (lane.attempt > DELIVERIES_MAX) return () => this.#fail(lane, head, WORKER_LOST);
    }
    return this.#deps.now() >= head.deadlineAt ? () => this.#fail(lane, head, TOO_LATE) : null;
  }

  async #fail(lane: LaneEntry, head: InferenceEntry, fault: WireFault): Promise<void> {
    const replies = new Replies(head, lane.attempt, this.#deps.outbox);
    await new Settlement(this.#deps, lane, head).failed(fault, replies);
  }

  /**
   * The worker that streamed this died. The client has part of the answer, so it cannot start over: it gets an error
   * frame, and the receipt covers what was noted of it (a piece is about a token).
   */
  async #truncate(lane: LaneEntry, head: InferenceEntry, pieces: number): Promise<void> {
    new Replies(head, lane.attempt, this.#deps.outbox).error(WORKER_LOST);
    const usage = this.#deps.countUsage(head, lane.text, '');
    await new Settlement(this.#deps, lane, head).incomplete('truncated', {
      usage: { ...usage, outputTokens: pieces },
      calls: lane.attempt - 1,
    });
  }
}
