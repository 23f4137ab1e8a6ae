export const USAGE_GROUPS = ['day', 'model', 'region', 'key'] as const;
export type UsageGrouping = (typeof USAGE_GROUPS)[number];

/** Usage of requests, each counted once, revised receipts included. */
export interface UsageFigures {
  requests: number;
  /** Blocked by screening: nothing ran, so they are neither covered nor uncovered. */
  refused: number;
  /** Requests whose current receipt states a measurement. The quantities below are theirs. */
  covered: number;
  /** Requests whose current receipt is degraded: their usage is not estimated yet. */
  uncovered: number;
  inputTokens: number;
  cachedInputTokens: number;
  outputTokens: number;
  /** kWh, kgCO2e, L, kgSbe, MJ: sums of medians. */
  energy: number;
  gwp: number;
  water: number;
  adpe: number;
  adpf: number;
}

export interface UsageGroup extends UsageFigures {
  /** A UTC day as `2026-11-20`, or the id of a model, region or key. */
  group: string;
}
