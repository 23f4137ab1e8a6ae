import { canonicalJson, digestOf } from '#shared/kernel/canonical-json.ts';
import { parseStrictJson } from '#shared/kernel/json-reader.ts';
import { MalformedData } from '#shared/kernel/malformed-data.ts';
import { multihashOf } from '#shared/kernel/multihash.ts';
import { shapeOf } from '#shared/kernel/shape.ts';
import { QUANTITY_UNITS } from '#shared/methodology/measurement.ts';
import { RECEIPT_BYTES_MAX, type ReceiptDocument } from './document.ts';
import { type Condition, conditionalFields } from './fields.ts';
import { FORMAT_1 } from './format-1.ts';

/** Room for white space: a receipt that was printed for people still reads. */
const INPUT_MAX = 4 * RECEIPT_BYTES_MAX;

const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

/** A receipt that was read, with its canonical form: the bytes that are stored, sent and logged. */
export interface ParsedReceipt {
  document: ReceiptDocument;
  canonical: string;
}

const receiptOf = shapeOf(FORMAT_1);

/**
 * Reads an untrusted receipt, signed or not. White space and the order of fields do not matter (the signature is over
 * the canonical form); every field must be known and of its form.
 * @throws MalformedData
 */
export function parseReceipt(source: Uint8Array | string): ParsedReceipt {
  if (source.length > INPUT_MAX) throw tooLarge();
  const document = receiptOf(parseStrictJson(typeof source === 'string' ? source : decode(source)));
  checkPresence(document);
  checkMeasurement(document);
  const canonical = canonicalJson(document);
  if (Buffer.byteLength(canonical) > RECEIPT_BYTES_MAX) throw tooLarge();
  return { document, canonical };
}

const CONDITIONAL = conditionalFields(FORMAT_1);

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
function checkPresence(document: ReceiptDocument): void {
  const holds = conditionsOf(document);
  for (const { holder, field, path, condition } of CONDITIONAL) {
    const within = holder === undefined ? document : document[holder as keyof ReceiptDocument];
    if (within === undefined) continue;
    require(holds[condition] === Object.hasOwn(within as object, field), path, RULES[condition]);
  }
}

/** What must hold between the fields of a measurement. */
function checkMeasurement({ measurement }: ReceiptDocument): void {
  if (measurement === undefined) return;
  const kinds = new Set<string>();
  for (const { quantityKind, unit } of measurement.result) {
    require(!kinds.has(quantityKind), 'measurement.result', 'has one value of a kind');
    require(QUANTITY_UNITS[quantityKind] === unit, 'measurement.result', 'has a unit of its kind');
    kinds.add(quantityKind);
  }
  for (const { digest, name, record } of measurement.used) {
    if (record === undefined) continue;
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
