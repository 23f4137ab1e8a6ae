import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { Fault } from '#shared/kernel/errors.ts';
import type { HeldRefusals } from './held-refusals.ts';
import { whenHeld } from './rates.ts';

const RETRY_MS = 1_000;

/** Who a request takes a place of. */
export type Caller<Kind extends string = string> = readonly [Kind, id: string];

export interface PlaceBounds<Kind extends string> {
  /** Requests that are answered at once, of a caller of each kind. */
  atOnce: Readonly<Record<Kind, number>>;
  /** Of all callers. */
  atOnceOfAll: number;
  /** Requests that wait, of the first caller that each names. */
  waitingOfOne: number;
  waitingOfAll: number;
}

/** What a caller has here; kept while it has anything. */
interface Tally {
  name: string;
  atOnceMax: number;
  inside: number;
  waiting: number;
}

export interface Limit<Kind extends string> {
  /** Whom a request takes places of; it is bounded by nothing where there are none. */
  callersOf: (request: FastifyRequest) => readonly Caller<Kind>[];
  /**
   * Looks at what a request was let in by that has waited: it may have changed meanwhile. It throws or rejects where the
   * request may not go on.
   */
  lookAgain?: (request: FastifyRequest) => unknown;
  /** Has what is refused wait for its turn, by the first caller; absent where the rate of its address bounds what is refused. */
  held?: Pick<HeldRefusals, 'give'>;
}

interface Waiting {
  tallies: readonly Tally[];
  letIn: () => void;
}

/** Where a request goes: on, on when it has waited, or nowhere. */
interface Ways {
  next: (error?: Error) => void;
  goOn: () => Promise<void>;
  refuse: (fault: Fault) => void;
}

/**
 * Bounds how many requests of a caller are answered at once, in the memory of this process. The others wait in the order in
 * which they came, as many as are allowed to; what is beyond is refused. A request that finds room is held up by nothing.
 */
export class Places<Kind extends string> {
  readonly #bounds: PlaceBounds<Kind>;
  readonly #tallies = new Map<string, Tally>();
  readonly #waiting = new Set<Waiting>();
  readonly #held = new WeakMap<FastifyRequest, readonly Tally[]>();
  #inside = 0;

  constructor(bounds: PlaceBounds<Kind>) {
    this.#bounds = bounds;
  }

  /** Bounds the requests of `app`. */
  limit(app: FastifyInstance, { callersOf, lookAgain = () => {}, held }: Limit<Kind>): void {
    // When its body has come: one that drips in holds up no other.
    app.addHook('preHandler', (request, reply, next) => {
      const callers = callersOf(request);
      if (callers.length === 0) return next();
      const goOn = async (): Promise<void> => {
        try {
          if (reply.raw.destroyed) throw tooMany();
          await lookAgain(request);
        } catch (error) {
          return next(error as Error);
        }
        next();
      };
      const refuse = (fault: Fault): void => {
        if (held === undefined) return next(fault);
        const [, id] = callers[0]!;
        const exchange = { request: request.raw, response: reply.raw };
        held.give(id, exchange, (heldMs) => next(whenHeld(fault)(heldMs)));
      };
      this.#enter(request, reply, callers, { next, goOn, refuse });
    });
    // The answer is made by then: how fast its client reads it is no concern of others.
    app.addHook('onSend', (request, _reply, _payload, next) => {
      this.#leave(request);
      next();
    });
  }

  #enter(
    request: FastifyRequest,
    { raw: response }: FastifyReply,
    callers: readonly Caller<Kind>[],
    { next, goOn, refuse }: Ways,
  ): void {
    if (response.destroyed) return next(tooMany());
    const tallies = callers.map((caller) => this.#tallyOf(caller));
    if (this.#hasRoom(tallies)) {
      this.#hold(request, tallies);
      return next();
    }
    const fault = this.#refusal(tallies[0]!);
    if (fault !== undefined) {
      this.#forget(tallies);
      return refuse(fault);
    }
    const waiting: Waiting = {
      tallies,
      letIn: () => {
        response.off('close', withdraw);
        this.#stopWaiting(waiting);
        this.#hold(request, tallies);
        // In a turn of its own, so that what others ask is answered in between.
        setImmediate(() => void goOn());
      },
    };
    // A client that leaves waits no longer.
    const withdraw = (): void => {
      this.#stopWaiting(waiting);
      this.#forget(tallies);
      next(tooMany());
    };
    response.once('close', withdraw);
    this.#waiting.add(waiting);
    for (const tally of tallies) tally.waiting += 1;
  }

  #stopWaiting(waiting: Waiting): void {
    this.#waiting.delete(waiting);
    for (const tally of waiting.tallies) tally.waiting -= 1;
  }

  #refusal({ waiting }: Tally): Fault | undefined {
    const { waitingOfOne, waitingOfAll } = this.#bounds;
    if (waiting >= waitingOfOne) return tooMany();
    if (this.#waiting.size < waitingOfAll) return undefined;
    return new Fault('dispatch_unavailable', { retryAfterMs: RETRY_MS });
  }

  #hold(request: FastifyRequest, tallies: readonly Tally[]): void {
    this.#inside += 1;
    for (const tally of tallies) tally.inside += 1;
    this.#held.set(request, tallies);
  }

  /** All that wait for nothing else any more go in, in order: each place that is free again may be another's. */
  #leave(request: FastifyRequest): void {
    const tallies = this.#held.get(request);
    if (tallies === undefined) return;
    this.#held.delete(request);
    this.#inside -= 1;
    for (const tally of tallies) tally.inside -= 1;
    for (const one of this.#waiting) {
      if (this.#inside >= this.#bounds.atOnceOfAll) break;
      if (this.#hasRoom(one.tallies)) one.letIn();
    }
    this.#forget(tallies);
  }

  #hasRoom(tallies: readonly Tally[]): boolean {
    const isBelow = ({ inside, atOnceMax }: Tally): boolean => inside < atOnceMax;
    return this.#inside < this.#bounds.atOnceOfAll && tallies.every(isBelow);
  }

  #tallyOf([kind, id]: Caller<Kind>): Tally {
    const name = `${kind} ${id}`;
    let tally = this.#tallies.get(name);
    if (tally === undefined) {
      tally = { name, atOnceMax: this.#bounds.atOnce[kind], inside: 0, waiting: 0 };
      this.#tallies.set(name, tally);
    }
    return tally;
  }

  /** Those that nothing is counted for any more. */
  #forget(tallies: readonly Tally[]): void {
    for (const { name, inside, waiting } of tallies)
      if (inside === 0 && waiting === 0) this.#tallies.delete(name);
  }
}

function tooMany(): Fault {
  return new Fault('requests_per_second_exceeded', { retryAfterMs: RETRY_MS });
}
