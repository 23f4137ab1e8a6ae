import { utf8Length } from '#primitives';
import { canonicalJson } from '#shared/kernel/canonical-json.ts';
import { compareDecimals } from '#shared/kernel/decimal.ts';
import { parseStrictJson } from '#shared/kernel/json-reader.ts';
import { ran } from '#shared/kernel/inference.ts';
import { MalformedData } from '#shared/kernel/malformed-data.ts';
import { MULTIHASH_PATTERN } from '#shared/kernel/multihash.ts';
import { shapeOf } from '#shared/kernel/shape.ts';
import { ATTEMPTS_MAX } from '#shared/methodology/request-figures.ts';
import { QUANTITY_UNITS } from '#shared/methodology/measurement.ts';
import {
  formatOfContext,
  isOfUnknownFormat,
  NOTHING_CHECKED,
  RECEIPT_FORMAT,
  type ReceiptFormat,
  VC_CONTEXT_URL,
} from './context.ts';
import { RECEIPT_BYTES_MAX, type ReceiptDocument } from './document.ts';
import { type Condition, type ConditionalField, conditionalFields } from './fields.ts';
import { FORMAT_1 } from './format-1.ts';
import { STATED } from './stated-fields.ts';

/** Room for white space: a receipt that was printed for people still reads. */
const INPUT_MAX = 4 * RECEIPT_BYTES_MAX;

/** What is told of a context that is not known. */
const CONTEXT_CHARS_MAX = 200;

const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

/** A receipt that was read, with its canonical form: the bytes that are stored, sent and logged. */
export interface ParsedReceipt {
  document: ReceiptDocument;
  canonical: string;
}

const FORMATS = {
  1: { read: shapeOf(FORMAT_1), conditional: conditionalFields(FORMAT_1) },
} as const satisfies Record<ReceiptFormat, unknown>;

/**
 * Formats are told apart by the second context. With one that no format has, a receipt is refused for that before anything
 * else: what it holds may be in order where that context is known. A later format has another context of this kind of name.
 */
function formatOf(value: unknown): (typeof FORMATS)[ReceiptFormat] {
  const contexts = (value as { '@context'?: unknown } | null)?.['@context'];
  const second: unknown = Array.isArray(contexts) ? contexts[1] : undefined;
  const format = formatOfContext(second);
  if (format === undefined && typeof second === 'string' && second !== VC_CONTEXT_URL) {
    if (isOfUnknownFormat(second)) {
      const later = `It says that it is a receipt with the context ${second.slice(0, CONTEXT_CHARS_MAX)}, which this release does not know: ${NOTHING_CHECKED}`;
      throw new MalformedData('unknown_format', '', later);
    }
    const problem = `No receipt was issued with the context ${second.slice(0, CONTEXT_CHARS_MAX)}.`;
    throw new MalformedData('unknown_context', '', problem);
  }
  return FORMATS[format ?? RECEIPT_FORMAT];
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
  checkWhatDidNotRun(document);
  checkSubject(document);
  checkMeasurement(document);
  const canonical = canonicalJson(document);
  if (utf8Length(canonical) > RECEIPT_BYTES_MAX) throw tooLarge();
  return { document, canonical };
}

/** Whether each condition holds of this receipt. */
function conditionsOf(document: ReceiptDocument): Record<Condition, boolean> {
  const { tier, credentialSubject, type } = document;
  const { outcome } = credentialSubject;
  const degraded = tier === 'degraded';
  return {
    refused: outcome === 'refused',
    failed: outcome === 'failed',
    degraded,
    called: outcome !== 'refused',
    ran: ran(outcome),
    estimated: !degraded && ran(outcome),
    revision: (type as readonly string[]).includes('RecalculatedReceipt'),
  };
}

const RULES: Readonly<Record<Condition, string>> = {
  called: 'goes with every request that was not refused',
  ran: 'goes with every request that neither failed nor was refused',
  refused: 'goes with a refusal',
  failed: 'goes with a failure',
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

/** What is known of an answer, or of what was used for one, and of nothing else. */
const OF_ANSWERS: readonly (keyof ReceiptDocument['credentialSubject'])[] = [
  'answerId',
  'statedJoules',
  ...STATED.filter(({ ifRan }) => ifRan).map(({ as }) => as),
];
/** What may be known of calls of which nothing came. */
const OF_CALLS: ReadonlySet<string> = new Set(['statedJoules', 'queuedMs', 'upstreamMs']);

/** What failed or was refused states nothing of an answer, and no estimate is owed to it. */
function checkWhatDidNotRun({ credentialSubject: subject, degradation }: ReceiptDocument): void {
  const { outcome } = subject;
  if (ran(outcome)) return;
  for (const field of OF_ANSWERS) {
    if (outcome === 'failed' && OF_CALLS.has(field)) continue;
    require(subject[field] === undefined, `credentialSubject.${field}`, RULES.ran);
  }
  require(degradation === undefined, 'degradation', RULES.ran);
}

/** Tokens are there, or why they are not; a reason or an interval goes with what it is of. */
function checkSubject({ credentialSubject: subject, degradation }: ReceiptDocument): void {
  const path = (field: string): string => `credentialSubject.${field}`;
  const { usageSource, inputTokens, cachedInputTokens, outputTokens, outcome } = subject;
  const { usageReason, tokenizer, extrapolated, tokenInterval } = subject;
  const unknown = usageSource === 'unknown';
  const counted = usageSource !== undefined && !unknown;
  const { attempts = 1 } = subject;
  require(attempts <= ATTEMPTS_MAX, path('attempts'), `is at most ${ATTEMPTS_MAX}`);
  // Of the prompt alone they may be known without an answer.
  const mayHavePrompt = unknown || outcome === 'failed';
  for (const [field, value] of Object.entries({ inputTokens, cachedInputTokens, outputTokens })) {
    if (field === 'inputTokens' && mayHavePrompt) continue;
    require(counted === (value !== undefined), path(field), 'is there where it is known');
  }
  const isPart = cachedInputTokens === undefined || cachedInputTokens <= inputTokens!;
  require(isPart, path('cachedInputTokens'), 'is a part of inputTokens');
  if (unknown) {
    require(degradation !== undefined, path('usageSource'), 'goes with no estimate');
  }
  const hasReason = unknown
    ? usageReason !== undefined && usageReason !== 'overruled'
    : usageReason === undefined || (usageReason === 'overruled' && usageSource === 'counted');
  require(hasReason, path('usageReason'), 'goes with what is unknown, or was counted instead');
  const isCounted = usageSource === 'counted' || (mayHavePrompt && inputTokens !== undefined);
  require(isCounted === (tokenizer !== undefined), path('tokenizer'), 'goes with a count');
  const isBounded = extrapolated === undefined || tokenInterval !== undefined;
  require(isBounded, path('extrapolated'), 'goes with an interval');
  if (tokenInterval === undefined) return;
  const { inputLower, inputUpper, outputLower, outputUpper } = tokenInterval;
  const holds =
    usageSource === 'counted' &&
    inputLower <= inputTokens! &&
    inputTokens! <= inputUpper &&
    outputLower <= outputTokens! &&
    outputTokens! <= outputUpper;
  require(holds, path('tokenInterval'), 'holds the counts that it is of');
}

const QUANTITIES = Object.entries(QUANTITY_UNITS)
  .map(([kind, unit]) => `${kind} ${unit}`)
  .join();
const DERIVATION = new RegExp(`/derivations/${MULTIHASH_PATTERN.slice(1)}`);

/** What must hold between the fields of a measurement. */
function checkMeasurement({ measurement, credentialSubject, issuer }: ReceiptDocument): void {
  if (measurement === undefined) return;
  const { derivation, qualifiedAssociation, used, wasInformedBy } = measurement;
  const path = 'measurement';
  require(wasInformedBy === credentialSubject.id, `${path}.wasInformedBy`, 'is the inference');
  const { agent } = qualifiedAssociation;
  require(agent === issuer, `${path}.qualifiedAssociation.agent`, 'is the issuer');
  require(DERIVATION.test(derivation), `${path}.derivation`, 'ends in /derivations/ and a digest');
  const own = used.map(({ type }) => type).join(' ');
  const fits = own === 'UsageRecord' || own === 'UsageRecord GridFactor';
  require(fits, `${path}.used`, 'has the usage, then the factor of the hour, and nothing else');
  const stated = measurement.result.map(({ quantityKind, unit }) => `${quantityKind} ${unit}`);
  require(stated.join() ===
    QUANTITIES, `${path}.result`, 'has each kind once, in order, in its unit');
  for (const { quantityKind, lower, value, upper } of measurement.result) {
    const isWithin = compareDecimals(lower, value) <= 0 && compareDecimals(value, upper) <= 0;
    require(isWithin, `${path}.result.${quantityKind}`, 'has its value between its bounds');
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
