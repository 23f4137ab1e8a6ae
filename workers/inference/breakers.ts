import {
  afterBeginning,
  afterFailure,
  afterSuccess,
  askBreaker,
  type Breaker,
  circuitName,
  CLOSED,
  isDue,
} from '#shared/catalogue/circuit-breaker.ts';
import { FAILURES_MAX } from '#shared/catalogue/circuit-breaker.ts';
import type { UpstreamFailure } from './providers/upstream-failure.ts';
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
/** What no request provokes: it counts as often as it happens, for any caller. Silence is not: long answers take long to begin. */
const OF_THE_ENDPOINT: UpstreamFailure['kind'] = 'connection';
/** Nothing came: an organisation that is let in might wait as long for nothing. */
const SILENT = new Set<UpstreamFailure['kind']>([OF_THE_ENDPOINT, 'timeout']);
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
  /** What failed last was answered. */
  isAnswering: boolean;
  /** Which requests, and whose, have failed since the last success. */
  failedRequests: Set<string>;
  failedOrgs: Set<string>;
  /** Who has called lately: organisation → epoch milliseconds. */
  active: Map<string, number>;
}

/** The circuit breakers of this process, one per endpoint and region. */
export class Breakers {
  readonly #circuits = new Map<string, Circuit>();
  readonly #onChange: (endpoint: string, region: string, open: boolean) => void;

  constructor(onChange: (endpoint: string, region: string, open: boolean) => void) {
    this.#onChange = onChange;
  }

  /**
   * Whether a call may be made; takes the trial of a breaker that is due for one. What was answered badly may be the work of
   * those who met it: an organisation that has not is let through, once, and heals the circuit for all where it is answered well.
   */
  ask(endpoint: string, region: string, now: number, orgId?: string): boolean {
    const circuit = this.#circuit(endpoint, region);
    const { allowed, next } = askBreaker(circuit.breaker, now);
    circuit.breaker = next;
    return allowed || mayNotMeetIt(circuit, orgId);
  }

  /** A stream has begun, which heals a circuit, and may still break off, which is why nothing else is forgotten. */
  began(endpoint: string, region: string, { orgId }: Caller, now: number): void {
    const circuit = this.#circuit(endpoint, region);
    noteActive(circuit, orgId, now);
    circuit.wellAt = now;
    if (circuit.breaker.state !== 'closed') this.#set(circuit, afterBeginning(circuit.breaker));
  }

  /** An answer came to its end. */
  succeeded(endpoint: string, region: string, { orgId }: Caller, now: number): void {
    const circuit = this.#circuit(endpoint, region);
    noteActive(circuit, orgId, now);
    circuit.wellAt = now;
    circuit.failedRequests.clear();
    circuit.failedOrgs.clear();
    if (circuit.breaker !== CLOSED) this.#set(circuit, afterSuccess());
  }

  /**
   * A connection that fails is the endpoint's fault alone. What was answered, and silence beyond our patience, may
   * be the request's: each request counts once, and opens the circuit only when more organisations have met it than there
   * are others that called lately: a few that provoke it do not cut the many off.
   */
  failed(
    endpoint: string,
    region: string,
    failure: UpstreamFailure,
    caller: Caller,
    now: number,
  ): void {
    const circuit = this.#circuit(endpoint, region);
    noteActive(circuit, caller.orgId, now);
    if (!mayBeTheEndpoint(failure)) return;
    if (failure.kind !== OF_THE_ENDPOINT && !isEvidence(circuit, caller, now)) return;
    circuit.wellAt = undefined;
    circuit.isAnswering = !SILENT.has(failure.kind);
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
        const answers = answersFewBadly(circuit);
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
        isAnswering: false,
        failedRequests: new Set(),
        failedOrgs: new Set(),
        active: new Map(),
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

/** Whether what failed last was answered, to organisations that are few enough to be known. */
function answersFewBadly({ isAnswering, failedOrgs }: Circuit): boolean {
  return isAnswering && failedOrgs.size < REMEMBERED_MAX;
}

/** Whether an organisation is none of those. */
function mayNotMeetIt(circuit: Circuit, orgId: string | undefined): boolean {
  return orgId !== undefined && answersFewBadly(circuit) && !circuit.failedOrgs.has(orgId);
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

/** Keeps the organisations that called last, in that order. */
function noteActive({ active }: Circuit, orgId: string, now: number): void {
  active.delete(orgId);
  active.set(orgId, now);
  if (active.size > REMEMBERED_MAX) active.delete(active.keys().next().value!);
}
