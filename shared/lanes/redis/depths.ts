import { CONSUMER_GROUP, setAsideOf } from '../keys.ts';
import type { RedisClient } from './connect.ts';

/** How much a lane holds. */
export interface LaneDepth {
  lane: string;
  /** Entries that no worker has taken yet. */
  waiting: number;
  /** Entries that a worker holds. */
  running: number;
  /** Epoch milliseconds at which the oldest came; null where there is none. */
  oldestAt: number | null;
  /** Entries that no worker could use, kept for a person. */
  setAside: number;
}

/** Reads how much lanes hold, each by a few small commands; one that does not exist yet is empty. */
export function readLaneDepths(
  client: RedisClient,
  lanes: readonly string[],
): Promise<LaneDepth[]> {
  return Promise.all(
    lanes.map(async (lane) => {
      const [length, running, oldest, setAside] = await Promise.all([
        client.xlen(lane),
        runningIn(client, lane),
        client.xrange(lane, '-', '+', 'COUNT', 1),
        client.xlen(setAsideOf(lane)),
      ]);
      const [id] = oldest[0] ?? [];
      return {
        lane,
        waiting: Math.max(0, length - running),
        running,
        oldestAt: id === undefined ? null : Number(id.split('-')[0]),
        setAside,
      };
    }),
  );
}

async function runningIn(client: RedisClient, lane: string): Promise<number> {
  try {
    const [count] = (await client.xpending(lane, CONSUMER_GROUP)) as [number, ...unknown[]];
    return count;
  } catch (error) {
    // No worker has made the group yet, so none holds anything.
    if (error instanceof Error && error.message.startsWith('NOGROUP')) return 0;
    throw error;
  }
}
