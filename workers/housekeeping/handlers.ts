import type { JobHandler } from '#shared/jobs/redis/job-runner.ts';
import type { Screener } from '#shared/accounts/screener.ts';
import type { JobName } from '#shared/jobs/table.ts';
import type { AccountRegistry } from '#shared/accounts/port-accounts.ts';
import type { KeyRegistry } from '#shared/keys/port-keys.ts';
import type { MailOutbox, Mailer } from '#shared/accounts/port-mail.ts';

/** Accounts read at once by a sweep. */
const SWEEP_PAGE = 100;
/** Keys and letters handled by one run; the next run follows within seconds. */
const BATCH = 500;

export interface HousekeepingOptions {
  accounts: Pick<AccountRegistry, 'screeningDue'>;
  keys: Pick<KeyRegistry, 'expireDue' | 'warnExpiring'>;
  screener: Pick<Screener, 'screen'>;
  outbox: Pick<MailOutbox, 'sendDue'>;
  mailer: Mailer;
  /** Deletes at most so many stored answers whose time is over; returns how many. */
  dropExpiredAnswers: (limit: number) => Promise<number>;
  /** Makes the partitions of months to come, those that are missing. */
  ensureLedgerPartitions: () => Promise<unknown>;
  /** Told of accounts that could not be screened; the sweep goes on with the next. */
  onScreeningFailed: (orgId: string, error: unknown) => void;
}

export type HousekeepingJob = Extract<
  JobName,
  | 'screening'
  | 'screening-sweep'
  | 'key-expiry'
  | 'key-expiry-warnings'
  | 'stored-answer-expiry'
  | 'ledger-partitions'
  | 'mail'
>;

/** What this role does, job by job. */
export function housekeepingHandlers(options: HousekeepingOptions): {
  [N in HousekeepingJob]: JobHandler<N>;
} {
  const { accounts, keys, screener, outbox, mailer } = options;
  const { dropExpiredAnswers, ensureLedgerPartitions } = options;
  return {
    screening: ({ orgId }) => screener.screen(orgId, 'operator'),
    'screening-sweep': (_payload, signal) => sweep({ ...options, accounts, screener }, signal),
    'key-expiry': async () => {
      await keys.expireDue(BATCH);
    },
    'key-expiry-warnings': () => keys.warnExpiring(BATCH),
    'stored-answer-expiry': async (_payload, signal) => {
      let dropped = BATCH;
      while (dropped === BATCH && !signal.aborted) dropped = await dropExpiredAnswers(BATCH);
    },
    'ledger-partitions': async () => {
      await ensureLedgerPartitions();
    },
    mail: async () => {
      await outbox.sendDue(mailer, BATCH);
    },
  };
}

/**
 * Screens everyone who is due. An account that fails is left for the next sweep; when a whole page
 * fails, so would the next, and the sweep ends.
 */
async function sweep(
  { accounts, screener, onScreeningFailed }: HousekeepingOptions,
  signal: AbortSignal,
): Promise<void> {
  while (!signal.aborted) {
    const due = await accounts.screeningDue(SWEEP_PAGE);
    let screened = 0;
    for (const orgId of due) {
      if (signal.aborted) return;
      try {
        await screener.screen(orgId, 'list_import');
        screened += 1;
      } catch (error) {
        onScreeningFailed(orgId, error);
      }
    }
    if (screened === 0) return;
  }
}
