/** `npm run schema:dump`: writes migrations/schema.sql anew, so that a review sees what a migration does. */
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createPool } from '#shared/kernel/postgres/pool.ts';
import { describeSchema, SCHEMA_FILE } from '#migrations/describe-schema.ts';
import { migrateToLatest } from '#migrations/migrate.ts';
import { startEmbeddedPostgres } from '#embedded/stores/postgres.ts';

const directory = await mkdtemp(join(tmpdir(), 'docket-schema-'));
const server = await startEmbeddedPostgres({ dataDir: directory, durable: false });
const pool = createPool({ url: server.url, max: 1, applicationName: 'docket schema dump' });
try {
  await migrateToLatest(pool);
  await writeFile(SCHEMA_FILE, await describeSchema(pool));
} finally {
  await pool.end();
  await server.stop();
  await rm(directory, { recursive: true, force: true });
}
