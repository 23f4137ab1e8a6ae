/** The table of docs/methodology.md that holds our estimates against figures that others have published. */
import type { Footprint } from '#shared/catalogue/catalogue.ts';
import type { AnchorRecord } from '#shared/methodology/factor-set.ts';
import type { Derivation } from '#shared/methodology/derivation.ts';
import { newestFactorSet } from '#shared/methodology/files/load.ts';
import { shippedMethodologies } from '#shared/methodology/files/methodologies.ts';

/**
 * A published figure by its id in the factor set, the request that is held against it (model, input and output tokens,
 * which few of them state), and what this assumes.
 */
const COMPARISONS: readonly [id: string, Footprint, input: number, output: number, why: string][] =
  [
    [
      'gemini-median',
      { ref: 'gemini-2.5-flash' },
      100,
      200,
      'gemini-2.5-flash (guessed size); 100 tokens in, 200 out',
    ],
    ['chatgpt-average', { ref: 'gpt-4o' }, 100, 300, 'gpt-4o (guessed size); 100 in, 300 out'],
    ['frontier-median', { ref: 'class:frontier' }, 100, 300, 'class:frontier; 100 in, 300 out'],
    ['gpt-4o-500', { ref: 'gpt-4o' }, 100, 500, 'gpt-4o (guessed size); 100 in'],
    ['gpt-4o-500', { ref: 'gpt-4o', precision: 'fp8' }, 100, 500, 'the same, served in FP8'],
    ['gpt-4o-short', { ref: 'gpt-4o' }, 100, 300, 'gpt-4o (guessed size); 100 in, 300 out'],
    [
      'mistral-large-2-400',
      { ref: 'mistral-large-2' },
      100,
      400,
      '100 in; use and hardware only, without training',
    ],
    [
      'deepseek-v3.1-849',
      { ref: 'deepseek-v3.1', gpus: 8, batch: 64 },
      0,
      849,
      '8 H100 in place of 8 B200; decode only',
    ],
    [
      'llama-3.1-405b-360',
      { ref: 'llama-3.1-405b', precision: 'fp8', gpus: 8, batch: 64 },
      0,
      360,
      'decode only',
    ],
    ['llama-3.1-8b-token', { ref: 'llama-3.1-8b', gpus: 1, batch: 64 }, 0, 1, 'decode only'],
  ];

/** A quantity of a published figure, by its field: our name for it, how many of its unit one of ours is, and the unit. */
const QUANTITIES = [
  ['energy_wh', 'energy', 1e3, 'Wh'],
  ['gwp_g', 'gwp', 1e3, 'gCO2e'],
  ['water_ml', 'water', 1e3, 'mL'],
  ['adpe_mg', 'adpe', 1e6, 'mgSbe'],
] as const;

/** Rows of: the published figure, its scope, its values, ours at that scope, what ours assume. */
export function publishedFigures(): string[][] {
  const { anchors } = newestFactorSet();
  const { current } = shippedMethodologies();
  return COMPARISONS.map(([id, footprint, inputTokens, outputTokens, assumed]) => {
    const figure = anchors.find((each) => each.id === id);
    if (figure === undefined) throw new Error(`the factor set has no figure ${id}`);
    // In the United States, whose grid most of the figures are for, at an operator that states nothing.
    const derivation = current.explain({
      usage: { inputTokens, cachedInputTokens: 0, outputTokens, source: 'upstream' },
      route: 'chat.completions',
      model: { id: 'published', footprint },
      zone: 'USA',
      site: { operator: 'unknown-operator' },
      attempts: 1,
    });
    const what = `${figure.what} (${figure.sources.join(', ')})`;
    return [what, figure.scope, published(figure), ours(figure, derivation), assumed];
  });
}

function published(figure: AnchorRecord): string {
  const { energy_wh_low: low, energy_wh_high: high, j_per_token: joules } = figure;
  const range = low === undefined || high === undefined ? '' : ` (${low}-${high})`;
  const values = QUANTITIES.flatMap(([field, , , unit]) =>
    figure[field] === undefined
      ? []
      : [`${figure[field]} ${unit}${field === 'energy_wh' ? range : ''}`],
  );
  return [...values, ...(joules === undefined ? [] : [`${joules} J`])].join('; ');
}

function ours(figure: AnchorRecord, { steps, results }: Derivation): string {
  const gpuJ = steps.find(({ symbol }) => symbol === 'E_gpu')!.value;
  if (figure.j_per_token !== undefined) return `${gpuJ.toPrecision(3)} J`;
  if (figure.scope === 'GPU only') return `${(gpuJ / 3_600).toPrecision(3)} Wh`;
  const values = QUANTITIES.flatMap(([field, name, scale, unit]) => {
    if (figure[field] === undefined) return [];
    const result = results.find((each) => each.name === name)!;
    const [value, lower, upper] = [result.value, result.lower, result.upper].map((each) =>
      // Two digits are what a figure of this uncertainty deserves.
      String(Number((each * scale).toPrecision(2))),
    );
    return [`${value} ${unit} (${lower}-${upper})`];
  });
  return values.join('; ');
}
