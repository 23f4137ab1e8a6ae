import type { Server, Socket } from 'node:net';

/** What one turn of the event loop takes of small pieces of bodies, a microsecond or two each, before it reads no more. */
const PIECES_OF_TURN = 8_192;
/** Who has brought so many in a turn that was ended is read slowly; ends of large bodies, and bodies in a few chunks, are fewer. */
const PIECES_OF_CALLER = 1_024;
/** Between two turns of those who are read slowly. What one connection brings in its turn takes some five milliseconds. */
const PACE_MS = 25;
/** The same of proxies: behind one there are others as well, who wait for these turns too. */
const PACE_OF_PROXIES_MS = 10;
/** So many are read again at a time, most of which bring nothing: the first that brings many stops the others again. */
const BATCH = 64;

/** What node reads a connection by. `reading` is what node itself wants: it stays as it is while a turn reads no more. */
interface Handle {
  reading: boolean;
  readStop(): void;
  readStart(): void;
}

type ReadSocket = Pick<Socket, 'once' | 'bytesRead'> & { _handle?: Handle | null };

/** None once it is closed. There is no public name for it. */
const handleOf = ({ _handle: handle }: ReadSocket): Handle | null | undefined => handle;

/** A caller, or all proxies together, as long as connections of theirs are open. */
interface Caller {
  areProxies: boolean;
  connections: Set<ReadSocket>;
  /** Those of them that wait to be read again, in that order. */
  waiting: Set<ReadSocket>;
  /** Those that were to be read again last, and what had been read of each: the turn may have ended before they were. */
  released: Map<ReadSocket, number>;
  /** Small pieces that they have brought in this turn. */
  pieces: number;
  /** Some of them wait for longer than a turn. */
  isSlow: boolean;
}

/** Connections of which nothing is read until their turn. */
const heldBack = new WeakSet<object>();

/** Whether what has come on a connection may lie unread until its turn. */
export const isHeldBack = (socket: object): boolean => heldBack.has(socket);

/** The name under which all proxies are one caller; no network has it. */
const PROXIES = '';

/**
 * Bounds what one turn of the event loop reads of bodies in small pieces. A turn reads from every connection that has sent
 * something, up to 64 KiB with thousands of pieces each, and would be seconds with a thousand of them. So behind so many
 * pieces no connection is read any more in that turn. In the next all are again but those of callers that brought many:
 * of these some are every 25 ms, callers one after the other, until one of them brings many again; of proxies every 10 ms.
 * The event loop takes one new connection in a turn, so that many turns have to be short.
 */
export class ReadingTurns {
  readonly #callers = new Map<string, Caller>();
  readonly #ofSockets = new WeakMap<ReadSocket, Caller>();
  /** Those that have brought pieces in this turn, or have connections that wait. */
  readonly #active = new Set<Caller>();
  #pieces = 0;
  #isPlanned = false;
  #pacing: NodeJS.Timeout | undefined;
  #pacingOfProxies: NodeJS.Timeout | undefined;

  /** Has a connection of this caller, or of a proxy, stop and go on with the others, until it closes. */
  add(socket: ReadSocket, name: string | undefined): void {
    const key = name ?? PROXIES;
    const known = this.#callers.get(key);
    const caller = known ?? newCaller(name === undefined);
    if (known === undefined) this.#callers.set(key, caller);
    caller.connections.add(socket);
    this.#ofSockets.set(socket, caller);
    // Behind node's own beginning. One that comes new waits behind the others.
    if (caller.isSlow) process.nextTick(() => void (caller.isSlow && stopReading(caller, socket)));
    socket.once('close', () => {
      caller.connections.delete(socket);
      caller.waiting.delete(socket);
      caller.released.delete(socket);
      if (caller.connections.size === 0) this.#callers.delete(key);
    });
  }

  /** Counts a small piece of a body that has come on this connection. */
  count(socket: ReadSocket): void {
    const caller = this.#ofSockets.get(socket);
    if (caller !== undefined) {
      caller.pieces += 1;
      this.#active.add(caller);
      if (caller.isSlow && caller.pieces === PIECES_OF_CALLER) holdBack(caller);
    }
    this.#pieces += 1;
    if (this.#pieces === PIECES_OF_TURN) this.#stop();
    this.#plan();
  }

  #stop(): void {
    for (const caller of this.#callers.values()) {
      if (caller.pieces >= PIECES_OF_CALLER) caller.isSlow = true;
      holdBack(caller);
      this.#active.add(caller);
    }
  }

  #plan(): void {
    if (this.#isPlanned) return;
    this.#isPlanned = true;
    setImmediate(() => {
      this.#isPlanned = false;
      this.#next();
    });
  }

  #next(): void {
    this.#pieces = 0;
    for (const caller of this.#active) {
      caller.pieces = 0;
      this.#readAgain(caller, caller.isSlow ? 0 : caller.waiting.size);
    }
    if (this.#active.size === 0) return this.#rest();
    this.#pacing ??= setInterval(() => this.#readSome(({ areProxies }) => !areProxies), PACE_MS);
    this.#pacingOfProxies ??= setInterval(
      () => this.#readSome(({ areProxies }) => areProxies),
      PACE_OF_PROXIES_MS,
    );
    this.#pacing.unref();
    this.#pacingOfProxies.unref();
  }

  #readSome(isAmong: (caller: Caller) => boolean): void {
    for (const caller of this.#active) {
      if (!isAmong(caller)) continue;
      // A caller of which some are read goes to the end.
      this.#active.delete(caller);
      this.#active.add(caller);
      this.#readAgain(caller, BATCH);
      break;
    }
    if (this.#active.size === 0) this.#rest();
  }

  #readAgain(caller: Caller, count: number): void {
    const { waiting, released } = caller;
    if (count > 0) released.clear();
    for (const socket of [...waiting].slice(0, count)) {
      waiting.delete(socket);
      heldBack.delete(socket);
      released.set(socket, socket.bytesRead);
      // What node has stopped itself, it starts itself.
      const handle = handleOf(socket);
      if (handle?.reading) handle.readStart();
    }
    if (waiting.size > 0) return;
    caller.isSlow = false;
    this.#active.delete(caller);
  }

  #rest(): void {
    clearInterval(this.#pacing);
    clearInterval(this.#pacingOfProxies);
    this.#pacing = undefined;
    this.#pacingOfProxies = undefined;
  }
}

function newCaller(areProxies: boolean): Caller {
  return {
    areProxies,
    connections: new Set(),
    waiting: new Set(),
    released: new Map(),
    pieces: 0,
    isSlow: false,
  };
}

/** Those whose turn it was, and that may not have had it, are the first; those that wait already come before the others. */
function holdBack(caller: Caller): void {
  const { connections, waiting, released } = caller;
  const unread = [...released].filter(([socket, before]) => socket.bytesRead === before);
  released.clear();
  caller.waiting = new Set(unread.map(([socket]) => socket));
  // Those that wait already may have been started by node.
  for (const socket of [...caller.waiting, ...waiting, ...connections]) stopReading(caller, socket);
}

function stopReading({ connections, waiting }: Caller, socket: ReadSocket): void {
  if (!connections.has(socket)) return;
  handleOf(socket)?.readStop();
  waiting.add(socket);
  heldBack.add(socket);
}

/**
 * Has the connections of a server take turns where bodies come in small pieces.
 *
 * @param callerOf whose connections those of an address are; undefined of a proxy, whose are those of many callers
 */
export function readInTurns(
  { server }: { server: Server },
  turns: ReadingTurns,
  callerOf: (address: string) => string | undefined,
): void {
  server.on('connection', (socket: Socket) => {
    const { remoteAddress: address } = socket;
    if (address !== undefined && !socket.destroyed) turns.add(socket, callerOf(address));
  });
}
