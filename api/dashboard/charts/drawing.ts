import { html, Html } from '#api/html.ts';

export interface Drawn {
  title: string;
  /** How a reader calls each hour or day. */
  points: readonly string[];
  /** Those with the most come first; the last one may be what is in none of the others. */
  series: readonly { label: string; values: readonly (number | undefined)[] }[];
  /** The period before, where it is drawn. */
  before: { label: string; values: readonly (number | undefined)[] } | undefined;
  as: 'stacked' | 'lines';
  /** A value with its unit. */
  text: (value: number) => string;
  /** What all together come to; undefined for what is not added up. */
  whole: readonly (number | undefined)[] | undefined;
}

const HEIGHT = 200;
/** Of a point; shapes are stretched to the width of the page, words are not in them. */
const STEP = 10;
/** Of a name beside a chart. */
const LABEL_CHARS_MAX = 60;
/** Of a name in the words of a point, which are there for each. */
const WORDS_CHARS_MAX = 20;
/** Words below a chart: more do not stand beside each other on a phone. */
const ENDS = 5;

/** Values over time from zero, one above the other or as lines, with an axis and the words of each point. */
export function seriesChart(drawn: Drawn): Html {
  const { title, points, series, before, as, text } = drawn;
  const top = roundedUp(largestOf(drawn));
  const y = (value: number): number => Math.round(HEIGHT - (value / top) * HEIGHT);
  const shapes =
    as === 'stacked'
      ? stackOf(series, y)
      : series.map(({ values }, n) => html`<path class="line-${n}" d="${lineOf(values, y)}" />`);
  const width = points.length * STEP;
  return html`<figure class="chart" data-chart>
    <figcaption>${title}</figcaption>
    <div class="axes">
      <p class="soft small" aria-hidden="true">
        <span>${text(top)}</span><span>${text(top / 2)}</span><span>${text(0)}</span>
      </p>
      <svg
        viewBox="0 0 ${width} ${HEIGHT}"
        preserveAspectRatio="none"
        role="img"
        aria-label="${title}; the tables below have the figures"
      >
        <path class="grid" d="M0 0H${width}M0 ${HEIGHT / 2}H${width}" />
        ${shapes}
        ${before === undefined ? undefined : html`<path class="before" d="${lineOf(before.values, y)}" />`}
        <g class="hits">
          ${points.map((name, i) =>
            compact(
              html`<path d="M${i * STEP} 0h${STEP}v${HEIGHT}h-${STEP}z"
                ><title>${wordsOf(drawn, name, i)}</title></path
              >`,
            ),
          )}
        </g>
      </svg>
      <p class="ends soft small" aria-hidden="true">${endsOf(points)}</p>
    </div>
    <p class="reading small"></p>
    ${legend(drawn)}
  </figure>`;
}

function largestOf({ series, before, as, points }: Drawn): number {
  const columns =
    as === 'stacked'
      ? points.map((_, i) => series.reduce((sum, { values }) => sum + (values[i] ?? 0), 0))
      : series.flatMap(({ values }) => values.map((value) => value ?? 0));
  return Math.max(0, ...columns, ...(before?.values ?? []).map((value) => value ?? 0));
}

/** The end of an axis, of which a half is as easy to read. */
function roundedUp(largest: number): number {
  if (largest <= 0) return 2;
  const size = 10 ** Math.floor(Math.log10(largest));
  return ([1, 2, 4, 6, 8].find((each) => each * size >= largest) ?? 10) * size;
}

/** A path of bars for each series, upon those before it. */
function stackOf(series: Drawn['series'], y: (value: number) => number): Html[] {
  const below = new Map<number, number>();
  return series.map(({ values }, n) => {
    const bars = values.map((value = 0, i) => {
      if (value === 0) return '';
      const from = below.get(i) ?? 0;
      below.set(i, from + value);
      return `M${i * STEP + 1} ${y(from)}V${y(from + value)}h${STEP - 2}V${y(from)}z`;
    });
    return html`<path class="series-${n}" d="${bars.join('')}" />`;
  });
}

/** A line through the middles of its points, broken where there is no value; a lone one is as wide as its point. */
function lineOf(values: readonly (number | undefined)[], y: (value: number) => number): string {
  return values
    .map((value, i) => {
      if (value === undefined) return '';
      const isFirst = values[i - 1] === undefined;
      if (isFirst && values[i + 1] === undefined) return `M${i * STEP} ${y(value)}h${STEP}`;
      return `${isFirst ? 'M' : 'L'}${i * STEP + STEP / 2} ${y(value)}`;
    })
    .join('');
}

/** The whole of a point; of what is not added up, each. With a script a reader gets all that the table has of it. */
function wordsOf({ series, whole, text }: Drawn, name: string, i: number): string {
  if (whole !== undefined) return `${name}: ${text(whole[i] ?? 0)}`;
  const known = series.flatMap(({ label, values }) =>
    values[i] === undefined ? [] : [`${shortened(label, WORDS_CHARS_MAX)} ${text(values[i])}`],
  );
  return `${name}: ${known.length === 0 ? 'none' : known.join('; ')}`;
}

/** Without the blanks that its template has between tags, of which a page with hundreds of these would have kilobytes. */
export function compact({ text }: Html): Html {
  const joined = text.replaceAll(/\n\s*(?=[<>/])|(?<=>)\n\s*/g, '');
  return new Html(joined.replaceAll(/\n\s*/g, ' '));
}

/** A name of others, as far as it is read. */
export function shortened(label: string, charsMax = LABEL_CHARS_MAX): string {
  const characters = Array.from(label);
  return characters.length <= charsMax ? label : `${characters.slice(0, charsMax - 1).join('')}…`;
}

/** Some points of the axis, evenly. */
function endsOf(points: readonly string[]): Html[] {
  const shown = Math.min(ENDS, points.length);
  return Array.from({ length: shown }, (_, i) => {
    const at = shown === 1 ? 0 : Math.round((i * (points.length - 1)) / (shown - 1));
    return html`<span>${points[at]}</span>`;
  });
}

function legend({ series, before, as }: Drawn): Html | undefined {
  if (series.length < 2 && before === undefined) return undefined;
  const swatch = (shape: Html): Html =>
    html`<svg viewBox="0 0 20 10" aria-hidden="true">${shape}</svg>`;
  return html`<ul class="legend small">
    ${
      series.length < 2
        ? undefined
        : series.map(
            ({ label }, n) =>
              html`<li>
                ${swatch(as === 'stacked' ? html`<rect class="series-${n}" width="20" height="10" />` : html`<path class="line-${n}" d="M0 5H20" />`)}
                <span title="${label}">${shortened(label)}</span>
              </li>`,
          )
    }
    ${
      before === undefined
        ? undefined
        : html`<li>${swatch(html`<path class="before" d="M0 5H20" />`)} ${before.label}</li>`
    }
  </ul>`;
}
