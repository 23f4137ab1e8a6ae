import { afterAll } from 'vitest';
import {
  type RedisServer,
  type RedisServerOptions,
  startRedisServer,
} from '../../dev/stores/redis.ts';

/**
 * A Redis server of the file's own, stopped after its last test.
 * Call it at the top level of a test file: `const redis = await startTestRedis();`
 */
export async function startTestRedis(options: RedisServerOptions = {}): Promise<RedisServer> {
  const server = await startRedisServer(options);
  // A file that is aborted does not get to its last hook.
  process.once('exit', server.kill);
  afterAll(async () => {
    process.off('exit', server.kill);
    await server.stop();
  });
  return server;
}
