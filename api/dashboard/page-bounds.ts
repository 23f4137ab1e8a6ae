import { hash } from 'node:crypto';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { SecondChanceMap } from '#api/auth/second-chance-map.ts';
import { callerNetwork } from '#api/plugins/caller-network.ts';
import { MemoryRates } from '#api/plugins/memory-rates.ts';
import { refusal } from '#api/plugins/rates.ts';
import { Fault } from '#shared/kernel/errors.ts';
import type { Rate } from '#shared/kernel/plan.ts';

/**
 * A page costs what many public documents do. Of the rate of an address, an address and an organisation have a fifth for
 * pages, and a person a twentieth, which is ten a second where nothing is set.
 */
const SHARE = { address: 1 / 5, person: 1 / 20, organisation: 1 / 5 } as const;
/** Pages that are drawn at once: one takes some hundredths of a second, and three statements at a time. */
const AT_ONCE = { address: 4, person: 2, organisation: 6 } as const;
/** Above what some hundred addresses that flood come to. */
const AT_ONCE_MAX = 512;
/** A browser that opens its tabs again waits; a flood is refused. */
const WAITING_OF_ADDRESS_MAX = 32;
const WAITING_MAX = 4_096;
/** Sessions whose persons are known here: more than are used within a minute. */
const SESSIONS_MAX = 10_000;
const RETRY_MS = 1_000;

type Kind = keyof typeof SHARE;
/** Who a page is counted for. */
type Caller = readonly [Kind, id: string];

/** Whose session a cookie is, by the last page that it opened. */
interface Known {
  personId: string;
  orgIds: readonly string[];
}

declare module 'fastify' {
  interface FastifyRequest {
    /** Who a page is counted for: its address first; its person and organisation too where the session is known here. */
    pageCallers: readonly Caller[];
    /** Whether it takes a place among what is drawn at once. */
    isDrawn: boolean;
  }
}

/**
 * Bounds the pages of an address, a person and an organisation, in the memory of this process: how many a second, how
 * many at once, and how many wait for that. A session is looked up before its person is known, so whose it is is
 * remembered: what is refused after the first page asks no store.
 */
export class PageBounds {
  readonly #rates: Record<Kind, MemoryRates>;
  /** By the digest of the cookie. */
  readonly #known = new SecondChanceMap<Known>(SESSIONS_MAX);
  /** Pages that are drawn, and those that wait, by kind and id of their callers. */
  readonly #drawn = new Map<string, number>();
  readonly #waitingOf = new Map<string, number>();
  readonly #waiting: { callers: readonly Caller[]; letIn: () => void }[] = [];
  #drawnCount = 0;

  /** `now` in monotonic milliseconds. */
  constructor({ requestsPerSecond, burst }: Rate, now?: () => number) {
    const rateOf = (kind: Kind) => {
      const share = SHARE[kind];
      const rate = {
        requestsPerSecond: requestsPerSecond * share,
        burst: Math.max(1, burst * share),
      };
      return new MemoryRates(rate, now);
    };
    this.#rates = {
      address: rateOf('address'),
      person: rateOf('person'),
      organisation: rateOf('organisation'),
    };
  }

  /** Bounds every page of `app`. To be called before a session is demanded. */
  limit(app: FastifyInstance): void {
    app.decorateRequest('pageCallers', null as never);
    app.decorateRequest('isDrawn', false);
    app.addHook('onRequest', (request, _reply, next) => {
      const cookie = digestOfCookie(request);
      const known = cookie === undefined ? undefined : this.#known.get(cookie);
      request.pageCallers = callersOf(request, known);
      next(this.#take(request.pageCallers));
    });
    // When its form has come: one that drips in holds up no page.
    app.addHook('preHandler', async (request, reply) => {
      await this.#enter(request.pageCallers);
      request.isDrawn = true;
      // Its client may have left while it waited.
      if (reply.raw.destroyed) throw tooMany();
    });
    // It is made by then: how fast its client reads it is no concern of others.
    app.addHook('onSend', (request, _reply, _payload, next) => {
      if (request.isDrawn) this.#leave(request.pageCallers);
      request.isDrawn = false;
      next();
    });
  }

  /**
   * Notes whose session a page was asked for with, and counts the page for them unless it has been.
   * @throws Fault when they have had enough
   */
  meet(request: FastifyRequest, known: Known): void {
    const cookie = digestOfCookie(request);
    if (cookie !== undefined) this.#known.set(cookie, known);
    if (request.pageCallers.length > 1) return;
    const fault = this.#take(callersOf(request, known).slice(1));
    if (fault !== undefined) throw fault;
  }

  /** Counts a page for each of them, or for none when one has had enough. */
  #take(callers: readonly Caller[]): Fault | undefined {
    const waits = callers.map(([kind, id]) => this.#rates[kind].waitOf(id));
    const fault = refusal(Math.max(0, ...waits));
    if (fault === undefined) for (const [kind, id] of callers) this.#rates[kind].spend(id, 1);
    return fault;
  }

  /** @throws Fault when too many wait already */
  #enter(callers: readonly Caller[]): Promise<void> | undefined {
    if (this.#hasRoom(callers)) {
      this.#countDrawn(callers, 1);
      return undefined;
    }
    const [address] = callers.map(nameOf);
    if ((this.#waitingOf.get(address!) ?? 0) >= WAITING_OF_ADDRESS_MAX) throw tooMany();
    if (this.#waiting.length >= WAITING_MAX) {
      throw new Fault('dispatch_unavailable', { retryAfterMs: RETRY_MS });
    }
    add(this.#waitingOf, address!, 1);
    return new Promise((letIn) => this.#waiting.push({ callers, letIn }));
  }

  /** The place goes to the first that waits for nothing else. */
  #leave(callers: readonly Caller[]): void {
    this.#countDrawn(callers, -1);
    const at = this.#waiting.findIndex((one) => this.#hasRoom(one.callers));
    if (at === -1) return;
    const [next] = this.#waiting.splice(at, 1);
    add(this.#waitingOf, nameOf(next!.callers[0]!), -1);
    this.#countDrawn(next!.callers, 1);
    next!.letIn();
  }

  #hasRoom(callers: readonly Caller[]): boolean {
    const isBelow = (caller: Caller) => (this.#drawn.get(nameOf(caller)) ?? 0) < AT_ONCE[caller[0]];
    return this.#drawnCount < AT_ONCE_MAX && callers.every(isBelow);
  }

  #countDrawn(callers: readonly Caller[], by: 1 | -1): void {
    this.#drawnCount += by;
    for (const caller of callers) add(this.#drawn, nameOf(caller), by);
  }
}

const nameOf = ([kind, id]: Caller): string => `${kind} ${id}`;

const SESSION_COOKIE = /(?:^|; )(?:__Secure-)?docket\.session_token=([^;]+)/;

/** The cookie of a session, whether that still is or not. */
export function sessionCookieOf({ headers }: FastifyRequest): string | undefined {
  return SESSION_COOKIE.exec(headers.cookie ?? '')?.[1];
}

/** By which a session is remembered, without what would open it. */
function digestOfCookie(request: FastifyRequest): string | undefined {
  const cookie = sessionCookieOf(request);
  return cookie === undefined ? undefined : hash('sha256', cookie);
}

/** The organisation of the address counts when the person is of it: others could use up its pages. */
function callersOf(request: FastifyRequest, known: Known | undefined): readonly Caller[] {
  const callers: Caller[] = [['address', callerNetwork(request.ip)]];
  if (known === undefined) return callers;
  callers.push(['person', known.personId]);
  const { org } = request.params as { org?: string };
  if (org !== undefined && known.orgIds.includes(org)) callers.push(['organisation', org]);
  return callers;
}

function add(counts: Map<string, number>, name: string, by: 1 | -1): void {
  const count = (counts.get(name) ?? 0) + by;
  if (count === 0) counts.delete(name);
  else counts.set(name, count);
}

function tooMany(): Fault {
  return new Fault('requests_per_second_exceeded', { retryAfterMs: RETRY_MS });
}
