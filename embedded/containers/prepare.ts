import { chmod, mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { migrateToLatest } from '#migrations/migrate.ts';
import { createPool } from '#shared/kernel/postgres/pool.ts';
import { ensureLaneKeys } from '#shared/lanes/files/lane-keys.ts';
import { ROLES } from '#shared/config/settings.ts';
import { ensureSigningKeys } from '#shared/receipts/signing/files/key-files.ts';
import { type DemoAccounts, ensureDemoAccounts } from '#embedded/demo-accounts.ts';
import { ensureDatabaseLogins } from '#embedded/stores/database-logins.ts';
import { ensurePassword, writePrivateFile } from '#embedded/stores/private-file.ts';

/** Where containers find the stores: host and port of each. */
export interface Stores {
  postgres: string;
  redis: string;
}

/** Files in the folder of a role. Each container is given its own folder and nothing of the others. */
const DATABASE_URL = 'database-url';
const REDIS_URL = 'redis-url';
/** Of the release, which migrates, and of operators. */
const OWNER = 'owner';

/**
 * Makes, once, what a deployment keeps secret: passwords of the stores, keys that sign and keys that seal, the address of
 * each store for each role. What is there already stays, so that it may run before every start.
 */
export async function ensureSecrets(directory: string, stores: Stores): Promise<void> {
  for (const name of ['postgres', 'redis', OWNER, ...ROLES])
    await mkdir(join(directory, name), { recursive: true, mode: 0o700 });
  const postgres = await ensurePassword(join(directory, 'postgres/password'));
  const redis = await ensurePassword(join(directory, 'redis/password'));
  await ensurePassword(join(directory, 'api/session-secret'));
  const webhooksSecret = await ensurePassword(join(directory, 'api/webhooks-secret'));
  await writePrivateFile(join(directory, 'housekeeping/webhooks-secret'), webhooksSecret);
  ensureSigningKeys(join(directory, 'signing-keys'));
  ensureLaneKeys(join(directory, 'lane-keys'));
  const configuration = join(directory, 'redis/redis.conf');
  await writeFile(
    configuration,
    `requirepass ${redis}\nappendonly yes\nmaxmemory-policy noeviction\n`,
  );
  // The servers' images run as users of their own, and are given no other folder.
  for (const name of ['postgres', 'redis']) await chmod(join(directory, name), 0o755);
  for (const path of [configuration, join(directory, 'postgres/password')])
    await chmod(path, 0o644);
  const redisUrl = `redis://:${redis}@${stores.redis}`;
  for (const name of [OWNER, ...ROLES])
    await writePrivateFile(join(directory, name, REDIS_URL), redisUrl);
  const ownerUrl = `postgres://docket:${postgres}@${stores.postgres}/docket`;
  await writePrivateFile(join(directory, OWNER, DATABASE_URL), ownerUrl);
}

/** Migrates, and gives each role a login of its own, whose address is put into its folder. */
export async function prepareDatabase(directory: string, ownerUrl: string): Promise<string[]> {
  const applied = await migrateToLatest(ownerUrl);
  const dataDir = join(directory, OWNER);
  const urls = await ensureDatabaseLogins({ ownerUrl, dataDir, ours: true, background: [] });
  for (const role of ROLES) await writePrivateFile(join(directory, role, DATABASE_URL), urls[role]);
  return applied;
}

/** The demo organisations, whose keys are kept beside the owner's secrets. */
export async function demoKeys(directory: string, ownerUrl: string): Promise<DemoAccounts> {
  const pool = createPool({ url: ownerUrl, max: 2, applicationName: 'docket prepare' });
  try {
    return await ensureDemoAccounts(pool, join(directory, OWNER));
  } finally {
    await pool.end();
  }
}
