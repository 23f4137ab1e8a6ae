import type { Footprint } from '#shared/catalogue/catalogue.ts';
import { type CarriedRecord, type DataQuality, MethodologyFailure } from './measurement.ts';
import { toExactDecimalString } from '#shared/kernel/decimal.ts';
import type { Recorder } from './derivation.ts';
import { DOCKET_UNCERTAINTY, type UncertaintyFactor } from './docket-1-bounds.ts';
import { DOCKET_FORMULAS } from './docket-1-formulas.ts';
import type { FactorIndex } from './factor-index.ts';
import {
  type KvLayout,
  type ModelClassRecord,
  type ModelRecord,
  type Precision,
  PRECISIONS,
  SIZE_B_MAX,
  type ValueOrRange,
} from './factor-set.ts';
import type { Formula } from './formula.ts';
import type { Figure, InputList } from './input-list.ts';

/** The fit was made on batches up to 2,000; no replica runs more than this. */
const BATCH_MAX = 100_000;
const GPUS_MAX = 10_000;

/** What is known of a model's size, and how well. */
export interface ModelSize {
  /** Billions of parameters. */
  readonly active: number;
  readonly total: number;
  readonly quality: DataQuality;
  /** Undefined where the size is published or declared. */
  readonly doubt: UncertaintyFactor | undefined;
  readonly released: Precision | undefined;
  readonly kv: KvLayout | undefined;
}

/**
 * The size of a model: its record in the factor set, else the size that the catalogue declares, else nothing.
 * A size is never invented: a reference that leads nowhere fails.
 * Throws MethodologyFailure at stage `model`: `footprint_invalid`, `model_record_unknown`.
 */
export function modelSize(
  model: { readonly id: string; readonly footprint: Footprint },
  index: FactorIndex,
  inputs: InputList,
  recorder: Recorder | undefined,
): ModelSize | undefined {
  const { footprint } = model;
  checkFootprint(footprint);
  const { ref } = footprint;
  const record = ref === undefined ? undefined : index.model(ref);
  if (record !== undefined) return recorded(record, footprint, inputs, recorder);
  const group = ref === undefined ? undefined : index.modelClass(ref);
  if (group !== undefined) return ofClass(group, inputs, recorder);
  const size = declared(model, inputs, recorder);
  if (ref === undefined) return size;
  if (size === undefined) {
    throw new MethodologyFailure(
      'model',
      'model_record_unknown',
      `the factor set has no model ${ref}`,
    );
  }
  recorder?.warn(
    'model_record_unknown',
    `The factor set has no model ${ref}; the declared size is used.`,
  );
  return size;
}

function recorded(
  record: ModelRecord,
  footprint: Footprint,
  inputs: InputList,
  recorder: Recorder | undefined,
): ModelSize {
  inputs.fromSet('model', record, () => [
    ...figures('P_a', 'active_b', 'active parameters', record.active_b),
    ...figures('P_t', 'total_b', 'total parameters', record.total_b),
    ...(record.kv === undefined ? [] : attentionFigures(record.kv)),
  ]);
  const guessed = record.confidence === 'guess';
  return {
    active: middle(record.active_b, DOCKET_FORMULAS.active, recorder),
    total: middle(record.total_b, DOCKET_FORMULAS.total, recorder),
    quality: guessed ? 'T4' : footprint.gpus === undefined ? 'T3' : 'T2',
    doubt: guessed ? DOCKET_UNCERTAINTY.size : undefined,
    released: record.released_precision,
    kv: record.kv,
  };
}

function ofClass(
  record: ModelClassRecord,
  inputs: InputList,
  recorder: Recorder | undefined,
): ModelSize {
  inputs.fromSet('model', record, () => [
    ...figures('P_a', 'active_b', 'active parameters', record.active_b),
    ...figures('P_t', 'total_b', 'total parameters', record.total_b),
  ]);
  recorder?.warn('model_class_default', `Only the model's class is known: ${record.name}.`);
  return {
    active: record.active_b,
    total: record.total_b,
    quality: 'T5',
    doubt: {
      id: 'size_of_class',
      factor: record.size_factor,
      basis: record.basis,
      sources: ['S1'],
    },
    released: undefined,
    kv: undefined,
  };
}

/** One count stands for both: then the model is taken to be dense, which is a guess (T4). */
function declared(
  model: { readonly id: string; readonly footprint: Footprint },
  inputs: InputList,
  recorder: Recorder | undefined,
): ModelSize | undefined {
  const { activeB, totalB, gpus } = model.footprint;
  const active = activeB ?? totalB;
  const total = totalB ?? activeB;
  // Keys in canonical order, as in every record that a receipt carries.
  const record: CarriedRecord = {
    ...(activeB === undefined ? {} : { active_b: toExactDecimalString(activeB) }),
    declared_by: 'catalogue',
    id: model.id,
    ...(totalB === undefined ? {} : { total_b: toExactDecimalString(totalB) }),
  };
  if (active === undefined || total === undefined) {
    inputs.carried('model', model.id, record, () => []);
    return undefined;
  }
  inputs.carried('model', model.id, record, () => [
    ...figures('P_a', 'active_b', 'active parameters', active),
    ...figures('P_t', 'total_b', 'total parameters', total),
  ]);
  const whole = activeB !== undefined && totalB !== undefined;
  if (!whole) {
    recorder?.warn(
      'architecture_assumed_dense',
      'Only one parameter count is declared; the model is taken to be dense.',
    );
  }
  return {
    active,
    total,
    quality: !whole ? 'T4' : gpus === undefined ? 'T3' : 'T2',
    doubt: whole ? undefined : DOCKET_UNCERTAINTY.size,
    released: undefined,
    kv: undefined,
  };
}

/** Refuses a footprint that cannot be computed with. Throws MethodologyFailure `footprint_invalid`. */
function checkFootprint(footprint: Footprint): void {
  const { activeB, totalB, batch, gpus, precision } = footprint;
  within('active_b', activeB, SIZE_B_MAX);
  within('total_b', totalB, SIZE_B_MAX);
  if (activeB !== undefined && totalB !== undefined && activeB > totalB) {
    throw invalid('active_b is above total_b');
  }
  within('batch', batch, BATCH_MAX);
  if (batch !== undefined && batch < 1) throw invalid('batch must be at least 1');
  within('gpus', gpus, GPUS_MAX);
  if (gpus !== undefined && !Number.isInteger(gpus)) throw invalid('gpus must be a whole number');
  if (precision !== undefined && !PRECISIONS.includes(precision)) {
    throw invalid(`precision must be one of ${PRECISIONS.join(', ')}`);
  }
}

function within(name: string, value: number | undefined, to: number): void {
  if (value !== undefined && !(Number.isFinite(value) && value > 0 && value <= to)) {
    throw invalid(`${name} must be above 0 and at most ${to}`);
  }
}

function invalid(problem: string): MethodologyFailure {
  return new MethodologyFailure('model', 'footprint_invalid', problem);
}

/** The middle of a range is its geometric mean: sizes are uncertain by a factor, not by an amount. */
export function middle(
  value: ValueOrRange,
  formula: Formula,
  recorder: Recorder | undefined,
): number {
  if (typeof value === 'number') return value;
  const result = Math.sqrt(value.min * value.max);
  recorder?.step(formula, result);
  return result;
}

/** A value, or both ends of a range under the names that the formulas use. */
export function figures(
  symbol: string,
  column: string,
  name: string,
  value: ValueOrRange,
): readonly Figure[] {
  const unit = UNITS[column] ?? '10^9';
  if (typeof value === 'number') return [{ symbol, column, name, value, unit }];
  return [
    { symbol: `${symbol}_min`, column, name: `${name}, lower end`, value: value.min, unit },
    { symbol: `${symbol}_max`, column, name: `${name}, upper end`, value: value.max, unit },
  ];
}

const UNITS: Readonly<Record<string, string>> = { pue: '1', wue_l_per_kwh: 'L/kWh' };

function attentionFigures(kv: KvLayout): Figure[] {
  return [
    {
      symbol: 'b_kv',
      name: 'key/value cache per token',
      value: kv.bytes_per_token,
      unit: 'byte',
      cites: kv.sources,
    },
    {
      symbol: 'o_att',
      name: 'operations of attention for a token and one before it',
      value: kv.operations_per_pair,
      unit: '1',
      cites: kv.sources,
    },
  ];
}
