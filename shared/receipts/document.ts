import type { MethodologyFailure } from '#shared/methodology/measurement.ts';
import type { Static } from 'typebox';
import type { FORMAT_1 } from './format-1.ts';
import type { Input, Proof } from './parts.ts';

/** At most this many canonical bytes: a length that fits 16 bits, as C2SP tlog-tiles asks of an entry. */
export const RECEIPT_BYTES_MAX = 65_535;

/** Characters of a name or an address; the longest real one is a context's URL of about 150. */
export const TEXT_MAX = 1_024;

/** Seconds from the signing of a receipt until a signed checkpoint includes it. */
export const MAXIMUM_MERGE_DELAY_SECONDS = 10;

/** The names that inputs have in a receipt, by `MeasurementInput.kind`. */
export const INPUT_TYPES = {
  usage: 'UsageRecord',
  model: 'ModelRecord',
  grid: 'GridFactor',
  site: 'SiteFactor',
  hardware: 'HardwareRecord',
} as const;

/** A receipt as it is issued. What builds one keeps the order of RFC 8785, so `JSON.stringify` of it is its canonical form. */
export type ReceiptDocument = Static<typeof FORMAT_1>;

/** The inference, a `prov:Activity`. */
export type InferenceDocument = ReceiptDocument['credentialSubject'];
export type MeasurementDocument = NonNullable<ReceiptDocument['measurement']>;
/** One `qudt:QuantityValue`. */
export type QuantityDocument = MeasurementDocument['result'][number];
/** One input; the canonical JSON of its `record` hashes to its `digest`. */
export type InputDocument = Static<typeof Input>;
export type ProofDocument = Static<typeof Proof>;

/** Why there is no estimate: `code` is stable, e.g. `model_size_unknown`. */
export type Degradation = Pick<MethodologyFailure, 'code' | 'stage'>;
