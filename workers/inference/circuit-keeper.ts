import type { Catalogue, Endpoint } from '#shared/catalogue/catalogue.ts';
import { circuitName } from '#shared/catalogue/circuit-breaker.ts';
import type { CircuitBoard } from '#shared/catalogue/redis/circuits.ts';
import type { Provider } from './providers/provider.ts';
import type { Breakers } from './breakers.ts';

/** What is published is believed for four seconds, so this leaves room for two that are lost. */
const PERIOD_MS = 1_000;
/** An endpoint that cannot list its models in this time is not one to send requests to. */
const PROBE_MS = 5_000;

export interface CircuitKeeperOptions {
  breakers: Breakers;
  board: CircuitBoard;
  catalogue: () => Catalogue;
  providerOf: (endpoint: Endpoint) => Provider;
  now: () => number;
  onError: (error: unknown) => void;
}

/**
 * Tells every process which circuits are open here, and heals them: requests are routed around an open circuit, so
 * without a probe nothing would ever find out that the endpoint is back.
 */
export class CircuitKeeper {
  readonly #options: CircuitKeeperOptions;
  #timer: NodeJS.Timeout | undefined;
  /** The circuits whose endpoint is being probed. */
  readonly #probing = new Set<string>();
  #publishing: Promise<void> = Promise.resolve();

  constructor(options: CircuitKeeperOptions) {
    this.#options = options;
  }

  start(): void {
    this.#timer = setInterval(() => {
      this.#probe();
      this.publish();
    }, PERIOD_MS);
    this.#timer.unref();
  }

  /** Says how things stand now. One after the other: an older word must not overtake a newer one. */
  publish(): void {
    const { breakers, board, now, onError } = this.#options;
    this.#publishing = this.#publishing
      .then(() => board.publish(breakers.reports(now())))
      .catch(onError);
  }

  /** Takes back what was said. */
  async stop(): Promise<void> {
    clearInterval(this.#timer);
    await this.#publishing;
    await this.#options.board.publish([]).catch(this.#options.onError);
  }

  #probe(): void {
    const { breakers, catalogue, providerOf, now } = this.#options;
    const probe = async (endpoint: Endpoint, region: string): Promise<void> => {
      const circuit = circuitName(region, endpoint.name);
      if (this.#probing.has(circuit)) return;
      this.#probing.add(circuit);
      const well = await providerOf(endpoint).probe(endpoint, PROBE_MS);
      this.#probing.delete(circuit);
      if (well) breakers.probedWell(endpoint.name, region, now());
    };
    for (const { endpoint: name, region } of breakers.due(now())) {
      const endpoint = catalogue().endpoints.find((one) => one.name === name);
      // One that has left the catalogue is sent no request any more.
      if (endpoint !== undefined) void probe(endpoint, region);
    }
  }
}
