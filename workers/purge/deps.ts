import { databaseCheck } from '#shared/kernel/postgres/fitness.ts';
import { LETTER_DAYS } from '#shared/accounts/letters.ts';
import { forgetEvents } from '#shared/accounts/postgres/events.ts';
import { EVENT_DAYS } from '#shared/accounts/webhook-events.ts';
import { forgetLetters } from '#shared/accounts/postgres/mail.ts';
import { systemSurroundings } from '#shared/kernel/system/surroundings.ts';
import { DAY_MS } from '#shared/kernel/time.ts';
import { createKeyDeadlines } from '#shared/keys/postgres/deadlines.ts';
import { forgetDeliveries } from '#shared/webhooks/postgres/deliveries.ts';
import { DELIVERY_DAYS } from '#shared/webhooks/retries.ts';
import { forgetMetered } from '#shared/metering/postgres/forget.ts';
import type { ProcessContext, ProcessParts } from '#shared/process/run-process.ts';
import { JobRole } from '#workers/runtime/deps.ts';

const CONNECTIONS = 2;
/** Records deleted by one run. More are left to the next, so that a run stays short. */
const PURGED_MAX = 5_000;

/** Composes the purge process: it forgets what must be forgotten. */
export async function purgeProcess(context: ProcessContext): Promise<ProcessParts> {
  const role = new JobRole(context, { role: 'purge', connections: CONNECTIONS });
  const keys = createKeyDeadlines(role.pool, systemSurroundings);
  const daysAgo = (days: number): Date => new Date(systemSurroundings.now() - days * DAY_MS);
  role.does({
    'key-purge': async () => {
      const purged = await keys.purgeDue(PURGED_MAX);
      if (purged > 0) context.log.info({ event: 'keys_purged', purged });
    },
    'letter-purge': async () => {
      const forgotten = await forgetLetters(role.pool, daysAgo(LETTER_DAYS), PURGED_MAX);
      if (forgotten > 0) context.log.info({ event: 'letters_purged', forgotten });
    },
    'webhook-purge': async () => {
      const forgotten = await forgetDeliveries(role.pool, daysAgo(DELIVERY_DAYS), PURGED_MAX);
      if (forgotten > 0) context.log.info({ event: 'webhooks_purged', forgotten });
    },
    'event-purge': async () => {
      const forgotten = await forgetEvents(role.pool, daysAgo(EVENT_DAYS), PURGED_MAX);
      if (forgotten > 0) context.log.info({ event: 'events_purged', forgotten });
    },
    'metered-purge': async () => {
      const until = daysAgo(context.config.meteredDays);
      const forgotten = await forgetMetered(role.pool, until, PURGED_MAX);
      if (forgotten.requests + forgotten.readings > 0) {
        context.log.info({ event: 'metered_purged', ...forgotten });
      }
    },
  });
  return role.parts({ postgres: databaseCheck(role.pool, 'select from api_key limit 0') });
}
