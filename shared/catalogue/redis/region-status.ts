import type { RegionStatus } from '../catalogue.ts';
import type {
  RegionOverrides,
  RegionStatusStore,
  RegionStatusWatch,
} from '../port-region-status.ts';
import type { RedisClient } from '#shared/lanes/redis/connect.ts';
import { poll } from './poll.ts';

/** A hash: region code → status. */
const KEY = 'regions:status';

const STATUSES: readonly string[] = [
  'normal',
  'degraded',
  'decommissioned',
] satisfies RegionStatus[];

export function createRegionStatusStore(client: RedisClient): RegionStatusStore {
  return {
    list: () => read(client),
    async set(code, status) {
      await client.hset(KEY, code, status);
    },
  };
}

/** Reads the settings once a second. `onError` hears of reads that fail. */
export function watchRegionStatus(
  client: RedisClient,
  onError: (error: Error) => void,
): RegionStatusWatch {
  return poll<RegionOverrides>(() => read(client), new Map(), onError);
}

async function read(client: RedisClient): Promise<RegionOverrides> {
  const fields = await client.hgetall(KEY);
  const overrides = new Map<string, RegionStatus>();
  // A status that this version does not know was written by another one; the catalogue's is used instead.
  for (const [code, status] of Object.entries(fields)) {
    if (STATUSES.includes(status)) overrides.set(code, status as RegionStatus);
  }
  return overrides;
}
