import type { Catalogue } from '#shared/catalogue/catalogue.ts';
import { receiptIdOf } from '#shared/kernel/ids.ts';
import { type InferenceRecord, ran } from '#shared/kernel/inference.ts';
import type { Measurement } from '#shared/methodology/measurement.ts';
import { tokenWeight } from '#shared/metering/attribution.ts';
import { attemptEstimate, estimateInput } from '#shared/methodology/estimate-input.ts';
import { buildReceipt, type ReceiptInput } from '#shared/receipts/build.ts';
import { type MeteredRun, type ReceiptRow, receiptColumns } from '#shared/receipts/columns.ts';
import type { Degradation } from '#shared/receipts/document.ts';
import { derivationOf } from '#shared/receipts/derivation.ts';
import type { ReceiptIssuer } from '#shared/receipts/issuer.ts';
import type { ReceiptSigner } from '#shared/receipts/signing/signer.ts';
import type { EstimateInput, GridSignal } from '#shared/methodology/methodology.ts';

export interface IssueDeps {
  issuer: ReceiptIssuer;
  /** The signer of this moment: keys are rotated while the process runs. */
  signer: () => ReceiptSigner;
  estimate: (input: EstimateInput) => Measurement;
  catalogue: () => Catalogue;
  /** The factor of the hour, for receipts of the tier enterprise; undefined where it is not there (yet). */
  gridSignal?: (zone: string, atMs: number) => GridSignal | undefined;
  /** Epoch milliseconds. */
  now: () => number;
}

/** A receipt that is signed but not yet committed. */
export interface Issued {
  row: ReceiptRow;
  degradation?: Degradation;
}

/**
 * Estimates, builds and signs one receipt. A methodology that fails degrades the receipt; it never loses it.
 * @throws MalformedData when the record itself cannot stand on a receipt
 */
export function issueReceipt(deps: IssueDeps, record: InferenceRecord): Issued {
  const region = deps.catalogue().regions.find(({ code }) => code === record.region);
  const signedAt = deps.now();
  const input: ReceiptInput = { issuer: deps.issuer, record, signedAt };
  if (region !== undefined) input.gridZone = region.zone;
  const estimate = ran(record.outcome)
    ? attemptEstimate(() => deps.estimate(hourly(deps, record)))
    : undefined;
  if (estimate !== undefined) input.estimate = estimate;
  const text = deps.signer().sign(buildReceipt(input));
  const measurement =
    estimate !== undefined && 'measurement' in estimate ? estimate.measurement : undefined;
  const degradation =
    estimate !== undefined && 'degradation' in estimate ? estimate.degradation : undefined;
  const row: ReceiptRow = {
    ...receiptColumns({
      receiptId: receiptIdOf(record.requestId),
      record,
      kind: kindOf(record, degradation),
      tier: degradation === undefined ? record.tier : 'degraded',
      issuedAt: signedAt,
      measurement,
    }),
    text,
  };
  if (measurement !== undefined) row.derivation = derivationOf(deps.issuer, measurement);
  const metered = meteredRun(record);
  if (metered !== undefined) row.metered = metered;
  return degradation === undefined ? { row } : { row, degradation };
}

function kindOf({ outcome }: InferenceRecord, degradation?: Degradation): ReceiptRow['kind'] {
  if (outcome === 'failed' || outcome === 'refused') return outcome;
  return degradation === undefined ? 'inference' : 'degraded';
}

function hourly(
  { catalogue, gridSignal: find }: IssueDeps,
  record: InferenceRecord,
): EstimateInput {
  const input = estimateInput(catalogue(), record);
  const gridSignal =
    record.tier === 'enterprise' ? find?.(input.zone, record.startedAt) : undefined;
  return gridSignal === undefined ? input : { ...input, gridSignal };
}

/** When it was on accelerators that a meter counts; undefined where none does, or where its tokens are not known. */
function meteredRun(record: InferenceRecord): MeteredRun | undefined {
  const { meteredEndpoint: endpoint, usage, startedAt, queuedMs, upstreamMs } = record;
  if (endpoint === undefined || usage.source === 'unknown' || upstreamMs === undefined)
    return undefined;
  const { inputTokens: input, cachedInputTokens: cached, outputTokens: output } = usage;
  const beganAt = startedAt + (queuedMs ?? 0);
  const weight = tokenWeight({ input, cached, output });
  return { endpoint, beganAt, endedAt: beganAt + upstreamMs, weight };
}
