import { html, type Html } from '#api/html.ts';
import type { Limits } from '#shared/kernel/plan.ts';
import {
  count,
  counted,
  moneyText,
  QUANTITY_TITLES,
  type Scale,
  scaleFor,
} from '#shared/methodology/readable.ts';
import type { QuantityName } from '#shared/methodology/measurement.ts';

/** An estimate with its 5–95 % interval, as exact decimals. */
export interface Estimate {
  value: string;
  lower: string;
  upper: string;
}

/** The exact figures, for a reader who points at the short ones. */
function exactly({ value, lower, upper }: Estimate): string {
  return `${value}, 5–95 %: ${lower} to ${upper}`;
}

/** An estimate in the unit that its column has. */
export function inScale(estimate: Estimate, scale: Scale): Html {
  const { value, lower, upper } = estimate;
  return html`<span title="${exactly(estimate)}"
    >${scale.text(value)}
    <small class="soft">[${scale.text(lower)}–${scale.text(upper)}]</small></span
  >`;
}

/** Cards of estimates, each in a unit of its own. What has none says so. */
export function estimateCards(
  estimates: readonly (readonly [QuantityName, Estimate | undefined])[],
  ...more: readonly Html[]
): Html {
  return html`<dl class="figures">
    ${estimates.map(([quantity, estimate]) => {
      if (estimate === undefined) return card(QUANTITY_TITLES[quantity], 'not estimated');
      const { value, lower, upper } = estimate;
      const scale = scaleFor(quantity, value);
      return html`<div>
        <dt class="soft">${QUANTITY_TITLES[quantity]}</dt>
        <dd title="${exactly(estimate)}">
          <span class="value">${scale.text(value)}</span> <span class="unit">${scale.unit}</span>
          <span class="soft small interval">[${scale.text(lower)}–${scale.text(upper)}]</span>
        </dd>
      </div>`;
    })}
    ${more}
  </dl>`;
}

/** What prices gave, as people write it; all of its digits for a reader who points at it. */
export function money(amount: string, currency: string): Html {
  return html`<span class="nowrap" title="${amount} ${currency}"
    >${moneyText(Number(amount))} ${currency}</span
  >`;
}

/** A card of something that is counted, with what it means below. */
export function card(name: string, value: string | Html, below?: string | Html): Html {
  return html`<div>
    <dt class="soft">${name}</dt>
    <dd>
      <span class="value">${value}</span>
      ${below === undefined ? undefined : html`<span class="soft small interval">${below}</span>`}
    </dd>
  </div>`;
}

/** A share of a whole as a bar; the number beside it says the same. */
export function shareBar(share: number): Html {
  const width = Math.max(0, Math.min(1, share)) * 100;
  return html`<svg class="share" viewBox="0 0 100 8" preserveAspectRatio="none" aria-hidden="true">
    <rect width="${width.toFixed(1)}" height="8" />
  </svg>`;
}

/** `33 %`, on one line, and one digit more where a whole number would hide that there is something, or something missing. */
export function percent(share: number): string {
  const value = share * 100;
  const whole = (value >= 1 && value <= 99) || value === 0 || value === 100;
  // Never rounded up to all, or down to nothing.
  if (whole) return `${Math.round(value)}\u00A0%`;
  return value < 1
    ? `${value < 0.1 ? '<\u00A00.1' : value.toFixed(1)}\u00A0%`
    : `${(Math.floor(value * 10) / 10).toFixed(1)}\u00A0%`;
}

/** What an organisation or a key may use, in words. */
export function limitWords(limits: Limits): string {
  const { requestsPerSecond, burst, requestsPerDay, concurrentStreams } = limits;
  return `${paceWords({ requestsPerSecond, burst })}, ${count(requestsPerDay)} a day, ${counted(concurrentStreams, 'stream')}`;
}

export function paceWords({
  requestsPerSecond,
  burst,
}: Pick<Limits, 'requestsPerSecond' | 'burst'>): string {
  return `${counted(requestsPerSecond, 'request')} a second, ${count(burst)} at once`;
}

/** Three significant digits of a number of any size, for figures whose unit is beside them. */
export function threeDigits(value: number): string {
  if (value === 0 || !Number.isFinite(value)) return String(value);
  const size = Math.abs(value);
  // What was counted or stated whole is not rounded.
  if (Number.isInteger(value) && size < 1e6) return String(value);
  if (size >= 1e-3 && size < 1e6) return String(Number(value.toPrecision(3)));
  const [digits = '', exponent = ''] = value.toExponential(2).split('e');
  return `${Number(digits)} × 10${superscript(Number(exponent))}`;
}

const SUPERSCRIPTS = '⁰¹²³⁴⁵⁶⁷⁸⁹';

function superscript(exponent: number): string {
  const digits = String(Math.abs(exponent)).replaceAll(
    /\d/g,
    (digit) => SUPERSCRIPTS[Number(digit)]!,
  );
  return `${exponent < 0 ? '⁻' : ''}${digits}`;
}

/** How long something has waited; by the clock of another machine it may have come in the future. */
export function age(ms: number): string {
  const seconds = Math.max(0, ms) / 1_000;
  if (seconds < 60) return `${seconds.toFixed(seconds < 10 ? 1 : 0)} s`;
  const hours = seconds / 3_600;
  if (hours < 1) return `${Math.floor(seconds / 60)} min`;
  return hours < 48 ? `${Math.floor(hours)} h` : `${count(Math.floor(hours / 24))} days`;
}

/** Bytes as people read them. */
export function sizeWords(bytes: number): string {
  const units = ['B', 'kB', 'MB', 'GB', 'TB'];
  const step = Math.min(units.length - 1, Math.floor(Math.log10(Math.max(1, bytes)) / 3));
  return `${Number((bytes / 1_000 ** step).toPrecision(3))} ${units[step]}`;
}
