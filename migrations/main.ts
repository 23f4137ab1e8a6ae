import { loadConfig } from '#shared/config/config.ts';
import { migrateToLatest } from './migrate.ts';

// The Procfile's `release`: runs before new code starts, as often as it likes.
const applied = await migrateToLatest(loadConfig().secrets.databaseUrl);
process.stdout.write(
  applied.length === 0 ? 'The schema is up to date\n' : `Applied ${applied.join(', ')}\n`,
);
