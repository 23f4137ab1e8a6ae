import { html, type Html } from '#api/html.ts';
import { toExactDecimalString } from '#shared/kernel/decimal.ts';
import type { Derivation, RecordView, Step } from '#shared/methodology/derivation.ts';
import type { Source } from '#shared/methodology/factor-set.ts';
import type { MeasurementInput, QuantityName } from '#shared/methodology/measurement.ts';
import { QUANTITY_TITLES } from '#shared/methodology/readable.ts';
import { percent, shareBar, threeDigits } from '../parts/figures.ts';
import { note, table } from '../parts/elements.ts';

/** How the figures of a receipt came about: where the energy went, every step, every input with its sources. */
export function derivationSections(derivation: Derivation): Html {
  const cited = new Citations();
  // Inputs are drawn first: the numbers of sources rise down the page.
  const inputs = inputSection(derivation, cited);
  return html`${energySplit(derivation.steps)}
    <section class="stack tight">
      <h2>How it was computed</h2>
      <p class="soft prose">
        By ${derivation.methodology.id} ${derivation.methodology.version}, step by step. Each number
        is computed from those that its formula names; open a quantity to see all of its steps.
      </p>
      ${QUANTITIES.map((quantity) => stepsOf(derivation.steps, quantity))}
    </section>
    ${assumptions(derivation)} ${inputs}
    <section class="stack tight">
      <h2>Sources</h2>
      <ol class="sources prose">
        ${cited
          .all()
          .map(
            ({ id, citation, licence }) =>
              html`<li id="source-${id}">
                ${citation} <span class="soft small">Licence: ${licence}.</span>
              </li>`,
          )}
      </ol>
    </section>`;
}

const QUANTITIES = Object.keys(QUANTITY_TITLES) as QuantityName[];

/** Sources in the order in which the page cites them. */
class Citations {
  readonly #sources = new Map<string, Source>();

  cite(sources: readonly Source[]): Html[] {
    return sources.map((source) => {
      this.#sources.set(source.id, source);
      const number = [...this.#sources.keys()].indexOf(source.id) + 1;
      return html`<a class="small" href="#source-${source.id}">[${number}]</a> `;
    });
  }

  all(): Source[] {
    return [...this.#sources.values()];
  }
}

/** The parts that docket-1 divides energy into; nothing for a methodology that has others. */
function energySplit(steps: readonly Step[]): Html | undefined {
  const value = (symbol: string): number | undefined =>
    steps.find((step) => step.symbol === symbol)?.value;
  const [total, it, gpu] = [value('E'), value('E_it'), value('E_gpu')];
  const [decode, prefill, cache] = [value('E_dec'), value('E_pre'), value('E_kv')];
  const attention = value('E_att');
  if (total === undefined || total === 0 || it === undefined || gpu === undefined) return undefined;
  if (decode === undefined || prefill === undefined) return undefined;
  const parts = decode + prefill + (attention ?? 0) + (cache ?? 0);
  const ofGpu = (part: number): number =>
    parts === 0 ? 0 : (part / parts) * (gpu / JOULES_OF_KWH);
  const rows: readonly (readonly [string, number])[] = [
    ['Decode: writing the answer', ofGpu(decode)],
    ['Prefill: reading the prompt', ofGpu(prefill)],
    ...(attention === undefined ? [] : ([['Long prompt: attention', ofGpu(attention)]] as const)),
    ...(cache === undefined ? [] : ([['Long context: reading the cache', ofGpu(cache)]] as const)),
    ['Host and idle machines', it - gpu / JOULES_OF_KWH],
    ['Building (PUE)', total - it],
  ];
  return html`<section class="stack tight">
    <h2>Where the energy went</h2>
    ${table(
      'Where the energy went',
      ['Part', html`<span class="num">Share</span>`, html`<span class="hidden-words">Bar</span>`],
      rows.map(
        ([name, energy]) =>
          html`<tr>
            <th scope="row">${name}</th>
            <td class="num">${percent(energy / total)}</td>
            <td class="wide">${shareBar(energy / total)}</td>
          </tr>`,
      ),
    )}
  </section>`;
}

const JOULES_OF_KWH = 3_600_000;

/** The steps that lead to a quantity, in their order. Energy is shown once: others begin with it. */
function stepsOf(all: readonly Step[], quantity: QuantityName): Html | undefined {
  const ends = [
    quantity === 'energy' ? 'E' : quantity,
    quantity,
    `${quantity}_lower`,
    `${quantity}_upper`,
  ];
  const bySymbol = new Map(all.map((step) => [step.symbol, step]));
  const needed = new Set<string>();
  const need = (symbol: string): void => {
    const step = bySymbol.get(symbol);
    if (step === undefined || needed.has(symbol)) return;
    // What energy is made of stands under it.
    if (quantity !== 'energy' && ENERGY.has(symbol)) return;
    needed.add(symbol);
    for (const input of step.inputs) need(input.symbol);
  };
  for (const end of ends) need(end);
  const steps = all.filter(({ symbol }) => needed.has(symbol));
  if (steps.length === 0) return undefined;
  return html`<details class="act">
    <summary>
      ${QUANTITY_TITLES[quantity]}
      <span class="soft small">${steps.length === 1 ? '1 step' : `${steps.length} steps`}</span>
    </summary>
    ${table(
      `Steps of ${QUANTITY_TITLES[quantity].toLowerCase()}`,
      ['Number', 'Formula', 'Read', html`<span class="num">Result</span>`],
      steps.map(stepRow),
      'stacked',
    )}
  </details>`;
}

const ENERGY = new Set(['E', 'E_it']);

function stepRow({ symbol, name, formula, value, unit, inputs }: Step): Html {
  return html`<tr>
    <th scope="row"><code>${symbol}</code> <span class="soft small">${name}</span></th>
    <td><code>${formula}</code></td>
    <td class="small">
      ${inputs.map(
        (input) =>
          html`<span class="nowrap" title="${toExactDecimalString(input.value)}"
              ><code>${input.symbol}</code> = ${threeDigits(input.value)}
              ${unitOf(input.unit)}</span
            ><br />`,
      )}
    </td>
    <td class="num" title="${toExactDecimalString(value)}">
      ${threeDigits(value)} <span class="soft small">${unitOf(unit)}</span>
    </td>
  </tr>`;
}

/** Numbers without a dimension have the unit 1, which is left out. */
function unitOf(unit: string): string {
  return unit === '1' ? '' : unit;
}

function assumptions({ warnings, bounds }: Derivation): Html {
  return html`<section class="stack tight">
    <h2>Why the intervals are as wide as they are</h2>
    ${
      warnings.length === 0
        ? undefined
        : note(
            'warn',
            html`<p><strong>What had to be assumed</strong></p>
              <ul class="plain">
                ${warnings.map(({ message }) => html`<li>${message}</li>`)}
              </ul>`,
          )
    }
    <details class="act">
      <summary>Causes of each interval</summary>
      ${table(
        'Causes of each interval',
        ['Of', 'Cause', 'Factor'],
        bounds.flatMap(({ share, factors, combined }) => [
          ...factors.map(
            ({ id, basis, factor }) =>
              html`<tr>
                <td>${SHARES[share] ?? share}</td>
                <td><code>${id}</code> <span class="soft">${basis}</span></td>
                <td class="num">× ${threeDigits(factor)}</td>
              </tr>`,
          ),
          html`<tr>
            <th scope="row">${SHARES[share] ?? share}</th>
            <th scope="row">together</th>
            <td class="num"><strong>× ${threeDigits(combined)}</strong></td>
          </tr>`,
        ]),
      )}
    </details>
  </section>`;
}

const SHARES: Readonly<Record<string, string>> = {
  ...QUANTITY_TITLES,
  embodied: 'Making of hardware',
};

const KIND_WORDS: Readonly<Record<MeasurementInput['kind'], string>> = {
  usage: 'Usage of the request',
  model: 'Model record',
  grid: 'Grid factor',
  site: 'Site',
  hardware: 'Hardware',
};

function inputSection({ inputs, constants }: Derivation, cited: Citations): Html {
  return html`<section class="stack tight">
    <h2>Inputs</h2>
    ${inputs.map(
      (view) =>
        html`<details class="act">
          <summary>
            ${KIND_WORDS[view.kind]} <code>${view.id}</code>
            <span class="soft small"
              >${view.carried ? 'carried by the receipt' : 'of the published factor set'}</span
            >
          </summary>
          ${figuresTable(view, cited)}
        </details>`,
    )}
    <details class="act">
      <summary>Constants of the methodology</summary>
      ${table(
        'Constants of the methodology',
        ['Constant', 'What it is', 'Value', 'Source'],
        constants.map(
          ({ symbol, meaning, value, unit, sources }) =>
            html`<tr>
              <th scope="row"><code>${symbol}</code></th>
              <td>${meaning}</td>
              <td class="num" title="${toExactDecimalString(value)}">
                ${threeDigits(value)} <span class="soft small">${unitOf(unit)}</span>
              </td>
              <td>${cited.cite(sources)}</td>
            </tr>`,
        ),
        'stacked',
      )}
    </details>
  </section>`;
}

function figuresTable({ id, values }: RecordView, cited: Citations): Html {
  return table(
    `Figures of ${id}`,
    ['Figure', 'What it is', 'Value', 'Of', 'Source'],
    values.map(
      ({ symbol, name, value, unit, year, sources }) =>
        html`<tr>
          <th scope="row"><code>${symbol}</code></th>
          <td>${name}</td>
          <td class="num" title="${toExactDecimalString(value)}">
            ${threeDigits(value)} <span class="soft small">${unitOf(unit)}</span>
          </td>
          <td class="soft small">${year}</td>
          <td>${cited.cite(sources)}</td>
        </tr>`,
    ),
    'stacked',
  );
}
