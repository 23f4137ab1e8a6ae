import type { Catalogue } from '#shared/catalogue/catalogue.ts';
import type { RegionOverrides } from '#shared/catalogue/redis/region-status.ts';
import type { ServedRegions } from '#shared/catalogue/redis/serving.ts';
import type { InferenceEntry } from '#shared/lanes/messages.ts';
import type { HandedOn, HandingOn, Place } from '#shared/lanes/redis/hand-on.ts';
import type { Delivery } from '#shared/lanes/redis/lane-consumer.ts';
import { roomOf } from '#shared/lanes/room.ts';
import { targetsOf } from './upstream-retries.ts';

export interface ElsewhereOptions {
  handOn: (handing: HandingOn) => Promise<HandedOn>;
  /** Which regions have workers, and which an operator has taken out, as of now. */
  served: () => Promise<ServedRegions>;
  statuses: () => Promise<RegionOverrides>;
  catalogue: () => Catalogue;
  onError: (error: unknown) => void;
}

/** A request that its region has failed, before anything of an answer was handed on. */
export interface Failed {
  delivery: Delivery;
  entry: InferenceEntry;
  body: string;
  /** What its regions have had of it until now. */
  before: NonNullable<InferenceEntry['before']>;
}

/**
 * Finds another region for requests that are not pinned and that their own has failed: the next that admission named, where
 * the model is served, workers are alive, no operator has taken the region out, and there is room.
 */
export class Elsewhere {
  readonly #options: ElsewhereOptions;

  constructor(options: ElsewhereOptions) {
    this.#options = options;
  }

  /** Hands the request on; null when no other region takes it. Never rejects. */
  async take(failed: Failed): Promise<Place | null> {
    const { elsewhere = [] } = failed.entry;
    if (elsewhere.length === 0) return null;
    try {
      const { served, statuses } = this.#options;
      return await this.#first(failed, elsewhere, await served(), await statuses());
    } catch (error) {
      this.#options.onError(error);
      return null;
    }
  }

  async #first(
    { delivery, entry, body, before }: Failed,
    codes: readonly string[],
    served: ServedRegions,
    statuses: RegionOverrides,
  ): Promise<Place | null> {
    const catalogue = this.#options.catalogue();
    for (const [i, code] of codes.entries()) {
      const region = catalogue.regions.find((one) => one.code === code);
      if (region === undefined || (statuses.get(code) ?? region.status) !== 'normal') continue;
      if (targetsOf(catalogue, entry, code).length === 0) continue;
      const room = roomOf(served.get(code), region.capacity, region.organisations?.length === 1);
      if (room.region === 0) continue;
      const to = { ...entry, region: code, elsewhere: codes.slice(i + 1), before };
      const handed = await this.#options.handOn({ delivery, from: entry, to, body, room });
      if (typeof handed === 'object') return { region: code, entryId: handed.entryId };
      if (handed !== 'full') return null;
    }
    return null;
  }
}
