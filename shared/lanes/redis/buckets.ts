import { bucketKey, shardOf } from '../keys.ts';
import { intervalUsOf } from './admission.ts';
import type { LaneScripts } from './scripts.ts';

/** A rate: so many at once, then so many a second. */
export interface Rate {
  requestsPerSecond: number;
  burst: number;
}

/** The rates of what an organisation asks beside inference, over all its keys and all api processes. */
export class Buckets {
  readonly #scripts: Pick<LaneScripts, 'takeArrival'>;
  readonly #shards: number;

  constructor(scripts: Pick<LaneScripts, 'takeArrival'>, shards: number) {
    this.#scripts = scripts;
    this.#shards = shards;
  }

  /** Takes an arrival from an organisation's bucket of this name; or returns in how many milliseconds there is one. */
  async take(orgId: string, name: string, { requestsPerSecond, burst }: Rate): Promise<number> {
    const key = bucketKey(shardOf(orgId, this.#shards), name, orgId);
    const waitUs = await this.#scripts.takeArrival(key, intervalUsOf(requestsPerSecond), burst);
    return Math.ceil(Number(waitUs) / 1_000);
  }
}
