import type { RedisClient } from '#shared/lanes/redis/connect.ts';

export const OWED_CHANNEL = 'ledger:owed';
/** Between two notices of one process. Ledger workers look often for longer than this after each. */
const NOTICE_MS = 1_000;

/**
 * Tells ledger workers that there are receipts to integrate, so that they need not look for them while there are none. A
 * notice may be lost with the connection or with Redis: they look all the same, at longer intervals.
 */
export function createOwedNotices(
  redis: Pick<RedisClient, 'publish'>,
  now: () => number,
  onError: (error: unknown) => void,
): { give: () => void } {
  let givenAt = -Infinity;
  return {
    give() {
      if (now() - givenAt < NOTICE_MS) return;
      givenAt = now();
      redis.publish(OWED_CHANNEL, '').catch(onError);
    },
  };
}

/** Calls `onOwed` with each notice. The connection must be of its own; it listens again when it was lost. */
export function listenForOwed(
  redis: Pick<RedisClient, 'subscribe' | 'on'>,
  onOwed: () => void,
  onError: (error: unknown) => void,
): void {
  redis.on('message', onOwed);
  redis.subscribe(OWED_CHANNEL).catch(onError);
}
