import type { IncomingMessage } from 'node:http';
import type { FastifyPluginCallback, FastifyRequest } from 'fastify';
import { Fault } from '#shared/kernel/errors.ts';
import type { Credential } from '#shared/keys/credential.ts';

/** Bytes of all bodies but those for models: they name things and dates, and hold no documents. */
export const SMALL_BODY_BYTES = 64 * 1024;

/** How often the largest body fits into what a key, its organisation and all callers may have on the way at once. */
const BODIES_OF_KEY = 2;
const BODIES_OF_ORG = 3;
const BODIES_OF_ALL = 8;
/** Requests of one organisation on the way at once: its burst, and never fewer than a pool of connections has. */
const REQUESTS_OF_ORG_MIN = 256;
/** Half of what the process takes: the other half is there for others. */
const REQUESTS_OF_ORG_MAX = 4_096;
const REQUESTS_OF_ALL = 8_192;
/** A body is read within a fraction of a second, so there is room again. */
const RETRY_MS = 1_000;

/** What one request holds of the process until it is in the pipeline or answered. */
interface Held {
  release(): void;
}

declare module 'fastify' {
  interface FastifyRequest {
    intake: Held;
  }
}

export interface IntakeOptions {
  /** The largest body that a route takes. */
  bodyBytesMax: number;
}

interface Tally {
  requests: number;
  bytes: number;
}

const NOTHING: Held = { release() {} };

/**
 * A gate before any body is read: it bounds how many requests, and how many bytes of bodies, one key, one organisation
 * and all of them together may have on the way into this process. It says no before a byte is kept, so that what stands
 * behind it (parsing, screening) can be hurt by no one caller. Register it behind `authenticate`.
 */
export const intake: FastifyPluginCallback<IntakeOptions> = (app, { bodyBytesMax }, done) => {
  app.decorateRequest('intake', null as unknown as Held);
  const gate = new Gate(bodyBytesMax);
  app.addHook('onRoute', (route) => {
    if (route.schema?.rawBody === undefined)
      route.bodyLimit = Math.min(SMALL_BODY_BYTES, bodyBytesMax);
  });
  app.addHook('onRequest', (request, reply, next) => {
    request.intake = NOTHING;
    // Whatever reads no body holds nothing, and the few that revoke a key are not held up by what is on its way with it.
    if (request.is404 || request.credential === null || !hasBody(request)) return next();
    if (request.routeOptions.config.bucket === 'revocations') return next();
    const bytes = bytesOf(request);
    const fault = gate.refusal(request.credential, bytes);
    if (fault !== undefined) return next(fault);
    const held = gate.hold(request.credential, bytes);
    request.intake = held;
    reply.raw.once('close', () => held.release());
    next();
  });
  done();
};
// The hooks are meant for the routes beside this plugin, not only for those within it.
Object.defineProperty(intake, Symbol.for('skip-override'), { value: true });

/** True when a request brings a body, of whatever length. */
export function hasBody({ headers }: Pick<IncomingMessage, 'headers'>): boolean {
  return headers['content-length'] !== undefined || headers['transfer-encoding'] !== undefined;
}

/** What a body may come to. One above the route's limit is refused by its length, and one without a length counts whole. */
function bytesOf({ headers, routeOptions }: FastifyRequest): number {
  const announced = Number(headers['content-length'] ?? Infinity);
  const limit = routeOptions.bodyLimit ?? SMALL_BODY_BYTES;
  return Math.min(limit, Number.isNaN(announced) ? limit : announced);
}

class Gate {
  readonly #bodyBytesMax: number;
  readonly #all: Tally = { requests: 0, bytes: 0 };
  /** Keys and organisations with something on the way, by id. */
  readonly #callers = new Map<string, Tally>();

  constructor(bodyBytesMax: number) {
    this.#bodyBytesMax = bodyBytesMax;
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
    const { requests: all, bytes: taken } = this.#all;
    if (all < REQUESTS_OF_ALL && taken + bytes <= BODIES_OF_ALL * this.#bodyBytesMax)
      return undefined;
    return new Fault('dispatch_unavailable', { retryAfterMs: RETRY_MS });
  }

  hold({ keyId, orgId }: Credential, bytes: number): Held {
    this.#count(keyId, 1, bytes);
    this.#count(orgId, 1, bytes);
    this.#all.requests += 1;
    this.#all.bytes += bytes;
    let isHeld = true;
    return {
      release: () => {
        if (!isHeld) return;
        isHeld = false;
        this.#count(keyId, -1, -bytes);
        this.#count(orgId, -1, -bytes);
        this.#all.requests -= 1;
        this.#all.bytes -= bytes;
      },
    };
  }

  #count(id: string, requests: number, bytes: number): void {
    const tally = this.#callers.get(id);
    if (tally === undefined) this.#callers.set(id, { requests, bytes });
    else {
      tally.requests += requests;
      tally.bytes += bytes;
      if (tally.requests === 0) this.#callers.delete(id);
    }
  }
}
