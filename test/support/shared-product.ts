import type { TestProject } from 'vitest/node';
import { createDatabaseOn } from './database.ts';
import { endFile } from './file-end.ts';
import setUpStores from './global-setup.ts';
import { PAGES_ENV } from './pages-env.ts';
import type { SharedProduct } from './product.ts';
import { startSystem } from './system.ts';

interface Run {
  product: SharedProduct;
  stop: () => Promise<void>;
}

/** Several projects share it too, each with modules of its own: the first starts it, the last stops it. */
const shared = globalThis as { docketTestProduct?: { users: number; run: Promise<Run> } };

/** Starts the product that files share, before the first of them, and stops it after the last. */
export default async function setUp(project: TestProject): Promise<() => Promise<void>> {
  const stopStores = await setUpStores(project);
  const { postgresUrl } = project.getProvidedContext();
  shared.docketTestProduct ??= { users: 0, run: startRun(postgresUrl) };
  const current = shared.docketTestProduct;
  current.users += 1;
  const run = await current.run;
  project.provide('product', run.product);
  return async () => {
    current.users -= 1;
    if (current.users === 0) await run.stop();
    await stopStores();
  };
}

/** What it opens is undone by the registry of the modules that opened it. */
async function startRun(postgresUrl: string): Promise<Run> {
  return { product: await startProduct(postgresUrl), stop: endFile };
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
