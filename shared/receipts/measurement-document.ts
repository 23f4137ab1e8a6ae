import { multihashOf } from '#shared/kernel/multihash.ts';
import {
  type Measurement,
  type MeasurementInput,
  type Quantity,
  QUANTITY_MAX,
  QUANTITY_MIN,
  QUANTITY_UNITS,
} from '#shared/methodology/measurement.ts';
import { toDecimalString } from '#shared/kernel/decimal.ts';
import {
  INPUT_TYPES,
  type InputDocument,
  type MeasurementDocument,
  type QuantityDocument,
} from './document.ts';
import type { ReceiptIssuer } from './issuer.ts';
import { MalformedData } from '#shared/kernel/malformed-data.ts';
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
    throw new MalformedData('wrong_value', path, `is stated in ${QUANTITY_UNITS[name]}`);
  }
  if (!(lower <= value && value <= upper)) {
    throw new MalformedData('contradiction', path, 'the value must lie between its bounds');
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

/** Any of the fifteen figures, which no methodology gives outside its bounds. */
function decimalText(value: number, path: string): string {
  if (value !== 0 && !(value >= QUANTITY_MIN && value <= QUANTITY_MAX)) {
    throw new MalformedData('wrong_value', path, 'must be 0, or lie between 1e-30 and 1e30');
  }
  return toDecimalString(value);
}

function inputDocument(input: MeasurementInput): InputDocument {
  // What was used of a request is its own; only records of the factor set and the catalogue recur.
  const toMultibase = input.kind === 'usage' ? multihashOf : recurringDigest;
  const digest = toMultibase(input.digest, 'measurement.used.digest');
  const { id: name, kind, record } = input;
  const type = INPUT_TYPES[kind];
  return record === undefined ? { digest, name, type } : { digest, name, record, type };
}

function recurringDigest(digest: string, path: string): string {
  const known = remembered.get(digest);
  if (known !== undefined) return known;
  const text = multihashOf(digest, path);
  if (remembered.size >= REMEMBERED_MAX) remembered.clear();
  remembered.set(digest, text);
  return text;
}
