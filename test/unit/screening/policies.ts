import { type Pack, type Pattern, validatePack } from '#shared/screening/pack.ts';

/** A small pack for tests: harmless words in the places of harmful ones. */
export function packOf(
  groups: Record<string, string[]>,
  patterns: Partial<Pattern>[],
  more: Record<string, unknown> = {},
): Pack {
  const data = {
    format: 1,
    version: '2026-01-31',
    description: 'for tests',
    groups,
    rules: patterns.map((pattern, i) => ({
      id: `rule-${i}`,
      code: 'acceptable_use_violation',
      category: 'test',
      description: 'for tests',
      any: [{ gap: 3, ...pattern }],
      positive: ['x'],
      negative: ['y'],
    })),
    ...more,
  };
  return validatePack(data, 'digest');
}

/** How to bake a cake: asking, doing, thing. */
export const CAKES: Pack = packOf(
  {
    ask: ['how to', 'help (me|us)'],
    bake: ['bake', 'baking', 'frost*'],
    cake: ['cake(|s)', 'wedding cake', 'gateau'],
    instead: ['eat', 'about'],
    never: ['never tell'],
    fine: ['cake pan(|s)', 'rice cake'],
  },
  [{ sequence: [['ask'], ['bake'], ['cake']], break: ['instead'] }],
  { masks: ['fine'], guard: { groups: ['never'], within: 4 } },
);
