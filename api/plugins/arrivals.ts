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

/**
 * Takes connections that come one behind the other before anything is read of them, and has them begin to be read in order,
 * four in a turn of the event loop, callers one after the other. The event loop takes one connection in a turn: were each
 * read as it comes, with what is asked on it, one that comes behind thousands would wait for all that those ask. A connection
 * that comes alone begins at once.
 */
export class Arrivals {
  /** What has each connection of a caller begin, in the order in which callers are next. */
  readonly #ofCallers = new Map<string, (() => void)[]>();
  #isPlanned = false;
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

  /** Says that a connection may begin now, or has it begin in a later turn. */
  take(caller: string, begin: () => void): boolean {
    if (!this.#isPlanned) {
      this.#isFirst = true;
      this.#plan();
      return true;
    }
    this.#hasTaken = true;
    const waiting = this.#ofCallers.get(caller);
    if (waiting === undefined) this.#ofCallers.set(caller, [begin]);
    else waiting.push(begin);
    return false;
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

  #next(): void {
    const hasTaken = this.#hasTaken;
    this.#hasTaken = false;
    if (this.#taking < 0 || hasTaken) this.#taking += 1;
    else this.#taking = 0;
    if (this.#taking === 1) this.#takingSince = this.#now();
    else if (this.#isTakenLong()) this.#taking = -TURNS_OF_OTHERS;
    if (!this.areTaken()) this.#begin();
    if (hasTaken || this.#isFirst || this.#ofCallers.size > 0) this.#plan();
    else this.#taking = 0;
    this.#isFirst = false;
  }

  #isTakenLong(): boolean {
    if (this.#taking <= 0) return false;
    return this.#taking > TURNS_OF_TAKING || this.#now() - this.#takingSince > TAKING_MS;
  }

  #begin(): void {
    let begun = 0;
    for (const [caller, waiting] of this.#ofCallers) {
      if (begun === BEGUN_IN_A_TURN) return;
      // A caller that begins one goes to the end.
      this.#ofCallers.delete(caller);
      waiting.shift()!();
      begun += 1;
      if (waiting.length > 0) this.#ofCallers.set(caller, waiting);
    }
  }
}

/** Has connections of a server begin to be read in the order of their arrivals. */
export function beginInOrder(server: Server, arrivals: Pick<Arrivals, 'take'>): void {
  server.on('connection', (socket: Socket) => {
    const { remoteAddress: address } = socket;
    // One too many is closed already.
    if (socket.destroyed || address === undefined) return;
    const begin = (): void => void socket.resume();
    if (arrivals.take(callerNetwork(address), begin)) return;
    // Behind node's own beginning, which is in this queue already.
    process.nextTick(() => socket.pause());
  });
}
