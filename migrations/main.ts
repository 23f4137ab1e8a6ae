import { loadConfig } from '#shared/config/config.ts';
import { databaseProblem } from '#shared/kernel/postgres/fitness.ts';
import { refuseToStart, startRefusal } from '#shared/process/start-refusal.ts';
import { ForeignSchema, migrateToLatest } from './migrate.ts';

// The Procfile's `release`: runs before new code starts, as often as it likes.
let variable = 'DATABASE_URL';
try {
  const { databasePooler, secrets } = loadConfig();
  const { databaseUrl, databaseDirectUrl } = secrets;
  if (databaseDirectUrl !== undefined) variable = 'DATABASE_DIRECT_URL';
  else if (databasePooler !== undefined) {
    refuseToStart(
      'DATABASE_DIRECT_URL is not set: migrations hold a lock of a session, which no pooler by transaction keeps.',
    );
  }
  const applied = await migrateToLatest(databaseDirectUrl ?? databaseUrl);
  process.stdout.write(
    applied.length === 0 ? 'The schema is up to date\n' : `Applied ${applied.join(', ')}\n`,
  );
} catch (error) {
  if (error instanceof ForeignSchema) refuseToStart(error.message);
  const cause = error instanceof Error ? (error.cause ?? error) : error;
  const refusal = startRefusal(databaseProblem(cause, variable) ?? cause);
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
