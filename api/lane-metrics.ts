import type { Registry } from 'prom-client';
import type { LaneDepth } from '#shared/lanes/redis/depths.ts';
import { metricsOf } from '#shared/process/metrics.ts';

/** A lane of all shards, by what its keys have in common. */
const SHARD = /^\{s\d+\}:lane:/;

export interface LaneMetricsOptions {
  laneDepths: () => Promise<LaneDepth[]>;
  onError: (error: unknown) => void;
  /** Epoch milliseconds. */
  now?: () => number;
}

/**
 * Shows how much the lanes hold, over all shards, as Redis says it when it is asked for: each api process shows the same.
 * While Redis is away there are none of these.
 */
export function showLanes(
  registry: Registry,
  { laneDepths, onError, now = Date.now }: LaneMetricsOptions,
): void {
  const { gauge } = metricsOf(registry);
  let reading: Promise<Map<string, LaneDepth[]>> | undefined;
  // One reading for both: they are collected side by side.
  const read = (): Promise<Map<string, LaneDepth[]>> => {
    reading ??= laneDepths()
      .then((depths) => Map.groupBy(depths, ({ lane }) => lane.replace(SHARD, '')))
      .catch((error: unknown) => {
        onError(error);
        return new Map<string, LaneDepth[]>();
      })
      .finally(() => {
        reading = undefined;
      });
    return reading;
  };
  gauge(
    'docket_lane_entries',
    'What lanes hold: waiting for a worker, running in one, or set aside; of receipts at most 500,000 (every api process shows the same)',
    ['lane', 'state'],
    async function collect() {
      const lanes = await read();
      this.reset();
      for (const [lane, shards] of lanes) {
        for (const { waiting, running, setAside } of shards) {
          this.inc({ lane, state: 'waiting' }, waiting);
          this.inc({ lane, state: 'running' }, running);
          this.inc({ lane, state: 'set_aside' }, setAside);
        }
      }
    },
  );
  gauge(
    'docket_lane_wait_seconds',
    'How long the oldest entry of a lane waits for a worker; 0 where none does (every api process shows the same)',
    ['lane'],
    async function collect() {
      const lanes = await read();
      this.reset();
      for (const [lane, shards] of lanes) {
        const waits = shards.map(({ waitingSince: at }) => (at === null ? 0 : now() - at));
        this.set({ lane }, Math.max(0, ...waits) / 1_000);
      }
    },
  );
}
