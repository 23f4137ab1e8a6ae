import type { JobHandlers } from '#shared/jobs/redis/job-runner.ts';
import type { Vetter } from '#shared/accounts/vetter.ts';
import type { Vettings } from '#shared/accounts/postgres/vetting.ts';
import type { KeyDeadlines } from '#shared/keys/postgres/deadlines.ts';
import type { MailOutbox } from '#shared/accounts/postgres/mail.ts';
import type { WebhookDeliveries } from '#shared/webhooks/postgres/deliveries.ts';
import type { Mailer } from '#shared/accounts/letters.ts';

/** Accounts read at once by a sweep. */
const SWEEP_PAGE = 100;
/** Keys and e-mails handled by one run; the next run follows within seconds. */
const BATCH = 500;

export interface HousekeepingOptions {
  vettings: Pick<Vettings, 'due'>;
  vetter: Pick<Vetter, 'vet'>;
  /** Finds what uploaded sanctions lists would change. */
  previewLists: (signal: AbortSignal) => Promise<void>;
  keys: Pick<KeyDeadlines, 'expireDue' | 'warnExpiring'>;
  /** Tells which shares of budgets are reached, at most so many. Returns whether there is a message for webhooks. */
  tellReachedBudgets: (limit: number) => Promise<boolean>;
  /** Absent where webhooks are not offered. */
  webhooks: Pick<WebhookDeliveries, 'dueOrganisations' | 'deliver'> | undefined;
  /** Has what is due to the webhooks of an organisation sent. */
  askForDelivery: (orgId: string) => Promise<void>;
  outbox: Pick<MailOutbox, 'sendDue'>;
  mailer: Mailer;
  /** Deletes at most so many stored answers whose time is over; returns how many. */
  dropExpiredAnswers: (limit: number) => Promise<number>;
  /** The same of kept responses. */
  dropExpiredResponses: (limit: number) => Promise<number>;
  /** Removes what is over of those who sign in. */
  removeExpiredSignIns: () => Promise<void>;
  /** Makes the partitions of months to come, those that are missing. */
  ensureLedgerPartitions: () => Promise<unknown>;
  /** Makes the partitions of the requests of days to come, and drops those of days whose time is over. */
  turnRequestDays: () => Promise<unknown>;
  /** Deletes at most so many requests of closed organisations; returns how many. */
  forgetRequestsOfClosed: (limit: number) => Promise<number>;
  /** Counts some requests that are not counted yet; returns of which organisations some failed, and whether there may be more. */
  countRequests: () => Promise<{ failing: string[]; isMore: boolean }>;
  /** Tells an organisation, once, that too many of its requests fail. Returns whether there is a message for webhooks. */
  tellFailing: (orgId: string) => Promise<boolean>;
  /** Deletes at most so many counts whose time is over; returns how many. */
  forgetCounts: (limit: number) => Promise<number>;
  /** Moves old bodies of receipts to the archive until there are no more, or the round is over. */
  archiveBodies: (signal: AbortSignal) => Promise<void>;
  /** Told of accounts that could not be vetted; the sweep goes on with the next. */
  onVettingFailed: (orgId: string, error: unknown) => void;
}

/** The jobs of this role, each with its handler. */
export function housekeepingHandlers(options: HousekeepingOptions): JobHandlers<'housekeeping'> {
  const { vetter, keys, outbox, mailer, dropExpiredAnswers, ensureLedgerPartitions } = options;
  return {
    'screening-sweep': (_payload, signal) => sweep(options, signal),
    'sanctions-preview': (_payload, signal) => options.previewLists(signal),
    screening: ({ orgId }) => vetter.vet(orgId, 'operator'),
    'key-expiry': async () => {
      await keys.expireDue(BATCH);
    },
    'key-expiry-warnings': () => keys.warnExpiring(BATCH),
    'budget-alerts': async () => {
      // Not left to the sweep: with the wait for that, a receiver would hear of it too late.
      if (await options.tellReachedBudgets(BATCH)) await handOutWebhooks(options);
    },
    'request-counts': async (_payload, signal) => {
      const failing = new Set<string>();
      for (let isMore = true; isMore && !signal.aborted;) {
        const round = await options.countRequests();
        for (const orgId of round.failing) failing.add(orgId);
        isMore = round.isMore;
      }
      let areMessages = false;
      for (const orgId of failing) if (await options.tellFailing(orgId)) areMessages = true;
      if (areMessages) await handOutWebhooks(options);
    },
    'webhook-sweep': () => handOutWebhooks(options),
    'webhook-delivery': async ({ orgId }, signal) => {
      await options.webhooks?.deliver(orgId, signal);
    },
    'stored-answer-expiry': async (_payload, signal) => {
      const dropAll = async (drop: (limit: number) => Promise<number>): Promise<void> => {
        let dropped = BATCH;
        while (dropped === BATCH && !signal.aborted) dropped = await drop(BATCH);
      };
      // One that fails each time keeps nothing of the other.
      const drops = [dropExpiredAnswers, options.dropExpiredResponses].map(dropAll);
      await Promise.allSettled(drops);
      await Promise.all(drops);
    },
    'sign-in-expiry': () => options.removeExpiredSignIns(),
    'ledger-partitions': async () => {
      await ensureLedgerPartitions();
    },
    retention: async (_payload, signal) => {
      await options.turnRequestDays();
      for (const forget of [options.forgetRequestsOfClosed, options.forgetCounts]) {
        let forgotten = BATCH;
        while (forgotten === BATCH && !signal.aborted) forgotten = await forget(BATCH);
      }
      await options.archiveBodies(signal);
    },
    mail: async () => {
      await outbox.sendDue(mailer, BATCH);
    },
  };
}

/** Asks for a turn of each organisation with messages that are due. */
async function handOutWebhooks({ webhooks, askForDelivery }: HousekeepingOptions): Promise<void> {
  const due = (await webhooks?.dueOrganisations(BATCH)) ?? [];
  for (const orgId of due) await askForDelivery(orgId);
}

/**
 * Vets everyone who is due. An account that fails is left for the next sweep. When a whole page
 * fails the next one would too, so the sweep ends.
 */
async function sweep(
  { vettings, vetter, onVettingFailed }: HousekeepingOptions,
  signal: AbortSignal,
): Promise<void> {
  while (!signal.aborted) {
    const due = await vettings.due(SWEEP_PAGE);
    let vetted = 0;
    for (const orgId of due) {
      if (signal.aborted) return;
      try {
        await vetter.vet(orgId, 'list_import');
        vetted += 1;
      } catch (error) {
        onVettingFailed(orgId, error);
      }
    }
    if (vetted === 0) return;
  }
}
