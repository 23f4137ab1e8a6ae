import type { Server, Socket } from 'node:net';
import { callerNetwork } from './caller-network.ts';

/** Each may bring eight requests, which are read at once. */
const BEGUN_IN_A_TURN = 4;
/** A connection takes some 0.1 ms to be taken, where a turn has nothing else. */
const TURNS_OF_TAKING = 256;
/** A turn that reads from a thousand connections is longer. */
const TAKING_MS = 30;
/** Then what was asked meanwhile goes on. */
const TURNS_OF_OTHERS = 8;
/** What is read of a connection at once may take ten milliseconds of its own. */
const PACE_MS = 100;
const PACED_FOR_MS = 10_000;
/** Callers that are paced at most; of more, those that have been for the longest are let go. */
const PACED_MAX = 10_000;

/**
 * Takes connections that come one behind the other before anything is read of them, and has them begin to be read in order,
 * four in a turn of the event loop, callers one after the other. The event loop takes one connection in a turn: were each
 * read as it comes, with what is asked on it, one that comes behind thousands would wait for all that those ask. A connection
 * that comes alone begins at once.
 */
export class Arrivals {
  /** What has each connection of a caller begin, in the order in which callers are next. */
  readonly #ofCallers = new Map<string, (() => boolean)[]>();
  /** Callers whose connections begin one in 100 ms: until when, and when the next may. */
  readonly #paced = new Map<string, { until: number; next: number }>();
  #isPlanned = false;
  #isPlannedLater = false;
  /** Whether one has been taken alone, behind which another may come in the next turn. */
  #isFirst = false;
  /** Whether one has been taken since the last turn behind another. */
  #hasTaken = false;
  /** Turns in a row in which connections were taken and nothing else was begun; below zero while others have theirs. */
  #taking = 0;
  /** When the first of them began. */
  #takingSince = 0;
  readonly #now: () => number;

  /** `now` in milliseconds. */
  constructor(now: () => number = () => performance.now()) {
    this.#now = now;
  }

  /** Says that a connection may begin now, or has it begin in a later turn. `begin` says whether it still could. */
  take(caller: string, begin: () => boolean): boolean {
    const now = this.#now();
    if (this.#isPlanned) this.#hasTaken = true;
    else {
      this.#plan();
      if (this.#mayBegin(caller, now)) {
        this.#isFirst = true;
        this.#countBegun(caller, now);
        return true;
      }
    }
    const waiting = this.#ofCallers.get(caller);
    if (waiting === undefined) this.#ofCallers.set(caller, [begin]);
    else waiting.push(begin);
    return false;
  }

  /** Has the connections of a caller begin one in 100 ms for the next ten seconds. */
  pace(caller: string): void {
    const now = this.#now();
    // What is paced anew is behind all others.
    this.#paced.delete(caller);
    this.#paced.set(caller, { until: now + PACED_FOR_MS, next: now + PACE_MS });
    const [longest] = this.#paced.keys();
    if (this.#paced.size > PACED_MAX) this.#paced.delete(longest!);
  }

  /** Whether connections are being taken, and nothing else is to begin in this turn. */
  areTaken(): boolean {
    return this.#taking > 0;
  }

  #plan(): void {
    this.#isPlanned = true;
    setImmediate(() => {
      this.#isPlanned = false;
      this.#next();
    });
  }

  /** For those of callers that are paced alone. */
  #planLater(): void {
    if (this.#isPlannedLater) return;
    this.#isPlannedLater = true;
    setTimeout(() => {
      this.#isPlannedLater = false;
      if (!this.#isPlanned) this.#next();
    }, PACE_MS).unref();
  }

  #next(): void {
    const hasTaken = this.#hasTaken;
    this.#hasTaken = false;
    if (this.#taking < 0 || hasTaken) this.#taking += 1;
    else this.#taking = 0;
    if (this.#taking === 1) this.#takingSince = this.#now();
    else if (this.#isTakenLong()) this.#taking = -TURNS_OF_OTHERS;
    const areMore = !this.areTaken() && this.#begin();
    if (hasTaken || this.#isFirst || areMore) this.#plan();
    else {
      this.#taking = 0;
      if (this.#ofCallers.size > 0) this.#planLater();
    }
    this.#isFirst = false;
  }

  #isTakenLong(): boolean {
    if (this.#taking <= 0) return false;
    return this.#taking > TURNS_OF_TAKING || this.#now() - this.#takingSince > TAKING_MS;
  }

  /** Whether there are more that may begin in the next turn. */
  #begin(): boolean {
    const now = this.#now();
    let begun = 0;
    for (const [caller, waiting] of this.#ofCallers) {
      if (!this.#mayBegin(caller, now)) continue;
      if (begun === BEGUN_IN_A_TURN) return true;
      // A caller that begins one goes to the end.
      this.#ofCallers.delete(caller);
      if (waiting.shift()!()) {
        begun += 1;
        this.#countBegun(caller, now);
      }
      if (waiting.length > 0) this.#ofCallers.set(caller, waiting);
    }
    return false;
  }

  #mayBegin(caller: string, now: number): boolean {
    const pace = this.#paced.get(caller);
    if (pace === undefined) return true;
    if (now >= pace.until) this.#paced.delete(caller);
    return now >= Math.min(pace.until, pace.next);
  }

  #countBegun(caller: string, now: number): void {
    const pace = this.#paced.get(caller);
    if (pace !== undefined) pace.next = now + PACE_MS;
  }
}

/** Has connections of a server begin to be read in the order of their arrivals. */
export function beginInOrder(server: Server, arrivals: Pick<Arrivals, 'take'>): void {
  server.on('connection', (socket: Socket) => {
    const { remoteAddress: address } = socket;
    // One too many is closed already.
    if (socket.destroyed || address === undefined) return;
    const begin = (): boolean => {
      if (!socket.destroyed) socket.resume();
      return !socket.destroyed;
    };
    if (arrivals.take(callerNetwork(address), begin)) return;
    // Behind node's own beginning, which is in this queue already.
    process.nextTick(() => socket.pause());
  });
}
