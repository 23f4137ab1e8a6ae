import type { Catalogue } from '../shared/domain/catalogue.ts';
import type { MeasurementInput } from '../shared/domain/measurement.ts';
import type { JsonObject } from '../shared/domain/methodology/canonical-json.ts';
import type { RecordedInput } from '../shared/domain/methodology/derivation.ts';
import type { EstimateInput } from '../shared/domain/methodology/methodology.ts';
import { rebuildInput } from '../shared/domain/methodology/rebuild.ts';
import type { StatedMeasurement } from '../shared/domain/methodology/recompute.ts';
import {
  INPUT_TYPES,
  type InferenceDocument,
  type MeasurementDocument,
} from '../shared/domain/receipt/document.ts';

/** The two bytes of the multihash, SHA-256 and its length, before the digest. */
const MULTIHASH_PREFIX_BYTES = 2;

const KINDS = new Map<string, MeasurementInput['kind']>(
  (Object.keys(INPUT_TYPES) as MeasurementInput['kind'][]).map((kind) => [INPUT_TYPES[kind], kind]),
);

/** The measurement of a parsed receipt as the methodology knows it. */
export function statedMeasurement(document: MeasurementDocument): StatedMeasurement {
  const { hadPlan, result, dataQuality } = document;
  return {
    methodology: { id: hadPlan.name, version: hadPlan.version, digest: digestIn(hadPlan.digest) },
    inputs: inputsOf(document),
    results: result.map(({ quantityKind: name, unit, value, lower, upper }) => ({
      name,
      unit,
      value,
      lower,
      upper,
    })),
    dataQuality,
  };
}

function inputsOf({ used }: MeasurementDocument): readonly RecordedInput[] {
  return used.map((input) => {
    const { digest, name, type, record } = input as typeof input & { record?: JsonObject };
    const kind = KINDS.get(type)!;
    return {
      kind,
      id: name,
      digest: digestIn(digest),
      ...(record === undefined ? {} : { record }),
    };
  });
}

/** Base64url of the digest inside a multibase multihash (`uEi…`), which the receipt's parser has checked. */
function digestIn(multibase: string): string {
  return Buffer.from(multibase.slice(1), 'base64url')
    .subarray(MULTIHASH_PREFIX_BYTES)
    .toString('base64url');
}

/** What the estimate was made from, by the records that the receipt carries; undefined when it carries none. */
export function inputOnReceipt(document: MeasurementDocument): EstimateInput | undefined {
  const inputs = inputsOf(document);
  return inputs.some(({ record }) => record !== undefined) ? rebuildInput(inputs) : undefined;
}

/**
 * The same from the receipt's account of the request and a catalogue: how the model was served and what the
 * site states stand there. Whether it is the catalogue of that time, the digests tell.
 */
export function inputByCatalogue(subject: InferenceDocument, catalogue: Catalogue): EstimateInput {
  const model = catalogue.models.find(({ id }) => id === subject.model);
  const region = catalogue.regions.find(({ code }) => code === subject.region);
  if (model === undefined) throw new Error(`The catalogue has no model ${subject.model}.`);
  if (region === undefined) throw new Error(`The catalogue has no region ${subject.region}.`);
  const { endedAt, startedAt, route, attempts = 0, usageSource = 'upstream' } = subject;
  const { name: operator, pue, wue } = region.operator;
  return {
    usage: {
      inputTokens: subject.inputTokens ?? 0,
      cachedInputTokens: subject.cachedInputTokens ?? 0,
      outputTokens: subject.outputTokens ?? 0,
      source: usageSource,
    },
    route,
    attempts,
    model: { id: model.id, footprint: model.footprint },
    zone: subject.gridZone ?? region.zone,
    site: {
      operator,
      ...(pue === undefined ? {} : { pue }),
      ...(wue === undefined ? {} : { wue }),
    },
    ...(endedAt === undefined
      ? {}
      : { latencyS: (Date.parse(endedAt) - Date.parse(startedAt)) / 1_000 }),
  };
}
