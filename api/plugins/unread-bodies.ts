import type { IncomingMessage, ServerResponse } from 'node:http';
import { Socket } from 'node:net';
import type { FastifyInstance } from 'fastify';
import { hasBody } from './intake.ts';

/** A client that is told no goes on sending for as long as this, and for so many bytes. Then it is cut off. */
const DRAIN_MS = 5_000;
const DRAIN_BYTES_MAX = 64 * 1024 * 1024;
/** What the process reads of all such bodies together: enough for a client with one, and little beside what it serves. */
const DRAIN_BYTES_PER_S = 64 * 1024 * 1024;
const DRAIN_BURST_BYTES = DRAIN_BYTES_MAX;
const LOOK_MS = 20;

/**
 * Reads, and throws away, the rest of a body whose request has been refused: a connection that is closed while the client
 * still writes takes the answer with it, and many clients never see why. Within bounds, because nothing obliges a client
 * to stop: of a client, and of all of them, since reading what one throws at the process takes the time of the others.
 */
export function drainUnreadBodies(app: FastifyInstance, drainage: Drainage): void {
  app.addHook('onSend', ({ raw }, reply, _payload, next) => {
    // Node closes a connection that is not kept with its own last byte; one that is kept it reads on.
    if (drainage.add(raw, reply.raw)) reply.removeHeader('connection');
    next();
  });
}

/** A refused request whose body still comes. */
interface Unread {
  request: IncomingMessage;
  socket: Socket;
  wantsClose: boolean;
  bytesRead: number;
  bytesMax: number;
  endsAt: number;
}

/** What is read of the bodies of refused requests. */
export class Drainage {
  readonly #unread = new Set<Unread>();
  #timer: NodeJS.Timeout | undefined;
  /** Bytes that may be read now; below zero when more has come than was allowed. */
  #allowance = DRAIN_BURST_BYTES;
  #lookedAt = performance.now();

  /** To be called before the answer is written; returns whether something of a body is still on its way. */
  add(request: IncomingMessage, response: ServerResponse): boolean {
    const { socket } = request;
    // What Fastify injects has no connection, and nothing that is still on its way.
    if (request.complete || !hasBody(request) || !(socket instanceof Socket)) return false;
    // Node would throw its pieces away uncounted as soon as it is answered.
    if (request.headers['transfer-encoding'] !== undefined) request.resume();
    const wantsClose = !response.shouldKeepAlive;
    response.shouldKeepAlive = true;
    const { bytesRead } = socket;
    const bytesMax = bytesRead + DRAIN_BYTES_MAX;
    const endsAt = performance.now() + DRAIN_MS;
    this.#unread.add({ request, socket, wantsClose, bytesRead, bytesMax, endsAt });
    this.#timer ??= setInterval(() => this.#look(), LOOK_MS).unref();
    return true;
  }

  #look(): void {
    const now = performance.now();
    const earned = ((now - this.#lookedAt) / 1_000) * DRAIN_BYTES_PER_S;
    this.#allowance = Math.min(DRAIN_BURST_BYTES, this.#allowance + earned);
    this.#lookedAt = now;
    for (const one of this.#unread) {
      this.#allowance -= one.socket.bytesRead - one.bytesRead;
      one.bytesRead = one.socket.bytesRead;
    }
    for (const one of this.#unread) this.#goOn(one, now);
    if (this.#unread.size > 0) return;
    clearInterval(this.#timer);
    this.#timer = undefined;
  }

  #goOn(one: Unread, now: number): void {
    const { request, socket, wantsClose } = one;
    const { complete } = request;
    const isPatient = now < one.endsAt && one.bytesRead < one.bytesMax;
    if (!complete && !socket.destroyed && isPatient) {
      // A socket that is not read makes its client wait.
      if (this.#allowance > 0) socket.resume();
      else socket.pause();
      return;
    }
    this.#unread.delete(one);
    if (!complete) socket.destroy();
    else if (wantsClose) socket.end();
    else socket.resume();
  }
}
