import {
  type Measurement,
  type Quantity,
  QUANTITY_MAX,
  QUANTITY_MIN,
  QUANTITY_UNITS,
} from '#shared/methodology/measurement.ts';
import { toDecimalString } from '#shared/kernel/decimal.ts';
import { derivationOf, ownInputs } from './derivation.ts';
import type { MeasurementDocument, QuantityDocument } from './document.ts';
import type { ReceiptIssuer } from './issuer.ts';
import { MalformedData } from '#shared/kernel/malformed-data.ts';
import { SOFTWARE } from './software.ts';

/** What is named of the interval in which energy was metered: its content covers requests of others. */
export type MeteredInterval = NonNullable<MeasurementDocument['metered']>;

/** The `measurement` of a receipt with this ULID, of the request at this address. Fields in canonical order. */
export function measurementDocument(
  issuer: ReceiptIssuer,
  ulid: string,
  measurement: Measurement,
  request: string,
  metered?: MeteredInterval,
): MeasurementDocument {
  const { id, version } = measurement.methodology;
  const { digest } = derivationOf(issuer, measurement);
  return {
    dataQuality: measurement.dataQuality,
    derivation: issuer.derivations + digest,
    id: `${issuer.measurements}msr_${ulid}`,
    ...(metered === undefined
      ? {}
      : { metered: { digest: metered.digest, from: metered.from, to: metered.to } }),
    qualifiedAssociation: {
      agent: issuer.did,
      hadPlan: `${issuer.methodologies}${id}/${version}`,
      type: 'Association',
    },
    result: measurement.results.map(quantityDocument),
    software: SOFTWARE,
    type: ['Activity', 'Measurement'],
    used: ownInputs(measurement),
    wasInformedBy: request,
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
