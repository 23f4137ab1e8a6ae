import type { Figures } from './rounds.ts';

const COLUMN = 26;

/** What the rounds of several targets found, side by side: the median of each figure, and its lowest and highest. */
export function table(rounds: ReadonlyMap<string, readonly Figures[]>): string {
  const columns = [...rounds];
  // The gateway comes last and has most processes: its order is the one to read.
  const named = columns
    .toReversed()
    .flatMap(([, figures]) => figures.map((one) => [...one.keys()]));
  const names = new Set(named.flat());
  const width = Math.max(...[...names].map((name) => name.length)) + 2;
  const lines = [...names].map((name) => {
    const cells = columns.map(([, figures]) => cell(figures.flatMap((one) => one.get(name) ?? [])));
    return [name.padEnd(width), ...cells.map((text) => text.padStart(COLUMN))].join('');
  });
  const head = columns.map(([name]) => name.padStart(COLUMN)).join('');
  return [`${''.padEnd(width)}${head}`, ...lines, ''].join('\n');
}

/** Two targets side by side: the medians, and the median, lowest and highest ratio within a round. */
export function comparison(here: readonly Figures[], there: readonly Figures[]): string {
  const names = new Set([...here, ...there].flatMap((one) => [...one.keys()]));
  const width = Math.max(...[...names].map((name) => name.length)) + 2;
  const lines = [...names].map((name) => {
    const of = (figures: readonly Figures[]): number[] => figures.map((one) => one.get(name) ?? 0);
    const others = of(there);
    const ratios = of(here).map((value, i) => value / others[i]!);
    const medians = [median(others), median(of(here))];
    return [
      name.padEnd(width),
      ...medians.map((value) => short(value).padStart(9)),
      `${median(ratios).toFixed(3)} (${Math.min(...ratios).toFixed(3)} to ${Math.max(...ratios).toFixed(3)})`.padStart(
        26,
      ),
    ].join('');
  });
  return [`${''.padEnd(width)}    there     here   ratio, median (spread)`, ...lines, ''].join(
    '\n',
  );
}

function cell(values: readonly number[]): string {
  if (values.length === 0) return '–';
  const [lowest, highest] = [Math.min(...values), Math.max(...values)];
  const spread = lowest === highest ? '' : ` (${short(lowest)}–${short(highest)})`;
  return `${short(median(values))}${spread}`;
}

function short(value: number): string {
  if (Number.isInteger(value)) return String(value);
  return value.toFixed(value < 10 ? 2 : value < 100 ? 1 : 0);
}

export function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  const middle = sorted.length >> 1;
  return sorted.length % 2 === 1 ? sorted[middle]! : (sorted[middle - 1]! + sorted[middle]!) / 2;
}
