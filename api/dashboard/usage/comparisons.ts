import { html, type Html } from '#api/html.ts';
import { type Scale, scaleFor } from '#shared/methodology/readable.ts';
import type { UsageFigures } from '#shared/receipts/usage.ts';
import type { Estimate } from '../parts/figures.ts';

/** Something of a size that every reader knows, and how much of it one unit of a quantity is. */
interface Comparison {
  quantity: 'energy' | 'gwp' | 'water';
  title: string;
  /** Amounts of it in one kWh, kg or L. */
  perUnit: number;
  scaleOf: (largest: number) => Scale;
  before: string;
  after: string;
  source: string;
}

const US_GALLON_L = 3.785411784;
const litres = (largest: number): Scale => scaleFor('water', largest);

const COMPARISONS: readonly Comparison[] = [
  {
    quantity: 'energy',
    title: 'Energy',
    // A litre is a kilogram, and a kWh is 3,600 kJ.
    perUnit: 3_600 / (4.19 * (100 - 15)),
    scaleOf: litres,
    before: 'heats',
    after: 'of water from 15 °C to the boil',
    source: 'Specific heat of water, 4.19 kJ/(kg K), without losses.',
  },
  {
    quantity: 'gwp',
    title: 'Greenhouse gas',
    perUnit: US_GALLON_L / 8.887,
    scaleOf: litres,
    before: 'is what burning',
    after: 'of petrol emits',
    source: 'US EPA, EPA-420-F-23-014: 8\u202F887 g of CO₂ from a gallon.',
  },
  {
    quantity: 'water',
    title: 'Water',
    perUnit: 1 / (2.5 * US_GALLON_L),
    scaleOf: minutes,
    before: 'runs through a shower in',
    after: '',
    source: 'US EPA WaterSense: a standard showerhead, 2.5 gallons a minute.',
  },
];

function minutes(largest: number): Scale {
  const [factor, unit] =
    largest >= 60 * 48
      ? [1 / 1_440, 'days']
      : largest >= 60
        ? [1 / 60, 'h']
        : largest >= 1
          ? [1, 'min']
          : [60, 's'];
  // Numbers are written as those of every quantity are.
  const { text } = scaleFor('energy', 1);
  return { unit, text: (amount) => text(Number(amount) * factor) };
}

/** What totals amount to in things that people know, each with its interval and its source. */
export function comparisons(amounts: UsageFigures['amounts']): Html {
  return html`<section class="stack tight">
    <h2>To compare</h2>
    <dl class="facts">
      ${COMPARISONS.map((comparison) => {
        const { title, before, after, source } = comparison;
        const { text, lower, upper, unit } = amountOf(comparison, amounts[comparison.quantity]);
        return html`<dt>${title}</dt>
          <dd>
            ${before} <strong class="nowrap">${text} ${unit}</strong>
            <span class="soft nowrap">[${lower}–${upper}]</span> ${after}
            <div class="help">${source}</div>
          </dd>`;
      })}
    </dl>
  </section>`;
}

function amountOf({ perUnit, scaleOf }: Comparison, { value, lower, upper }: Estimate) {
  const [middle, least, most] = [value, lower, upper].map((each) => Number(each) * perUnit) as [
    number,
    number,
    number,
  ];
  const scale = scaleOf(middle);
  return {
    text: scale.text(middle),
    lower: scale.text(least),
    upper: scale.text(most),
    unit: scale.unit,
  };
}
