import { loadConfig } from '#shared/config/config.ts';
import { refuseToStart, startRefusal } from '#shared/process/start-refusal.ts';
import { migrateToLatest } from './migrate.ts';

// The Procfile's `release`: runs before new code starts, as often as it likes.
try {
  const applied = await migrateToLatest(loadConfig().secrets.databaseUrl);
  process.stdout.write(
    applied.length === 0 ? 'The schema is up to date\n' : `Applied ${applied.join(', ')}\n`,
  );
} catch (error) {
  const cause = error instanceof Error ? (error.cause ?? error) : error;
  const refusal = startRefusal(cause);
  if (refusal === undefined) throw error;
  refuseToStart(refusal);
}
