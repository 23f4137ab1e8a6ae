import type { Limits, Rate } from '#shared/kernel/plan.ts';
import { bucketKey, limitsKey, shardOf } from '../keys.ts';
import {
  type LimitState,
  rateArguments,
  type RateState,
  readRateState,
  type Whose,
} from './admission.ts';
import type { LaneScripts } from './scripts.ts';

/** An organisation's key, and the limit of its own that it may have. */
export interface Caller {
  orgId: string;
  keyId: string;
  keyLimit: Rate | null;
}

/** The rates of what an organisation asks beside inference, over all its keys and all api processes. */
export class Buckets {
  readonly #scripts: Pick<LaneScripts, 'takeArrival' | 'lookAtLimits'>;
  readonly #shards: number;

  constructor(scripts: Pick<LaneScripts, 'takeArrival' | 'lookAtLimits'>, shards: number) {
    this.#scripts = scripts;
    this.#shards = shards;
  }

  /**
   * Takes an arrival from an organisation's bucket of this name, and from the key's, where it has a limit of its own; or
   * neither, and says in how many milliseconds there is one.
   */
  async take(
    { orgId, keyId, keyLimit }: Caller,
    name: string,
    rate: Rate,
  ): Promise<RateState & { waitMs: number }> {
    const shard = shardOf(orgId, this.#shards);
    const [waitUs, remaining, resetUs, whose] = (await this.#scripts.takeArrival({
      orgBucket: bucketKey(shard, name, orgId),
      keyBucket: bucketKey(shard, name, keyId),
      ...rateArguments(rate, keyLimit),
    })) as [number, number, number, Whose];
    const state = readRateState(remaining, resetUs, whose, { limits: rate, keyLimit });
    return { ...state, waitMs: Math.ceil(waitUs / 1_000) };
  }

  /** Where a caller stands with the limits of inference; takes nothing from them. */
  async look({ orgId, keyId, keyLimit, limits }: Caller & { limits: Limits }): Promise<LimitState> {
    const shard = shardOf(orgId, this.#shards);
    const [remaining, resetUs, whose, remainingToday] = (await this.#scripts.lookAtLimits({
      orgLimits: limitsKey(shard, orgId),
      keyLimits: limitsKey(shard, keyId),
      ...rateArguments(limits, keyLimit),
      perDay: limits.requestsPerDay,
    })) as [number, number, Whose, number];
    return { ...readRateState(remaining, resetUs, whose, { limits, keyLimit }), remainingToday };
  }
}
