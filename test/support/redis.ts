import { afterAll } from 'vitest';
import {
  type RedisServer,
  type RedisServerOptions,
  startRedisServer,
} from '#embedded/stores/redis.ts';

const running = new Set<RedisServer>();

// A file that is aborted does not get to its last hook.
process.once('exit', () => {
  for (const server of running) server.kill();
});
afterAll(async () => {
  await Promise.all([...running].map((server) => server.stop()));
  running.clear();
});

/** A Redis server of the file's own, stopped after its last test. */
export async function startTestRedis(options: RedisServerOptions = {}): Promise<RedisServer> {
  const server = await startRedisServer(options);
  running.add(server);
  return server;
}
