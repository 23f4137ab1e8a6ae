import { digestIn } from '#shared/kernel/multihash.ts';
import type { Methodology } from '#shared/methodology/methodology.ts';
import { rebuildInput } from '#shared/methodology/rebuild.ts';
import { type Derivations, wholeMeasurement } from '#shared/receipts/derivation.ts';
import { recordOnReceipt, statedInputs } from '#shared/receipts/reread.ts';
import type { RevisionRow } from '#shared/receipts/columns.ts';
import type { RevisableReceipt } from '#shared/receipts/postgres/revisable.ts';
import type {
  RestatedPage,
  RestatementStore,
  RevisionStore,
} from '#shared/receipts/postgres/revisions.ts';
import type { RecalculationEvents } from './events.ts';
import {
  meteredOn,
  type ReadReceipt,
  readReceipts,
  revise,
  type ReviseDeps,
  unlessFaulty,
} from './revise.ts';

/** Receipts read, and at most committed, at once: about a megabyte. */
const PAGE = 256;

export interface RestateDeps extends ReviseDeps {
  revisions: Pick<RevisionStore, 'commit'>;
  restatements: Pick<RestatementStore, 'page' | 'advance' | 'derivations'>;
  methodology: Pick<Methodology, 'estimate' | 'id' | 'version' | 'digest'>;
  events: RecalculationEvents;
}

/**
 * Restates an organisation's receipts: each that stands and was computed by another methodology gets a successor,
 * computed by this one from what the receipt itself carries. A run goes on page by page where the last one ended,
 * whichever process that was; a page that is done twice changes nothing the second time.
 */
export async function restate(
  deps: RestateDeps,
  orgId: string,
  signal: AbortSignal,
): Promise<void> {
  const { restatements, events } = deps;
  while (!signal.aborted) {
    const { receipts, lastId, notIntegrated, askedBecause } = await restatements.page(orgId, PAGE);
    const page = await restatePage(deps, receipts, askedBecause);
    page.examined += notIntegrated;
    page.skipped += notIntegrated;
    await restatements.advance(orgId, { ...page, lastId });
    events.pageRestated(orgId, page);
    if (lastId === null) return;
  }
}

async function restatePage(
  deps: RestateDeps,
  receipts: readonly RevisableReceipt[],
  askedBecause: string | null,
): Promise<Omit<RestatedPage, 'lastId'>> {
  let skipped = 0;
  const skip = (receiptId: string, error: unknown): void => {
    skipped += 1;
    deps.events.notRestated(receiptId, error);
  };
  const read = readReceipts(receipts, skip);
  const known = await deps.restatements.derivations(read.map(({ document }) => document));
  const rows: RevisionRow[] = [];
  for (const each of read) {
    const told = (error: unknown): void => skip(each.original.receiptId, error);
    const row = unlessFaulty(() => restated(deps, each, { askedBecause, known }), told);
    if (row !== undefined) rows.push(row);
  }
  const committed = rows.length === 0 ? new Set() : await deps.revisions.commit(rows);
  for (const row of rows) if (committed.has(row.receiptId)) deps.events.revised(row);
  return { examined: receipts.length, restated: committed.size, skipped };
}

/** Undefined when the receipt was computed by this methodology. */
function restated(
  deps: RestateDeps,
  { original, document }: ReadReceipt,
  { askedBecause, known }: { askedBecause: string | null; known: Derivations },
): RevisionRow | undefined {
  if (document.measurement === undefined) return undefined;
  const stated = wholeMeasurement(document.measurement, known);
  const { methodology } = deps;
  if (digestIn(stated.hadPlan.digest) === methodology.digest) return undefined;
  const input = rebuildInput(statedInputs(stated));
  return revise(deps, {
    original,
    document,
    record: recordOnReceipt(document, original.keyId ?? ''),
    measurement: methodology.estimate(input),
    gridZone: input.zone,
    // What was metered stays metered.
    metered: meteredOn(document),
    kind: 'restated',
    reason: 'new_methodology',
    askedBecause,
  });
}
