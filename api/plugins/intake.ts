import type { IncomingMessage } from 'node:http';
import type { FastifyPluginCallback, FastifyRequest } from 'fastify';
import { Fault } from '#shared/kernel/errors.ts';
import type { Credential } from '#shared/keys/credential.ts';
import type { HeldRefusals } from './held-refusals.ts';
import { isHeldBack } from './reading-turns.ts';
import { whenHeld } from './rates.ts';

/** Bytes of all bodies but those for models: they name things and dates, and hold no documents. */
export const SMALL_BODY_BYTES = 64 * 1024;

/** How often the largest body fits into what a key, its organisation and all callers may have on the way at once. */
const BODIES_OF_KEY = 2;
const BODIES_OF_ORG = 3;
const BODIES_OF_ALL = 8;
/** What small bodies have for themselves: two thousand of the largest of them, so that large ones never keep them out. */
const SMALL_BYTES_OF_ALL = 128 * 1024 * 1024;
/** Of what is free of it, what one organisation may have: alone a fifth of all, which is all requests that most plans allow. */
const SMALL_SHARE_OF_FREE = 1 / 4;
/**
 * A body that comes slower than this once it has had a moment to begin gives its place to one that would be refused. The
 * largest that is configured by default would take ten minutes, and is given up after two anyway.
 */
const SLOWEST_BYTES_PER_S = 32 * 1024;
const BEGIN_MS = 2_000;
/** Requests of one organisation on the way at once: its burst, and never fewer than a pool of connections has. */
const REQUESTS_OF_ORG_MIN = 256;
/** Half of what the process takes: the other half is there for others. */
const REQUESTS_OF_ORG_MAX = 4_096;
const REQUESTS_OF_ALL = 8_192;
/** A body is read within a fraction of a second, so there is room again. */
const RETRY_MS = 1_000;

/** What one request holds of the process until it is in the pipeline or answered. */
interface Held {
  /** What it holds is in memory from here on, whether its client stays or leaves: it is counted until `release`. */
  keep(): void;
  release(): void;
}

/** A body on its way. */
export interface Body {
  /** What it may come to. */
  bytes: number;
  /** What of it has come; Infinity when it is whole. */
  received: () => number;
  /** Answers its request that it was too slow. */
  giveUp: () => void;
}

declare module 'fastify' {
  interface FastifyRequest {
    intake: Held;
  }
}

export interface IntakeOptions {
  /** The largest body that a route takes. */
  bodyBytesMax: number;
  /** Has what is refused wait for its turn among the refusals of its organisation. */
  held: Pick<HeldRefusals, 'give'>;
  /** Monotonic milliseconds. */
  now?: () => number;
}

interface Tally {
  requests: number;
  /** Of all bodies, and of the small ones among them. */
  bytes: number;
  smallBytes: number;
}

const NOTHING: Held = { keep() {}, release() {} };

/**
 * A gate before any body is read: it bounds how many requests, and how many bytes of bodies, one key, one organisation
 * and all of them together may have on the way into this process. It says no before a byte is kept, so that what stands
 * behind it (parsing, screening) can be hurt by no one caller. Register it behind `authenticate`.
 */
export const intake: FastifyPluginCallback<IntakeOptions> = (
  app,
  { bodyBytesMax, held, now },
  done,
) => {
  app.decorateRequest('intake', null as unknown as Held);
  const gate = new Gate(bodyBytesMax, now);
  app.addHook('onRoute', (route) => {
    if (route.schema?.rawBody === undefined)
      route.bodyLimit = Math.min(SMALL_BODY_BYTES, bodyBytesMax);
  });
  app.addHook('onRequest', (request, reply, next) => {
    request.intake = NOTHING;
    // A route that reads no body holds nothing, and the few that revoke a key are not held up by what is on its way with it.
    if (request.is404 || request.credential === null || !hasBody(request)) return next();
    if (request.routeOptions.config.bucket === 'revocations') return next();
    // A client that left while its key was looked up would be heard of no more.
    if (reply.raw.destroyed) return next();
    const body = bodyOf(request);
    const fault = gate.refusal(request.credential, body.bytes);
    if (fault !== undefined) {
      const exchange = { request: request.raw, response: reply.raw };
      held.give(request.credential.orgId, exchange, (heldMs) => next(whenHeld(fault)(heldMs)));
      return;
    }
    const coming = gate.hold(request.credential, body);
    request.intake = coming;
    reply.raw.once('close', () => coming.leave());
    next();
  });
  done();
};
// The hooks are meant for the routes beside this plugin, not only for those within it.
Object.defineProperty(intake, Symbol.for('skip-override'), { value: true });

/** True when a request brings a body, of any length. */
export function hasBody({ headers }: Pick<IncomingMessage, 'headers'>): boolean {
  return headers['content-length'] !== undefined || headers['transfer-encoding'] !== undefined;
}

/** What a body may come to. One above the route's limit is refused by its length, and one without a length counts whole. */
function bytesOf({ headers, routeOptions }: FastifyRequest): number {
  const announced = Number(headers['content-length'] ?? Infinity);
  const limit = routeOptions.bodyLimit ?? SMALL_BODY_BYTES;
  return Math.min(limit, Number.isNaN(announced) ? limit : announced);
}

function bodyOf(request: FastifyRequest): Body {
  const { raw, server } = request;
  const { socket } = raw;
  const before = socket.bytesRead;
  return {
    bytes: bytesOf(request),
    // What waits to be read here is not slow.
    received: () => (raw.complete || isHeldBack(socket) ? Infinity : socket.bytesRead - before),
    // As node does with a request that takes longer than all may.
    giveUp: () => {
      const error = new Error('The body came too slowly.');
      server.server.emit(
        'clientError',
        Object.assign(error, { code: 'ERR_HTTP_REQUEST_TIMEOUT' }),
        socket,
      );
    },
  };
}

/** A large body on its way. */
interface Coming extends Body, Held {
  begunAt: number;
  /** Its client has left. */
  leave(): void;
}

/**
 * Counts what is on its way. Large bodies share what there is by coming first, and keep it by coming: one that was announced
 * and does not come gives its place to another. Small ones have a part of their own, of which an organisation has at most
 * a quarter of what is free, and of requests as many as are: those who take what they can leave room for one that comes.
 */
export class Gate {
  readonly #bodyBytesMax: number;
  readonly #now: () => number;
  readonly #all: Tally = { requests: 0, bytes: 0, smallBytes: 0 };
  /** Keys and organisations with something on the way, by id. */
  readonly #callers = new Map<string, Tally>();
  /** The oldest first. */
  readonly #large = new Set<Coming>();

  constructor(bodyBytesMax: number, now: () => number = () => performance.now()) {
    this.#bodyBytesMax = bodyBytesMax;
    this.#now = now;
  }

  refusal({ keyId, orgId, limits }: Credential, bytes: number): Fault | undefined {
    const requests = Math.min(Math.max(limits.burst, REQUESTS_OF_ORG_MIN), REQUESTS_OF_ORG_MAX);
    const isFull = (id: string, bodies: number): boolean => {
      const tally = this.#callers.get(id);
      if (tally === undefined) return false;
      return tally.requests >= requests || tally.bytes + bytes > bodies * this.#bodyBytesMax;
    };
    if (isFull(keyId, BODIES_OF_KEY) || isFull(orgId, BODIES_OF_ORG)) {
      return new Fault('requests_per_second_exceeded', {
        message:
          'Too many requests, or too large ones, are on their way at once. Wait and try again.',
        retryAfterMs: RETRY_MS,
      });
    }
    if (this.#hasRoom(orgId, bytes)) return undefined;
    return new Fault('dispatch_unavailable', { retryAfterMs: RETRY_MS });
  }

  hold({ keyId, orgId }: Credential, body: Body): Coming {
    const { bytes } = body;
    const count = (requests: 1 | -1): void => {
      this.#count(keyId, requests, bytes);
      this.#count(orgId, requests, bytes);
      add(this.#all, requests, bytes);
    };
    count(1);
    let isHeld = true;
    let isKept = false;
    const coming: Coming = {
      ...body,
      begunAt: this.#now(),
      keep: () => {
        isKept = true;
      },
      leave: () => {
        if (!isKept) coming.release();
      },
      release: () => {
        if (!isHeld) return;
        isHeld = false;
        this.#large.delete(coming);
        count(-1);
      },
    };
    if (bytes > SMALL_BODY_BYTES) this.#large.add(coming);
    return coming;
  }

  #hasRoom(orgId: string, bytes: number): boolean {
    const { requests, smallBytes } = this.#all;
    const ofOrg = this.#callers.get(orgId);
    if ((ofOrg?.requests ?? 0) >= REQUESTS_OF_ALL - requests) return false;
    if (bytes > SMALL_BODY_BYTES) return this.#hasRoomForLarge(bytes);
    return (
      (ofOrg?.smallBytes ?? 0) + bytes <= (SMALL_BYTES_OF_ALL - smallBytes) * SMALL_SHARE_OF_FREE
    );
  }

  /** Makes room where bodies do not come; none is given up for one that would be refused all the same. */
  #hasRoomForLarge(bytes: number): boolean {
    const { bytes: all, smallBytes } = this.#all;
    let free = BODIES_OF_ALL * this.#bodyBytesMax - (all - smallBytes);
    const now = this.#now();
    const slow: Coming[] = [];
    for (const one of this.#large) {
      const begunForMs = now - one.begunAt - BEGIN_MS;
      if (bytes <= free || begunForMs <= 0) break;
      if (one.received() >= (begunForMs / 1_000) * SLOWEST_BYTES_PER_S) continue;
      slow.push(one);
      free += one.bytes;
    }
    if (bytes > free) return false;
    for (const one of slow) {
      one.release();
      one.giveUp();
    }
    return true;
  }

  #count(id: string, requests: 1 | -1, bytes: number): void {
    const one = this.#callers.get(id) ?? { requests: 0, bytes: 0, smallBytes: 0 };
    add(one, requests, bytes);
    if (one.requests === 0) this.#callers.delete(id);
    else this.#callers.set(id, one);
  }
}

function add(one: Tally, requests: 1 | -1, bytes: number): void {
  one.requests += requests;
  one.bytes += requests * bytes;
  if (bytes <= SMALL_BODY_BYTES) one.smallBytes += requests * bytes;
}
