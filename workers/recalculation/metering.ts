import type { Catalogue, Endpoint, Meter } from '#shared/catalogue/catalogue.ts';
import { timeText } from '#shared/kernel/time.ts';
import { attribute } from '#shared/metering/attribution.ts';
import { energyBetween, isNewer } from '#shared/metering/energy.ts';
import { intervalRecord } from '#shared/metering/interval.ts';
import type { MeteringStore, OwedMeasurement } from '#shared/metering/postgres/metering.ts';
import type { Reading, ReadingFault } from '#shared/metering/reading.ts';
import { estimateInput } from '#shared/methodology/estimate-input.ts';
import type { EstimateInput, Methodology } from '#shared/methodology/methodology.ts';
import { rebuildInput } from '#shared/methodology/rebuild.ts';
import type { RevisionRow } from '#shared/receipts/columns.ts';
import { type Derivations, wholeMeasurement } from '#shared/receipts/derivation.ts';
import type { ReceiptDocument } from '#shared/receipts/document.ts';
import { parseReceipt } from '#shared/receipts/parse.ts';
import type { RestatementStore, RevisionStore } from '#shared/receipts/postgres/revisions.ts';
import { recordOnReceipt, statedInputs } from '#shared/receipts/reread.ts';
import type { RecalculationEvents } from './events.ts';
import { meteredOn, revise, type ReviseDeps, unlessFaulty } from './revise.ts';

/** Receipts revised at once. */
const PAGE = 256;

export interface MeteringDeps extends ReviseDeps {
  catalogue: () => Catalogue;
  store: MeteringStore;
  revisions: Pick<RevisionStore, 'commit'>;
  restatements: Pick<RestatementStore, 'derivations'>;
  methodology: Pick<Methodology, 'estimate'>;
  askMeter: (meter: Meter) => Promise<Reading | ReadingFault>;
  /** 16 random bytes in base64url. */
  newSalt: () => string;
  /** Milliseconds after an interval until its requests have ended and have their receipts. */
  settleMs: number;
  events: Pick<
    RecalculationEvents,
    | 'meterRead'
    | 'meterFailed'
    | 'intervalSettled'
    | 'intervalUnmetered'
    | 'requestsUnmeasured'
    | 'notMeasured'
    | 'revised'
  >;
}

type MeteredEndpoint = Endpoint & { meter: Meter };

function meteredEndpoints({ endpoints }: Catalogue): MeteredEndpoint[] {
  return endpoints.filter((each): each is MeteredEndpoint => each.meter !== undefined);
}

/** Reads every meter once. One that is away does not keep the others waiting. */
export async function readMeters(deps: MeteringDeps): Promise<void> {
  await Promise.all(meteredEndpoints(deps.catalogue()).map((endpoint) => readOne(deps, endpoint)));
}

async function readOne(deps: MeteringDeps, { name, meter }: MeteredEndpoint): Promise<void> {
  const { store, events } = deps;
  let reading: Reading | ReadingFault;
  try {
    reading = await deps.askMeter(meter);
  } catch (error) {
    events.meterFailed(name, 'unreachable', error);
    return;
  }
  if (typeof reading === 'string') {
    events.meterFailed(name, reading);
    return;
  }
  const last = await store.lastReading(name);
  if (last !== undefined && !isNewer(last, reading)) return;
  await store.addReading(name, reading);
  events.meterRead(name);
}

/** Settles what is over, and revises the receipts whose energy is known whole. Safe to run twice, also at the same time. */
export async function settleMeters(deps: MeteringDeps, signal: AbortSignal): Promise<void> {
  const { store, events, now, settleMs } = deps;
  const endpoints = meteredEndpoints(deps.catalogue());
  for (const { name, meter } of endpoints) {
    let more = true;
    while (more && !signal.aborted) more = await settleNext(deps, name, meter, now() - settleMs);
  }
  const missed = await store.dropMissed();
  if (missed > 0) events.requestsUnmeasured(missed);
  await reviseMeasured(deps, signal);
}

async function settleNext(
  { store, events, newSalt }: MeteringDeps,
  endpoint: string,
  meter: Meter,
  endedBefore: number,
): Promise<boolean> {
  let told = (): void => {};
  const outcome = await store.settleOldest(
    endpoint,
    endedBefore,
    ([before, after], runs, idleUw) => {
      const energy = energyBetween(before, after);
      if (typeof energy === 'string') {
        told = () => events.intervalUnmetered(endpoint, energy);
        return undefined;
      }
      const attribution = attribute(energy, runs, idleUw);
      told = () => events.intervalSettled(endpoint, energy.energyUj, attribution.idleUj);
      const record = intervalRecord({ endpoint, meter, salt: newSalt() }, energy, attribution);
      return { energy, attribution, record };
    },
  );
  told();
  return outcome !== 'none';
}

async function reviseMeasured(deps: MeteringDeps, signal: AbortSignal): Promise<void> {
  let after = '';
  while (!signal.aborted) {
    const owed = await deps.store.owed(PAGE, after);
    const last = owed.at(-1);
    if (last === undefined) return;
    await revisePage(deps, owed);
    after = last.receiptId;
  }
}

async function revisePage(deps: MeteringDeps, owed: readonly OwedMeasurement[]): Promise<void> {
  const { store, revisions, restatements, events } = deps;
  /** What cannot be measured keeps its estimate. */
  const faulty: string[] = [];
  const orKeep = <T>({ receiptId }: OwedMeasurement, work: () => T): T | undefined =>
    unlessFaulty(work, (error) => {
      faulty.push(receiptId);
      events.notMeasured(receiptId, error);
    });
  const read = owed.flatMap((each) => {
    const parsed = orKeep(each, () => parseReceipt(each.current.bytes));
    return parsed === undefined ? [] : [{ each, document: parsed.document }];
  });
  const known = await restatements.derivations(read.map(({ document }) => document));
  const rows: { receiptId: string; row: RevisionRow }[] = [];
  const done: { receiptId: string; revisionId: string }[] = [];
  for (const { each, document } of read) {
    const { receiptId, current } = each;
    // A run before this one died between the revision and the note of it.
    if (meteredOn(document) !== undefined) done.push({ receiptId, revisionId: current.receiptId });
    else {
      const row = orKeep(each, () => measuredRevision(deps, each, document, known));
      if (row !== undefined) rows.push({ receiptId, row });
    }
  }
  for (const receiptId of faulty) await store.notMeasured(receiptId);
  const committed =
    rows.length === 0 ? new Set<string>() : await revisions.commit(rows.map(({ row }) => row));
  for (const { receiptId, row } of rows) {
    // One that was revised meanwhile is looked at again by the next round.
    if (!committed.has(row.receiptId)) continue;
    events.revised(row);
    done.push({ receiptId, revisionId: row.receiptId });
  }
  await store.measured(done);
}

function measuredRevision(
  deps: MeteringDeps,
  { current, energyUj, metered }: OwedMeasurement,
  document: ReceiptDocument,
  known: Derivations,
): RevisionRow {
  const record = recordOnReceipt(document, current.keyId ?? '');
  const stated = document.measurement;
  // A degraded receipt has no inputs to go on from; what a meter says needs no size of the model.
  const estimated =
    stated === undefined
      ? estimateInput(deps.catalogue(), record)
      : rebuildInput(statedInputs(wholeMeasurement(stated, known)));
  const input = withJoules(estimated, energyUj);
  return revise(deps, {
    original: current,
    document,
    record,
    measurement: deps.methodology.estimate(input),
    gridZone: input.zone,
    metered: {
      digest: metered.digest,
      from: timeText(metered.from, 'metered.from'),
      to: timeText(metered.to, 'metered.to'),
    },
    kind: stated === undefined ? 'recalculated' : 'restated',
    reason: 'measured',
    askedBecause: null,
  });
}

const UJ_PER_J = 1_000_000;

/** The methodology takes joules for each attempt; the meter counted all of them. */
function withJoules(input: EstimateInput, energyUj: bigint): EstimateInput {
  const meteredJoules = Number(energyUj) / UJ_PER_J / Math.max(1, input.attempts);
  return { ...input, meteredJoules };
}
