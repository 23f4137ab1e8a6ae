/** The table of docs/methodology.md that says what attention adds to long prompts. */
import { shippedMethodologies } from '#shared/methodology/files/methodologies.ts';

/** Models whose layout is published, dense ones by size, then mixtures of experts. */
const MODELS = [
  'llama-3.1-8b',
  'llama-3.1-70b',
  'llama-3.1-405b',
  'mixtral-8x7b',
  'qwen3-30b-a3b',
  'qwen3-235b-a22b',
  'deepseek-v3.1',
];
export const PROMPTS = [1_000, 10_000, 100_000];
const OUTPUT = 300;

/** Rows of: the model, and for each length of prompt the energy with attention over that without. */
export function longPrompts(): string[][] {
  return MODELS.map((ref) => [
    ref,
    ...PROMPTS.map((tokens) => {
      const { whole, attention } = energyOf(ref, tokens);
      const times = whole / (whole - attention);
      return `${(whole / 3_600).toPrecision(2)} Wh, ${times.toFixed(2)}`;
    }),
  ]);
}

/** J of the GPUs. */
function energyOf(ref: string, inputTokens: number): { whole: number; attention: number } {
  const { steps } = shippedMethodologies().current.explain({
    usage: { inputTokens, cachedInputTokens: 0, outputTokens: OUTPUT, source: 'upstream' },
    route: 'chat.completions',
    model: { id: 'long', footprint: { ref } },
    zone: 'USA',
    site: { operator: 'unknown-operator' },
    attempts: 1,
  });
  const value = (symbol: string): number => steps.find((step) => step.symbol === symbol)!.value;
  return { whole: value('E_gpu'), attention: value('E_att') };
}
