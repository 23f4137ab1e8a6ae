import { systemSurroundings } from '#shared/kernel/system/surroundings.ts';
import { createKeyDeadlines } from '#shared/keys/postgres/deadlines.ts';
import type { ProcessContext, ProcessParts } from '#shared/process/run-process.ts';
import { JobRole } from '#workers/runtime/deps.ts';

const CONNECTIONS = 2;
/** Records deleted by one run. More are left to the next, so that a run stays short. */
const PURGED_MAX = 5_000;

/** Composes the purge process: it forgets what must be forgotten. */
export async function purgeProcess(context: ProcessContext): Promise<ProcessParts> {
  const role = new JobRole(context, { role: 'purge', connections: CONNECTIONS });
  const keys = createKeyDeadlines(role.pool, systemSurroundings);
  role.does('key-purge', async () => {
    const purged = await keys.purgeDue(PURGED_MAX);
    if (purged > 0) context.log.info({ event: 'keys_purged', purged });
  });
  return {
    readiness: {
      redis: () => role.ping(),
      postgres: () => role.pool.query('select from api_key limit 0'),
    },
    start: () => role.start(),
    drain: () => role.drain(),
    close: () => role.close(),
  };
}
