import type { Catalogue } from '#shared/catalogue/catalogue.ts';
import type { InferenceRecord } from '#shared/kernel/inference.ts';
import { type Measurement, MethodologyFailure } from '#shared/methodology/measurement.ts';
import { attemptEstimate, estimateInput } from '#shared/methodology/estimate-input.ts';
import type { EstimateInput, Methodology } from '#shared/methodology/methodology.ts';
import { parseReceipt } from '#shared/receipts/parse.ts';
import { MalformedData } from '#shared/kernel/malformed-data.ts';
import { recordOnReceipt } from '#shared/receipts/reread.ts';
import type { OwedReceipt, RevisionStore } from '#shared/receipts/postgres/revisions.ts';
import { UnstorableReceipt } from '#shared/receipts/columns.ts';
import type { RecalculationEvents } from './events.ts';
import { revise, type ReviseDeps } from './revise.ts';

/** Then it is a person's turn: with the waits below, half an hour after the first attempt. */
export const ATTEMPTS_MAX = 8;
/** The first wait; each further one is twice as long. */
const FIRST_WAIT_MS = 15_000;

export interface RecalculateDeps extends ReviseDeps {
  store: Pick<RevisionStore, 'owed' | 'commit' | 'failed'>;
  methodology: Pick<Methodology, 'estimate'>;
  catalogue: () => Catalogue;
  /** Digests of catalogue and methodology: what an attempt is made with. */
  basis: () => string;
  events: RecalculationEvents;
}

/** What became of one job. `settled`: there was nothing to do (any more). */
export type RecalculationOutcome = 'recalculated' | 'settled' | 'failed' | 'parked';

/**
 * Estimates one degraded receipt again. Success appends a new receipt that revises it; failure is written down with
 * the time of the next attempt. Safe to run twice, also at the same time: the store lets one revision through.
 */
export async function recalculate(
  deps: RecalculateDeps,
  receiptId: string,
): Promise<RecalculationOutcome> {
  const owed = await deps.store.owed(receiptId);
  if (owed === null) return 'settled';
  // Of the catalogue that the attempt was made with, also when it is replaced meanwhile.
  const basis = deps.basis();
  try {
    return await commitRevision(deps, owed);
  } catch (error) {
    const { stage, code } = failureOf(error);
    const attempts = owed.attempts + 1;
    const parked = attempts >= ATTEMPTS_MAX;
    const retryInMs = parked ? null : FIRST_WAIT_MS * 2 ** owed.attempts;
    await deps.store.failed(receiptId, { stage, code, basis, retryInMs });
    const { orgId } = owed;
    const failure = { receiptId, orgId, stage, code, attempts, retryInMs };
    if (parked) deps.events.parked(failure, error);
    else deps.events.attemptFailed(failure, error);
    return parked ? 'parked' : 'failed';
  }
}

async function commitRevision(
  deps: RecalculateDeps,
  owed: OwedReceipt,
): Promise<RecalculationOutcome> {
  const { document } = parseReceipt(owed.bytes);
  const record = recordOnReceipt(document, owed.keyId ?? '');
  const { input, measurement } = estimateAgain(deps, record);
  const row = revise(deps, {
    original: owed,
    document,
    record,
    measurement,
    gridZone: input.zone,
    kind: 'recalculated',
    reason: 'methodology_failed',
    askedBecause: owed.askedBecause,
  });
  const committed = await deps.store.commit([row]);
  if (!committed.has(row.receiptId)) return 'settled';
  deps.events.revised(row);
  return 'recalculated';
}

function estimateAgain(
  { methodology, catalogue }: RecalculateDeps,
  record: InferenceRecord,
): { input: EstimateInput; measurement: Measurement } {
  const input = estimateInput(catalogue(), record);
  const estimate = attemptEstimate(() => methodology.estimate(input));
  if ('measurement' in estimate) return { input, measurement: estimate.measurement };
  const { stage, code } = estimate.degradation;
  throw new MethodologyFailure(stage, code, 'the methodology gives no estimate');
}

/** What is the receipt's or the methodology's own fault. A store that cannot be reached is none: it ends the job. */
function failureOf(error: unknown): Pick<MethodologyFailure, 'stage' | 'code'> {
  if (error instanceof MethodologyFailure) return error;
  if (error instanceof MalformedData) return { stage: 'input', code: 'receipt_unusable' };
  if (error instanceof UnstorableReceipt) return { stage: 'computation', code: 'unstorable' };
  throw error;
}
