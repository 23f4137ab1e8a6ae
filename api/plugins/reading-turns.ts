import type { Server, Socket } from 'node:net';

/** What one turn of the event loop takes of small pieces of bodies, a microsecond or two each, before it reads no more. */
const PIECES_OF_TURN = 8_192;
/** Each may bring half of that before its body is too many pieces, which is some five milliseconds. */
const PACE_MS = 25;

/** The connections of proxies are read again together: there are others among their callers. */
const OF_MANY = '';

/** What node reads a connection by. `reading` is what node itself wants: it stays as it is while a turn reads no more. */
interface Handle {
  reading: boolean;
  readStop(): void;
  readStart(): void;
}

type ReadSocket = Pick<Socket, 'once'> & { _handle?: Handle | null };

/** None once it is closed. There is no public name for it. */
const handleOf = ({ _handle: handle }: ReadSocket): Handle | null | undefined => handle;

/**
 * Bounds what one turn of the event loop reads of bodies in small pieces. A turn reads from every connection that has sent
 * something, up to 64 KiB with thousands of pieces each, and would be seconds with a thousand of them. So behind so many
 * pieces no connection is read any more in that turn. In the next all are again but those of callers that brought pieces:
 * of these one is in 25 ms, callers one after the other. The event loop takes one new connection in a turn, so that many
 * turns have to be short.
 */
export class ReadingTurns {
  readonly #open = new Map<ReadSocket, string>();
  /** Connections that wait to be read again, by caller, in the order in which callers are next. */
  readonly #waiting = new Map<string, Set<ReadSocket>>();
  readonly #bringers = new Set<string>();
  #pieces = 0;
  #isPlanned = false;
  #pacing: NodeJS.Timeout | undefined;

  /** Has a connection of this caller stop and go on with the others, until it closes. */
  add(socket: ReadSocket, caller: string): void {
    this.#open.set(socket, caller);
    socket.once('close', () => {
      this.#open.delete(socket);
      this.#waiting.get(caller)?.delete(socket);
    });
  }

  /** Counts a small piece of a body that has come on this connection. */
  count(socket: ReadSocket): void {
    const caller = this.#open.get(socket);
    if (caller !== undefined && caller !== OF_MANY) this.#bringers.add(caller);
    this.#pieces += 1;
    if (this.#pieces === PIECES_OF_TURN) this.#stop();
    this.#plan();
  }

  #stop(): void {
    for (const [socket, caller] of this.#open) {
      const waiting = this.#waiting.get(caller);
      if (waiting?.has(socket)) continue;
      handleOf(socket)?.readStop();
      if (waiting === undefined) this.#waiting.set(caller, new Set([socket]));
      else waiting.add(socket);
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
    for (const [caller, waiting] of this.#waiting)
      if (!this.#bringers.has(caller)) this.#readAgain(caller, waiting.size);
    if (this.#waiting.size === 0) this.#forget();
    else this.#pacing ??= setInterval(() => this.#nextOfBringers(), PACE_MS).unref();
  }

  #nextOfBringers(): void {
    const [caller] = this.#waiting.keys();
    if (caller !== undefined) this.#readAgain(caller, 1);
    if (this.#waiting.size === 0) this.#forget();
  }

  #forget(): void {
    clearInterval(this.#pacing);
    this.#pacing = undefined;
    this.#bringers.clear();
  }

  #readAgain(caller: string, count: number): void {
    const waiting = this.#waiting.get(caller)!;
    for (const socket of [...waiting].slice(0, count)) {
      waiting.delete(socket);
      // What node has stopped itself, it starts itself.
      const handle = handleOf(socket);
      if (handle?.reading) handle.readStart();
    }
    // A caller of which one is read goes to the end.
    this.#waiting.delete(caller);
    if (waiting.size > 0) this.#waiting.set(caller, waiting);
  }
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
    if (address !== undefined && !socket.destroyed) turns.add(socket, callerOf(address) ?? OF_MANY);
  });
}
