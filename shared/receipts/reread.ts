import { answerIdOf } from '#shared/kernel/answer-ids.ts';
import { digestIn } from '#shared/kernel/multihash.ts';
import { type InferenceRecord, ran } from '#shared/kernel/inference.ts';
import type { MeasurementInput } from '#shared/methodology/measurement.ts';
import { parseDecimal } from '#shared/kernel/decimal.ts';
import type { StatedMeasurement } from '#shared/methodology/recompute.ts';
import type { Plan } from '#shared/kernel/plan.ts';
import type { WholeMeasurement } from './derivation.ts';
import { type InferenceDocument, INPUT_TYPES, type ReceiptDocument } from './document.ts';
import { MalformedData } from '#shared/kernel/malformed-data.ts';
import { STATED } from './stated-fields.ts';

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
 * @throws MalformedData `missing_field` for what failed or was refused, which is not recalculated.
 */
export function recordOnReceipt(document: ReceiptDocument, keyId: string): InferenceRecord {
  const subject = document.credentialSubject;
  if (!ran(subject.outcome)) throw missing('credentialSubject.outcome');
  const record: Partial<InferenceRecord> = {
    requestId: idInAddress(subject.id),
    orgId: idInAddress(subject.organisation),
    keyId,
    tier: requestedTier(document),
    usage: usageOn(subject),
  };
  const { previous } = subject;
  if (previous !== undefined) record.previous = answerIdOf('responses', idInAddress(previous))!;
  for (const { field, as, form, ifKnown } of STATED) {
    const stated = subject[as];
    if (stated !== undefined) Object.assign(record, { [field]: form.read(stated as never) });
    else if (!ifKnown) missingText(as);
  }
  return record as InferenceRecord;
}

function usageOn(subject: InferenceDocument): InferenceRecord['usage'] {
  const { extrapolated, statedJoules, tokenizer, tokenInterval, usageReason } = subject;
  const source = subject.usageSource ?? missingText('usageSource');
  const joules = statedJoules === undefined ? undefined : parseDecimal(statedJoules);
  const more = {
    ...(tokenizer === undefined ? {} : { tokenizer }),
    ...(joules === undefined ? {} : { statedJoules: joules }),
  };
  if (source === 'unknown') {
    const { inputTokens } = subject;
    if (usageReason === undefined || usageReason === 'overruled') missingText('usageReason');
    const reason = usageReason;
    return { source, reason, ...(inputTokens === undefined ? {} : { inputTokens }), ...more };
  }
  return {
    inputTokens: subject.inputTokens ?? missingText('inputTokens'),
    cachedInputTokens: subject.cachedInputTokens ?? missingText('cachedInputTokens'),
    outputTokens: subject.outputTokens ?? missingText('outputTokens'),
    source,
    ...(tokenInterval === undefined ? {} : { tokenInterval }),
    ...(extrapolated === undefined ? {} : { extrapolated }),
    ...(usageReason === 'overruled' ? { overruled: true } : {}),
    ...more,
  };
}

function missingText(field: string): never {
  throw missing(`credentialSubject.${field}`);
}

function missing(path: string): MalformedData {
  return new MalformedData('missing_field', path, 'is needed to issue another receipt');
}
