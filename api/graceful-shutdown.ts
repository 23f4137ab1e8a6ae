import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import { Server as Listener, type Socket } from 'node:net';
import { isHeldBack } from './plugins/reading-turns.ts';
import { setImmediate as turn, setTimeout as delay } from 'node:timers/promises';

/** A connection on which nothing comes for this long has no request on its way any more, unless its client is held up. */
const IDLE_MS = 1_000;
const LOOK_MS = 20;
/** A turn of the event loop that took longer may have been held up after it looked for connections. */
const TURN_MS = 5;
/** A process that has no such turn for this long is too busy to wait for one. */
const TURNS_MS = 5_000;

/** Node keeps the answer under way here; there is no public name for it. */
type HttpSocket = Socket & { _httpMessage?: ServerResponse | null };

/**
 * Lets a server leave without a failed request. A connection is never closed while a request may be on its way to it:
 * every answer from now on says `Connection: close`, so that clients open their next connection elsewhere, and what stays
 * idle goes: as late as the process serves anyway, since a client that is held up hears late that a connection is gone.
 */
export class GracefulShutdown {
  readonly #server: Server;
  readonly #sockets = new Set<HttpSocket>();
  /** What takes connections for the server on other addresses. */
  readonly #doors: Listener[] = [];
  /** How many connections there have been. */
  #taken = 0;

  constructor(server: Server) {
    this.#server = server;
    server.on('connection', (socket: Socket) => {
      this.#taken += 1;
      this.#sockets.add(socket);
      socket.once('close', () => this.#sockets.delete(socket));
    });
  }

  /** The server has connections from this one too; it listens as long as the server does. */
  alsoAt(door: Listener): void {
    this.#doors.push(door);
    this.#server.once('close', () => door.close());
  }

  /**
   * Goes on taking connections for `lameDuckMs`, in which balancers are to find out, then listens no more. Resolves when
   * every connection has ended.
   */
  async leave(lameDuckMs: number): Promise<void> {
    if (!this.#server.listening) return;
    const idleMs = Math.max(IDLE_MS, lameDuckMs);
    this.#server.keepAliveTimeout = idleMs;
    this.#server.prependListener('request', (request, response) => isLast(request, response));
    this.#server.on('timeout', closeUnlessHeard);
    for (const socket of this.#sockets) {
      // oxlint-disable-next-line no-underscore-dangle -- the name is Node's
      const answer = socket._httpMessage;
      if (answer === undefined || answer === null) socket.setTimeout(idleMs);
      else answer.shouldKeepAlive = false;
    }
    await delay(lameDuckMs);
    await this.#takeWaiting();
    // Not the HTTP server's own: that closes idle connections at once, some just as their next request arrives.
    for (const one of [this.#server, ...this.#doors]) Listener.prototype.close.call(one);
    while (this.#sockets.size > 0) await delay(LOOK_MS);
  }

  /**
   * Takes the connections that the kernel has made for this process: they are reset when it listens no more. None is left
   * after a turn that took none, if it was short: others come while a process is held up between looking and closing.
   */
  async #takeWaiting(): Promise<void> {
    const end = performance.now() + TURNS_MS;
    for (;;) {
      const [known, begun] = [this.#taken, performance.now()];
      await turn();
      const now = performance.now();
      if ((known === this.#taken && now - begun < TURN_MS) || now > end) return;
    }
  }
}

/**
 * A process that was held up hears of the time before it hears of what came in meanwhile: what lies unread is read before
 * the connection is given up. One whose turn to be read has not come has the time once more.
 */
function closeUnlessHeard(socket: Socket): void {
  const { bytesRead } = socket;
  if (socket.isPaused() || isHeldBack(socket))
    return void socket.setTimeout(socket.timeout ?? IDLE_MS);
  setImmediate(() => {
    if (socket.bytesRead === bytesRead) socket.destroy();
  });
}

function isLast({ socket }: IncomingMessage, response: ServerResponse): void {
  socket.setTimeout(0);
  response.shouldKeepAlive = false;
}
