/** The columns of the tables in which usage is summed up (`usage_hour`, `usage_day`), in groups. */

/** By which figures can be grouped, beside time. */
export const USAGE_DIMENSIONS = ['model', 'region', 'key_id', 'tier', 'quality'] as const;

/** Inferences by what their current receipt is. */
export const USAGE_COUNTS = ['refused', 'failed', 'covered', 'uncovered'] as const;
const TOKENS = ['input_tokens', 'cached_input_tokens', 'output_tokens'] as const;
/** The part of the tokens that belongs to uncovered inferences. */
const UNCOVERED_TOKENS = [
  'uncovered_input_tokens',
  'uncovered_cached_input_tokens',
  'uncovered_output_tokens',
] as const;
const QUANTITIES = ['energy', 'gwp', 'water', 'adpe', 'adpf'] as const;
/** Medians and bounds. */
const AMOUNTS = QUANTITIES.flatMap((name) => [name, `${name}_lower`, `${name}_upper`] as const);

/** Requests that had a price, and what they cost together. */
const MONEY = ['priced', 'cost'] as const;

/** Every figure, in the order of the tables. */
export const USAGE_FIGURES = [
  ...USAGE_COUNTS,
  ...TOKENS,
  ...UNCOVERED_TOKENS,
  ...AMOUNTS,
  ...MONEY,
] as const;
export type UsageFigure = (typeof USAGE_FIGURES)[number];

/** The expression that gives a figure from a row of `receipt_figure` under the name `r`. */
export function figureOf(name: UsageFigure): string {
  const tokens = name.startsWith('uncovered_') ? name.slice('uncovered_'.length) : undefined;
  return tokens === undefined
    ? `r.${name}`
    : `case when r.uncovered = 1 then r.${tokens} else 0 end`;
}
