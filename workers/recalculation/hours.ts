import type { Catalogue } from '#shared/catalogue/catalogue.ts';
import { hourAt } from '#shared/methodology/grid-hour.ts';
import type { GridSignal, Methodology } from '#shared/methodology/methodology.ts';
import { rebuildInput } from '#shared/methodology/rebuild.ts';
import type { RevisionRow } from '#shared/receipts/columns.ts';
import { type Derivations, wholeMeasurement } from '#shared/receipts/derivation.ts';
import type { DueHour, HourStore } from '#shared/receipts/postgres/hour-store.ts';
import type { RevisableReceipt } from '#shared/receipts/postgres/revisable.ts';
import type { RestatementStore, RevisionStore } from '#shared/receipts/postgres/revisions.ts';
import { recordOnReceipt, statedInputs } from '#shared/receipts/reread.ts';
import type { RecalculationEvents } from './events.ts';
import {
  meteredOn,
  type ReadReceipt,
  readReceipts,
  revise,
  type ReviseDeps,
  unlessFaulty,
} from './revise.ts';

/** Receipts read, and at most committed, at once. */
const PAGE = 256;
/** So long a receipts worker may issue with the factors that it knew. */
const ISSUED_WITHOUT_MS = 300_000;

export interface HoursDeps extends ReviseDeps {
  catalogue: () => Catalogue;
  hours: HourStore;
  revisions: Pick<RevisionStore, 'commit'>;
  restatements: Pick<RestatementStore, 'derivations'>;
  methodology: Pick<Methodology, 'estimate'>;
  events: Pick<RecalculationEvents, 'revised' | 'notRestated' | 'daysIncomplete'>;
}

/**
 * Revises receipts of the tier enterprise whose hour was issued with the annual factor, or with an older version of the
 * hour; and back to the annual factor those of a day that is over its time and of which hours are missing, so that what
 * counts covers whole days. Safe to run twice: a receipt that states the factor as it is now is left alone.
 */
export async function reviseHours(deps: HoursDeps, signal: AbortSignal): Promise<void> {
  const incomplete = await deps.hours.judgeDays(deps.now());
  if (incomplete > 0) deps.events.daysIncomplete(incomplete);
  for (const due of await deps.hours.due(deps.now())) {
    if (signal.aborted) return;
    await reviseHour(deps, due, signal);
  }
}

async function reviseHour(deps: HoursDeps, due: DueHour, signal: AbortSignal): Promise<void> {
  const { hours, catalogue } = deps;
  const regions = catalogue().regions.filter(({ zone }) => zone === due.zone);
  const codes = regions.map(({ code }) => code);
  let after = '';
  let waits = deps.now() - due.dueFrom < ISSUED_WITHOUT_MS;
  while (!signal.aborted) {
    const page = await hours.page(due.hour, codes, after, PAGE);
    if (page.lastId === null) {
      if (!waits) await hours.done(due);
      return;
    }
    after = page.lastId;
    waits ||= page.notIntegrated > 0;
    await revisePage(deps, due, page.receipts);
  }
}

async function revisePage(
  deps: HoursDeps,
  due: DueHour,
  receipts: readonly RevisableReceipt[],
): Promise<void> {
  const { restatements, revisions, events } = deps;
  const read = readReceipts(receipts, events.notRestated);
  const known = await restatements.derivations(read.map(({ document }) => document));
  const rows: RevisionRow[] = [];
  for (const each of read) {
    const told = (error: unknown): void => events.notRestated(each.original.receiptId, error);
    const row = unlessFaulty(() => revised(deps, due, each, known), told);
    if (row !== undefined) rows.push(row);
  }
  if (rows.length === 0) return;
  const committed = await revisions.commit(rows);
  for (const row of rows) if (committed.has(row.receiptId)) events.revised(row);
}

/** Undefined where there is nothing to revise. */
function revised(
  deps: HoursDeps,
  { zone, hour, gridSignal }: DueHour,
  { original, document }: ReadReceipt,
  known: Derivations,
): RevisionRow | undefined {
  const { measurement, tier, credentialSubject } = document;
  if (measurement === undefined || tier !== 'enterprise') return undefined;
  if (hourAt(Date.parse(credentialSubject.startedAt)) !== hourAt(hour)) return undefined;
  const { gridSignal: stated, ...input } = rebuildInput(
    statedInputs(wholeMeasurement(measurement, known)),
  );
  if (input.zone !== zone || isSame(stated, gridSignal)) return undefined;
  return revise(deps, {
    original,
    document,
    record: recordOnReceipt(document, original.keyId ?? ''),
    measurement: deps.methodology.estimate({ ...input, ...(gridSignal && { gridSignal }) }),
    gridZone: zone,
    metered: meteredOn(document),
    kind: 'restated',
    reason: gridSignal === undefined ? 'hours_incomplete' : 'hourly_factor',
    askedBecause: null,
  });
}

function isSame(stated: GridSignal | undefined, now: GridSignal | undefined): boolean {
  if (stated === undefined || now === undefined) return stated === now;
  return (
    stated.version === now.version &&
    stated.hour === now.hour &&
    stated.gwpKgco2ePerKwh === now.gwpKgco2ePerKwh
  );
}
