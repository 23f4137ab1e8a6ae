import { readFileSync, writeFileSync } from 'node:fs';
import type { Footprint } from '#shared/catalogue/catalogue.ts';
import type { AnchorRecord, FactorSet } from '#shared/methodology/factor-set.ts';
import type { Derivation } from '#shared/methodology/derivation.ts';
import type { Methodology } from '#shared/methodology/methodology.ts';
import { FROZEN_FACTOR_SETS } from '#shared/methodology/frozen.ts';
import { loadFactorSet } from '#shared/methodology/files/load.ts';
import { loadMethodologies } from '#shared/methodology/files/methodologies.ts';

/** The page that the table stands in; `node dev/methodology-anchors.ts` writes it again, and a test compares. */
export const PAGE = new URL('../docs/methodology.md', import.meta.url);
const START = '<!-- anchors: written by dev/methodology-anchors.ts -->';
const END = '<!-- end of anchors -->';

/** The request that is held against an anchor. Token counts that an anchor does not state are our assumption. */
interface Comparison {
  anchor: string;
  footprint: Footprint;
  input: number;
  output: number;
  assumed: string;
}

const COMPARISONS: readonly Comparison[] = [
  {
    anchor: 'gemini-median',
    footprint: { ref: 'gemini-2.5-flash' },
    input: 100,
    output: 200,
    assumed: 'gemini-2.5-flash (guessed size); 100 tokens in, 200 out',
  },
  {
    anchor: 'chatgpt-average',
    footprint: { ref: 'gpt-4o' },
    input: 100,
    output: 300,
    assumed: 'gpt-4o (guessed size); 100 in, 300 out',
  },
  {
    anchor: 'frontier-median',
    footprint: { ref: 'class:frontier' },
    input: 100,
    output: 300,
    assumed: 'class:frontier; 100 in, 300 out',
  },
  {
    anchor: 'gpt-4o-500',
    footprint: { ref: 'gpt-4o' },
    input: 100,
    output: 500,
    assumed: 'gpt-4o (guessed size); 100 in',
  },
  {
    anchor: 'gpt-4o-500',
    footprint: { ref: 'gpt-4o', precision: 'fp8' },
    input: 100,
    output: 500,
    assumed: 'the same, served in FP8',
  },
  {
    anchor: 'gpt-4o-short',
    footprint: { ref: 'gpt-4o' },
    input: 100,
    output: 300,
    assumed: 'gpt-4o (guessed size); 100 in, 300 out',
  },
  {
    anchor: 'mistral-large-2-400',
    footprint: { ref: 'mistral-large-2' },
    input: 100,
    output: 400,
    assumed: '100 in; use and hardware only, without training',
  },
  {
    anchor: 'deepseek-v3.1-849',
    footprint: { ref: 'deepseek-v3.1', gpus: 8, batch: 64 },
    input: 0,
    output: 849,
    assumed: '8 H100 in place of 8 B200; decode only',
  },
  {
    anchor: 'llama-3.1-405b-360',
    footprint: { ref: 'llama-3.1-405b', precision: 'fp8', gpus: 8, batch: 64 },
    input: 0,
    output: 360,
    assumed: 'decode only',
  },
  {
    anchor: 'llama-3.1-8b-token',
    footprint: { ref: 'llama-3.1-8b', gpus: 1, batch: 64 },
    input: 0,
    output: 1,
    assumed: 'decode only',
  },
];

/** Digits that a figure of this uncertainty deserves. */
const DIGITS = 2;

/** The table of anchors beside our results, in Markdown. */
export function anchorTable(set: FactorSet, methodology: Methodology): string {
  const rows = COMPARISONS.map((comparison) => {
    const anchor = set.anchors.find(({ id }) => id === comparison.anchor);
    if (anchor === undefined) throw new Error(`the factor set has no anchor ${comparison.anchor}`);
    const derivation = explain(comparison, methodology);
    return `| ${anchor.what} (${anchor.sources.join(', ')}) | ${anchor.scope} | ${published(anchor)} | ${ours(anchor, derivation)} | ${comparison.assumed} |`;
  });
  return [
    '| published figure | its scope | published | docket-1, median (5-95 %) | what ours assumes |',
    '|---|---|---|---|---|',
    ...rows,
  ].join('\n');
}

/** In the United States, whose grid most of the published figures are for, at an operator that states nothing. */
function explain({ footprint, input, output }: Comparison, methodology: Methodology): Derivation {
  return methodology.explain({
    usage: { inputTokens: input, cachedInputTokens: 0, outputTokens: output, source: 'upstream' },
    route: 'chat.completions',
    model: { id: 'anchor', footprint },
    zone: 'USA',
    site: { operator: 'unknown-operator' },
    attempts: 1,
  });
}

function published(anchor: AnchorRecord): string {
  const { energy_wh: wh, energy_wh_low: low, energy_wh_high: high } = anchor;
  const range = low === undefined || high === undefined ? '' : ` (${low}-${high})`;
  return [
    ...(wh === undefined ? [] : [`${wh} Wh${range}`]),
    ...(anchor.j_per_token === undefined ? [] : [`${anchor.j_per_token} J`]),
    ...(anchor.gwp_g === undefined ? [] : [`${anchor.gwp_g} gCO2e`]),
    ...(anchor.water_ml === undefined ? [] : [`${anchor.water_ml} mL`]),
    ...(anchor.adpe_mg === undefined ? [] : [`${anchor.adpe_mg} mgSbe`]),
  ].join('; ');
}

/** Our figures for the quantities that the anchor has, in its units and at its scope. */
function ours(anchor: AnchorRecord, { steps, results }: Derivation): string {
  const gpuJ = steps.find(({ symbol }) => symbol === 'E_gpu')!.value;
  if (anchor.j_per_token !== undefined) return `${gpuJ.toPrecision(3)} J`;
  if (anchor.scope === 'GPU only') return `${(gpuJ / 3600).toPrecision(3)} Wh`;
  const quantity = (name: string, scale: number, unit: string): string => {
    const { value, lower, upper } = results.find((result) => result.name === name)!;
    const [middle, from, to] = [value, lower, upper].map((figure) =>
      String(Number((figure * scale).toPrecision(DIGITS))),
    );
    return `${middle} ${unit} (${from}-${to})`;
  };
  return [
    ...(anchor.energy_wh === undefined ? [] : [quantity('energy', 1e3, 'Wh')]),
    ...(anchor.gwp_g === undefined ? [] : [quantity('gwp', 1e3, 'gCO2e')]),
    ...(anchor.water_ml === undefined ? [] : [quantity('water', 1e3, 'mL')]),
    ...(anchor.adpe_mg === undefined ? [] : [quantity('adpe', 1e6, 'mgSbe')]),
  ].join('; ');
}

/** The page with a fresh table. */
export function freshPage(page: string): string {
  const start = page.indexOf(START);
  const end = page.indexOf(END);
  if (start < 0 || end < start)
    throw new Error('docs/methodology.md has lost the marks of its table');
  const set = loadFactorSet(FROZEN_FACTOR_SETS.at(-1)!.version);
  const table = anchorTable(set, loadMethodologies().current);
  return `${page.slice(0, start + START.length)}\n\n${table}\n\n${page.slice(end)}`;
}

if (import.meta.main) writeFileSync(PAGE, freshPage(readFileSync(PAGE, 'utf8')));
