import type { Catalogue, Endpoint } from '#shared/catalogue/catalogue.ts';
import { circuitName } from '#shared/catalogue/circuit-breaker.ts';
import type { CircuitBoard } from '#shared/catalogue/redis/circuits.ts';
import type { Breakers } from './breakers.ts';
import { everySecond } from '#shared/kernel/every-second.ts';
import type { Provider } from './providers/provider.ts';

/** What does not answer at all in this time is not there. */
const REACH_MS = 5_000;

export interface CircuitKeeperOptions {
  breakers: Breakers;
  board: CircuitBoard;
  catalogue: () => Catalogue;
  providerOf: (endpoint: Endpoint) => Provider;
  now: () => number;
  onError: (error: unknown) => void;
}

/**
 * Tells every process which circuits are open here, and which of them are due for a trial: a real request is let through
 * to those, and decides. Of the endpoint itself no more is asked than whether anything answers there, and any answer will
 * do, since there are servers that answer requests well and nothing else: so that requests which could go elsewhere are
 * not spent on an endpoint that is not there.
 */
export class CircuitKeeper {
  readonly #options: CircuitKeeperOptions;
  #end = (): void => {};
  /** The circuits whose endpoint is being asked. */
  readonly #asking = new Set<string>();
  #publishing: Promise<void> = Promise.resolve();

  constructor(options: CircuitKeeperOptions) {
    this.#options = options;
  }

  start(): void {
    // What is published is believed for four seconds, so this leaves room for two that are lost.
    this.#end = everySecond(() => {
      this.#reach();
      this.publish();
    });
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
    this.#end();
    await this.#publishing;
    await this.#options.board.publish([]).catch(this.#options.onError);
  }

  #reach(): void {
    const { breakers, catalogue, providerOf, now } = this.#options;
    const ask = async (endpoint: Endpoint, region: string): Promise<void> => {
      const circuit = circuitName(region, endpoint.name);
      if (this.#asking.has(circuit)) return;
      this.#asking.add(circuit);
      const list = await providerOf(endpoint).list(endpoint, REACH_MS);
      this.#asking.delete(circuit);
      if ('models' in list || list.failure.status !== undefined)
        breakers.reached(endpoint.name, region);
    };
    for (const { endpoint: name, region } of breakers.unreached(now())) {
      const endpoint = catalogue().endpoints.find((one) => one.name === name);
      // One that has left the catalogue is sent no request any more.
      if (endpoint !== undefined) void ask(endpoint, region);
    }
  }
}
