import { randomBytes } from 'node:crypto';
import { LANE_KEY_BYTES, type LaneKey, laneKeyId, SALT_BYTES, Seals } from '#shared/lanes/seals.ts';

export function newLaneKey(): LaneKey {
  const bytes = randomBytes(LANE_KEY_BYTES);
  return { id: laneKeyId(bytes), bytes };
}

const KEY = newLaneKey();

/** Seals as one process has them. Those of one file share a key unless it says otherwise; the first key seals. */
export function testSeals(...keys: LaneKey[]): Seals {
  const all = keys.length === 0 ? [KEY] : keys;
  return new Seals(() => ({ sealing: all[0]!, all }), randomBytes(SALT_BYTES));
}
