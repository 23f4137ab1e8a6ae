import type { Footprint } from '#shared/catalogue/catalogue.ts';
import { MethodologyFailure } from '#shared/methodology/measurement.ts';
import { estimateEcologits } from '#shared/methodology/ecologits.ts';
import { PRECISIONS } from '#shared/methodology/factor-set.ts';
import type { EstimateInput, Methodology } from '#shared/methodology/methodology.ts';

/** Gives the result of one line. Throws MethodologyFailure. */
export type Profile = (fields: Readonly<Record<string, unknown>>) => object;

/** The profiles of `docket estimate`, by id. */
export function profiles(current: Methodology): ReadonlyMap<string, Profile> {
  return new Map<string, Profile>([
    ['docket-1', (fields) => estimateDocket(fields, current)],
    ['ecologits-0.11.2', (fields) => estimateEcologits(fields)],
  ]);
}

/** The answer to a line: the result, or why there is none. An `id` on the line comes back first. */
export function answerTo(value: unknown, profile: Profile): object {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    return { error: { code: 'line_not_an_object', message: 'A line must hold one JSON object.' } };
  }
  const { id, ...fields } = value as Record<string, unknown>;
  const named = id === undefined ? {} : { id };
  try {
    return { ...named, ...profile(fields) };
  } catch (error) {
    if (!(error instanceof MethodologyFailure)) throw error;
    const { stage, code, message } = error;
    return { ...named, error: { code, stage, message } };
  }
}

/** Totals stand under the names that both profiles share; `results` holds them again with their bounds. */
function estimateDocket(
  fields: Readonly<Record<string, unknown>>,
  methodology: Methodology,
): object {
  const derivation = methodology.explain(inputOf(fields));
  const value = (name: string): number | undefined =>
    derivation.results.find((quantity) => quantity.name === name)?.value;
  return {
    energy_kwh: value('energy'),
    gwp_kgco2eq: value('gwp'),
    adpe_kgsbeq: value('adpe'),
    adpf_mj: value('adpf'),
    wcf_l: value('water'),
    results: derivation.results,
    data_quality: derivation.dataQuality,
    methodology: derivation.methodology,
    inputs: derivation.inputs.map(({ kind, id, digest }) => ({ kind, id, digest })),
    warnings: derivation.warnings.map(({ code }) => code),
  };
}

const FIELDS: Readonly<Record<string, 'number' | 'string'>> = {
  model: 'string',
  active_b: 'number',
  total_b: 'number',
  precision: 'string',
  batch: 'number',
  input_tokens: 'number',
  cached_input_tokens: 'number',
  output_tokens: 'number',
  latency_s: 'number',
  zone: 'string',
  pue: 'number',
  wue: 'number',
};

interface Line {
  readonly model?: string;
  readonly active_b?: number;
  readonly total_b?: number;
  readonly precision?: Footprint['precision'];
  readonly batch?: number;
  readonly input_tokens: number;
  readonly cached_input_tokens?: number;
  readonly output_tokens: number;
  readonly latency_s?: number;
  readonly zone: string;
  readonly pue?: number;
  readonly wue?: number;
}

/** The fields of the contract; values are checked by the methodology, their presence and types here. */
function inputOf(fields: Readonly<Record<string, unknown>>): EstimateInput {
  check(fields);
  const line = fields as unknown as Line;
  return {
    usage: {
      inputTokens: line.input_tokens,
      cachedInputTokens: line.cached_input_tokens ?? 0,
      outputTokens: line.output_tokens,
      source: 'upstream',
    },
    route: 'chat.completions',
    model: {
      id: line.model ?? 'declared',
      footprint: {
        ...(line.model === undefined ? {} : { ref: line.model }),
        ...(line.active_b === undefined ? {} : { activeB: line.active_b }),
        ...(line.total_b === undefined ? {} : { totalB: line.total_b }),
        ...(line.precision === undefined ? {} : { precision: line.precision }),
        ...(line.batch === undefined ? {} : { batch: line.batch }),
      },
    },
    zone: line.zone,
    site: {
      operator: 'unknown-operator',
      ...(line.pue === undefined ? {} : { pue: line.pue }),
      ...(line.wue === undefined ? {} : { wue: line.wue }),
    },
    attempts: 1,
    ...(line.latency_s === undefined ? {} : { latencyS: line.latency_s }),
  };
}

function check(fields: Readonly<Record<string, unknown>>): void {
  for (const [name, value] of Object.entries(fields)) {
    const type = Object.hasOwn(FIELDS, name) ? FIELDS[name] : undefined;
    if (type === undefined) throw refuse('field_unknown', `${name} is not a known field`);
    if (typeof value !== type) throw refuse(`${name}_invalid`, `${name} must be a ${type}`);
  }
  for (const name of ['input_tokens', 'output_tokens', 'zone']) {
    if (fields[name] === undefined) throw refuse(`${name}_missing`, `${name} is missing`);
  }
  const { precision } = fields as { precision?: string };
  if (precision !== undefined && !(PRECISIONS as readonly string[]).includes(precision)) {
    throw refuse('precision_invalid', `precision must be one of ${PRECISIONS.join(', ')}`);
  }
}

function refuse(code: string, message: string): MethodologyFailure {
  return new MethodologyFailure('input', code, message);
}
