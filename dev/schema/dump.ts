/** `npm run schema:dump`: writes anew what follows from the migrations, the schema for a review and the types of its tables. */
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createPool } from '#shared/kernel/postgres/pool.ts';
import { describeSchema, SCHEMA_FILE } from './describe-schema.ts';
import { describeTypes, TYPES_FILE } from './describe-types.ts';
import { migrateToLatest } from '#migrations/migrate.ts';
import { startEmbeddedPostgres } from '#embedded/stores/postgres.ts';

const directory = await mkdtemp(join(tmpdir(), 'docket-schema-'));
const server = await startEmbeddedPostgres({ dataDir: directory, durable: false });
const pool = createPool({ url: server.url, max: 1, applicationName: 'docket schema dump' });
try {
  await migrateToLatest(pool);
  await writeFile(SCHEMA_FILE, await describeSchema(pool));
  await writeFile(TYPES_FILE, await describeTypes(pool));
} finally {
  await pool.end();
  await server.stop();
  await rm(directory, { recursive: true, force: true });
}
