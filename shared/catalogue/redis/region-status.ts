import { REGION_STATUSES, type RegionStatus } from '../catalogue.ts';
import type { RedisClient } from '#shared/lanes/redis/connect.ts';
import { poll, type Polled } from './poll.ts';

/** A hash: region code → status. */
const KEY = 'regions:status';

/** Statuses set by operators at run time, by region code. Regions that are not in it have the catalogue's status. */
export type RegionOverrides = ReadonlyMap<string, RegionStatus>;

/** Keeps the statuses that operators set, for all processes. */
export function createRegionStatusStore(client: RedisClient) {
  return {
    list: () => read(client),
    /** Holds until it is set again; a new catalogue does not change it. */
    async set(code: string, status: RegionStatus): Promise<void> {
      await client.hset(KEY, code, status);
    },
  };
}

/** Reads the settings once a second. `onError` hears of reads that fail. */
export function watchRegionStatus(
  client: RedisClient,
  onError: (error: Error) => void,
): Polled<RegionOverrides> {
  return poll<RegionOverrides>(() => read(client), new Map(), onError);
}

async function read(client: RedisClient): Promise<RegionOverrides> {
  const fields = await client.hgetall(KEY);
  const overrides = new Map<string, RegionStatus>();
  // A status that this version does not know was written by another one; the catalogue's is used instead.
  for (const [code, text] of Object.entries(fields)) {
    const status = REGION_STATUSES.find((known) => known === text);
    if (status !== undefined) overrides.set(code, status);
  }
  return overrides;
}
