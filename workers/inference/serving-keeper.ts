import type { createServingBoard } from '#shared/catalogue/redis/serving.ts';
import { everySecond } from '#shared/kernel/every-second.ts';
import type { Serving } from '#shared/lanes/room.ts';

/** The weight of the last second in the pace: what was five seconds ago counts for a third. */
const WEIGHT = 0.2;

export interface ServingKeeperOptions {
  regions: readonly string[];
  /** Requests this worker runs at once, over all its regions. */
  slots: number;
  board: ReturnType<typeof createServingBoard>;
  onError: (error: unknown) => void;
}

/** Tells every process once a second which regions this worker serves, and how many requests it finishes in each. */
export class ServingKeeper {
  readonly #options: ServingKeeperOptions;
  readonly #served: Map<string, Serving>;
  readonly #finished = new Map<string, number>();
  #end = (): void => {};
  #publishing: Promise<void> = Promise.resolve();

  constructor(options: ServingKeeperOptions) {
    this.#options = options;
    const { slots } = options;
    this.#served = new Map(options.regions.map((code) => [code, { slots, perSecond: 0 }]));
  }

  /** A request of this region has ended. */
  finished(region: string): void {
    this.#finished.set(region, (this.#finished.get(region) ?? 0) + 1);
  }

  /** Resolves when the regions of this worker are known to be served. */
  async start(): Promise<void> {
    this.#publish();
    await this.#publishing;
    this.#end = everySecond(() => {
      this.measure();
      this.#publish();
    });
  }

  /** Takes the last second into the pace of each region. */
  measure(): void {
    for (const [region, serving] of this.#served) {
      const last = this.#finished.get(region) ?? 0;
      serving.perSecond += (last - serving.perSecond) * WEIGHT;
    }
    this.#finished.clear();
  }

  /** Takes nothing more: its regions are no longer served from here. */
  async stop(): Promise<void> {
    this.#end();
    this.#served.clear();
    this.#publish();
    await this.#publishing;
  }

  #publish(): void {
    const { board, onError } = this.#options;
    this.#publishing = this.#publishing.then(() => board.publish(this.#served)).catch(onError);
  }
}
