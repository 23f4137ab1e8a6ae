import { loadConfig } from '#shared/config/config.ts';
import { refuseToStart, startRefusal } from '#shared/process/start-refusal.ts';
import { ForeignSchema, migrateToLatest } from './migrate.ts';

// The Procfile's `release`: runs before new code starts, as often as it likes.
try {
  const applied = await migrateToLatest(loadConfig().secrets.databaseUrl);
  process.stdout.write(
    applied.length === 0 ? 'The schema is up to date\n' : `Applied ${applied.join(', ')}\n`,
  );
} catch (error) {
  if (error instanceof ForeignSchema) refuseToStart(error.message);
  const cause = error instanceof Error ? (error.cause ?? error) : error;
  const refusal = startRefusal(cause);
  if (refusal !== undefined) refuseToStart(refusal);
  const failed = failedConnection(cause);
  if (failed === undefined) throw error;
  process.stderr.write(
    `PostgreSQL cannot be reached, so nothing was migrated: ${failed.message}\n`,
  );
  process.exitCode = 1;
}

/** Why there is no connection; undefined where there was one. A name of several addresses fails once at each. */
function failedConnection(error: unknown): Error | undefined {
  if (error instanceof AggregateError) return failedConnection(error.errors[0]);
  const isOfSocket =
    error instanceof Error && ['connect', 'getaddrinfo'].includes(Reflect.get(error, 'syscall'));
  return isOfSocket ? error : undefined;
}
