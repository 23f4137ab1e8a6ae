import { once } from 'node:events';
import { PATIENCE } from '#patience';
import { connectRedis, type RedisClient } from '#shared/lanes/redis/connect.ts';
import { findNodes } from '#shared/lanes/redis/find-nodes.ts';
import { loadToolConfig } from '#shared/config/config.ts';
import { readDevFile } from '#embedded/launcher/dev-file.ts';

/** A person waits; a server that is there answers in milliseconds. */
const READY_MS = 3_000 * PATIENCE;

/** Runs `work` on a connection to REDIS_URL, or to the Redis of the embedded mode, and closes it after. */
export async function withRedis<T>(work: (client: RedisClient) => Promise<T>): Promise<T> {
  const { dataDir, secrets } = loadToolConfig();
  const url = secrets.redisUrl ?? (await readDevFile(dataDir))?.redis_url;
  if (url === undefined) {
    throw new Error('REDIS_URL is not set, and no embedded instance is running here.');
  }
  const client = connectRedis({ url: await nodesOf(url), name: 'docket cli', use: 'interactive' });
  try {
    await ready(client);
    return await work(client);
  } finally {
    client.disconnect();
  }
}

function nodesOf(url: string): Promise<string> {
  return findNodes(url).catch((error: unknown) => {
    throw new Error('Redis cannot be reached.', { cause: error });
  });
}

async function ready(client: RedisClient): Promise<void> {
  try {
    await once(client, 'ready', { signal: AbortSignal.timeout(READY_MS) });
  } catch (error) {
    throw new Error('Redis cannot be reached.', { cause: error });
  }
}
