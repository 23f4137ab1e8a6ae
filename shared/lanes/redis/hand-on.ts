import { bodyKey, CONSUMER_GROUP, heldKey, inferenceLane, movedKey } from '../keys.ts';
import type { InferenceEntry } from '../messages.ts';
import type { Room } from '../room.ts';
import type { Seals } from '../seals.ts';
import { AFTERLIFE_S, writeEntry } from './admission.ts';
import type { RedisClient } from './connect.ts';
import type { Delivery } from './lane-consumer.ts';
import type { LaneScripts } from './scripts.ts';

export interface HandingOn {
  /** The delivery that gives it up. */
  delivery: Delivery;
  /** The entry as it leaves, and as the other region gets it. */
  from: InferenceEntry;
  to: InferenceEntry;
  body: string;
  /** Of the other region. */
  room: Room;
}

/** Where a request is. */
export interface Place {
  region: string;
  entryId: string;
}

/** Where a request went; or why it stayed: the other region is full, or the delivery no longer holds the entry. */
export type HandedOn = { entryId: string } | 'full' | 'taken' | 'gone';

/** Hands requests on from one region's lane to another's, whose room they must have as if they were admitted there. */
export function createHandOn(
  scripts: Pick<LaneScripts, 'handOn'>,
  shards: number,
  seals: Pick<Seals, 'seal' | 'sealBytesInTurns'>,
): (handing: HandingOn) => Promise<HandedOn> {
  return async ({ delivery, from, to, body, room }) => {
    const { shard, id, orgId } = from;
    const written = await writeEntry(seals, to, body);
    const lifeS = Math.ceil((to.deadlineAt - to.startedAt) / 1_000) + AFTERLIFE_S;
    const [verdict, entryId] = (await scripts.handOn({
      fromLane: delivery.lane,
      toLane: inferenceLane(shard, to.region),
      fromHeld: heldKey(shard, from.region, orgId),
      toHeld: heldKey(shard, to.region, orgId),
      body: bodyKey(shard, id),
      moved: movedKey(shard, id),
      group: CONSUMER_GROUP,
      entryId: delivery.entryId,
      consumer: delivery.consumer,
      number: delivery.number,
      requestId: id,
      entry: written.text,
      laneMax: Math.ceil(room.region / shards),
      heldMax: room.org,
      deadlineMs: to.deadlineAt,
      largeBody: written.apart ?? '',
      lifeS,
      region: to.region,
    })) as ['moved' | 'full' | 'taken' | 'gone', string];
    return verdict === 'moved' ? { entryId } : verdict;
  };
}

/** Where a request is that has left the region where it was admitted; null when it has not, or has ended since. */
export async function placeOfMoved(
  client: Pick<RedisClient, 'get'>,
  { shard, id }: Pick<InferenceEntry, 'shard' | 'id'>,
): Promise<Place | null> {
  const [region, entryId] = (await client.get(movedKey(shard, id)))?.split(' ') ?? [];
  return region === undefined || entryId === undefined ? null : { region, entryId };
}
