import type { CheckpointMemory, PublishedHead } from '../checkpoints.ts';
import type { RedisClient } from '#shared/lanes/redis/connect.ts';

/**
 * One hash for all logs, organisation → `size root`, with the number of the log's tree behind it where that is not the first:
 * a single key, so any node of a cluster can hold it.
 */
const KEY = 'ledger:published';

/** The later tree wins, then the larger size, in any order: two workers must not move each other's memory back. */
const REMEMBER = `
for i = 1, #ARGV, 4 do
  local known = redis.call('HGET', KEYS[1], ARGV[i])
  local size = known and tonumber(string.match(known, '^%d+')) or -1
  local tree = known and tonumber(string.match(known, ' (%d+)$') or 1) or 1
  local new = tonumber(ARGV[i + 3])
  if new > tree or (new == tree and tonumber(ARGV[i + 1]) > size) then
    local ending = new == 1 and '' or ' ' .. ARGV[i + 3]
    redis.call('HSET', KEYS[1], ARGV[i], ARGV[i + 1] .. ' ' .. ARGV[i + 2] .. ending)
  end
end
return redis.status_reply('OK')`;

/**
 * What was published, in Redis: a second memory that is not restored together with the database. It
 * must be the durable one (append-only file), and it rejects while Redis is away: nothing is signed then.
 */
export function createCheckpointMemory(redis: RedisClient): CheckpointMemory {
  return {
    async recall(orgIds) {
      if (orgIds.length === 0) return new Map();
      const values = await redis.hmget(KEY, ...orgIds);
      const heads = new Map<string, PublishedHead>();
      orgIds.forEach((orgId, i) => {
        const value = values[i];
        if (value !== null && value !== undefined) heads.set(orgId, headOf(orgId, value));
      });
      return heads;
    },
    async remember(heads) {
      const values = [...heads].flatMap(([orgId, { size, root, generation }]) => [
        orgId,
        size,
        Buffer.from(root).toString('base64'),
        generation ?? 1,
      ]);
      if (values.length > 0) await redis.eval(REMEMBER, 1, KEY, ...values);
    },
  };
}

/** Logs of one answer of Redis: with each it does nothing else for well under a millisecond. */
const SCAN_COUNT = 500;

/** Size and root of every log's last checkpoint, by the log's name among those that are stored. */
export async function allRemembered(redis: RedisClient): Promise<Map<string, PublishedHead>> {
  const heads = new Map<string, PublishedHead>();
  let cursor = '0';
  do {
    const [next, pairs] = await redis.hscan(KEY, cursor, 'COUNT', SCAN_COUNT);
    for (let i = 0; i + 1 < pairs.length; i += 2) {
      heads.set(pairs[i]!, headOf(pairs[i]!, pairs[i + 1]!));
    }
    cursor = next;
  } while (cursor !== '0');
  return heads;
}

function headOf(orgId: string, value: string): PublishedHead {
  const [, size, root, generation] =
    /^(\d{1,16}) ([A-Za-z0-9+/]{43}=)(?: ([1-9]\d{0,5}))?$/.exec(value) ?? [];
  // Taking what cannot be read for "never published" would switch the protection off.
  if (size === undefined || root === undefined) {
    throw new Error(`what is remembered of the log of ${orgId} cannot be read`);
  }
  const head = { size: Number(size), root: Buffer.from(root, 'base64') };
  return generation === undefined ? head : { ...head, generation: Number(generation) };
}
