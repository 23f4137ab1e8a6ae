import { digestIn } from '#shared/kernel/multihash.ts';
import type { InferenceRecord } from '#shared/kernel/inference.ts';
import type { MeasurementInput } from '#shared/methodology/measurement.ts';
import { parseDecimal } from '#shared/kernel/decimal.ts';
import type { StatedMeasurement } from '#shared/methodology/recompute.ts';
import type { Plan } from '#shared/kernel/plan.ts';
import type { WholeMeasurement } from './derivation.ts';
import { type InferenceDocument, INPUT_TYPES, type ReceiptDocument } from './document.ts';
import { MalformedData } from '#shared/kernel/malformed-data.ts';

const KINDS = new Map<string, MeasurementInput['kind']>(
  (Object.keys(INPUT_TYPES) as MeasurementInput['kind'][]).map((kind) => [INPUT_TYPES[kind], kind]),
);

/** The measurement of a parsed receipt as the methodology knows it. */
export function statedMeasurement(whole: WholeMeasurement): StatedMeasurement {
  const { hadPlan } = whole;
  const { result, dataQuality } = whole.stated;
  return {
    methodology: {
      id: hadPlan.name,
      version: hadPlan.version,
      digest: digestIn(hadPlan.digest),
    },
    inputs: statedInputs(whole),
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
export function statedInputs({
  used,
}: Pick<WholeMeasurement, 'used'>): readonly MeasurementInput[] {
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
 * @throws MalformedData `missing_field` for a refusal, which is not recalculated.
 */
export function recordOnReceipt(document: ReceiptDocument, keyId: string): InferenceRecord {
  const subject = document.credentialSubject;
  const { outcome, requestDigest, responseDigest, salt, endedAt, attempts } = subject;
  if (outcome === 'refused') throw missing('credentialSubject.outcome');
  const record: InferenceRecord = {
    requestId: idInAddress(subject.id),
    orgId: idInAddress(subject.organisation),
    keyId,
    route: subject.route,
    model: subject.model,
    region: subject.region,
    tier: requestedTier(document),
    startedAt: Date.parse(subject.startedAt),
    endedAt: Date.parse(endedAt),
    usage: usageOn(subject),
    attempts: attempts ?? missingText('attempts'),
    salt: salt.slice(1),
    requestDigest: digestIn(requestDigest),
    outcome,
  };
  if (subject.modelVersion !== undefined) record.upstreamModel = subject.modelVersion;
  if (responseDigest !== undefined) record.responseDigest = digestIn(responseDigest);
  for (const field of REPEATED) {
    if (subject[field] !== undefined) Object.assign(record, { [field]: subject[field] });
  }
  return record;
}

/** Fields that a record and a receipt have under one name and in one form. */
const REPEATED = [
  'queuedMs',
  'relayedPayloads',
  'relayedTokens',
  'upstreamAnswerId',
  'upstreamMs',
] as const satisfies readonly (keyof InferenceRecord & keyof InferenceDocument)[];

function usageOn(subject: InferenceDocument): InferenceRecord['usage'] {
  const { extrapolated, measuredJoules, tokenizer, tokenInterval, usageReason } = subject;
  const source = subject.usageSource ?? missingText('usageSource');
  const joules = measuredJoules === undefined ? undefined : parseDecimal(measuredJoules);
  const more = {
    ...(tokenizer === undefined ? {} : { tokenizer }),
    ...(joules === undefined ? {} : { measuredJoules: joules }),
  };
  if (source === 'unknown') {
    const { inputTokens } = subject;
    const reason = usageReason ?? missingText('usageReason');
    return { source, reason, ...(inputTokens === undefined ? {} : { inputTokens }), ...more };
  }
  return {
    inputTokens: subject.inputTokens ?? missingText('inputTokens'),
    cachedInputTokens: subject.cachedInputTokens ?? missingText('cachedInputTokens'),
    outputTokens: subject.outputTokens ?? missingText('outputTokens'),
    source,
    ...(tokenInterval === undefined ? {} : { tokenInterval }),
    ...(extrapolated === undefined ? {} : { extrapolated }),
    ...more,
  };
}

function missingText(field: string): never {
  throw missing(`credentialSubject.${field}`);
}

function missing(path: string): MalformedData {
  return new MalformedData('missing_field', path, 'is needed to issue another receipt');
}
