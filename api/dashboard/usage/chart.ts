import { html, type Html } from '#api/html.ts';

/** A moment of a chart: a value with its interval, nothing where nothing is known, and how a reader is told of it. */
export interface ChartPoint {
  /** What it is of, as words: a day. */
  name: string;
  /** Undefined for a gap, which is not zero. */
  value: { value: number; lower: number; upper: number } | undefined;
  /** The whole of it, for a reader who points at it. */
  words: string;
}

const HEIGHT = 120;
/** Of a point; shapes are stretched to the width of the page, words are not in them. */
const STEP = 10;

/** Values over time with their intervals as bands, from zero. Words stand beside the shapes, so that they keep their size. */
export function bandChart(title: string, top: string, points: readonly ChartPoint[]): Html {
  const largest = Math.max(...points.map(({ value }) => value?.upper ?? 0), 0);
  const y = (amount: number): string =>
    (largest === 0 ? HEIGHT : HEIGHT - (amount / largest) * HEIGHT).toFixed(2);
  const shapes = points.map(({ value, words }, i) => {
    if (value === undefined) return gap(i, words);
    const height = (((value.upper - value.lower) / (largest || 1)) * HEIGHT).toFixed(2);
    return html`<g
      ><title>${words}</title
      ><rect class="hit" x="${i * STEP}" width="${STEP}" height="${HEIGHT}" /><rect
        class="band"
        x="${i * STEP}"
        y="${y(value.upper)}"
        width="${STEP}"
        height="${height}" /><path class="line" d="M${i * STEP} ${y(value.value)}h${STEP}"
    /></g>`;
  });
  return figure(title, largest === 0 ? '0' : top, points, shapes);
}

/** A moment of a chart of counts: what is known of, and what is not. */
export interface CountPoint {
  name: string;
  covered: number;
  uncovered: number;
  words: string;
}

/** Counts over time as bars; the part without an estimate is drawn as an outline. */
export function countChart(title: string, top: string, points: readonly CountPoint[]): Html {
  const largest = Math.max(...points.map(({ covered, uncovered }) => covered + uncovered), 0) || 1;
  const size = (count: number): number => (count / largest) * HEIGHT;
  const shapes = points.map(({ covered, uncovered, words }, i) => {
    const [solid, outlined] = [size(covered), size(uncovered)];
    return html`<g
      ><title>${words}</title
      ><rect class="hit" x="${i * STEP}" width="${STEP}" height="${HEIGHT}" /><rect
        class="bar"
        x="${i * STEP + 1}"
        y="${(HEIGHT - solid).toFixed(2)}"
        width="${STEP - 2}"
        height="${solid.toFixed(2)}"
      />${
        uncovered === 0
          ? undefined
          : html`<rect
              class="missing"
              x="${i * STEP + 1}"
              y="${(HEIGHT - solid - outlined).toFixed(2)}"
              width="${STEP - 2}"
              height="${outlined.toFixed(2)}"
            />`
      }</g
    >`;
  });
  return figure(title, top, points, shapes);
}

/** A column of a stacked chart: its parts in the order of the series. */
export interface StackedPoint {
  name: string;
  parts: readonly number[];
  words: string;
}

/** Series that a stacked chart tells apart: more shades are not told apart by eye, and the table has all. */
export const SERIES_MAX = 5;

/** Amounts of several things, one above the other. Each has a shade and, for those who do not see it, words and a table. */
export function stackedChart(
  title: string,
  top: string,
  series: readonly string[],
  points: readonly StackedPoint[],
): Html {
  const sumOf = (parts: readonly number[]): number => parts.reduce((sum, each) => sum + each, 0);
  const largest = Math.max(0, ...points.map(({ parts }) => sumOf(parts))) || 1;
  const shapes = points.map(({ parts, words }, i) => {
    let below = 0;
    const bars = parts.map((part, n) => {
      if (part === 0) return undefined;
      const height = (part / largest) * HEIGHT;
      below += height;
      return html`<rect
        class="series-${n}"
        x="${i * STEP + 1}"
        y="${(HEIGHT - below).toFixed(2)}"
        width="${STEP - 2}"
        height="${height.toFixed(2)}"
      />`;
    });
    return html`<g
      ><title>${words}</title
      ><rect class="hit" x="${i * STEP}" width="${STEP}" height="${HEIGHT}" />${bars}</g
    >`;
  });
  const legend =
    series.length < 2
      ? undefined
      : html`<ul class="legend small">
          ${series.map(
            (name, n) =>
              html`<li>
                <svg viewBox="0 0 10 10" aria-hidden="true">
                  <rect class="series-${n}" width="10" height="10" />
                </svg>
                ${name}
              </li>`,
          )}
        </ul>`;
  return figure(title, top, points, shapes, legend);
}

function gap(i: number, words: string): Html {
  return html`<g
    ><title>${words}</title><rect class="gap" x="${i * STEP}" width="${STEP}" height="${HEIGHT}"
  /></g>`;
}

function figure(
  title: string,
  top: string,
  points: readonly { name: string }[],
  shapes: readonly Html[],
  legend?: Html,
): Html {
  return html`<figure class="chart">
    <figcaption>${title}</figcaption>
    <div class="plot">
      <span class="soft small">${top}</span>
      <svg
        viewBox="0 0 ${points.length * STEP} ${HEIGHT}"
        preserveAspectRatio="none"
        role="img"
        aria-label="${title}; the table below has the figures"
      >
        ${shapes}
      </svg>
    </div>
    <p class="ends soft small">
      <span>${points[0]?.name}</span><span>${points.at(-1)?.name}</span>
    </p>
    ${legend}
  </figure>`;
}
