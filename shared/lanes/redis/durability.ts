import { Cluster, type Redis } from 'ioredis';
import type { RedisClient } from './connect.ts';

/** Redis would lose or throw away what has been promised, in words for who runs it. */
export class VolatileRedis extends Error {
  override readonly name = 'VolatileRedis';
}

/**
 * Checks that what is written to Redis stays there: append-only file on, no eviction. Servers that do not let a client
 * ask (managed ones) are believed.
 * @throws VolatileRedis
 */
export async function checkDurability(client: RedisClient): Promise<void> {
  const nodes: Redis[] = client instanceof Cluster ? client.nodes('master') : [client];
  for (const node of nodes) {
    const problems = problemsOf(await node.info('persistence'), await node.info('memory'));
    if (problems.length === 0) continue;
    throw new VolatileRedis(
      `Redis is not safe to use: ${problems.join('; ')}. ` +
        'Set appendonly yes and maxmemory-policy noeviction, or ALLOW_VOLATILE_REDIS=1 to go on all the same.',
    );
  }
}

function problemsOf(persistence: string, memory: string): string[] {
  const problems: string[] = [];
  if (/^aof_enabled:0/m.test(persistence)) problems.push('the append-only file is off');
  const policy = /^maxmemory_policy:(\S+)/m.exec(memory)?.[1] ?? 'noeviction';
  if (policy !== 'noeviction') problems.push(`maxmemory-policy is ${policy}`);
  return problems;
}
