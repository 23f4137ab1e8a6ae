import { type Command, Option } from 'commander';
import type { Footprint } from '#shared/catalogue/catalogue.ts';
import { MethodologyFailure } from '#shared/methodology/measurement.ts';
import { estimateEcologits } from '#shared/methodology/ecologits.ts';
import { PRECISIONS } from '#shared/methodology/factor-set.ts';
import type { EstimateInput, Methodology } from '#shared/methodology/methodology.ts';
import { FROZEN_METHODOLOGIES } from '#shared/methodology/frozen.ts';
import { shippedMethodologies } from '#shared/methodology/files/methodologies.ts';
import { DEFAULT_METHODOLOGY, type Methodologies } from '#shared/methodology/releases.ts';
import { answerLines, type LineProblem } from '#cli/input.ts';

const PROBLEMS: Readonly<Record<LineProblem, string>> = {
  line_too_long: 'The line is longer than 64 KiB.',
  line_not_utf8: 'The line is not UTF-8.',
  line_not_json: 'The line is not JSON.',
};

const HELP = `
One JSON object per line on standard input, one result or {"error":{…}} per line on standard output, in order.
A bad line does not stop the others, and does not change the exit code. An "id" on a line comes back with its result.

Fields of docket-1:
  model | active_b, total_b     a record of the factor set, or billions of parameters
  precision, batch              bf16 fp16 fp8 int8 fp4 int4; concurrent requests per replica
  input_tokens, cached_input_tokens, output_tokens
  latency_s                     from the call to the last byte of its answer
  zone, pue, wue                grid zone (FRA, USA, WOR …); of the data centre
  version                       1.0 … or in full as GET /methodologies has it; the newest when absent
Fields of ecologits-0.11.2: those of the reference's published vectors (output_token_count, datacenter_pue …), and
  the parameters that it documents as optional: batch_size, model_quantization_bits, gpu_memory, server_gpu_count,
  server_power, server_lifetime, {gpu,server}_embodied_{gwp,adpe,pe}, gpu_energy_{alpha,beta,gamma},
  latency_{alpha,beta,gamma}.

Example:
  $ echo '{"model":"llama-3.1-8b","input_tokens":200,"output_tokens":300,"zone":"FRA"}' | npx docket estimate
`;

/** `docket estimate`: the methodology over standard input. */
export function register(program: Command): void {
  const ids = [...new Set(FROZEN_METHODOLOGIES.map(({ id }) => id))];
  program
    .command('estimate')
    .description('estimate footprints: one JSON object per line in, one result per line out')
    .addOption(
      new Option('--profile <id>', 'methodology').choices(ids).default(DEFAULT_METHODOLOGY),
    )
    // A line of JSON is for programs already; the option is there because every command has it.
    .option('--json', 'for programs (always so)')
    .addHelpText('after', HELP)
    .action(async ({ profile }: { profile: string }) => {
      const estimate = profiles(shippedMethodologies()).get(profile);
      if (estimate === undefined) throw new Error(`There is no profile ${profile}.`);
      await answerLines(process.stdin, process.stdout, (line) =>
        'problem' in line
          ? { error: { code: line.problem, message: PROBLEMS[line.problem] } }
          : answerTo(line.value, estimate),
      );
    });
}

/** Gives the result of one line. Throws MethodologyFailure. */
export type Profile = (fields: Readonly<Record<string, unknown>>) => object;

/** The profiles of `docket estimate`, by id. */
export function profiles(methodologies: Methodologies): ReadonlyMap<string, Profile> {
  return new Map<string, Profile>([
    [
      'docket-1',
      ({ version, ...fields }) => estimateDocket(fields, versionOf(methodologies, version)),
    ],
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

/** The newest version that has this number, or starts with it: `1.0`, `1.0.0`. */
function versionOf(methodologies: Methodologies, version: unknown): Methodology {
  if (version === undefined) return methodologies.current;
  if (typeof version !== 'string') throw refuse('version_invalid', 'version must be a string');
  const versions = methodologies.versions(DEFAULT_METHODOLOGY);
  const found = versions.findLast((each) => each === version || each.startsWith(`${version}.`));
  const methodology =
    found === undefined ? undefined : methodologies.methodology(DEFAULT_METHODOLOGY, found);
  if (methodology === undefined)
    throw refuse('version_unknown', `version must be one of ${versions.join(', ')}`);
  return methodology;
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
    ...(line.latency_s === undefined ? {} : { upstreamS: line.latency_s }),
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
