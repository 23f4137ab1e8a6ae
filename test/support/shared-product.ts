import type { TestProject } from 'vitest/node';
import { createDatabaseOn } from './database.ts';
import { endFile } from './file-end.ts';
import setUpStores from './global-setup.ts';
import type { SharedProduct } from './product.ts';
import { startSystem } from './system.ts';

/** Several projects share it too: the first starts it, the last stops it. */
let users = 0;
let started: Promise<SharedProduct> | undefined;

/** Starts the product that files share, before the first of them, and stops it after the last. */
export default async function setUp(project: TestProject): Promise<() => Promise<void>> {
  const stopStores = await setUpStores(project);
  users += 1;
  started ??= startProduct(project.getProvidedContext().postgresUrl);
  project.provide('product', await started);
  return async () => {
    users -= 1;
    if (users === 0) await endFile();
    await stopStores();
  };
}

async function startProduct(postgresUrl: string): Promise<SharedProduct> {
  const database = await createDatabaseOn(postgresUrl);
  const { baseUrls, redis, sandboxUrl, signingKeysDir, env } = await startSystem({
    database,
    replicas: { api: 2, inference: 2 },
  });
  const { url: databaseUrl } = database;
  return { baseUrls, databaseUrl, redisUrl: redis.url, sandboxUrl, signingKeysDir, env };
}
