import { hash } from 'node:crypto';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { SecondChanceMap } from '#api/auth/second-chance-map.ts';
import { ownCookie, readCookie, SESSION_COOKIE } from './cookies.ts';
import { callerNetwork } from '#api/plugins/caller-network.ts';
import { MemoryRates } from '#api/plugins/memory-rates.ts';
import { type Caller, Places } from '#api/plugins/places.ts';
import { refusal } from '#api/plugins/rates.ts';
import type { Fault } from '#shared/kernel/errors.ts';
import type { Rate } from '#shared/kernel/plan.ts';

/**
 * A page costs what many public documents do. Of the rate of an address, an address and an organisation have a fifth for
 * pages, and a person a twentieth, which is ten a second where nothing is set.
 */
const SHARE = { address: 1 / 5, person: 1 / 20, organisation: 1 / 5 } as const;
/**
 * Pages that are drawn at once: one takes some hundredths of a second, and three statements at a time. Of all, more than
 * some hundred addresses that flood come to. A browser that opens its tabs again waits; a flood is refused.
 */
const DRAWN = {
  atOnce: { address: 4, person: 2, organisation: 6 },
  atOnceOfAll: 512,
  waitingOfOne: 32,
  waitingOfAll: 4_096,
} as const;
/** Sessions whose persons are known here: more than are used within a minute. */
const SESSIONS_MAX = 10_000;

type Kind = keyof typeof SHARE;

/** Whose session a cookie is, by the last page that it opened. */
interface Known {
  personId: string;
  orgIds: readonly string[];
}

declare module 'fastify' {
  interface FastifyRequest {
    /** Who a page is counted for: its address first; its person and organisation too where the session is known here. */
    pageCallers: readonly Caller<Kind>[];
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
  readonly #drawn = new Places<Kind>(DRAWN);

  /** Describes the one cookie that opens a session here: another would be a session of its own for each value. */
  readonly #sessionCookie: RegExp;

  /** `now` in monotonic milliseconds. */
  constructor(
    { requestsPerSecond, burst }: Rate,
    { publicUrl, now }: { publicUrl: string; now?: () => number },
  ) {
    this.#sessionCookie = ownCookie(publicUrl, SESSION_COOKIE).pattern;
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
    app.addHook('onRequest', (request, _reply, next) => {
      next(this.count(request));
    });
    this.#drawn.limit(app, { callersOf: ({ pageCallers }) => pageCallers });
  }

  /** Counts a page for those who are known to ask for it; what it is refused with when they have had enough. */
  count(request: FastifyRequest): Fault | undefined {
    const cookie = this.#digestOfCookie(request);
    const known = cookie === undefined ? undefined : this.#known.get(cookie);
    request.pageCallers = callersOf(request, known);
    return this.#take(request.pageCallers);
  }

  /**
   * Notes whose session a page was asked for with, and counts the page for them unless it has been.
   * @throws Fault when they have had enough
   */
  meet(request: FastifyRequest, known: Known): void {
    const cookie = this.#digestOfCookie(request);
    if (cookie !== undefined) this.#known.set(cookie, known);
    if (request.pageCallers.length > 1) return;
    const fault = this.#take(callersOf(request, known).slice(1));
    if (fault !== undefined) throw fault;
  }

  /** By which a session is remembered, without what would open it. */
  #digestOfCookie({ headers }: FastifyRequest): string | undefined {
    const cookie = readCookie(headers.cookie, this.#sessionCookie);
    return cookie === undefined ? undefined : hash('sha256', cookie);
  }

  /** Counts a page for each of them, or for none when one has had enough. */
  #take(callers: readonly Caller<Kind>[]): Fault | undefined {
    const waits = callers.map(([kind, id]) => this.#rates[kind].waitOf(id));
    const fault = refusal(Math.max(0, ...waits))?.(0);
    if (fault === undefined) for (const [kind, id] of callers) this.#rates[kind].spend(id, 1);
    return fault;
  }
}

/** The organisation of the address counts when the person is of it: others could use up its pages. */
function callersOf(request: FastifyRequest, known: Known | undefined): readonly Caller<Kind>[] {
  const callers: Caller<Kind>[] = [['address', callerNetwork(request.ip)]];
  if (known === undefined) return callers;
  callers.push(['person', known.personId]);
  const { org } = request.params as { org?: string };
  if (org !== undefined && known.orgIds.includes(org)) callers.push(['organisation', org]);
  return callers;
}
