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
  /** The same of those that wait. */
  waitingSince: number | null;
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
      const [length, { running, taken }, oldest, setAside] = await Promise.all([
        client.xlen(lane),
        groupOf(client, lane),
        client.xrange(lane, '-', '+', 'COUNT', 1),
        client.xlen(setAsideOf(lane)),
      ]);
      const waiting = Math.max(0, length - running);
      const first = waiting === 0 ? [] : await client.xrange(lane, `(${taken}`, '+', 'COUNT', 1);
      return {
        lane,
        waiting,
        running,
        oldestAt: cameAt(oldest),
        waitingSince: cameAt(first),
        setAside,
      };
    }),
  );
}

function cameAt([first]: readonly (readonly [id: string, fields: string[]])[]): number | null {
  return first === undefined ? null : Number(first[0].split('-')[0]);
}

interface Group {
  running: number;
  /** The id of the entry that was given to a worker last. */
  taken: string;
}

async function groupOf(client: RedisClient, lane: string): Promise<Group> {
  try {
    const groups = (await client.xinfo('GROUPS', lane)) as (string | number)[][];
    const fields = groups
      .map((group) => new Map(group.map((name, i) => [name, group[i + 1]] as const)))
      .find((group) => group.get('name') === CONSUMER_GROUP);
    if (fields !== undefined)
      return {
        running: Number(fields.get('pending')),
        taken: String(fields.get('last-delivered-id')),
      };
  } catch (error) {
    // Nothing has been asked of this lane yet.
    if (!(error instanceof Error && error.message.includes('no such key'))) throw error;
  }
  // No worker has made the group yet, so none holds anything.
  return { running: 0, taken: '0' };
}
