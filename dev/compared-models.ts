/** The table of docs/methodology.md that holds docket-1 beside EcoLogits, model by model. */
import { estimateEcologits } from '#shared/methodology/ecologits.ts';
import { ends, type ModelRecord, type ValueOrRange } from '#shared/methodology/factor-set.ts';
import { newestFactorSet } from '#shared/methodology/files/load.ts';
import { shippedMethodologies } from '#shared/methodology/files/methodologies.ts';

/** Input and output tokens. 3,000 words are about 4,000 tokens. */
const REQUESTS: readonly (readonly [input: number, output: number])[] = [
  [100, 300],
  [1_000, 500],
  [4_000, 300],
  [4_000, 50],
];
const PUE = 1.2;

/** The head of the table, and a row for each model: size, Wh of a short request by both, and docket-1 over EcoLogits. */
export function comparedModels(): { head: string[]; rows: string[][] } {
  const ratios = REQUESTS.map(([input, output]) => `${input} in, ${output} out`);
  return {
    head: [
      'model',
      'billions active / total',
      'docket-1, 100 in, 300 out',
      'EcoLogits, the same',
      ...ratios.map((request) => `ratio, ${request}`),
    ],
    rows: newestFactorSet().models.map((model) => {
      const [short] = REQUESTS.map(([input, output]) => bothOf(model, input, output));
      return [
        model.id,
        `${size(model.active_b)} / ${size(model.total_b)}`,
        `${wattHours(short!.docket)} Wh`,
        `${wattHours(short!.ecologits)} Wh`,
        ...REQUESTS.map(([input, output]) => {
          const { docket, ecologits } = bothOf(model, input, output);
          return (docket / ecologits).toFixed(2);
        }),
      ];
    }),
  };
}

/** kWh of one request by both, at the middle of a range of sizes, at a batch of 64. */
function bothOf(model: ModelRecord, inputTokens: number, outputTokens: number) {
  const { results } = shippedMethodologies().current.estimate({
    usage: { inputTokens, cachedInputTokens: 0, outputTokens, source: 'upstream' },
    route: 'chat.completions',
    model: { id: model.id, footprint: { ref: model.id } },
    zone: 'WOR',
    site: { operator: 'example', pue: PUE, wue: 0 },
    attempts: 1,
  });
  const reference = estimateEcologits({
    model_active_parameter_count: middle(model.active_b),
    model_total_parameter_count: middle(model.total_b),
    output_token_count: outputTokens,
    datacenter_pue: PUE,
    datacenter_wue: 0,
    // Energy is compared, which is the same on any grid.
    if_electricity_mix_adpe: 0,
    if_electricity_mix_pe: 0,
    if_electricity_mix_gwp: 0,
    if_electricity_mix_wue: 0,
  });
  return { docket: results[0]!.value, ecologits: reference.energy_kwh as number };
}

function middle(value: ValueOrRange): number {
  const { min, max } = ends(value);
  return Math.sqrt(min * max);
}

function size(value: ValueOrRange): string {
  return typeof value === 'number' ? String(value) : `${value.min}-${value.max}`;
}

function wattHours(kwh: number): string {
  return String(Number((kwh * 1_000).toPrecision(3)));
}
