import { multihashOf } from '#shared/kernel/multihash.ts';
import { answerIdOf, receiptIdNamed } from '#shared/kernel/answer-ids.ts';
import { receiptIdOf } from '#shared/kernel/ids.ts';
import { type InferenceRecord, ran, type TokenInterval } from '#shared/kernel/inference.ts';
import type { Measurement } from '#shared/methodology/measurement.ts';
import { isWrittenDecimal, toExactDecimalString } from '#shared/kernel/decimal.ts';
import {
  type Degradation,
  type InferenceDocument,
  MAXIMUM_MERGE_DELAY_SECONDS,
  type ReceiptDocument,
} from './document.ts';
import { explain } from './explanation.ts';
import { FORMAT_1, NOTE_MAX, type RevisionReason } from './format-1.ts';
import type { ReceiptIssuer } from './issuer.ts';
import { measurementDocument, type MeteredInterval } from './measurement-document.ts';
import { MalformedData } from '#shared/kernel/malformed-data.ts';
import { printable } from '#shared/kernel/plain-text.ts';
import { timeText } from '#shared/kernel/time.ts';
import { bounded, count, STATED, type Stated, type StatedField } from './stated-fields.ts';

/** The exact receipt that a new one revises. */
export interface Revision {
  /** `rcpt_…` or `rev_…` */
  receiptId: string;
  /** base64url of SHA-256 over the revised receipt's bytes. */
  digest: string;
  leafIndex: number;
  /** 1 for the first revision of an original. */
  number: number;
  reason: RevisionReason;
  /** Why a caller asked for it, in their own words. */
  note?: string;
}

export interface ReceiptInput {
  issuer: ReceiptIssuer;
  record: InferenceRecord;
  /** What the methodology gave. Absent exactly when the outcome is `failed` or `refused`. */
  estimate?: { measurement: Measurement } | { degradation: Degradation };
  /** Epoch milliseconds: `validFrom`, and the proof's time. */
  signedAt: number;
  /** Grid zone of the region, e.g. `FRA`. */
  gridZone?: string;
  /** On a revision by a meter: the interval over which its energy was metered. */
  metered?: MeteredInterval;
  /** With `receiptId`, the new receipt's own id. */
  revision?: Revision & { newReceiptId: string };
}

/**
 * The unsigned receipt of one request: `JSON.stringify` of it is its canonical form (RFC 8785), so fields are
 * written in that order everywhere below.
 * @throws MalformedData when the record cannot stand on a receipt (a bug upstream of here; never the caller's input).
 */
export function buildReceipt(input: ReceiptInput): ReceiptDocument {
  const { issuer, record, estimate, revision } = input;
  if ((estimate === undefined) === ran(record.outcome)) {
    throw new MalformedData(
      'contradiction',
      'outcome',
      'an estimate goes with every request that neither failed nor was refused',
    );
  }
  if ((record.outcome === 'failed') !== (record.failure !== undefined))
    throw new MalformedData('contradiction', 'failure', 'goes with every request that failed');
  const receiptId = revision?.newReceiptId ?? receiptIdOf(record.requestId);
  const degraded = estimate !== undefined && 'degradation' in estimate;
  const document: Partial<ReceiptDocument> = {
    '@context': issuer.contexts,
    credentialSubject: inferenceDocument(input),
  };
  if (degraded) {
    const { code, stage } = estimate.degradation;
    document.degradation = { code, requestedTier: record.tier, stage };
    document.explanation = explain(estimate.degradation);
  }
  document.id = issuer.receipts + receiptId;
  if (record.tier !== 'audit') document.inclusionPromise = promise(issuer, record.orgId);
  document.issuer = issuer.did;
  if (estimate !== undefined && 'measurement' in estimate) {
    document.measurement = measurementDocument(
      issuer,
      ulidOf(receiptId),
      estimate.measurement,
      issuer.requests + record.requestId,
      input.metered,
    );
  }
  if (revision !== undefined) {
    const note = printable(bounded(revision.note ?? '', NOTE_MAX));
    if (note !== '') document.revisionNote = note;
    document.revisionNumber = count(revision.number, 'revisionNumber');
    document.revisionReason = revision.reason;
  }
  document.tier = degraded ? 'degraded' : record.tier;
  document.type = revision === undefined ? RECEIPT_TYPE : REVISION_TYPE;
  document.validFrom = timeText(input.signedAt, 'validFrom');
  if (revision !== undefined) {
    document.wasRevisionOf = {
      digest: multihashOf(revision.digest, 'wasRevisionOf.digest'),
      id: issuer.receipts + revision.receiptId,
      leafIndex: count(revision.leafIndex, 'wasRevisionOf.leafIndex'),
    };
  }
  return document as ReceiptDocument;
}

const RECEIPT_TYPE: ReceiptDocument['type'] = ['VerifiableCredential', 'InferenceReceipt'];
const REVISION_TYPE: ReceiptDocument['type'] = [
  'VerifiableCredential',
  'InferenceReceipt',
  'RecalculatedReceipt',
];
const SUBJECT_TYPE: InferenceDocument['type'] = ['Activity', 'Inference'];

/** The fields of an inference in the order of the format, which is that of RFC 8785, with those of its record. */
const FIELDS = Object.keys(FORMAT_1.properties.credentialSubject.properties).map(
  (name) => [name, STATED.find(({ as }) => as === name)] as const,
);

function inferenceDocument(input: ReceiptInput): InferenceDocument {
  const others: Readonly<Record<string, unknown>> = otherFields(input);
  const subject: Record<string, unknown> = {};
  for (const [name, stated] of FIELDS) {
    const value = stated === undefined ? others[name] : write(stated, input.record);
    if (value !== undefined) subject[name] = value;
  }
  return subject as unknown as InferenceDocument;
}

function write(stated: Stated, record: InferenceRecord): unknown {
  const { field, form, ifKnown, ifRan, ifCalled } = stated;
  const value = record[field];
  if (ifRan && !ran(record.outcome)) return undefined;
  if (ifCalled && record.outcome === 'refused') return undefined;
  return ifKnown && value === undefined ? undefined : form.write(value as never, field);
}

/** What a receipt says of its inference beside the fields of its record; undefined where it does not. */
function otherFields({ issuer, record, gridZone }: ReceiptInput): {
  [F in Exclude<keyof InferenceDocument, StatedField>]-?: InferenceDocument[F] | undefined;
} {
  const { usage } = record;
  const isRun = ran(record.outcome);
  const known = isRun && usage.source !== 'unknown' ? usage : undefined;
  return {
    answerId: isRun ? answerIdOf(record.route, record.requestId) : undefined,
    cachedInputTokens: known && count(known.cachedInputTokens, 'cachedInputTokens'),
    extrapolated: known?.extrapolated,
    gridZone,
    id: issuer.requests + record.requestId,
    inputTokens:
      isRun && usage.inputTokens !== undefined
        ? count(usage.inputTokens, 'inputTokens')
        : undefined,
    statedJoules: isRun ? joulesText(usage.statedJoules) : undefined,
    organisation: issuer.organisations + record.orgId,
    outputTokens: known && count(known.outputTokens, 'outputTokens'),
    policy: record.outcome === 'refused' ? policyOf(record) : undefined,
    previous: record.previous && issuer.receipts + receiptIdNamed(record.previous)!,
    tokenInterval: known?.tokenInterval && inOrder(known.tokenInterval),
    tokenizer: isRun && usage.tokenizer !== undefined ? bounded(usage.tokenizer) : undefined,
    type: SUBJECT_TYPE,
    usageReason: isRun ? reasonOf(usage) : undefined,
    usageSource: isRun ? usage.source : undefined,
  };
}

function reasonOf(usage: InferenceRecord['usage']): InferenceDocument['usageReason'] {
  if (usage.source === 'unknown') return usage.reason;
  return usage.overruled === undefined ? undefined : 'overruled';
}

/** Not the rule: a caller who knows which rule blocked tries words until none does. */
function policyOf({ policy }: InferenceRecord): InferenceDocument['policy'] {
  if (policy !== undefined) return { version: policy.version };
  throw new MalformedData('missing_field', 'policy', 'a refused request names its policy');
}

function inOrder({ inputLower, inputUpper, outputLower, outputUpper }: TokenInterval) {
  return { inputLower, inputUpper, outputLower, outputUpper };
}

/** What is no amount of energy is left off: then the estimate is made without it. */
function joulesText(joules: number | undefined): string | undefined {
  if (joules === undefined) return undefined;
  if (!Number.isFinite(joules)) return undefined;
  const text = toExactDecimalString(joules);
  return isWrittenDecimal(text) ? text : undefined;
}

/** Inclusion in a signed checkpoint of the organisation's log, and by when: the tiers above `audit` promise it. */
function promise(
  issuer: ReceiptIssuer,
  orgId: string,
): NonNullable<ReceiptDocument['inclusionPromise']> {
  return {
    log: issuer.logs + orgId,
    maximumMergeDelay: `PT${MAXIMUM_MERGE_DELAY_SECONDS}S`,
  };
}

function ulidOf(id: string): string {
  return id.slice(id.indexOf('_') + 1);
}
