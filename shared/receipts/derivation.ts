import { utf8Length } from '#primitives';
import Type, { type Static } from 'typebox';
import { isSeen } from '#shared/kernel/characters.ts';
import { canonicalJson, digestOf, digestOfText } from '#shared/kernel/canonical-json.ts';
import { parseStrictJson } from '#shared/kernel/json-reader.ts';
import { MalformedData } from '#shared/kernel/malformed-data.ts';
import { multihashOf } from '#shared/kernel/multihash.ts';
import { shapeOf } from '#shared/kernel/shape.ts';
import type { Measurement, MeasurementInput } from '#shared/methodology/measurement.ts';
import { checkDeployment } from './deployment-records.ts';
import {
  INPUT_TYPES,
  type InputDocument,
  type MeasurementDocument,
  RECEIPT_BYTES_MAX,
} from './document.ts';
import { digest, iri, node, text } from './fields.ts';
import type { ReceiptIssuer } from './issuer.ts';
import { Input, INPUTS_MAX } from './parts.ts';

/**
 * What is the same for every request of a deployment, as a record of its own: the methodology, and every input that is not
 * the request's. Receipts name it by the digest of its canonical JSON.
 */
export const DERIVATION = node(
  {
    inputs: Type.Array(Input, { minItems: 1, maxItems: INPUTS_MAX }),
    methodology: node({
      digest: digest('sec:digestMultibase', 'of its document'),
      id: iri(undefined, 'the address at which it is published'),
      name: text('schema:name', 'e.g. `docket-1`'),
      version: text('schema:version', 'its version'),
    }),
    type: Type.Literal('Derivation'),
    version: Type.Literal(1),
  },
  { title: 'Derivation' },
);

export type DerivationDocument = Static<typeof DERIVATION>;

/** A derivation record as it is stored and published. */
export interface DerivationRecord {
  /** `uEi…`, the multihash of `text`. */
  digest: string;
  /** Canonical JSON. */
  text: string;
}

/** Whether an input is the request's own, which stands on its receipt. */
function isOwn({ kind, record }: MeasurementInput): boolean {
  // An annual factor is of a published set; what is carried is the hour's.
  return kind === 'usage' || (kind === 'grid' && record !== undefined);
}

/** The inputs of a measurement that stand on its receipt, which carries their records. Fields in canonical order. */
export function ownInputs({ inputs }: Measurement): MeasurementDocument['used'] {
  return inputs.filter(isOwn).map(({ kind, id: name, record }) => {
    if (record === undefined) {
      throw new MalformedData('missing_field', 'measurement.used', 'carries its record');
    }
    return { name, record, type: kind === 'usage' ? 'UsageRecord' : 'GridFactor' };
  });
}

/** As a derivation record names an input. Fields in canonical order. */
function inputDocument(input: MeasurementInput): InputDocument {
  const digestText = multihashOf(input.digest, `used.${input.kind}`);
  const { id: name, kind, record } = input;
  const type = INPUT_TYPES[kind];
  return record === undefined
    ? { digest: digestText, name, type }
    : { digest: digestText, name, record, type };
}

/** A deployment has one, and a process few deployments. */
const REMEMBERED_MAX = 4_096;
interface Remembered {
  issuer: ReceiptIssuer;
  measurement: Measurement;
  derivation: DerivationRecord;
}
/** By the first input that is not the request's own: methodologies hand out the same object until a deployment changes. */
let remembered = new Map<MeasurementInput, Remembered>();

/** The derivation record of a measurement; made once for each deployment. */
export function derivationOf(issuer: ReceiptIssuer, measurement: Measurement): DerivationRecord {
  const key = measurement.inputs.find((input) => !isOwn(input));
  const known = key === undefined ? undefined : remembered.get(key);
  if (known?.issuer === issuer && isSameDeployment(known.measurement, measurement)) {
    return known.derivation;
  }
  const derivation = makeDerivation(issuer, measurement);
  if (key !== undefined) {
    if (remembered.size >= REMEMBERED_MAX) remembered = new Map();
    remembered.set(key, { issuer, measurement, derivation });
  }
  return derivation;
}

function isSameDeployment(one: Measurement, other: Measurement): boolean {
  return (
    one.methodology.digest === other.methodology.digest &&
    one.inputs.length === other.inputs.length &&
    one.inputs.every((input, i) => isOwn(input) || input === other.inputs[i])
  );
}

function makeDerivation(issuer: ReceiptIssuer, measurement: Measurement): DerivationRecord {
  const { id, version, digest: of } = measurement.methodology;
  const document: DerivationDocument = {
    inputs: measurement.inputs.filter((input) => !isOwn(input)).map(inputDocument),
    methodology: {
      digest: multihashOf(of, 'derivation.methodology'),
      id: `${issuer.methodologies}${id}/${version}`,
      name: id,
      version,
    },
    type: 'Derivation',
    version: 1,
  };
  const canonical = canonicalJson(document);
  if (utf8Length(canonical) > RECEIPT_BYTES_MAX) throw tooLarge();
  return { digest: multihashOf(digestOfText(canonical)), text: canonical };
}

const derivationOfForm = shapeOf(DERIVATION);

/**
 * Reads an untrusted derivation record of which a receipt gives the digest.
 * @throws MalformedData when it is another one, or none
 */
export function parseDerivation(source: string, digestText: string): DerivationDocument {
  if (source.length > RECEIPT_BYTES_MAX) throw tooLarge();
  if (multihashOf(digestOfText(source)) !== digestText) {
    throw new MalformedData('wrong_value', 'derivation', 'has another digest than receipts name');
  }
  const document = derivationOfForm(parseStrictJson(source));
  if (textsOf(document).some((each) => !isSeen(each)))
    throw new MalformedData('contradiction', 'derivation', 'has a text that is not what it shows');
  for (const { name, digest: of, record } of document.inputs) {
    if (record !== undefined && multihashOf(digestOf(record)) !== of) {
      const path = `derivation.inputs.${name}`;
      throw new MalformedData('contradiction', path, 'carries the record of its digest');
    }
  }
  checkDeployment(document.inputs);
  const { id, name, version } = document.methodology;
  if (!id.endsWith(`/methodologies/${name}/${version}`))
    throw new MalformedData('contradiction', 'derivation.methodology.id', 'ends in its name');
  return document;
}

/** All texts of a document, but for names of members. */
function textsOf(value: unknown): string[] {
  if (typeof value === 'string') return [value];
  return typeof value === 'object' && value !== null ? Object.values(value).flatMap(textsOf) : [];
}

function tooLarge(): MalformedData {
  return new MalformedData('too_large', 'derivation', `is larger than ${RECEIPT_BYTES_MAX} bytes`);
}

/** Derivation records by digest; undefined for one that is not there. */
export type Derivations = (digestText: string) => DerivationDocument | undefined;

/** Where no record is at hand. */
export const NO_DERIVATIONS: Derivations = () => undefined;

/** A methodology as lineage and packs name it. */
interface PlanDocument {
  digest: string;
  id: string;
  name: string;
  type: 'Plan';
  version: string;
}

/** A measurement with everything that its receipt names, in the order in which the methodology used it. */
export interface WholeMeasurement {
  stated: MeasurementDocument;
  hadPlan: PlanDocument;
  used: readonly InputDocument[];
}

/** The digest of the derivation record that a receipt names. */
export function derivationDigest(measurement: MeasurementDocument): string {
  return measurement.derivation.slice(measurement.derivation.lastIndexOf('/') + 1);
}

/**
 * Puts a measurement and its derivation record together.
 * @throws MalformedData `missing_field` when the record is not there, `contradiction` when receipt and record disagree
 */
export function wholeMeasurement(
  stated: MeasurementDocument,
  derivations: Derivations,
): WholeMeasurement {
  const record = derivations(derivationDigest(stated));
  if (record === undefined) {
    const what = `${stated.derivation} is needed to know what the estimate was made from`;
    throw new MalformedData('missing_field', 'measurement.derivation', what);
  }
  const { digest: of, id, name, version } = record.methodology;
  if (stated.qualifiedAssociation.hadPlan !== id) {
    const rule = 'names the methodology of the derivation record';
    throw new MalformedData('contradiction', 'measurement.qualifiedAssociation.hadPlan', rule);
  }
  return {
    stated,
    hadPlan: { digest: of, id, name, type: 'Plan', version },
    used: inOrder(stated.used, record.inputs),
  };
}

/** The usage comes first, and the factor of the hour after the annual one of its zone. */
function inOrder(
  own: MeasurementDocument['used'],
  others: readonly InputDocument[],
): readonly InputDocument[] {
  const whole = own.map((input): InputDocument => {
    return { digest: multihashOf(digestOf(input.record)), ...input };
  });
  const usage = whole.filter(({ type }) => type === 'UsageRecord');
  const hour = whole.filter(({ type }) => type !== 'UsageRecord');
  const annual = others.findIndex(({ type }) => type === 'GridFactor') + 1;
  return [...usage, ...others.slice(0, annual), ...hour, ...others.slice(annual)];
}
