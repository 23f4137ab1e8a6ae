import type { QuantityName } from '#shared/methodology/measurement.ts';
import type { Totals } from '#shared/packs/totals.ts';
import { scaleFor } from '#shared/methodology/readable.ts';
import { escaped } from './text.ts';

/** More bars are one, "other": a reader does not compare more. Months are all shown, since a gap would mislead. */
export const BARS_MAX = 6;

const WIDTH = 640;
const LABEL = 190;
const ROW = 26;
const BAR = 12;
const NUMBER = 150;

/** A bar from zero for each name, its 5–95 % interval as a line over it: an SVG that reads in grey. */
export function barChart(
  title: string,
  quantity: QuantityName,
  rows: readonly (readonly [name: string, totals: Totals])[],
): string {
  const amounts = rows.map(([name, totals]) => ({ name, ...totals.amount(quantity) }));
  const largest = Math.max(...amounts.map(({ upper }) => Number(upper)), 0);
  if (largest === 0) return '';
  const scale = scaleFor(quantity, Math.max(...amounts.map(({ value }) => Number(value))));
  const span = WIDTH - LABEL - NUMBER;
  const x = (amount: string): string => (LABEL + (Number(amount) / largest) * span).toFixed(1);
  const height = rows.length * ROW + 8;
  const bars = amounts.map(({ name, value, lower, upper }, i) => {
    const middle = i * ROW + ROW / 2 + 4;
    const isMissing = rows[i]![1].counts.covered === 0;
    const width = (Number(x(value)) - LABEL).toFixed(1);
    // A gap is a gap and not a zero.
    const shown = isMissing
      ? 'not estimated'
      : `${scale.text(value)} [${scale.text(lower)}–${scale.text(upper)}]`;
    // Half a character at the cut would not come back from a file.
    const label = name.length > 26 ? `${name.slice(0, 25).toWellFormed()}…` : name;
    return `<g><title>${escaped(name)}: ${isMissing ? shown : `${value}, ${lower} to ${upper}`}</title>
<text x="${LABEL - 8}" y="${middle + 4}" text-anchor="end">${escaped(label)}</text>
${
  isMissing
    ? ''
    : `<rect x="${LABEL}" y="${middle - BAR / 2}" width="${width}" height="${BAR}" class="bar"/>
<path d="M${x(lower)} ${middle}H${x(upper)}M${x(lower)} ${middle - 4}v8M${x(upper)} ${middle - 4}v8" class="range"/>`
}
<text x="${WIDTH}" y="${middle + 4}" text-anchor="end">${shown}</text></g>`;
  });
  return `<figure><figcaption>${escaped(title)}, ${scale.unit}; line: 5–95 % interval</figcaption>
<svg viewBox="0 0 ${WIDTH} ${height}" role="img" aria-label="${escaped(title)}"><path d="M${LABEL} 0V${height}" class="axis"/>
${bars.join('\n')}</svg></figure>
`;
}
