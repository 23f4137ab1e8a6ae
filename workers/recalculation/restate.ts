import { digestIn } from '#shared/kernel/multihash.ts';
import { MethodologyFailure } from '#shared/methodology/measurement.ts';
import type { Methodology } from '#shared/methodology/methodology.ts';
import { rebuildInput } from '#shared/methodology/rebuild.ts';
import { parseReceipt } from '#shared/receipts/parse.ts';
import { MalformedData } from '#shared/kernel/malformed-data.ts';
import { recordOnReceipt, statedInputs } from '#shared/receipts/reread.ts';
import type { RevisionRow } from '#shared/receipts/columns.ts';
import type {
  RestatedPage,
  RestatementStore,
  RevisableReceipt,
  RevisionStore,
} from '#shared/receipts/postgres/revisions.ts';
import type { RecalculationEvents } from './events.ts';
import { revise, type ReviseDeps, withRequest } from './revise.ts';

/** Receipts read, and at most committed, at once: about a megabyte. */
const PAGE = 256;

export interface RestateDeps extends ReviseDeps {
  revisions: Pick<RevisionStore, 'commit'>;
  restatements: Pick<RestatementStore, 'page' | 'advance'>;
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
  const rows: RevisionRow[] = [];
  let skipped = 0;
  for (const receipt of receipts) {
    try {
      const row = restated(deps, receipt, askedBecause);
      if (row !== null) rows.push(row);
    } catch (error) {
      if (!isItsOwnFault(error)) throw error;
      skipped += 1;
      deps.events.notRestated(receipt.receiptId, error);
    }
  }
  const committed = rows.length === 0 ? new Set() : await deps.revisions.commit(rows);
  for (const row of rows) if (committed.has(row.receiptId)) deps.events.revised(row);
  return { examined: receipts.length, restated: committed.size, skipped };
}

/** Null when the receipt was computed by this methodology. */
function restated(
  deps: RestateDeps,
  original: RevisableReceipt,
  askedBecause: string | null,
): RevisionRow | null {
  const { document } = parseReceipt(original.bytes);
  const { measurement: stated } = document;
  if (stated === undefined) return null;
  const { methodology } = deps;
  if (digestIn(stated.hadPlan.digest) === methodology.digest) return null;
  const input = rebuildInput(statedInputs(stated));
  const { name, version } = stated.hadPlan;
  return revise(deps, {
    original,
    document,
    record: recordOnReceipt(document, original.keyId ?? ''),
    measurement: methodology.estimate(input),
    gridZone: input.zone,
    kind: 'restated',
    reason: withRequest(
      `The estimate by ${name} ${version} was made again with ${methodology.id} ${methodology.version}.`,
      askedBecause,
    ),
  });
}

function isItsOwnFault(error: unknown): boolean {
  return error instanceof MethodologyFailure || error instanceof MalformedData;
}
