import { SETTINGS } from '#shared/config/settings.ts';

/**
 * What a request takes, as docs/performance.md and docs/ledger.md have measured it. Each line names where its figure is from.
 * A figure that is measured anew is changed here, and the table of docs/scaling.md is made anew with it.
 */
export const MEASURED = {
  /** Processor time by process, µs, at 64 connections: docs/performance.md, "Where the cost goes", 25 November 2026. */
  cpuUs: { api: 211, receipts: 141, inference: 121, postgres: 112, redis: 98, ledger: 24 },
  /** Written ahead for a request, vacuum included, with LZ4: docs/performance.md, "What a request leaves". */
  walBytes: 4_850,
  /**
   * Of a receipt in PostgreSQL with its place in the ledger, with its body (with LZ4) and without: the same, and docs/ledger.md,
   * "What it saves", as in the archive.
   */
  receiptBytes: { online: 3_510, archived: 980, inArchive: 420 },
  /** Of a row of what became of a request, with its index entries: docs/operations.md, "Requests". */
  requestRowBytes: 501,
  /** Into Redis for a request of 32: docs/performance.md, "Counts". All of it is taken for held until the answer is over. */
  redisBytes: 3_470,
  /** Redis that is asked for nothing, and a receipt that is owed in it: docs/performance.md, docs/operations.md. */
  redisIdleBytes: 40_000_000,
  owedBytes: 1_000,
} as const;

/** What is not measured, but chosen: another deployment has others. */
export const ASSUMED = {
  /** Of a core that is planned with; the rest is for peaks, and for the process that is away. */
  utilisation: 0.6,
  /** From the request to the end of its answer. */
  answerSeconds: 5,
  /** Receipts that may be owed while PostgreSQL is away, at which nothing more is admitted. */
  owedMax: 500_000,
  /** So many of each role at least, so that one may be away. */
  processesMin: 2,
} as const;

/** A quarter, the example of docs/ledger.md. */
export const ONLINE_DAYS_SHOWN = 90;
const DAY_SECONDS = 86_400;
const YEAR_DAYS = 365;
const MONTH_DAYS = 30.4;

/** Connections to PostgreSQL at most, as docs/operations.md lists them. */
const CONNECTIONS = {
  api: Number(SETTINGS.databasePoolMax.fallback) + 4 + 4 + 1,
  receipts: 3,
  ledger: 4,
  /** Two of each of recalculation, exports, purge and housekeeping, as they are set at first. */
  background: 2 * (9 + 3 + 2 + 8),
} as const;

export type Requirements = ReturnType<typeof requirementsOf>;

/** What so many requests a second take, each of which leaves one receipt. */
export function requirementsOf(rate: number) {
  const { cpuUs, walBytes, receiptBytes, requestRowBytes } = MEASURED;
  const coresOf = (us: number): number => (rate * us) / 1e6 / ASSUMED.utilisation;
  const processesOf = (us: number): number =>
    Math.max(ASSUMED.processesMin, Math.ceil(coresOf(us)));
  const slots = (rate * ASSUMED.answerSeconds) / Number(SETTINGS.inferenceConcurrency.fallback);
  const processes = {
    api: processesOf(cpuUs.api),
    inference: Math.max(processesOf(cpuUs.inference), Math.ceil(slots / ASSUMED.utilisation)),
    receipts: processesOf(cpuUs.receipts),
    ledger: processesOf(cpuUs.ledger),
  };
  const receipts = rate * DAY_SECONDS;
  const kept = receipts * requestRowBytes * Number(SETTINGS.requestsKeptDays.fallback);
  // Whole months move: of the last of them all is there until its end is old enough.
  const daysWithBodies = ONLINE_DAYS_SHOWN + MONTH_DAYS / 2;
  return {
    processes,
    cores: {
      processes: Math.ceil(coresOf(cpuUs.api + cpuUs.inference + cpuUs.receipts + cpuUs.ledger)),
      postgres: Math.ceil(coresOf(cpuUs.postgres)),
      redis: Math.ceil(coresOf(cpuUs.redis)),
    },
    connections:
      processes.api * CONNECTIONS.api +
      processes.receipts * CONNECTIONS.receipts +
      processes.ledger * CONNECTIONS.ledger +
      CONNECTIONS.background,
    redisBytes:
      MEASURED.redisIdleBytes +
      rate * ASSUMED.answerSeconds * MEASURED.redisBytes +
      ASSUMED.owedMax * MEASURED.owedBytes,
    walBytesASecond: rate * walBytes,
    day: {
      receipts,
      walBytes: receipts * walBytes,
      onlineBytes: receipts * receiptBytes.online,
      archivedOnlineBytes: receipts * receiptBytes.archived,
      archiveBytes: receipts * receiptBytes.inArchive,
    },
    year: {
      onlineBytes: receipts * YEAR_DAYS * receiptBytes.online + kept,
      archivedOnlineBytes:
        receipts *
          (daysWithBodies * receiptBytes.online +
            (YEAR_DAYS - daysWithBodies) * receiptBytes.archived) +
        kept,
    },
  };
}
