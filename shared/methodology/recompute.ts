import type { Measurement, MeasurementInput } from './measurement.ts';
import { toDecimalString } from '#shared/kernel/decimal.ts';
import type { EstimateInput, Methodology } from './methodology.ts';

/** A measurement as a receipt states it: digests in base64url, quantities as decimal strings. */
export interface StatedMeasurement {
  readonly methodology: Measurement['methodology'];
  readonly inputs: readonly MeasurementInput[];
  readonly results: readonly StatedQuantity[];
  readonly dataQuality: string;
}

interface StatedQuantity {
  readonly name: string;
  readonly unit: string;
  readonly value: string;
  readonly lower: string;
  readonly upper: string;
}

/** Where a stated measurement and a recomputed one part. */
export interface Difference {
  /** E.g. `results.gwp.upper` or `inputs[3].grid.FRA`. */
  readonly path: string;
  /** Undefined where one side has nothing. */
  readonly stated: string | undefined;
  readonly recomputed: string | undefined;
}

export interface Recomputation {
  readonly measurement: Measurement;
  /** Empty when the measurement was reproduced, character for character. */
  readonly differences: readonly Difference[];
}

/**
 * Estimates again and compares everything that is stated: methodology, inputs by digest, results by their text.
 * Throws MethodologyFailure when the methodology gives no estimate for the input.
 */
export function recompute(
  input: EstimateInput,
  methodology: Methodology,
  stated: StatedMeasurement,
): Recomputation {
  const measurement = methodology.estimate(input);
  const before = statements(stated);
  const after = statements(statedForm(measurement));
  const differences = [...new Set([...before.keys(), ...after.keys()])]
    .filter((path) => before.get(path) !== after.get(path))
    .map((path) => ({ path, stated: before.get(path), recomputed: after.get(path) }));
  return { measurement, differences };
}

/** Whether `recompute` finds no difference, in a part of its time: for packs of a million. Throws what it throws. */
export function isReproduced(
  input: EstimateInput,
  methodology: Methodology,
  stated: StatedMeasurement,
): boolean {
  const { inputs, results, dataQuality, methodology: of } = statedForm(methodology.estimate(input));
  const { id, version, digest } = stated.methodology;
  return (
    dataQuality === stated.dataQuality &&
    of.digest === digest &&
    of.id === id &&
    of.version === version &&
    inputs.length === stated.inputs.length &&
    inputs.every((each, i) => {
      const other = stated.inputs[i]!;
      return each.digest === other.digest && each.id === other.id && each.kind === other.kind;
    }) &&
    results.length === stated.results.length &&
    results.every((each, i) => {
      const other = stated.results[i]!;
      return (
        each.value === other.value &&
        each.lower === other.lower &&
        each.upper === other.upper &&
        each.name === other.name &&
        each.unit === other.unit
      );
    })
  );
}

/** A measurement in the form in which a receipt states it. */
export function statedForm(measurement: Measurement): StatedMeasurement {
  const { methodology, inputs, results, dataQuality } = measurement;
  return {
    methodology,
    inputs,
    dataQuality,
    results: results.map(({ name, unit, value, lower, upper }) => ({
      name,
      unit,
      value: toDecimalString(value),
      lower: toDecimalString(lower),
      upper: toDecimalString(upper),
    })),
  };
}

/** Everything that a measurement states, under a path each. */
function statements(stated: StatedMeasurement): ReadonlyMap<string, string> {
  const { id, version, digest } = stated.methodology;
  return new Map([
    ['methodology.id', id],
    ['methodology.version', version],
    ['methodology.digest', digest],
    ['dataQuality', stated.dataQuality],
    // Numbered: a site can be both declared by the catalogue and on record, under one name.
    ...stated.inputs.map(
      (input, index) => [`inputs[${index}].${input.kind}.${input.id}`, input.digest] as const,
    ),
    ...stated.results.flatMap(({ name, unit, value, lower, upper }) => [
      [`results.${name}.unit`, unit] as const,
      [`results.${name}.value`, value] as const,
      [`results.${name}.lower`, lower] as const,
      [`results.${name}.upper`, upper] as const,
    ]),
  ]);
}
