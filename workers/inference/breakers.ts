import {
  afterBeginning,
  afterFailure,
  afterSuccess,
  askBreaker,
  type Breaker,
  circuitName,
  CLOSED,
  FAILURES_MAX,
  isDue,
} from '#shared/catalogue/circuit-breaker.ts';
import { failedUnsent, type UpstreamFailure } from './providers/upstream-failure.ts';
import type { CircuitReport } from '#shared/catalogue/redis/circuits.ts';

/** An organisation that called an endpoint within this time would notice if it failed for all. */
const ACTIVE_MS = 60_000;
/**
 * More need not be remembered to tell the trouble of a few callers from that of all: that of more than half of these is that
 * of all, and an endpoint that is broken is found out as soon among very many callers.
 */
const REMEMBERED_MAX = 32;
/** Statuses by which an upstream speaks of this one request. 401 is not among them: it speaks of us. */
const ABOUT_THE_REQUEST = new Set([403, 404, 408, 409, 413, 425, 429, 501]);
/**
 * How an endpoint failed: it cannot be reached, which no request provokes and which counts as often as it happens, for any
 * caller; nothing came, which a long answer may be the reason of; or it answered, if only by breaking off.
 */
type Manner = 'unreached' | 'silent' | 'answered';
/**
 * Organisations that have met it, from which on no other is let in to find out for itself: of silence two, since a third
 * would wait as long for nothing.
 */
const MET_MAX: Readonly<Record<Manner, number>> = {
  unreached: 0,
  silent: 2,
  answered: REMEMBERED_MAX,
};
/** A request is wrong, or one of too many, or asks for too much; its client leaves, or reads too slowly; or we fail. */
const OF_OTHERS = new Set<UpstreamFailure['kind']>([
  'rejected',
  'aborted',
  'too_large',
  'slow_client',
  'rate_limited',
  'own_fault',
]);

/** Whose call it was. */
export interface Caller {
  requestId: string;
  orgId: string;
}

/** A success that is older than this says nothing about now. */
const LATELY_MS = 5_000;

interface Circuit {
  region: string;
  endpoint: string;
  breaker: Breaker;
  /** Something answers at its address again, since it was opened last. */
  reached: boolean;
  /** Epoch milliseconds of the last success, while nothing has failed since. */
  wellAt: number | undefined;
  /** How it failed last. */
  manner: Manner;
  /** Which requests, and whose, have failed since the last success. */
  failedRequests: Set<string>;
  failedOrgs: Set<string>;
  /** Who has called lately: organisation → epoch milliseconds. */
  active: Map<string, number>;
  /** Which of those that have met no silence were let in to it, and when. */
  letIn: Map<string, number>;
}

/** The circuit breakers of this process, one per endpoint and region. */
export class Breakers {
  readonly #circuits = new Map<string, Circuit>();
  readonly #onChange: (endpoint: string, region: string, open: boolean) => void;

  constructor(onChange: (endpoint: string, region: string, open: boolean) => void) {
    this.#onChange = onChange;
  }

  /**
   * Whether a call may be made; takes the trial of a breaker that is due for one. What was answered badly, or not at all to one
   * organisation alone, may be the work of those who met it: one that has not is let through, once, and heals the circuit for
   * all where it is answered well.
   */
  ask(endpoint: string, region: string, now: number, orgId?: string): boolean {
    const circuit = this.#circuit(endpoint, region);
    const { allowed, next } = askBreaker(circuit.breaker, now);
    circuit.breaker = next;
    return allowed || (orgId !== undefined && isLetIn(circuit, orgId, now));
  }

  /** A stream has begun, which heals a circuit, and may still break off, which is why nothing else is forgotten. */
  began(endpoint: string, region: string, { orgId }: Caller, now: number): void {
    const circuit = this.#circuit(endpoint, region);
    noteAt(circuit.active, orgId, now);
    circuit.wellAt = now;
    if (circuit.breaker.state !== 'closed') this.#set(circuit, afterBeginning(circuit.breaker));
  }

  /** An answer came to its end. */
  succeeded(endpoint: string, region: string, { orgId }: Caller, now: number): void {
    const circuit = this.#circuit(endpoint, region);
    noteAt(circuit.active, orgId, now);
    circuit.wellAt = now;
    circuit.failedRequests.clear();
    circuit.failedOrgs.clear();
    if (circuit.breaker !== CLOSED) this.#set(circuit, afterSuccess());
  }

  /**
   * That there is no connection is the endpoint's fault alone. What was answered, a connection that breaks off, and silence
   * beyond our patience may be the request's: each request counts once, and opens the circuit only when more organisations
   * have met it than there are others that called lately: a few that provoke it do not cut the many off.
   */
  failed(
    endpoint: string,
    region: string,
    failure: UpstreamFailure,
    caller: Caller,
    now: number,
  ): void {
    const circuit = this.#circuit(endpoint, region);
    noteAt(circuit.active, caller.orgId, now);
    if (!mayBeTheEndpoint(failure)) return;
    const manner = mannerOf(failure);
    if (manner !== 'unreached' && !isEvidence(circuit, caller, now)) return;
    circuit.wellAt = undefined;
    circuit.manner = manner;
    this.#set(circuit, afterFailure(circuit.breaker, now));
  }

  /** The circuits whose trial is due, and at whose address nothing is known to answer. */
  unreached(now: number): Pick<Circuit, 'endpoint' | 'region'>[] {
    return [...this.#circuits.values()].filter(
      ({ breaker, reached }) => !reached && isDue(breaker, now),
    );
  }

  /** Something answers there: a request that could go elsewhere may try it too. Only its answer closes the circuit. */
  reached(endpoint: string, region: string): void {
    this.#circuit(endpoint, region).reached = true;
  }

  /** What this process can say of its circuits: which are open, and which have let a call through lately. */
  reports(now: number): CircuitReport[] {
    return [...this.#circuits.values()].flatMap<CircuitReport>((circuit) => {
      const { endpoint, region, breaker, reached, wellAt } = circuit;
      if (breaker.state !== 'closed') {
        const trial = isDue(breaker, now);
        const answers = hasMetFew(circuit);
        return [{ region, endpoint, open: true, trial, reached: trial && reached, answers }];
      }
      const lately = wellAt !== undefined && now - wellAt < LATELY_MS;
      return lately ? [{ region, endpoint, open: false }] : [];
    });
  }

  #circuit(endpoint: string, region: string): Circuit {
    const name = circuitName(region, endpoint);
    let circuit = this.#circuits.get(name);
    if (circuit === undefined) {
      circuit = {
        region,
        endpoint,
        breaker: CLOSED,
        reached: false,
        wellAt: undefined,
        manner: 'unreached',
        failedRequests: new Set(),
        failedOrgs: new Set(),
        active: new Map(),
        letIn: new Map(),
      };
      this.#circuits.set(name, circuit);
    }
    return circuit;
  }

  #set(circuit: Circuit, breaker: Breaker): void {
    const wasOpen = circuit.breaker.state !== 'closed';
    const isOpen = breaker.state !== 'closed';
    circuit.breaker = breaker;
    circuit.reached = false;
    if (wasOpen !== isOpen) this.#onChange(circuit.endpoint, circuit.region, isOpen);
  }
}

/** What a caller provokes, or we do, says nothing about the endpoint. */
function mayBeTheEndpoint({ kind, status }: UpstreamFailure): boolean {
  return !OF_OTHERS.has(kind) && (status === undefined || !ABOUT_THE_REQUEST.has(status));
}

function mannerOf(failure: UpstreamFailure): Manner {
  if (failure.kind === 'connection' && failedUnsent(failure)) return 'unreached';
  return failure.kind === 'timeout' ? 'silent' : 'answered';
}

/** Whether what failed last was met by organisations that are few enough. */
function hasMetFew({ manner, failedOrgs }: Circuit): boolean {
  return failedOrgs.size < MET_MAX[manner];
}

/** Whether an organisation is none of those; where it may meet silence, one request of it in a while. */
function isLetIn(circuit: Circuit, orgId: string, now: number): boolean {
  const { manner, failedOrgs, letIn } = circuit;
  if (!hasMetFew(circuit) || failedOrgs.has(orgId)) return false;
  if (manner !== 'silent') return true;
  if (now - (letIn.get(orgId) ?? Number.NEGATIVE_INFINITY) < ACTIVE_MS) return false;
  noteAt(letIn, orgId, now);
  return true;
}

/** Whether a failure tells more than those before it. */
function isEvidence(circuit: Circuit, { requestId, orgId }: Caller, now: number): boolean {
  const { failedRequests, failedOrgs, active, breaker } = circuit;
  if (failedRequests.has(requestId)) return false;
  if (failedRequests.size < REMEMBERED_MAX) failedRequests.add(requestId);
  if (failedOrgs.size < REMEMBERED_MAX) failedOrgs.add(orgId);
  const wouldOpen = breaker.state !== 'closed' || breaker.failures + 1 >= FAILURES_MAX;
  if (!wouldOpen) return true;
  const lately = [...active].filter(([, at]) => now - at < ACTIVE_MS);
  const failing = lately.filter(([id]) => failedOrgs.has(id));
  return failing.length > lately.length / 2;
}

/** Keeps the organisations of which this was noted last, in that order. */
function noteAt(at: Map<string, number>, orgId: string, now: number): void {
  at.delete(orgId);
  at.set(orgId, now);
  if (at.size > REMEMBERED_MAX) at.delete(at.keys().next().value!);
}
