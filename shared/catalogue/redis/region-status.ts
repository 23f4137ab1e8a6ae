import { REGION_STATUSES, type RegionStatus } from '../catalogue.ts';
import type { RedisClient } from '#shared/lanes/redis/connect.ts';
import { poll, type Polled } from './poll.ts';

/** A hash: region code → status. */
const KEY = 'regions:status';
/** A hash: region code → JSON of a note. Apart, because statuses are read every second and notes when a page is asked for. */
const NOTES_KEY = 'regions:notes';

/** Statuses set by operators at run time, by region code. Regions that are not in it have the catalogue's status. */
export type RegionOverrides = ReadonlyMap<string, RegionStatus>;

/** What operators tell the public about a region. */
export interface RegionNote {
  text: string;
  /** Epoch milliseconds. */
  at: number;
}

export type RegionStatusStore = ReturnType<typeof createRegionStatusStore>;

/** Keeps the statuses and notes that operators set, for all processes. */
export function createRegionStatusStore(client: RedisClient) {
  return {
    list: () => read(client),
    /** Holds until it is set again, also against a new catalogue; null goes back to what the catalogue says. */
    async set(code: string, status: RegionStatus | null): Promise<void> {
      if (status === null) await client.hdel(KEY, code);
      else await client.hset(KEY, code, status);
    },
    /** By region code. */
    async notes(): Promise<ReadonlyMap<string, RegionNote>> {
      const fields = await client.hgetall(NOTES_KEY);
      return new Map(
        Object.entries(fields).map(([code, text]) => [code, JSON.parse(text) as RegionNote]),
      );
    },
    /** What the public status page says of a region until it is set again; null takes it away. */
    async setNote(code: string, note: RegionNote | null): Promise<void> {
      if (note === null) await client.hdel(NOTES_KEY, code);
      else await client.hset(NOTES_KEY, code, JSON.stringify(note));
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
