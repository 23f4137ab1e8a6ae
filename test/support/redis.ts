import {
  type RedisServer,
  type RedisServerOptions,
  startRedisServer,
} from '#embedded/stores/redis.ts';
import { atFileEnd } from './file-end.ts';

const running = new Set<RedisServer>();

// A file that is aborted does not get to its last hook.
process.once('exit', () => {
  for (const server of running) server.kill();
});

/** A Redis server of the file's own, stopped after its last test. */
export async function startTestRedis(options: RedisServerOptions = {}): Promise<RedisServer> {
  const server = await startRedisServer(options);
  running.add(server);
  atFileEnd(async () => {
    await server.stop();
    running.delete(server);
  });
  return server;
}
