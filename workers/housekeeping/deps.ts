import type { Pool } from 'pg';
import { databaseCheck } from '#shared/kernel/postgres/fitness.ts';
import { join } from 'node:path';
import { createFileMailer } from './mail/files.ts';
import { createSmtpMailer } from './mail/smtp.ts';
import { createVettings } from '#shared/accounts/postgres/vetting.ts';
import { createBudgetRounds } from '#shared/budgets/postgres/told.ts';
import { createPublicFetch } from '#shared/kernel/http/public-fetch.ts';
import { sendMessage } from '#shared/webhooks/http/send.ts';
import {
  createWebhookDeliveries,
  type WebhookDeliveries,
} from '#shared/webhooks/postgres/deliveries.ts';
import { createSecretSeals } from '#shared/webhooks/secret-seals.ts';
import { createKeyDeadlines } from '#shared/keys/postgres/deadlines.ts';
import { archiveBodies } from '#shared/ledger/postgres/body-archiving.ts';
import { openReceiptArchive } from '#shared/packs/files/open-store.ts';
import { DAY_MS, MINUTE_MS } from '#shared/kernel/time.ts';
import { ensureLedgerPartitions } from '#shared/ledger/postgres/upkeep.ts';
import { createMailOutbox } from '#shared/accounts/postgres/mail.ts';
import { createSanctionsStore } from '#shared/accounts/postgres/sanctions.ts';
import { createPersonRegistry } from '#shared/persons/postgres/persons.ts';
import { dropExpiredAnswers } from '#shared/lanes/postgres/stored-answers.ts';
import { dropExpiredResponses } from '#shared/lanes/postgres/kept-responses.ts';
import { countRequests, forgetCounts } from '#shared/requests/postgres/counts.ts';
import { tellFailing } from '#shared/requests/postgres/failing.ts';
import { forgetRequestsOfClosed, turnRequestDays } from '#shared/requests/postgres/retention.ts';
import { systemSurroundings } from '#shared/kernel/system/surroundings.ts';
import type { Config } from '#shared/config/config.ts';
import { previewLists } from '#shared/accounts/list-preview.ts';
import { Vetter } from '#shared/accounts/vetter.ts';
import type { Mailer } from '#shared/accounts/letters.ts';
import type { ProcessContext, ProcessParts } from '#shared/process/run-process.ts';
import { JobRole } from '#workers/runtime/deps.ts';
import { housekeepingHandlers } from './handlers.ts';

/** One per kind of job that uses the database at the same time. */
const CONNECTIONS = 8;

/** Composes the housekeeping process: vetting, expiry, partitions, mail. */
export async function housekeepingProcess(context: ProcessContext): Promise<ProcessParts> {
  const { config, log } = context;
  const role = new JobRole(context, { role: 'housekeeping', connections: CONNECTIONS });
  const { pool } = role;
  const mailer = openMailer(config);
  const vettings = createVettings(pool, systemSurroundings);
  const lists = createSanctionsStore(pool, systemSurroundings);
  const handlers = housekeepingHandlers({
    vettings,
    vetter: new Vetter({ vettings, lists, monotonicNow: () => performance.now() }),
    previewLists: (signal) => previewLists({ lists, vettings }, signal),
    keys: createKeyDeadlines(pool, systemSurroundings),
    tellReachedBudgets: createBudgetRounds(pool, systemSurroundings),
    webhooks: openWebhooks(config, pool),
    askForDelivery: (orgId) => role.queues.add('webhook-delivery', { orgId }),
    outbox: createMailOutbox(pool, systemSurroundings, config),
    mailer,
    dropExpiredAnswers: (limit) => dropExpiredAnswers(pool, limit),
    dropExpiredResponses: (limit) => dropExpiredResponses(pool, limit),
    removeExpiredSignIns: () => createPersonRegistry(pool, systemSurroundings).removeExpired(),
    ensureLedgerPartitions: async () => {
      const made = await ensureLedgerPartitions(pool);
      if (made.length > 0) log.info({ event: 'ledger_partitions_made', partitions: made });
    },
    turnRequestDays: async () => {
      const { made, dropped } = await turnRequestDays(pool, config.requestsKeptDays);
      if (made.length + dropped.length > 0)
        log.info({ event: 'request_days_turned', made, dropped });
    },
    forgetRequestsOfClosed: (limit) => forgetRequestsOfClosed(pool, limit),
    countRequests: () => countRequests(pool),
    tellFailing: (orgId) => tellFailing(pool, systemSurroundings, orgId),
    forgetCounts: (limit) => forgetCounts(pool, limit),
    archiveBodies: (signal) => archiveOldBodies(context, pool, signal),
    onVettingFailed: (orgId, error) => log.error({ event: 'vetting_failed', orgId, err: error }),
  });
  role.does(handlers);
  const parts = role.parts({ postgres: databaseCheck(pool, 'select from account limit 0') });
  return {
    ...parts,
    close: async () => {
      await mailer.close();
      await parts.close();
    },
  };
}

/** A round ends so long before its time-out: an object that was begun is finished, and none is made in vain. */
const ARCHIVING_MS = 8 * MINUTE_MS;

async function archiveOldBodies(
  { config, log }: Pick<ProcessContext, 'config' | 'log'>,
  pool: Pool,
  signal: AbortSignal,
): Promise<void> {
  const { receiptBodiesOnline: days } = config;
  const store = openReceiptArchive(config);
  if (days === undefined || store === undefined) return;
  await archiveBodies(pool, {
    store,
    before: new Date(systemSurroundings.now() - days * DAY_MS),
    signal: AbortSignal.any([signal, AbortSignal.timeout(ARCHIVING_MS)]),
    observe: ({ step, ...what }) => {
      if (step === 'recorded') log.info({ event: 'bodies_archived', ...what });
      if (step === 'removed') log.info({ event: 'bodies_removed', ...what });
      if (step === 'refused') log.error({ event: 'bodies_not_archived', ...what });
    },
  });
}

/** Webhooks where there is what their secrets are sealed with. */
function openWebhooks(
  { webhooksInside, secrets: { webhooksSecret } }: Config,
  pool: Pool,
): WebhookDeliveries | undefined {
  if (webhooksSecret === undefined) return undefined;
  const publicFetch = createPublicFetch(webhooksInside, 'unread');
  return createWebhookDeliveries(pool, systemSurroundings, {
    seals: createSecretSeals(webhooksSecret, systemSurroundings),
    send: (message, stopping) => sendMessage(publicFetch, message, stopping),
  });
}

/** A mail server where one is named; files otherwise, so that nothing that was to be said is lost. */
function openMailer(config: Config): Mailer {
  const { smtpUrl } = config.secrets;
  return smtpUrl === undefined
    ? createFileMailer(join(config.dataDir, 'mail'), config.mailFrom)
    : createSmtpMailer(smtpUrl, config.mailFrom);
}
