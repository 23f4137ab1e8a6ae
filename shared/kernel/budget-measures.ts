/** What is measured: requests that ran, input and output tokens, energy in kWh, greenhouse gas in kgCO2e, cost in the gateway's currency. */
export const BUDGET_MEASURES = ['requests', 'tokens', 'energy', 'gwp', 'money'] as const;
export type BudgetMeasure = (typeof BUDGET_MEASURES)[number];

export const isBudgetMeasure = (text: string): text is BudgetMeasure =>
  BUDGET_MEASURES.some((measure) => measure === text);

/**
 * Steps in which counters of admission count a unit: they are whole numbers. One request of a small model takes some 10,000
 * steps of energy, so that what is rounded up of it is a ten-thousandth.
 */
const STEPS: Readonly<Record<BudgetMeasure, number>> = {
  requests: 1,
  tokens: 1,
  energy: 1e10,
  gwp: 1e10,
  money: 1e9,
};

/** An amount in the steps of its counter, rounded up. */
export function inSteps(measure: BudgetMeasure, amount: number): number {
  const steps = amount * STEPS[measure];
  const near = Math.round(steps);
  // A product of decimals may lie a hair above its whole number.
  const isWhole = Math.abs(steps - near) <= near * 1e-12;
  return Math.min(isWhole ? near : Math.ceil(steps), Number.MAX_SAFE_INTEGER);
}

/** The same again in its unit. */
export function fromSteps(measure: BudgetMeasure, steps: number): number {
  return steps / STEPS[measure];
}

/** Whether the receipt says what a request has taken of it, and not its end. */
export function isEstimated(measure: BudgetMeasure): measure is 'energy' | 'gwp' {
  return measure === 'energy' || measure === 'gwp';
}
