import { utf8Length } from '#primitives';
import { canonicalJson, digestOf } from '#shared/kernel/canonical-json.ts';
import { parseStrictJson } from '#shared/kernel/json-reader.ts';
import { MalformedData } from '#shared/kernel/malformed-data.ts';
import { MULTIHASH_PATTERN, multihashOf } from '#shared/kernel/multihash.ts';
import { shapeOf } from '#shared/kernel/shape.ts';
import { QUANTITY_UNITS } from '#shared/methodology/measurement.ts';
import { isFormat1Context } from './context.ts';
import { type InferenceDocument, RECEIPT_BYTES_MAX, type ReceiptDocument } from './document.ts';
import { type Condition, type ConditionalField, conditionalFields } from './fields.ts';
import { FORMAT_1 } from './format-1.ts';
import { FORMAT_2 } from './format-2.ts';

/** Room for white space: a receipt that was printed for people still reads. */
const INPUT_MAX = 4 * RECEIPT_BYTES_MAX;

const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

/** A receipt that was read, with its canonical form: the bytes that are stored, sent and logged. */
export interface ParsedReceipt {
  document: ReceiptDocument;
  canonical: string;
}

const FORMATS = {
  1: { read: shapeOf(FORMAT_1), conditional: conditionalFields(FORMAT_1) },
  2: { read: shapeOf(FORMAT_2), conditional: conditionalFields(FORMAT_2) },
} as const;

/** Receipts of the two formats are told apart by their second context. One that neither has is refused by who verifies. */
function formatOf(value: unknown): (typeof FORMATS)[1 | 2] {
  const contexts = (value as { '@context'?: unknown } | null)?.['@context'];
  const second: unknown = Array.isArray(contexts) ? contexts[1] : undefined;
  return FORMATS[isFormat1Context(second) ? 1 : 2];
}

/**
 * Reads an untrusted receipt, signed or not. White space and the order of fields do not matter (the signature is over
 * the canonical form); every field must be known and of its form.
 * @throws MalformedData
 */
export function parseReceipt(source: Uint8Array | string): ParsedReceipt {
  if (source.length > INPUT_MAX) throw tooLarge();
  const value = parseStrictJson(typeof source === 'string' ? source : decode(source));
  const { read, conditional } = formatOf(value);
  const document: ReceiptDocument = read(value);
  checkPresence(document, conditional);
  checkSubject(document);
  checkMeasurement(document);
  const canonical = canonicalJson(document);
  if (utf8Length(canonical) > RECEIPT_BYTES_MAX) throw tooLarge();
  return { document, canonical };
}

/** Whether each condition holds of this receipt. */
function conditionsOf(document: ReceiptDocument): Record<Condition, boolean> {
  const { tier, credentialSubject, degradation, type } = document;
  const refused = credentialSubject.outcome === 'refused';
  const degraded = tier === 'degraded';
  const issued = degradation?.stage !== 'issuance';
  return {
    issued,
    refused,
    degraded,
    ran: issued && !refused,
    estimated: !degraded && !refused,
    revision: (type as readonly string[]).includes('RecalculatedReceipt'),
  };
}

const RULES: Readonly<Record<Condition, string>> = {
  issued: 'goes with every receipt that was issued',
  ran: 'goes with every request that ran',
  refused: 'goes with a refusal',
  estimated: 'goes with an estimate',
  degraded: 'goes with the tier degraded',
  revision: 'goes with a recalculated receipt',
};

/** A receipt that says two things at once is not evidence of either. */
function checkPresence(document: ReceiptDocument, conditional: readonly ConditionalField[]): void {
  const holds = conditionsOf(document);
  for (const { holder, field, path, condition } of conditional) {
    const within = holder === undefined ? document : document[holder as keyof ReceiptDocument];
    if (within === undefined) continue;
    require(holds[condition] === Object.hasOwn(within as object, field), path, RULES[condition]);
  }
}

/** A receipt that was issued: its tokens are there, or why they are not; a reason or an interval goes with what it is of. */
function checkSubject({ credentialSubject: subject, degradation }: ReceiptDocument): void {
  const path = (field: string): string => `credentialSubject.${field}`;
  const { usageSource, inputTokens, cachedInputTokens, outputTokens } = subject;
  const unknown = usageSource === 'unknown';
  const counted = usageSource !== undefined && !unknown;
  for (const [field, value] of Object.entries({ inputTokens, cachedInputTokens, outputTokens })) {
    if (field === 'inputTokens' && unknown) continue;
    require(counted === (value !== undefined), path(field), 'is there where it is known');
  }
  if (unknown) {
    require(degradation !== undefined, path('usageSource'), 'goes with no estimate');
  }
  const more: Partial<InferenceDocument> = subject;
  require(unknown === (more.usageReason !== undefined), path('usageReason'), 'goes with unknown');
  if (more.tokenizer !== undefined) {
    require(usageSource !== 'upstream' && usageSource !== undefined, path(
      'tokenizer',
    ), 'goes with a count');
  }
  const isBounded = more.extrapolated === undefined || more.tokenInterval !== undefined;
  require(isBounded, path('extrapolated'), 'goes with an interval');
  if (more.tokenInterval === undefined) return;
  const { inputLower, inputUpper, outputLower, outputUpper } = more.tokenInterval;
  const holds =
    usageSource === 'counted' &&
    inputLower <= inputTokens! &&
    inputTokens! <= inputUpper &&
    outputLower <= outputTokens! &&
    outputTokens! <= outputUpper;
  require(holds, path('tokenInterval'), 'holds the counts that it is of');
}

const DERIVATION = new RegExp(`/derivations/${MULTIHASH_PATTERN.slice(1)}`);

/** What must hold between the fields of a measurement. */
function checkMeasurement({ measurement, credentialSubject, issuer }: ReceiptDocument): void {
  if (measurement === undefined) return;
  if ('derivation' in measurement) {
    const { derivation, qualifiedAssociation, used, wasInformedBy } = measurement;
    const path = 'measurement';
    require(wasInformedBy === credentialSubject.id, `${path}.wasInformedBy`, 'is the inference');
    const { agent } = qualifiedAssociation;
    require(agent === issuer, `${path}.qualifiedAssociation.agent`, 'is the issuer');
    require(DERIVATION.test(
      derivation,
    ), `${path}.derivation`, 'ends in /derivations/ and a digest');
    const own = used.map(({ type }) => type).join(' ');
    const fits = own === 'UsageRecord' || own === 'UsageRecord GridFactor';
    require(fits, `${path}.used`, 'has the usage, then the factor of the hour, and nothing else');
  }
  const kinds = new Set<string>();
  for (const { quantityKind, unit } of measurement.result) {
    require(!kinds.has(quantityKind), 'measurement.result', 'has one value of a kind');
    require(QUANTITY_UNITS[quantityKind] === unit, 'measurement.result', 'has a unit of its kind');
    kinds.add(quantityKind);
  }
  for (const input of measurement.used) {
    if (!('digest' in input) || input.record === undefined) continue;
    const { digest, name, record } = input;
    const path = `measurement.used.${name}`;
    require(multihashOf(digestOf(record)) === digest, path, 'carries the record of its digest');
  }
}

function require(holds: boolean, path: string, rule: string): void {
  if (!holds) throw new MalformedData('contradiction', path, rule);
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
