import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Rate } from '#shared/kernel/plan.ts';
import type { Credential } from '#shared/keys/credential.ts';
import { cutOff } from './before-routing.ts';
import { proxyTest } from './connections.ts';
import { MemoryRates } from './memory-rates.ts';
import { Shares } from './shares.ts';

/** Of one caller: a client that heeds what it is told is not held up, and one that does not has them in its own time. */
const REFUSALS: Rate = { requestsPerSecond: 32, burst: 32 };
/** A refusal waits no longer than this, so 256 of a caller wait. */
const HELD_MS_MAX = 8_000;
/** Of all callers: with the largest headers and what is read ahead of a body some hundred megabytes. */
const HELD_MAX = 2_048;
/** What a proxy brings beyond these waits so long each, however few there are. */
const PAUSE_MS = 1_000;
/** And longer where there are more, so that no more are answered: at 0.06 ms each before routing, a sixteenth of a core. */
const PAUSED_PER_SECOND = 1_024;
/**
 * As many as there are connections, on each of which a proxy has one request; the last waits for sixteen seconds, and
 * proxies give up after thirty and more. Only a program on the machine itself that sends ahead comes to more.
 */
const PAUSED_MAX = 16_384;
/**
 * Of so many routed requests of a key refusals wait at most: as many as wait in turn. Routing one costs ten times what refusing
 * it before does. One key of an organisation comes to no more than a quarter of what they have together.
 */
const ROUTED_OF_KEY = 256;
const ROUTED_OF_ORGANISATION = 4 * ROUTED_OF_KEY;

export interface HeldRefusalsOptions {
  /** Their connections are those of many callers, and stay open. */
  trustedProxies: readonly string[];
  /** A connection was closed, because too many refusals of its caller, or of all, wait already. */
  onRefused: (bound: 'refusals') => void;
  /** Monotonic milliseconds. */
  now?: () => number;
  /** Does something in so many milliseconds, unless what it returns is called. */
  later?: (ms: number, act: () => void) => () => void;
}

function afterTime(ms: number, act: () => void): () => void {
  const timer = setTimeout(act, ms);
  return () => clearTimeout(timer);
}

/** Whose refusals are counted: a key's, and its organisation's where they are not those of the key alone. */
export type Owner = Pick<Credential, 'keyId'> & Partial<Pick<Credential, 'orgId'>>;

/** The caller that refused revocations by a key wait as: a stolen key holds up no refusals of others of its organisation. */
export const revocationsBy = (keyId: string): string => `revocations ${keyId}`;

interface Exchange {
  request: IncomingMessage;
  response: ServerResponse;
}

/**
 * Gives a caller that is over its rate so many refusals a second: beyond that a request waits for its refusal, and its
 * connection with it, so that asking again and again costs the client its time, and the process a few dozen answers a
 * second. Where too many wait already, of the caller or of all, the connection is closed; what a proxy brings is not, since
 * proxies take a server that closes their connections for one that has failed: it waits a second or more outside of these
 * shares. The machine itself counts as a proxy also where it forwards for no address: many proxies say of none, and what
 * waits costs no more than what is closed.
 */
export class HeldRefusals {
  readonly #isProxy: (address: string, hop: number) => boolean;
  readonly #onRefused: HeldRefusalsOptions['onRefused'];
  readonly #now: NonNullable<HeldRefusalsOptions['now']>;
  readonly #later: NonNullable<HeldRefusalsOptions['later']>;
  readonly #rates: MemoryRates;
  readonly #shares = new Shares(HELD_MAX);
  readonly #held = new Set<() => void>();
  /** Whose key those show that are routed. */
  readonly #ownerOf = new WeakMap<IncomingMessage, Owner>();
  /** Refusals of such requests that wait, by key and by organisation. */
  readonly #routed = new Map<string, number>();
  #paused = 0;

  constructor({
    trustedProxies,
    onRefused,
    now = () => performance.now(),
    later = afterTime,
  }: HeldRefusalsOptions) {
    this.#isProxy = proxyTest(trustedProxies);
    this.#onRefused = onRefused;
    this.#now = now;
    this.#later = later;
    this.#rates = new MemoryRates(REFUSALS, now);
  }

  /**
   * Has a refused request answered when it is its caller's turn, by what is told how long it was held; it may be that its
   * connection is closed instead.
   */
  give(caller: string, exchange: Exchange, answer: (heldMs: number) => void): void {
    const { socket } = exchange.request;
    const since = this.#now();
    const goOn = (): void => {
      if (!socket.destroyed) answer(this.#now() - since);
    };
    const waitMs = this.#rates.waitOf(caller);
    if (waitMs === 0) {
      this.#rates.spend(caller, 1);
      goOn();
    } else if (waitMs <= HELD_MS_MAX && this.#shares.take(caller) === undefined) {
      this.#rates.spend(caller, 1);
      this.#hold(exchange, waitMs, goOn, () => this.#shares.giveBack(caller));
    } else if (!this.#isProxy(socket.remoteAddress ?? '', 0)) {
      this.#onRefused('refusals');
      cutOff(socket);
    } else if (this.#paused < PAUSED_MAX) this.#pause(exchange, goOn);
    else goOn();
  }

  /** To be called with a request that is routed and shows a good key: its refusal counts as one of that key, should it wait. */
  routes(request: IncomingMessage, owner: Owner): void {
    this.#ownerOf.set(request, owner);
  }

  /** Whether so many refusals of a key, or of its organisation, wait that what it asks is refused before it is routed. */
  isOverrun({ keyId, orgId }: Owner): boolean {
    const waitOf = (name = ''): number => this.#routed.get(name) ?? 0;
    return waitOf(keyId) >= ROUTED_OF_KEY || waitOf(orgId) >= ROUTED_OF_ORGANISATION;
  }

  /** Answers all that wait. */
  letGo(): void {
    for (const letGo of this.#held) letGo();
  }

  #countRouted(owner: Owner | undefined, more: number): void {
    for (const name of [owner?.keyId, owner?.orgId]) {
      if (name === undefined) continue;
      const count = (this.#routed.get(name) ?? 0) + more;
      if (count === 0) this.#routed.delete(name);
      else this.#routed.set(name, count);
    }
  }

  #pause(exchange: Exchange, goOn: () => void): void {
    this.#paused += 1;
    const waitMs = Math.max(PAUSE_MS, Math.ceil((this.#paused * 1_000) / PAUSED_PER_SECOND));
    this.#hold(exchange, waitMs, goOn, () => {
      this.#paused -= 1;
    });
  }

  #hold(
    { request, response }: Exchange,
    waitMs: number,
    goOn: () => void,
    giveBack: () => void,
  ): void {
    const owner = this.#ownerOf.get(request);
    this.#countRouted(owner, 1);
    const letGo = (): void => {
      forget();
      goOn();
    };
    const cancel = this.#later(waitMs, letGo);
    const forget = (): void => {
      cancel();
      this.#held.delete(letGo);
      giveBack();
      this.#countRouted(owner, -1);
      response.off('close', forget);
    };
    response.once('close', forget);
    this.#held.add(letGo);
  }
}
