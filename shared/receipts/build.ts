import { multihashOf } from '#shared/kernel/multihash.ts';
import { answerIdOf } from '#shared/kernel/answer-ids.ts';
import { receiptIdOf } from '#shared/kernel/ids.ts';
import type { InferenceRecord } from '#shared/kernel/inference.ts';
import type { Measurement } from '#shared/methodology/measurement.ts';
import { toExactDecimalString } from '#shared/kernel/decimal.ts';
import { saltMultibase } from './salt.ts';
import {
  type Degradation,
  type InferenceDocument,
  MAXIMUM_MERGE_DELAY_SECONDS,
  type ReceiptDocument,
  TEXT_MAX,
} from './document.ts';
import { explain } from './explanation.ts';
import { NOTE_MAX, type RevisionReason } from './format-1.ts';
import type { ReceiptIssuer } from './issuer.ts';
import { measurementDocument, type MeteredInterval } from './measurement-document.ts';
import { MalformedData } from '#shared/kernel/malformed-data.ts';
import { timeText } from '#shared/kernel/time.ts';

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
  /** What the methodology gave. Absent exactly when the outcome is `refused`. */
  estimate?: { measurement: Measurement } | { degradation: Degradation };
  /** Epoch milliseconds: `validFrom`, and the proof's time. */
  signedAt: number;
  /** Grid zone of the region, e.g. `FRA`. */
  gridZone?: string;
  /** On a revision by a meter: the interval over which its energy was metered. */
  metered?: MeteredInterval;
  /** The model as its upstream names it; not trusted to be short or well formed. */
  modelVersion?: string;
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
  if ((estimate === undefined) !== (record.outcome === 'refused')) {
    throw new MalformedData(
      'contradiction',
      'outcome',
      'an estimate goes with every request that was not refused',
    );
  }
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
    if (revision.note !== undefined) document.revisionNote = bounded(revision.note, NOTE_MAX);
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

function inferenceDocument(input: ReceiptInput): InferenceDocument {
  const { issuer, record } = input;
  const { policy, usage } = record;
  const ran = record.outcome !== 'refused';
  const known = ran && usage.source !== 'unknown' ? usage : undefined;
  const subject: Partial<InferenceDocument> = {};
  const answerId = ran ? answerIdOf(record.route, record.requestId) : undefined;
  if (answerId !== undefined) subject.answerId = answerId;
  if (ran) subject.attempts = count(record.attempts, 'attempts');
  if (known) subject.cachedInputTokens = count(known.cachedInputTokens, 'cachedInputTokens');
  subject.endedAt = timeText(record.endedAt, 'endedAt');
  if (known?.extrapolated === true) subject.extrapolated = true;
  if (input.gridZone !== undefined) subject.gridZone = input.gridZone;
  subject.id = issuer.requests + record.requestId;
  if (ran && usage.inputTokens !== undefined) {
    subject.inputTokens = count(usage.inputTokens, 'inputTokens');
  }
  const joules = measuredJoules(record);
  if (joules !== undefined) subject.measuredJoules = joules;
  subject.model = record.model;
  if (input.modelVersion) subject.modelVersion = bounded(input.modelVersion);
  subject.organisation = issuer.organisations + record.orgId;
  subject.outcome = record.outcome;
  if (known) subject.outputTokens = count(known.outputTokens, 'outputTokens');
  if (!ran) {
    if (policy === undefined) {
      throw new MalformedData('missing_field', 'policy', 'a refused request names its policy');
    }
    // Not the rule: a caller who knows which rule blocked tries words until none does.
    subject.policy = { version: policy.version };
  }
  addCount(subject, 'queuedMs', ran ? record.queuedMs : undefined);
  subject.region = record.region;
  addCount(subject, 'relayedPayloads', record.relayedPayloads);
  addCount(subject, 'relayedTokens', record.relayedTokens);
  subject.requestDigest = multihashOf(record.requestDigest, 'requestDigest');
  if (record.responseDigest !== undefined) {
    subject.responseDigest = multihashOf(record.responseDigest, 'responseDigest');
  }
  subject.route = record.route;
  subject.salt = saltMultibase(record.salt, 'salt');
  subject.startedAt = timeText(record.startedAt, 'startedAt');
  if (known?.tokenInterval !== undefined) {
    const { inputLower, inputUpper, outputLower, outputUpper } = known.tokenInterval;
    subject.tokenInterval = { inputLower, inputUpper, outputLower, outputUpper };
  }
  if (ran && usage.tokenizer !== undefined) subject.tokenizer = bounded(usage.tokenizer);
  subject.type = SUBJECT_TYPE;
  if (ran && record.upstreamAnswerId !== undefined)
    subject.upstreamAnswerId = bounded(record.upstreamAnswerId);
  addCount(subject, 'upstreamMs', ran ? record.upstreamMs : undefined);
  if (ran && usage.source === 'unknown') subject.usageReason = usage.reason;
  if (ran) subject.usageSource = usage.source;
  return subject as InferenceDocument;
}

function addCount(
  subject: Partial<InferenceDocument>,
  field: 'queuedMs' | 'relayedPayloads' | 'relayedTokens' | 'upstreamMs',
  value: number | undefined,
): void {
  if (value !== undefined) subject[field] = count(value, field);
}

/** What is no amount of energy is left off: then the estimate is made without it. */
function measuredJoules({ outcome, usage }: InferenceRecord): string | undefined {
  const joules = usage.measuredJoules;
  if (outcome === 'refused' || joules === undefined) return undefined;
  return Number.isFinite(joules) && joules >= 0 ? toExactDecimalString(joules) : undefined;
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

/** Words that are not ours (an upstream's) are cut to fit: they may not cost the caller its receipt. */
function bounded(text: string, lengthMax: number = TEXT_MAX): string {
  return text.length <= lengthMax && text.isWellFormed()
    ? text
    : text.slice(0, lengthMax).toWellFormed();
}

function ulidOf(id: string): string {
  return id.slice(id.indexOf('_') + 1);
}

function count(value: number, path: string): number {
  if (Number.isSafeInteger(value) && value >= 0) return value === 0 ? 0 : value;
  throw new MalformedData('not_an_integer', path, 'must be a whole number, at least 0');
}
