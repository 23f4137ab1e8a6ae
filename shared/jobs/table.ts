import type { BackgroundRole } from '#shared/config/settings.ts';
import { Type, type Static, type TSchema } from 'typebox';
import { Value } from 'typebox/value';

/** The way in which one kind of job is run. */
export interface JobRow {
  /** The role of `workers/` that has its handler. */
  role: BackgroundRole;
  /** The payload's schema; checked when it is written and again when it is read. */
  payload: TSchema;
  /** How often it is tried before it stays failed, visible to operators; one by the clock has its next round then. */
  attempts: number;
  /** The first wait between two attempts; it doubles, with jitter. */
  backoffMs: number;
  /** After this its signal aborts and the attempt has failed. */
  timeoutMs: number;
  /** Jobs of this kind that one process runs at once. */
  concurrency: number;
  /**
   * The field of the payload that tells jobs of this kind apart: while one is there, another of the same value is not
   * added. Such a job does not stay when it has failed for good, or it would keep its successors out.
   */
  key?: string;
  /** For jobs that run by the clock: the time between two runs, over all processes. */
  everyMs?: number;
}

const Nothing = Type.Object({}, { additionalProperties: false });
const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;

/** Of all jobs that forget what is over its time: an hour more does not matter, and none takes this long. */
const PURGE = {
  role: 'purge',
  payload: Nothing,
  attempts: 3,
  backoffMs: 10 * SECOND,
  timeoutMs: 10 * MINUTE,
  concurrency: 1,
  everyMs: HOUR,
} as const;

/**
 * Every kind of job, once. A queue has the name of its row, and the role that it names does not compile without its handler.
 * A job that is scheduled is also the fallback of one that is asked for: what a lost job has left undone, the next round
 * finds.
 */
export const JOBS = {
  /** Screens one applicant; normally sub-second, so an applicant sees the outcome at once. */
  screening: {
    role: 'housekeeping',
    payload: Type.Object(
      { orgId: Type.String({ pattern: '^org_' }) },
      { additionalProperties: false },
    ),
    attempts: 8,
    backoffMs: 500,
    timeoutMs: 30 * SECOND,
    concurrency: 2,
  },
  /** Screens accounts that were not compared with the current lists: all of them, after an import. */
  'screening-sweep': {
    role: 'housekeeping',
    payload: Nothing,
    attempts: 1,
    backoffMs: SECOND,
    timeoutMs: 10 * MINUTE,
    concurrency: 1,
    everyMs: 15 * SECOND,
  },
  /** Compares uploaded sanctions lists with the current ones, for the person who makes one current. */
  'sanctions-preview': {
    role: 'housekeeping',
    payload: Nothing,
    attempts: 1,
    backoffMs: SECOND,
    timeoutMs: 10 * MINUTE,
    concurrency: 1,
    everyMs: 5 * SECOND,
  },
  /** Writes down that keys have expired. The check at each request does not wait for it. */
  'key-expiry': {
    role: 'housekeeping',
    payload: Nothing,
    attempts: 1,
    backoffMs: SECOND,
    timeoutMs: MINUTE,
    concurrency: 1,
    everyMs: 10 * SECOND,
  },
  /** Tells technical contacts that a key will expire. */
  'key-expiry-warnings': {
    role: 'housekeeping',
    payload: Nothing,
    attempts: 3,
    backoffMs: 10 * SECOND,
    timeoutMs: 5 * MINUTE,
    concurrency: 1,
    everyMs: HOUR,
  },
  /**
   * Tells by e-mail and webhook which shares of budgets are reached: of organisations whose ledger has grown at each round, of
   * all every half minute. A webhook is so with its receiver within ten seconds of the receipts.
   */
  'budget-alerts': {
    role: 'housekeeping',
    payload: Nothing,
    attempts: 1,
    backoffMs: SECOND,
    timeoutMs: MINUTE,
    concurrency: 1,
    everyMs: 4 * SECOND,
  },
  /** Counts what became of requests by hour and day, and tells organisations of which too many failed. */
  'request-counts': {
    role: 'housekeeping',
    payload: Nothing,
    attempts: 1,
    backoffMs: SECOND,
    timeoutMs: 5 * MINUTE,
    concurrency: 1,
    everyMs: 10 * SECOND,
  },
  /**
   * Sends what is due to the webhooks of one organisation. That a receiver fails is an outcome, kept in PostgreSQL with the
   * time of the next attempt. An organisation has one at a time, and those with slow receivers a few places among them, so that
   * slow receivers hold up no other.
   */
  'webhook-delivery': {
    role: 'housekeeping',
    payload: Type.Object(
      { orgId: Type.String({ pattern: '^org_' }) },
      { additionalProperties: false },
    ),
    attempts: 1,
    backoffMs: SECOND,
    // Five messages to each endpoint, of which each has ten seconds.
    timeoutMs: 2 * MINUTE,
    // They wait for receivers, and hold a connection to PostgreSQL between two of them alone.
    concurrency: 32,
    key: 'orgId',
  },
  /** Hands out the organisations with webhooks that are due. */
  'webhook-sweep': {
    role: 'housekeeping',
    payload: Nothing,
    attempts: 1,
    backoffMs: SECOND,
    timeoutMs: MINUTE,
    concurrency: 1,
    everyMs: 5 * SECOND,
  },
  /** Forgets what was sent to webhooks thirty days ago. */
  'webhook-purge': PURGE,
  /** Forgets what organisations were told ninety days ago. */
  'event-purge': PURGE,
  /** Deletes the hashed records of keys that were revoked 90 days ago. */
  'key-purge': PURGE,
  /** Forgets which requests ran on metered endpoints when METERED_DAYS are over. */
  'metered-purge': PURGE,
  /** Forgets e-mails that were sent or given up thirty days ago. */
  'letter-purge': PURGE,
  /**
   * Estimates a degraded receipt again. That the methodology fails is an outcome, kept in PostgreSQL with the time of
   * the next attempt; these attempts are about stores that cannot be reached.
   */
  recalculation: {
    role: 'recalculation',
    payload: Type.Object(
      { receiptId: Type.String({ pattern: '^rcpt_' }) },
      { additionalProperties: false },
    ),
    attempts: 5,
    backoffMs: SECOND,
    timeoutMs: 30 * SECOND,
    concurrency: 4,
    key: 'receiptId',
  },
  /** Restates the receipts of one organisation with a newer methodology, from where the last run of it ended. */
  restatement: {
    role: 'recalculation',
    payload: Type.Object(
      { orgId: Type.String({ pattern: '^org_' }) },
      { additionalProperties: false },
    ),
    attempts: 3,
    backoffMs: 2 * SECOND,
    timeoutMs: 12 * HOUR,
    concurrency: 1,
    key: 'orgId',
  },
  /** Hands out the recalculations and restatements that are due. */
  'recalculation-sweep': {
    role: 'recalculation',
    payload: Nothing,
    attempts: 1,
    backoffMs: SECOND,
    timeoutMs: MINUTE,
    concurrency: 1,
    everyMs: 2 * SECOND,
  },
  /** Revises receipts whose hourly grid factor came after them. */
  'grid-hours': {
    role: 'recalculation',
    payload: Nothing,
    attempts: 1,
    backoffMs: SECOND,
    timeoutMs: 10 * MINUTE,
    concurrency: 1,
    everyMs: MINUTE,
  },
  /** Reads the meters of the catalogue. One that is away is read again by the next round. */
  'meter-reading': {
    role: 'recalculation',
    payload: Nothing,
    attempts: 1,
    backoffMs: SECOND,
    timeoutMs: 30 * SECOND,
    concurrency: 1,
    everyMs: 10 * SECOND,
  },
  /** Attributes metered energy to the requests that ran, and revises their receipts. */
  'meter-settlement': {
    role: 'recalculation',
    payload: Nothing,
    attempts: 1,
    backoffMs: SECOND,
    timeoutMs: 10 * MINUTE,
    concurrency: 1,
    everyMs: 10 * SECOND,
  },
  /** Builds the evidence packs that wait. A hundred million receipts take hours. */
  export: {
    role: 'exports',
    payload: Nothing,
    // A run that fails is started again by the sweep, which knows from the database what is still wanted.
    attempts: 1,
    backoffMs: 2 * SECOND,
    timeoutMs: 12 * HOUR,
    concurrency: 1,
  },
  /** Starts exports whose job or process was lost, and deletes packs whose time is over. */
  'export-sweep': {
    role: 'exports',
    payload: Nothing,
    attempts: 1,
    backoffMs: SECOND,
    timeoutMs: 5 * MINUTE,
    concurrency: 1,
    everyMs: 4 * SECOND,
  },
  /** Deletes large stored answers of idempotent requests, 24 hours after they were given, and kept responses as long after their last use. */
  'stored-answer-expiry': {
    role: 'housekeeping',
    payload: Nothing,
    attempts: 1,
    backoffMs: SECOND,
    timeoutMs: 5 * MINUTE,
    concurrency: 1,
    everyMs: MINUTE,
  },
  /** Removes sessions, links and invitations that are over, and who never followed the e-mail of their sign-up. */
  'sign-in-expiry': {
    role: 'housekeeping',
    payload: Nothing,
    attempts: 1,
    backoffMs: SECOND,
    timeoutMs: 5 * MINUTE,
    concurrency: 1,
    everyMs: HOUR,
  },
  /** Makes the partitions for the receipts of months to come. */
  'ledger-partitions': {
    role: 'housekeeping',
    payload: Nothing,
    attempts: 3,
    backoffMs: 10 * SECOND,
    timeoutMs: MINUTE,
    concurrency: 1,
    everyMs: 6 * HOUR,
  },
  /**
   * Makes the partitions for the requests of days to come, and forgets days and counts whose time is over, and what a closed
   * organisation has left. Then it moves bodies of receipts that are older than RECEIPT_BODIES_ONLINE to the archive, where that
   * is set.
   */
  retention: {
    role: 'housekeeping',
    payload: Nothing,
    attempts: 3,
    backoffMs: 10 * SECOND,
    timeoutMs: 10 * MINUTE,
    concurrency: 1,
    everyMs: 10 * MINUTE,
  },
  /** Sends the e-mails that wait. */
  mail: {
    role: 'housekeeping',
    payload: Nothing,
    attempts: 1,
    backoffMs: SECOND,
    timeoutMs: 5 * MINUTE,
    concurrency: 1,
    everyMs: 5 * SECOND,
  },
} as const satisfies Record<string, JobRow>;

export type JobName = keyof typeof JOBS;
/** The jobs of a role. */
export type JobNameOf<R extends BackgroundRole> = {
  [N in JobName]: (typeof JOBS)[N]['role'] extends R ? N : never;
}[JobName];
export type JobPayload<N extends JobName> = Static<(typeof JOBS)[N]['payload']>;

/** Reads what a queue hands out: the payload of a job of this kind, or null when it is none. */
export function readPayload<N extends JobName>(name: N, data: unknown): JobPayload<N> | null {
  return Value.Check(JOBS[name].payload, data) ? (data as JobPayload<N>) : null;
}

/** The names of those that run by the clock. */
export type ScheduledJobName = {
  [N in JobName]: (typeof JOBS)[N] extends { everyMs: number } ? N : never;
}[JobName];

export const isScheduled = (name: JobName): name is ScheduledJobName => 'everyMs' in JOBS[name];
