import type { Actor } from '#shared/accounts/audit/entry.ts';
import type { MethodologyFailure } from '#shared/methodology/measurement.ts';
import type { ReceiptColumns } from './columns.ts';

/** A receipt that is to be revised: its exact bytes, and its place in its log, which a revision names. */
export interface RevisableReceipt {
  receiptId: string;
  orgId: string;
  /** On no receipt; null on one that was committed without. */
  keyId: string | null;
  leafIndex: number;
  bytes: Uint8Array;
}

/** A revision as it goes into the store. */
export interface RevisionRow extends ReceiptColumns {
  kind: 'recalculated' | 'restated';
  /** Id of the receipt that it revises. */
  supersedes: string;
  tier: string;
  /** The exact bytes, as text. */
  text: string;
}

/** An attempt that failed. */
export interface FailedRecalculation {
  stage: MethodologyFailure['stage'];
  /** Stable, e.g. `model_size_unknown`. */
  code: string;
  /** What it was made with: digests of catalogue and methodology. */
  basis: string;
  /** Milliseconds until the next attempt; null when it is a person's turn. */
  retryInMs: number | null;
}

/** Where revisions become durable, and what is owed to degraded receipts is kept. */
export interface RevisionStore {
  /**
   * Commits revisions and the promise to integrate them in one statement, which also settles what was owed to the
   * receipts they revise. A receipt that has a successor already keeps it.
   * @returns the ids that were committed; the others came too late
   * @throws UnstorableReceipt when trying again cannot help
   */
  commit(rows: readonly RevisionRow[]): Promise<Set<string>>;
  /** Ids of degraded receipts that are due and integrated, the longest due first. */
  due(limit: number): Promise<string[]>;
  /** A degraded receipt with the attempts made so far; null when nothing is owed to it (any more), or not yet. */
  owed(receiptId: string): Promise<(RevisableReceipt & { attempts: number }) | null>;
  /** Writes down that an attempt failed. */
  failed(receiptId: string, failure: FailedRecalculation): Promise<void>;
  /** Makes everything due that failed on another basis, parked or not: it may succeed on this one. @returns how many */
  renew(basis: string): Promise<number>;
  counts(): Promise<{ pending: number; parked: number }>;
}

/** A run of restating an organisation's receipts. */
export interface Restatement {
  orgId: string;
  requestedBy: string;
  /** Epoch milliseconds. */
  requestedAt: number;
  /** Epoch milliseconds; null while it runs. */
  finishedAt: number | null;
  examined: number;
  restated: number;
  /** Not integrated, or no estimate with the newer methodology. */
  skipped: number;
}

/** What one page of a run came to. */
export interface RestatedPage {
  /** The last id of the page; null at the end of the run. */
  lastId: string | null;
  examined: number;
  restated: number;
  skipped: number;
}

/** Runs of restating: each survives its process, page by page. */
export interface RestatementStore {
  /** Organisations whose run is not finished, the oldest first. */
  unfinished(): Promise<string[]>;
  /** The next receipts of a run that have no successor and are integrated; `lastId` continues behind those that are not. */
  page(
    orgId: string,
    limit: number,
  ): Promise<{ receipts: RevisableReceipt[]; lastId: string | null; notIntegrated: number }>;
  advance(orgId: string, page: RestatedPage): Promise<void>;
}

/** What flagging a receipt came to. */
export type FlagOutcome = 'flagged' | 'pending' | 'not_degraded' | 'unknown';

/** A degraded receipt that waits, as an operator sees it. */
export interface WaitingRecalculation {
  receiptId: string;
  orgId: string;
  state: 'pending' | 'parked';
  attempts: number;
  /** Epoch milliseconds. */
  createdAt: number;
  dueAt: number;
  failedAt: number | null;
  stage: string | null;
  code: string | null;
}

/** What callers and operators may ask for. */
export interface RecalculationRequests {
  /** Flags one degraded receipt; `pending` when it was flagged before and not tried since. */
  flag(orgId: string, receiptId: string): Promise<FlagOutcome>;
  /**
   * An operator's request for everything of an organisation that was issued since: degraded receipts are flagged, and a
   * run of restating starts, or starts again. Stands in the audit log. @returns how many were flagged
   */
  requestSince(
    orgId: string,
    sinceMs: number,
    by: { actor: Actor; reason?: string },
  ): Promise<number>;
  restatement(orgId: string): Promise<Restatement | null>;
  /** At most `limit`, those of the oldest receipts first. */
  waiting(filter: {
    state?: 'pending' | 'parked';
    orgId?: string;
    limit: number;
  }): Promise<WaitingRecalculation[]>;
}
