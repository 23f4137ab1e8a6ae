import { PATIENCE } from '#patience';
import type { RedisClient } from '#shared/lanes/redis/connect.ts';
import type { Serving } from '#shared/lanes/room.ts';
import { PUBLISH, READ } from './circuits.ts';
import { poll, type Polled } from './poll.ts';

/** A sorted set: `<region> <slots> <per second> <worker>`, scored as circuits are. */
const KEY = 'serving';
/** Workers repeat themselves every second. One that is stopped for a while is not taken for dead at once. */
const BELIEVED_MS = 10_000 * PATIENCE;

/** By region code. A region that is not in it has no worker. */
export type ServedRegions = ReadonlyMap<string, Serving>;

/** Says for all processes to hear which regions one inference worker serves, and how fast. */
export function createServingBoard(client: RedisClient, worker: string) {
  let said: readonly string[] = [];
  return {
    /** Replaces what this worker said before; an empty map takes it back. */
    async publish(served: ServedRegions): Promise<void> {
      const now = [...served].map(
        ([region, { slots, perSecond }]) => `${region} ${slots} ${perSecond.toFixed(1)} ${worker}`,
      );
      const withdrawn = said.filter((member) => !now.includes(member));
      if (now.length + withdrawn.length === 0) return;
      await client.eval(PUBLISH, 1, KEY, BELIEVED_MS, now.length, ...now, ...withdrawn);
      said = now;
    },
  };
}

/** The regions that are served, read once a second and when `refresh` is called. `onError` hears of reads that fail. */
export function watchServing(
  client: RedisClient,
  onError: (error: Error) => void,
): Polled<ServedRegions> & { refresh: () => Promise<ServedRegions> } {
  const read = () => readServing(client);
  let reading: Promise<ServedRegions> | undefined;
  return {
    ...poll<ServedRegions>(read, new Map(), onError),
    refresh: () => {
      reading ??= read().finally(() => (reading = undefined));
      return reading;
    },
  };
}

/** The regions that are served, as of now. */
export async function readServing(client: RedisClient): Promise<ServedRegions> {
  return servedIn((await client.eval(READ, 1, KEY)) as string[]);
}

function servedIn(members: readonly string[]): Map<string, Serving> {
  const served = new Map<string, Serving>();
  // A worker whose last word was lost on the way may be there twice for a moment: the later one counts.
  const ofWorker = new Map<string, [string, Serving]>();
  for (const member of members) {
    const [region = '', slots, perSecond, worker] = member.split(' ');
    const serving = { slots: Number(slots), perSecond: Number(perSecond) };
    ofWorker.set(`${region} ${worker}`, [region, serving]);
  }
  for (const [region, { slots, perSecond }] of ofWorker.values()) {
    const sum = served.get(region) ?? { slots: 0, perSecond: 0 };
    served.set(region, { slots: sum.slots + slots, perSecond: sum.perSecond + perSecond });
  }
  return served;
}
