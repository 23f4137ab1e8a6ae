/** Durations as the rules write them: one unit. */
const DURATION = /(\d+)(s|m|h|d)/;
const SECONDS: Readonly<Record<string, number>> = { s: 1, m: 60, h: 3_600, d: 86_400 };
const WINDOW = /\[(\d+[smhd])\]/g;

/** The rules of a file, with every window and every `for` shorter by a factor; thresholds stay. */
export function shortenRules<T extends { groups: { rules: object[] }[] }>(
  file: T,
  factor: number,
): T {
  const shorter = (duration: string): string => {
    const [, count = '', unit = ''] = DURATION.exec(duration) ?? [];
    return `${Math.max(1_000, Math.round((Number(count) * SECONDS[unit]! * 1_000) / factor))}ms`;
  };
  const rule = (one: object): object => {
    const { expr, for: lasting } = one as { expr: string; for?: string };
    return {
      ...one,
      expr: expr.replaceAll(WINDOW, (_whole, window: string) => `[${shorter(window)}]`),
      ...(lasting !== undefined && { for: shorter(lasting) }),
    };
  };
  return { ...file, groups: file.groups.map((g) => ({ ...g, rules: g.rules.map(rule) })) };
}
