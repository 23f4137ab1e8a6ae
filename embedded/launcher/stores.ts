import { join } from 'node:path';
import { startEmbeddedPostgres } from '#embedded/stores/postgres.ts';
import { startRedisServer } from '#embedded/stores/redis.ts';
import type { Guard } from './guard.ts';
import { KeptStore, type Store } from './kept-store.ts';
import type { Output } from './output.ts';

export interface Stores {
  postgres: Store;
  redis: Store;
}

interface StoresOptions {
  dataDir: string;
  /** Where these are given, nothing is started. */
  databaseUrl: string | undefined;
  redisUrl: string | undefined;
  output: Output;
  guard: Guard;
}

/** Starts what is not given by URL, both at once. When one fails, the other is stopped again. */
export async function startStores(options: StoresOptions): Promise<Stores> {
  const settled = await Promise.allSettled([postgres(options), redis(options)]);
  const [first, second] = settled;
  if (first.status === 'fulfilled' && second.status === 'fulfilled') {
    return { postgres: first.value, redis: second.value };
  }
  for (const one of settled) if (one.status === 'fulfilled') await one.value.stop();
  throw settled.find((one) => one.status === 'rejected')?.reason as Error;
}

async function postgres({ dataDir, databaseUrl, output, guard }: StoresOptions): Promise<Store> {
  if (databaseUrl !== undefined) return external(databaseUrl);
  return KeptStore.start({
    name: 'postgres',
    output,
    guard,
    // `2026-11-20 10:00:43 UTC [27] LOG:  checkpoint complete`, and a tab before what belongs to it.
    itsOwnLine: /^\t| \[\d+\] [A-Z]+: /,
    worthALine: / (ERROR|FATAL|PANIC|WARNING): /,
    start: (how) => startEmbeddedPostgres({ dataDir: join(dataDir, 'postgres'), ...how }),
  });
}

async function redis({ dataDir, redisUrl, output, guard }: StoresOptions): Promise<Store> {
  if (redisUrl !== undefined) return external(redisUrl);
  return KeptStore.start({
    name: 'redis',
    output,
    guard,
    // `27:M 20 Nov 2026 10:00:43.020 # Server initialized`; `#` marks a warning.
    itsOwnLine: /^\d+:\S+ /,
    worthALine: /^\d+:\S+ .* # /,
    start: (how) => startRedisServer({ dataDir: join(dataDir, 'redis'), ...how }),
  });
}

function external(url: string): Store {
  return { url, stop: async () => {}, kill: () => {} };
}
