import type { RegionStatus } from '../../domain/catalogue.ts';
import type {
  RegionOverrides,
  RegionStatusStore,
  RegionStatusWatch,
} from '../../ports/region-status.ts';
import type { RedisClient } from './connect.ts';

/** A hash: region code → status. */
const KEY = 'regions:status';
/**
 * A setting is in force everywhere within a second. Asking is one small command per process and second; a subscription
 * would need a connection of its own and this question as well, for notices that are lost.
 */
const PERIOD_MS = 1_000;

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
  let overrides: RegionOverrides = new Map();
  let timer: NodeJS.Timeout | undefined;
  let reading: Promise<void> = Promise.resolve();
  let stopped = false;
  const look = async (): Promise<void> => {
    try {
      overrides = await read(client);
    } catch (error) {
      onError(error as Error);
    }
    if (stopped) return;
    timer = setTimeout(() => {
      reading = look();
    }, PERIOD_MS);
    timer.unref();
  };
  return {
    start: () => (reading = look()),
    current: () => overrides,
    async stop() {
      stopped = true;
      clearTimeout(timer);
      await reading;
    },
  };
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
