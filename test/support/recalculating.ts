import type { Pool } from 'pg';
import {
  createRestatementStore,
  createRevisionStore,
} from '#shared/receipts/postgres/revisions.ts';
import { newId } from '#shared/kernel/system/new-id.ts';
import type { Catalogue } from '#shared/catalogue/catalogue.ts';
import type { Methodology } from '#shared/methodology/methodology.ts';
import type { RevisionRow } from '#shared/receipts/columns.ts';
import type { ReceiptSigner } from '#shared/receipts/signing/signer.ts';
import type { AttemptFailure, RecalculationEvents } from '#workers/recalculation/events.ts';
import type { RecalculateDeps } from '#workers/recalculation/recalculate.ts';
import type { ReviseDeps } from '#workers/recalculation/revise.ts';
import { issuer, methodology } from './issuing.ts';

/** Events that are kept, for looking at. */
export interface SeenEvents extends RecalculationEvents {
  rows: RevisionRow[];
  failures: AttemptFailure[];
  parkings: AttemptFailure[];
  skipped: string[];
  /** Days of which hours were missing. */
  incomplete: number;
}

export function seenEvents(): SeenEvents {
  const rows: RevisionRow[] = [];
  const failures: AttemptFailure[] = [];
  const parkings: AttemptFailure[] = [];
  const skipped: string[] = [];
  const seen: SeenEvents = {
    incomplete: 0,
    rows,
    failures,
    parkings,
    skipped,
    revised: (row) => void rows.push(row),
    attemptFailed: (failure) => void failures.push(failure),
    parked: (failure) => void parkings.push(failure),
    meterRead: () => {},
    meterFailed: () => {},
    intervalSettled: () => {},
    intervalUnmetered: () => {},
    requestsUnmeasured: () => {},
    notMeasured: (receiptId) => void skipped.push(receiptId),
    notRestated: (receiptId) => void skipped.push(receiptId),
    renewed: () => {},
    counted: () => {},
    daysIncomplete: (count) => void (seen.incomplete += count),
    pageRestated: () => {},
    signingKeysUnreadable: () => {},
    storeFailed: () => {},
  };
  return seen;
}

/** What every revision is made with. */
function reviseDeps(signer: () => ReceiptSigner): ReviseDeps {
  return { issuer, signer, now: Date.now, newReceiptId: (nowMs) => newId('rcpt', nowMs) };
}

/** The same, and where revisions are kept, for what revises pages of receipts. */
export function revisionDeps(pool: Pool, signer: () => ReceiptSigner) {
  return {
    ...reviseDeps(signer),
    revisions: createRevisionStore(pool),
    restatements: createRestatementStore(pool),
  };
}

/** The dependencies of a recalculation worker, on this pool and catalogue. */
export function recalculateDeps(
  pool: Pool,
  signer: ReceiptSigner,
  catalogue: Catalogue,
  more: { methodology?: Methodology; events?: RecalculationEvents } = {},
): RecalculateDeps {
  return {
    ...reviseDeps(() => signer),
    store: createRevisionStore(pool),
    methodology,
    catalogue: () => catalogue,
    basis: () => `${catalogue.digest}.${methodology.digest}`,
    events: seenEvents(),
    ...more,
  };
}
