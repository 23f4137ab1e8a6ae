import type { TestProject } from 'vitest/node';
import { createDatabaseOn } from './database.ts';
import { endFile } from './file-end.ts';
import setUpStores from './global-setup.ts';
import { PAGES_ENV } from './pages-env.ts';
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
  const system = await startSystem({ database, replicas: { inference: 2 } });
  const { redis, sandboxUrl, signingKeysDir, env } = system;
  // The second api process is that of persons: it serves programs as the first does.
  const { port } = await system.start('api', PAGES_ENV);
  const pagesUrl = `http://127.0.0.1:${port}`;
  const baseUrls = [system.baseUrl, `${pagesUrl}/v1`];
  const stores = { databaseUrl: database.url, redisUrl: redis.url };
  return { ...stores, baseUrls, pagesUrl, sandboxUrl, signingKeysDir, env };
}
