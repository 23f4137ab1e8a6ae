import type { Measurement, MeasurementInput, Quantity } from '#shared/methodology/measurement.ts';
import { decimalText } from './decimal.ts';
import { digestMultibase } from './digest.ts';
import {
  INPUT_TYPES,
  type InputDocument,
  type MeasurementDocument,
  type QuantityDocument,
  QUANTITY_UNITS,
} from './document.ts';
import type { ReceiptIssuer } from './issuer.ts';
import { ReceiptRefusal } from './refusal.ts';
import { SOFTWARE } from './software.ts';

/** Factor records, models and methodologies recur on every receipt; a few hundred digests serve all of them. */
const REMEMBERED_MAX = 1_024;
const remembered = new Map<string, string>();

/** The `measurement` of a receipt with this ULID. Fields in canonical order. */
export function measurementDocument(
  issuer: ReceiptIssuer,
  ulid: string,
  measurement: Measurement,
): MeasurementDocument {
  const { id, version, digest } = measurement.methodology;
  return {
    dataQuality: measurement.dataQuality,
    hadPlan: {
      digest: recurringDigest(digest, 'measurement.hadPlan.digest'),
      id: `${issuer.methodologies}${id}/${version}`,
      name: id,
      type: 'Plan',
      version,
    },
    id: `${issuer.measurements}msr_${ulid}`,
    result: measurement.results.map(quantityDocument),
    software: SOFTWARE,
    type: ['Activity', 'Measurement'],
    used: measurement.inputs.map(inputDocument),
  };
}

function quantityDocument(quantity: Quantity): QuantityDocument {
  const { name, unit, lower, value, upper } = quantity;
  const path = `measurement.result.${name}`;
  if (QUANTITY_UNITS[name] !== unit) {
    throw new ReceiptRefusal('wrong_value', path, `is stated in ${QUANTITY_UNITS[name]}`);
  }
  if (!(lower <= value && value <= upper)) {
    throw new ReceiptRefusal('contradiction', path, 'the value must lie between its bounds');
  }
  return {
    lower: decimalText(lower, path),
    quantityKind: name,
    type: 'QuantityValue',
    unit,
    upper: decimalText(upper, path),
    value: decimalText(value, path),
  };
}

function inputDocument(input: MeasurementInput): InputDocument {
  // What was used of a request is its own; only records of the factor set and the catalogue recur.
  const toMultibase = input.kind === 'usage' ? digestMultibase : recurringDigest;
  const digest = toMultibase(input.digest, 'measurement.used.digest');
  const { id: name, kind, record } = input;
  const type = INPUT_TYPES[kind];
  return record === undefined ? { digest, name, type } : { digest, name, record, type };
}

function recurringDigest(digest: string, path: string): string {
  const known = remembered.get(digest);
  if (known !== undefined) return known;
  const text = digestMultibase(digest, path);
  if (remembered.size >= REMEMBERED_MAX) remembered.clear();
  remembered.set(digest, text);
  return text;
}
