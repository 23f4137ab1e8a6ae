import {
  afterFailure,
  afterProbe,
  afterSuccess,
  askBreaker,
  type Breaker,
  circuitName,
  CLOSED,
  isDue,
} from '#shared/catalogue/circuit-breaker.ts';
import type { UpstreamFailure } from './providers/upstream-failure.ts';
import type { CircuitReport } from '#shared/catalogue/redis/circuits.ts';

/** A success that is older than this says nothing about now. */
const LATELY_MS = 5_000;

interface Circuit {
  region: string;
  endpoint: string;
  breaker: Breaker;
  /** Epoch milliseconds of the last success, while nothing has failed since. */
  wellAt: number | undefined;
}

/** The circuit breakers of this process, one per endpoint and region. */
export class Breakers {
  readonly #circuits = new Map<string, Circuit>();
  readonly #onChange: (endpoint: string, region: string, open: boolean) => void;

  constructor(onChange: (endpoint: string, region: string, open: boolean) => void) {
    this.#onChange = onChange;
  }

  /** Whether a call may be made; takes the trial of a breaker that is due for one. */
  ask(endpoint: string, region: string, now: number): boolean {
    const circuit = this.#circuit(endpoint, region);
    const { allowed, next } = askBreaker(circuit.breaker, now);
    circuit.breaker = next;
    return allowed;
  }

  succeeded(endpoint: string, region: string, now: number): void {
    const circuit = this.#circuit(endpoint, region);
    circuit.wellAt = now;
    if (circuit.breaker !== CLOSED) this.#set(circuit, afterSuccess());
  }

  failed(endpoint: string, region: string, failure: UpstreamFailure, now: number): void {
    if (!countsAgainstEndpoint(failure)) return;
    const circuit = this.#circuit(endpoint, region);
    circuit.wellAt = undefined;
    this.#set(circuit, afterFailure(circuit.breaker, now));
  }

  /** Takes the trial of every breaker that is due for one, for a probe to decide. */
  takeTrials(now: number): Pick<Circuit, 'endpoint' | 'region'>[] {
    const due = [...this.#circuits.values()].filter(({ breaker }) => isDue(breaker, now));
    return due.filter(({ endpoint, region }) => this.ask(endpoint, region, now));
  }

  /** What a probe found. */
  probed(endpoint: string, region: string, well: boolean, now: number): void {
    const circuit = this.#circuit(endpoint, region);
    // Traffic may have decided meanwhile; it knows better.
    if (circuit.breaker.state !== 'half_open') return;
    this.#set(circuit, well ? afterProbe(circuit.breaker) : afterFailure(circuit.breaker, now));
  }

  /** What this process can say of its circuits: which are open, and which have let a call through lately. */
  reports(now: number): CircuitReport[] {
    return [...this.#circuits.values()].flatMap<CircuitReport>(
      ({ endpoint, region, breaker, wellAt }) => {
        if (breaker.state !== 'closed') return [{ region, endpoint, open: true }];
        const lately = wellAt !== undefined && now - wellAt < LATELY_MS;
        return lately ? [{ region, endpoint, open: false }] : [];
      },
    );
  }

  #circuit(endpoint: string, region: string): Circuit {
    const name = circuitName(region, endpoint);
    let circuit = this.#circuits.get(name);
    if (circuit === undefined) {
      circuit = { region, endpoint, breaker: CLOSED, wellAt: undefined };
      this.#circuits.set(name, circuit);
    }
    return circuit;
  }

  #set(circuit: Circuit, breaker: Breaker): void {
    const wasOpen = circuit.breaker.state !== 'closed';
    const isOpen = breaker.state !== 'closed';
    circuit.breaker = breaker;
    if (wasOpen !== isOpen) this.#onChange(circuit.endpoint, circuit.region, isOpen);
  }
}

/** A request that was wrong, or whose caller left, says nothing about the endpoint. */
function countsAgainstEndpoint({ kind }: UpstreamFailure): boolean {
  return kind !== 'rejected' && kind !== 'aborted';
}
