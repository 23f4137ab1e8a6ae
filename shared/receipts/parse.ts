import { multihashOf } from '#shared/kernel/multihash.ts';
import { PLANS } from '#shared/kernel/plan.ts';
import { hash } from 'node:crypto';
import { canonicalJson } from '#shared/kernel/canonical-json.ts';
import {
  INPUT_TYPES,
  QUANTITY_UNITS,
  RECEIPT_BYTES_MAX,
  type ReceiptDocument,
} from './document.ts';
import { MalformedData } from '#shared/kernel/malformed-data.ts';
import {
  type Check,
  carriedRecord,
  dateTime,
  decimal,
  exactly,
  fields,
  iri,
  list,
  multihash,
  oneOf,
  saltText,
  text,
  wholeNumber,
} from './shape.ts';
import { parseStrictJson } from '#shared/kernel/json-reader.ts';

/** Room for white space: a receipt that was printed for people still reads. */
const INPUT_MAX = 4 * RECEIPT_BYTES_MAX;

const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

/** A receipt that was read, with its canonical form: the bytes that are stored, sent and logged. */
export interface ParsedReceipt {
  document: ReceiptDocument;
  canonical: string;
}

/**
 * Reads an untrusted receipt, signed or not. White space and the order of fields do not matter (the signature is over
 * the canonical form); every field must be known and of its form.
 * @throws MalformedData
 */
export function parseReceipt(source: Uint8Array | string): ParsedReceipt {
  if (source.length > INPUT_MAX) throw tooLarge();
  const value = parseStrictJson(typeof source === 'string' ? source : decode(source));
  RECEIPT(value, '');
  const document = value as unknown as ReceiptDocument;
  agree(document);
  const canonical = canonicalJson(document);
  if (Buffer.byteLength(canonical) > RECEIPT_BYTES_MAX) throw tooLarge();
  return { document, canonical };
}

const DIGEST_AND_NAME = { digest: multihash, name: text() };

const MEASUREMENT = fields({
  dataQuality: oneOf('T1', 'T2', 'T3', 'T4', 'T5'),
  hadPlan: fields({ ...DIGEST_AND_NAME, id: iri, type: oneOf('Plan'), version: text() }),
  id: iri,
  // One value of each kind.
  result: list(
    fields({
      lower: decimal,
      quantityKind: oneOf(...Object.keys(QUANTITY_UNITS)),
      type: oneOf('QuantityValue'),
      unit: oneOf(...Object.values(QUANTITY_UNITS)),
      upper: decimal,
      value: decimal,
    }),
    1,
    Object.keys(QUANTITY_UNITS).length,
  ),
  software: text(),
  type: exactly('Activity', 'Measurement'),
  // Five kinds of input today; a computation over several sites or hours has several of one.
  used: list(
    fields(
      { ...DIGEST_AND_NAME, type: oneOf(...Object.values(INPUT_TYPES)) },
      { record: carriedRecord },
    ),
    0,
    64,
  ),
});

const INFERENCE = fields(
  {
    id: iri,
    model: text(),
    organisation: iri,
    region: text(),
    route: oneOf('chat.completions', 'completions', 'embeddings'),
    startedAt: dateTime,
    type: exactly('Activity', 'Inference'),
  },
  {
    attempts: wholeNumber,
    cachedInputTokens: wholeNumber,
    endedAt: dateTime,
    gridZone: text(),
    inputTokens: wholeNumber,
    measuredJoules: decimal,
    modelVersion: text(),
    outcome: oneOf('complete', 'partial', 'truncated', 'refused'),
    outputTokens: wholeNumber,
    policy: fields({ rule: text(), version: text() }),
    requestDigest: multihash,
    responseDigest: multihash,
    salt: saltText,
    usageSource: oneOf('upstream', 'counted'),
  },
);

const PROOF = fields(
  {
    '@context': list(iri, 1, 4),
    created: dateTime,
    // The values that may stand in these are `verifyReceipt`'s business, so that it can say which is wrong.
    cryptosuite: text(),
    proofPurpose: text(),
    proofValue: text(),
    type: text(),
    verificationMethod: iri,
  },
  { expires: dateTime },
);

const RECEIPT_TYPE: Check = (value, path) => {
  const recalculated = Array.isArray(value) && value.length === 3 ? ['RecalculatedReceipt'] : [];
  exactly('VerifiableCredential', 'InferenceReceipt', ...recalculated)(value, path);
};

const RECEIPT = fields(
  {
    '@context': list(iri, 1, 4),
    credentialSubject: INFERENCE,
    id: iri,
    issuer: iri,
    tier: oneOf(...PLANS, 'degraded'),
    type: RECEIPT_TYPE,
    validFrom: dateTime,
  },
  {
    degradation: fields(
      {
        code: text(),
        stage: oneOf('model', 'factors', 'computation', 'input', 'timeout', 'issuance'),
      },
      { requestedTier: oneOf(...PLANS) },
    ),
    explanation: text(),
    inclusionPromise: fields({
      log: text(),
      maximumMergeDelay: text(/^PT\d{1,6}S$/, 'seconds as PT10S'),
    }),
    measurement: MEASUREMENT,
    proof: PROOF,
    revisionNumber: wholeNumber,
    revisionReason: text(),
    validUntil: dateTime,
    wasRevisionOf: fields({ digest: multihash, id: iri, leafIndex: wholeNumber }),
  },
);

/** What must hold between fields. A receipt that says two things at once is not evidence of either. */
function agree(document: ReceiptDocument): void {
  const { credentialSubject: subject, degradation, explanation, measurement } = document;
  const degraded = document.tier === 'degraded';
  const refused = subject.outcome === 'refused';
  same(degraded, degradation !== undefined, 'degradation', 'goes with the tier degraded');
  same(degraded, explanation !== undefined, 'explanation', 'goes with the tier degraded');
  same(!degraded && !refused, measurement !== undefined, 'measurement', 'goes with an estimate');
  same(refused, subject.policy !== undefined, 'credentialSubject.policy', 'goes with a refusal');
  const issued = degradation?.stage !== 'issuance';
  for (const field of ['endedAt', 'outcome', 'requestDigest', 'salt'] as const) {
    same(
      issued,
      subject[field] !== undefined,
      `credentialSubject.${field}`,
      'goes with every issued receipt',
    );
  }
  for (const field of USAGE_FIELDS) {
    const path = `credentialSubject.${field}`;
    same(
      issued && !refused,
      subject[field] !== undefined,
      path,
      'goes with every request that ran',
    );
  }
  same(
    degraded && issued,
    degradation?.requestedTier !== undefined,
    'degradation.requestedTier',
    'goes with every issued receipt that is degraded',
  );
  const revision = document.type.includes('RecalculatedReceipt');
  for (const field of ['revisionNumber', 'revisionReason', 'wasRevisionOf'] as const) {
    same(revision, document[field] !== undefined, field, 'goes with a recalculated receipt');
  }
  const kinds = measurement?.result.map((quantity) => quantity.quantityKind) ?? [];
  same(true, new Set(kinds).size === kinds.length, 'measurement.result', 'has one value of a kind');
  for (const { quantityKind, unit } of measurement?.result ?? []) {
    same(
      true,
      QUANTITY_UNITS[quantityKind] === unit,
      'measurement.result',
      'has a unit of its kind',
    );
  }
  for (const { digest, name, record } of measurement?.used ?? []) {
    if (record === undefined) continue;
    const actual = multihashOf(hash('sha256', canonicalJson(record), 'base64url'), name);
    same(true, actual === digest, `measurement.used.${name}`, 'carries the record of its digest');
  }
}

const USAGE_FIELDS = [
  'attempts',
  'cachedInputTokens',
  'inputTokens',
  'outputTokens',
  'usageSource',
] as const;

function same(expected: boolean, actual: boolean, path: string, rule: string): void {
  if (expected !== actual) throw new MalformedData('contradiction', path, rule);
}

function decode(bytes: Uint8Array): string {
  try {
    return utf8.decode(bytes);
  } catch {
    throw new MalformedData('not_utf8', '', 'is not UTF-8');
  }
}

function tooLarge(): MalformedData {
  return new MalformedData('too_large', '', `is larger than ${RECEIPT_BYTES_MAX} bytes`);
}
