import { digestIn } from '#shared/kernel/multihash.ts';
import type { InferenceRecord } from '#shared/kernel/inference.ts';
import type { MeasurementInput } from '#shared/methodology/measurement.ts';
import { parseDecimal } from '#shared/kernel/decimal.ts';
import type { StatedMeasurement } from '#shared/methodology/recompute.ts';
import type { Plan } from '#shared/kernel/plan.ts';
import { INPUT_TYPES, type MeasurementDocument, type ReceiptDocument } from './document.ts';
import { MalformedData } from '#shared/kernel/malformed-data.ts';

const KINDS = new Map<string, MeasurementInput['kind']>(
  (Object.keys(INPUT_TYPES) as MeasurementInput['kind'][]).map((kind) => [INPUT_TYPES[kind], kind]),
);

/** The measurement of a parsed receipt as the methodology knows it. */
export function statedMeasurement(document: MeasurementDocument): StatedMeasurement {
  const { hadPlan, result, dataQuality } = document;
  return {
    methodology: {
      id: hadPlan.name,
      version: hadPlan.version,
      digest: digestIn(hadPlan.digest),
    },
    inputs: statedInputs(document),
    results: result.map(({ quantityKind: name, unit, value, lower, upper }) => ({
      name,
      unit,
      value,
      lower,
      upper,
    })),
    dataQuality,
  };
}

/** The inputs of a parsed receipt's measurement, with the records that it carries. `rebuildInput` takes them. */
export function statedInputs({ used }: MeasurementDocument): readonly MeasurementInput[] {
  return used.map(({ digest, name, type, record }) => ({
    kind: KINDS.get(type)!,
    id: name,
    digest: digestIn(digest),
    ...(record === undefined ? {} : { record }),
  }));
}

/** The last segment of an address of ours: `rcpt_…`, `req_…`, `org_…`. */
export function idInAddress(address: string): string {
  return address.slice(address.lastIndexOf('/') + 1);
}

/** The tier that was asked for, which a degraded receipt does not deliver. */
function requestedTier({ tier, degradation }: ReceiptDocument): Plan {
  const asked = tier === 'degraded' ? degradation?.requestedTier : tier;
  if (asked === undefined) throw missing('degradation.requestedTier');
  return asked;
}

/**
 * What happened to the request, read back from a parsed receipt of it: all that another receipt of the same request
 * is made of. The key is on no receipt, so the caller brings it.
 * @throws MalformedData `missing_field` for a receipt that was late or refused: neither is recalculated.
 */
export function recordOnReceipt(document: ReceiptDocument, keyId: string): InferenceRecord {
  const subject = document.credentialSubject;
  const { outcome, requestDigest, responseDigest, salt, endedAt, usageSource: source } = subject;
  const { attempts, inputTokens, cachedInputTokens, outputTokens, measuredJoules } = subject;
  if (outcome === undefined || outcome === 'refused') throw missing('credentialSubject.outcome');
  const joules = measuredJoules === undefined ? undefined : parseDecimal(measuredJoules);
  return {
    requestId: idInAddress(subject.id),
    orgId: idInAddress(subject.organisation),
    keyId,
    route: subject.route,
    model: subject.model,
    ...(subject.modelVersion === undefined ? {} : { upstreamModel: subject.modelVersion }),
    region: subject.region,
    tier: requestedTier(document),
    startedAt: Date.parse(subject.startedAt),
    endedAt: Date.parse(endedAt ?? missingText('endedAt')),
    usage: {
      inputTokens: inputTokens ?? missingText('inputTokens'),
      cachedInputTokens: cachedInputTokens ?? missingText('cachedInputTokens'),
      outputTokens: outputTokens ?? missingText('outputTokens'),
      source: source ?? missingText('usageSource'),
      ...(joules === undefined ? {} : { measuredJoules: joules }),
    },
    attempts: attempts ?? missingText('attempts'),
    salt: (salt ?? missingText('salt')).slice(1),
    requestDigest: digestIn(requestDigest ?? missingText('requestDigest')),
    ...(responseDigest === undefined ? {} : { responseDigest: digestIn(responseDigest) }),
    outcome,
  };
}

function missingText(field: string): never {
  throw missing(`credentialSubject.${field}`);
}

function missing(path: string): MalformedData {
  return new MalformedData('missing_field', path, 'is needed to issue another receipt');
}
