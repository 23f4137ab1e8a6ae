import type { RequestedDocument } from '#shared/packs/seal-format.ts';
import { type PackRange } from '#shared/packs/layout.ts';
import type { RevisionReason } from '#shared/receipts/format-1.ts';
import {
  type PackTotals,
  QUANTITIES,
  Totals,
  TOTALS_BY,
  type TotalsBy,
} from '#shared/packs/totals.ts';
import type { ZoneYear } from '#shared/packs/zone-years.ts';
import { timeWords } from '#shared/kernel/time.ts';
import { BARS_MAX, barChart } from './chart.ts';
import { earlierSection } from './earlier-section.ts';
import { declaredSection } from './declared-section.ts';
import type { ReportFacts } from './facts.ts';
import type { Inventory, ReportStatement } from './statement.ts';
import {
  count,
  counted,
  QUANTITY_TITLES,
  scaleFor as readableScale,
} from '#shared/methodology/readable.ts';
import { type LossStatement, lossWords } from '#shared/ledger/losses.ts';
import { escaped } from './text.ts';
import { REPORT_STYLE } from './style.ts';

export interface ReportInput {
  name: string;
  issuer: string;
  /** What no receipt says. */
  stated: ReportStatement;
  organisation: string;
  log: string;
  /** What was declared lost of it, oldest first. */
  losses: readonly LossStatement[];
  range: PackRange;
  requested: RequestedDocument | undefined;
  /** When the checkpoint was signed. */
  at: string;
  receipts: number;
  revisions: number;
  superseded: number;
  totals: PackTotals;
  facts: ReportFacts;
  /** What the factor sets of the pack say of grid zones over a year. */
  years: ReadonlyMap<string, ZoneYear>;
}

const BY_TITLES: Readonly<Record<TotalsBy, string>> = {
  month: 'Month of the request, UTC',
  model: 'Model',
  region: 'Region',
  data_quality: 'Quality of data',
};

const QUALITY_WORDS: Readonly<Record<string, string>> = {
  T1: 'T1, energy metered',
  TS: 'TS, energy stated by the upstream of itself',
  T2: 'T2, size published, hardware stated',
  T3: 'T3, size published or declared',
  T4: 'T4, size guessed',
  T5: 'T5, class of model alone',
  '': 'no estimate, failed or refused',
};

const REVISION_WORDS: Readonly<Record<RevisionReason, string>> = {
  methodology_failed: 'an estimate had failed and was made later',
  new_methodology: 'a newer methodology',
  hourly_factor: 'the grid factor of the hour became available',
  hours_incomplete:
    'hours of the day were missing two days after its end, and the annual factor stands',
  measured: 'energy was metered',
};

/**
 * The report of a pack for people: one file without scripts, made from what the pack holds and nothing else. `docket verify`
 * makes it again and compares every byte: a page that says anything otherwise, or in other words, is of another version
 * (`PAGE_VERSION`).
 */
export function reportPage(input: ReportInput): string {
  const total = input.totals.total();
  const sections = [
    head(input),
    ...lost(input),
    summary(total),
    period(input),
    boundary(input),
    ...TOTALS_BY.map((by) => breakdown(input.totals, by)),
    split(input, total),
    marketBased(input, total),
    hoursAndYears(input),
    declaredSection(input.facts, input.stated, total),
    coverage(input, total),
    restatements(input, total),
    earlierSection(input.stated.earlier, total),
    disclosure(input, total),
    ...inventorySection(input.stated),
    uncertainty(),
    check(input),
    ...witnessSection(input.stated),
    factors(input.facts),
  ];
  return `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>Footprint report ${escaped(input.name)}</title><style>${REPORT_STYLE}</style></head><body><main>
${sections.join('\n')}
</main></body></html>
`;
}

/** With a unit that no line breaks. */
const scaleFor: typeof readableScale = (...amount) => {
  const { unit, text } = readableScale(...amount);
  return { unit: unit.replaceAll(' ', '\u00a0'), text };
};

const rows = (pairs: readonly (readonly [string, string])[]): string =>
  pairs.map(([name, text]) => `<tr><th scope="row">${name}</th><td>${text}</td></tr>`).join('\n');

/** By legal name and identifier where they are stated, and by the address that receipts have. */
function party(name: string | undefined, identifier: string | undefined, address: string): string {
  const named = name === undefined ? '' : `<strong>${escaped(name)}</strong><br>`;
  const known = identifier ? `${escaped(identifier)}<br>` : '';
  return `${named}${known}<code>${escaped(address)}</code>`;
}

function head(input: ReportInput): string {
  const { name, issuer, stated, organisation, log, range, at, receipts } = input;
  const { operator, organisation: named } = stated;
  const { firstIndex, lastIndex, checkpointSize } = range;
  return `<h1>Environmental footprint of inference</h1>
<p class="lead">What the inferences of one organisation used, as the signed receipts in this evidence pack state it.</p>
<table class="facts"><tbody>
${rows([
  ['Whose inferences', party(named.name, named.identifier, organisation)],
  ['By which gateway', party(operator.name, operator.identifier, issuer)],
  ['Ledger', `<code>${escaped(log)}</code>`],
  [
    'Receipts',
    `${count(receipts)}, entries ${count(firstIndex)} to ${count(lastIndex)} of ${count(checkpointSize)}`,
  ],
  ['As of', timeWords(at)],
  ['Pack', `<code>${escaped(name)}</code>`],
])}
</tbody></table>`;
}

/** Before all figures: entries that were published and are lost are in none of them. */
function lost({ losses }: ReportInput): string[] {
  if (losses.length === 0) return [];
  const said = losses.map((loss) => `<li>${escaped(lossWords(loss))}</li>`).join('\n');
  const section = `<h2>Entries that were lost</h2>
<p>The operator has declared that entries of this ledger were published and are gone; receipts among them count in no figure here.</p>
<ul>
${said}
</ul>`;
  return [section];
}

function summary(total: Totals): string {
  const { covered, uncovered, failed, refused } = total.counts;
  const cells = QUANTITIES.map((name) => {
    const { value, lower, upper } = total.amount(name);
    const scale = scaleFor(name, value);
    const shown =
      covered === 0
        ? '<strong>not estimated</strong>'
        : `<strong title="${value}">${scale.text(value)} ${scale.unit}</strong><span>[${scale.text(lower)}–${scale.text(upper)}]</span>`;
    return `<div><span>${QUANTITY_TITLES[name]}</span>${shown}</div>`;
  });
  const ran = covered + uncovered;
  const withFailed =
    failed === 0 ? '' : `; with those that failed ${shareOf(covered, ran + failed)}`;
  return `<section><h2>Totals</h2><div class="cards">${cells.join('')}
<div><span>Covered</span><strong>${shareOf(covered, ran)}</strong><span>${count(covered)} of ${count(ran)} requests${withFailed}</span></div></div>
<p>${counted(total.requests, 'request')}: ${count(covered)} with an estimate, ${count(uncovered)} without, ${count(failed)} failed after an upstream had been called, ${count(refused)} refused before anything ran. Amounts are of the ${count(covered)} alone; brackets are 5–95 % intervals. Exact figures stand in <code>totals.csv</code>.</p></section>`;
}

function shareOf(covered: number, all: number): string {
  return all === 0 ? 'none ran' : `${((covered / all) * 100).toFixed(1)} %`;
}

function period({ requested, range, at, receipts }: ReportInput): string {
  const paragraphs: string[] = [];
  if (requested === undefined) {
    paragraphs.push(
      `A range of the ledger was asked for: entries ${count(range.firstIndex)} to ${count(range.lastIndex)}. All ${count(receipts)} are in the pack: their hashes rebuild the signed head of the ledger, which they could not if one were missing.`,
    );
  } else {
    const { from, to, before, after, pending } = requested;
    paragraphs.push(
      `Asked for: receipts that entered the ledger ${from === undefined ? 'from its beginning' : `from ${timeWords(from)}`} ${to === undefined ? 'on' : `until ${timeWords(to)}`}.`,
      `${before === undefined ? 'The range begins with the ledger' : `The entry before the first was integrated ${timeWords(before)}`}; ${after === undefined ? 'its last entry is the last under the signed head' : `the entry after the last was integrated ${timeWords(after)}`}. In between no entry is missing: the hashes rebuild the signed head. When each was integrated stands in <code>receipts/*.csv</code>.`,
    );
    if (to !== undefined) {
      const over =
        at < to
          ? ` The period was not over when the head was signed (${timeWords(at)}): later receipts of it are not in this pack.`
          : '';
      paragraphs.push(
        `Requests from before the end of the period that were still pending then: ${count(pending ?? 0)}. Their receipts entered the ledger after it, and belong to the pack of the next period.${over}`,
      );
    }
  }
  return `<section><h2>Period and completeness</h2>${paragraphs.map((text) => `<p>${text}</p>`).join('\n')}</section>`;
}

function boundary({ facts, stated: { contracts } }: ReportInput): string {
  const methods = [...facts.methodologies].toSorted().map(escaped).join(', ') || 'none';
  return `<section><h2>Boundary</h2>
<p>Counted by the methodologies of the receipts (${methods}): electricity of accelerators and hosts while answering, idle machines, the building (PUE); greenhouse gas, water, minerals and fossil energy of that electricity; water on site; and a share of making the hardware.</p>
<p>Not counted: training of models, networks, the devices of callers, buildings, the gateway itself, and the water of manufacture.</p>
<p>Emission factors of electricity are averages of the grid zones where requests ran (location-based). ${contracts.length === 0 ? 'No contract for electricity was declared to the gateway, so there is no market-based figure.' : 'Contracts for electricity were declared: the market-based figures stand beside them.'}</p></section>`;
}

function breakdown(totals: PackTotals, by: TotalsBy): string {
  const all = totals.by(by);
  const named = all.map(
    ([name, each]) =>
      [by === 'data_quality' ? (QUALITY_WORDS[name] ?? name) : name || 'not stated', each] as const,
  );
  const shown = by === 'month' ? named : largestFirst(named);
  const energy = scaleOf(named, 'energy');
  const gas = scaleOf(named, 'gwp');
  const water = scaleOf(named, 'water');
  const lines = shown.map(([name, each]) => {
    const { covered, uncovered, failed, coveredOutputTokens, uncoveredOutputTokens } = each.counts;
    const cell = (quantity: 'energy' | 'gwp' | 'water', scale: typeof energy): string => {
      const { value, lower, upper } = each.amount(quantity);
      return covered === 0
        ? '<td class="missing">not estimated</td>'
        : `<td title="${value}">${scale.text(value)} <small>[${scale.text(lower)}–${scale.text(upper)}]</small></td>`;
    };
    return `<tr><th scope="row">${escaped(name)}</th><td>${count(each.requests)}</td><td>${count(uncovered)}</td><td>${count(failed)}</td><td>${count(coveredOutputTokens + uncoveredOutputTokens)}</td>${cell('energy', energy)}${cell('gwp', gas)}${cell('water', water)}</tr>`;
  });
  return `<section><h2>By ${BY_TITLES[by].toLowerCase().replace('utc', 'UTC')}</h2>
${barChart(
  QUANTITY_TITLES.gwp,
  'gwp',
  bars(shown, by).map(([name, each]) => [by === 'data_quality' ? tierOf(name) : name, each]),
)}
<table class="figures"><thead><tr><th scope="col">${BY_TITLES[by]}</th><th scope="col">Requests</th><th scope="col">Not estimated</th><th scope="col">Failed</th><th scope="col">Tokens out</th><th scope="col">Energy, ${energy.unit}</th><th scope="col">Gas, ${gas.unit}</th><th scope="col">Water, ${water.unit}</th></tr></thead><tbody>
${lines.join('\n')}
</tbody></table></section>`;
}

/** `T2` of `T2, size published, hardware stated`: beside a bar there is no room for more. */
const tierOf = (words: string): string => words.split(',')[0]!;

type Named = readonly (readonly [string, Totals])[];

function largestFirst(named: Named): Named {
  const gas = (totals: Totals): number => Number(totals.amount('gwp').value);
  return named.toSorted(([a, x], [b, y]) => gas(y) - gas(x) || (a < b ? -1 : 1));
}

const scaleOf = (named: Named, quantity: 'energy' | 'gwp' | 'water') =>
  scaleFor(quantity, Math.max(0, ...named.map(([, each]) => Number(each.amount(quantity).value))));

/** All months; of the others the largest, and the rest together. What has no estimate has no bar. */
function bars(shown: Named, by: TotalsBy): Named {
  if (by === 'month') return shown;
  const covered = shown.filter(([, each]) => each.counts.covered > 0);
  if (covered.length <= BARS_MAX) return covered;
  const other = new Totals();
  for (const [, each] of covered.slice(BARS_MAX - 1)) other.merge(each.parts());
  return [...covered.slice(0, BARS_MAX - 1), ['other', other]];
}

function split({ facts }: ReportInput, total: Totals): string {
  const gas = Number(total.amount('gwp').value);
  const use = facts.useGas();
  if (gas === 0) return '';
  const scale = scaleFor('gwp', gas);
  const text =
    use === null
      ? 'Not divided: receipts were computed in more ways than a pack explains.'
      : `Use of electricity ${scale.text(use)} ${scale.unit} (${((use / gas) * 100).toFixed(0)} %), making of hardware ${scale.text(Math.max(0, gas - use))} ${scale.unit} (${(100 - (use / gas) * 100).toFixed(0)} %). Use is the energy of each receipt times its grid factor, of the year or of its hour; the rest is the hardware’s share.`;
  return `<section><h2>Use and manufacture</h2><p>${text}</p></section>`;
}

/** Where the operator has declared contracts: their factor in place of the grid's, for the electricity of their regions. */
function marketBased({ facts, stated, totals }: ReportInput, total: Totals): string {
  const regions = new Map(totals.by('region'));
  const declared = stated.contracts.flatMap((contract) => {
    const energy = Number(regions.get(contract.region)?.amount('energy').value ?? 0);
    return energy === 0 ? [] : [{ ...contract, energy, gridGas: facts.useGas(contract.region) }];
  });
  if (declared.length === 0) return '';
  const located = Number(total.amount('gwp').value);
  let gas: number | null = located;
  for (const { energy, kgCo2ePerKwh, gridGas } of declared) {
    gas = gas === null || gridGas === null ? null : gas - gridGas + energy * Number(kgCo2ePerKwh);
  }
  const scale = scaleFor('gwp', Math.max(located, gas ?? 0));
  const energyScale = scaleFor('energy', Math.max(...declared.map(({ energy }) => energy)));
  const lines = declared.map(({ region, name, kgCo2ePerKwh, energy, gridGas }) => {
    const [grid, contract] = [gridGas, energy * Number(kgCo2ePerKwh)].map((kg) =>
      kg === null ? 'not divided' : scale.text(kg),
    );
    return `<tr><th scope="row">${escaped(region)}</th><td class="words">${escaped(name)}</td><td>${escaped(kgCo2ePerKwh)}</td><td>${energyScale.text(energy)}</td><td>${grid}</td><td>${contract}</td></tr>`;
  });
  const sum =
    gas === null
      ? 'There is no market-based total: the grid’s part of a region cannot be told from the rest, because receipts were computed in more ways than a pack explains.'
      : `Greenhouse gas is ${scale.text(located)} ${scale.unit} location-based and ${scale.text(Math.max(0, gas))} ${scale.unit} market-based.`;
  return `<section><h2>Location-based and market-based</h2><p>${sum} Electricity of the regions below has the factor of its contract in the market-based figure; other regions, and the making of hardware, are the same in both. That the contracts are as stated, and cover this electricity, is the word of the operator: no receipt says so.</p>
<table class="figures"><thead><tr><th scope="col">Region</th><th scope="col" class="words">Contract</th><th scope="col">kg\u00a0CO₂e per\u00a0kWh</th><th scope="col">Energy, ${energyScale.unit}</th><th scope="col">Grid, ${scale.unit}</th><th scope="col">Contract, ${scale.unit}</th></tr></thead><tbody>
${lines.join('\n')}
</tbody></table></section>`;
}

/** Which hours are imported is the operator's choice, so that both sums stand side by side. */
function hoursAndYears({ facts, years }: ReportInput): string {
  const zones = facts.hours.zones(years);
  if (zones.length === 0) return '';
  const energy = scaleFor('energy', Math.max(...zones.map((each) => Number(each.energy))));
  const gas = scaleFor(
    'gwp',
    Math.max(...zones.flatMap(({ byHour, byYear }) => [Number(byHour), Number(byYear ?? 0)])),
  );
  const lines = zones.map((each) => {
    const { zone, providers, hourly, annual, mixedDays, byHour, byYear, outOfRange } = each;
    const year = byYear === null ? 'not known' : gas.text(byYear);
    return `<tr><th scope="row">${escaped(zone)}</th><td class="words">${providers.map(escaped).join(', ')}</td><td>${count(hourly)}</td><td>${count(annual)}</td><td>${count(mixedDays)}</td><td>${energy.text(each.energy)}</td><td title="${byHour}">${gas.text(byHour)}</td><td title="${byYear ?? ''}">${year}</td><td>${count(outOfRange)}</td></tr>`;
  });
  return `<section><h2>By hour and by year</h2><p>Receipts of the tier enterprise take the greenhouse gas of the hour in which their request began, where the operator has imported it, and the annual figure of the grid zone elsewhere. Two days after its end a day of which hours are missing goes back to the annual figure, so that whole days count; days in part by hour are those that were not over their time yet, or whose receipts were estimated later. Which days are imported is the word of the operator. The last columns have the greenhouse gas of the same electricity by both figures, and how many receipts have an hour that is further from the year than grid zones are from the world, and may be in another unit or a slip.</p>
<table class="figures"><thead><tr><th scope="col">Grid zone</th><th scope="col" class="words">Hours by</th><th scope="col">Receipts by hour</th><th scope="col">By year</th><th scope="col">Days in part by hour</th><th scope="col">Energy by hour, ${energy.unit}</th><th scope="col">Gas by hour, ${gas.unit}</th><th scope="col">The same by year, ${gas.unit}</th><th scope="col">Out of range</th></tr></thead><tbody>
${lines.join('\n')}
</tbody></table></section>`;
}

function coverage({ facts, totals }: ReportInput, total: Totals): string {
  const { counts } = total;
  const failed = failures(counts);
  if (counts.uncovered === 0) {
    return `<section><h2>Coverage</h2><p>${allEstimated(counts)}</p>${failed}</section>`;
  }
  const why = [...facts.uncovered].toSorted(([a], [b]) => (a < b ? -1 : 1));
  const tokens = counts.uncoveredInputTokens + counts.uncoveredOutputTokens;
  // The most that a token of any covered model may have caused.
  const worst = Math.max(
    0,
    ...totals.by('model').map(([, each]) => {
      const of = each.counts.coveredInputTokens + each.counts.coveredOutputTokens;
      return of === 0 ? 0 : Number(each.amount('gwp').upper) / of;
    }),
  );
  const scale = scaleFor('gwp', worst * tokens);
  const standIn =
    worst * tokens === 0
      ? 'There is nothing in this pack from which to say how much they may have caused.'
      : `A conservative stand-in, in no figure of this report: at the upper bound of the model in this pack that causes most per token, they come to at most ${scale.text(worst * tokens)} ${scale.unit}.`;
  return `<section><h2>Coverage</h2>${failed}<p>${count(counts.uncovered)} requests have no estimate, with ${count(counts.uncoveredInputTokens)} tokens in and ${count(counts.uncoveredOutputTokens)} out where these are known. ${standIn}</p>
<table class="figures"><thead><tr><th scope="col">Why</th><th scope="col">Requests</th></tr></thead><tbody>
${why.map(([code, number]) => `<tr><th scope="row"><code>${escaped(code)}</code></th><td>${count(number)}</td></tr>`).join('\n')}
</tbody></table></section>`;
}

/** Of a pack in which nothing that ran is without an estimate. */
function allEstimated({ covered, failed }: Totals['counts']): string {
  if (covered > 0)
    return failed === 0
      ? 'Every request that ran has an estimate.'
      : 'Every request that ran and did not fail has an estimate.';
  return failed === 0 ? 'No request ran.' : 'No request ran that did not fail.';
}

/** What is in no figure, and never will be. */
function failures({ covered, uncovered, failed }: Totals['counts']): string {
  if (failed === 0) return '';
  const all = covered + uncovered + failed;
  return `<p>${counted(failed, 'request')} failed after an upstream had been called: nothing came of the calls, and what they used is not known. They are in no amount, and no estimate will be made. Of the ${count(all)} requests for which an upstream was called, ${count(covered)} have an estimate: ${shareOf(covered, all)}.</p>`;
}

function restatements({ facts, superseded, revisions }: ReportInput, total: Totals): string {
  if (superseded === 0 && facts.revised.size === 0) {
    return '<section><h2>Restatements</h2><p>No receipt of this range was revised.</p></section>';
  }
  const why = [...facts.revised].toSorted(([a], [b]) => (a < b ? -1 : 1));
  const lines = QUANTITIES.map((name) => {
    const [before, now] = [facts.first.amount(name).value, total.amount(name).value];
    const scale = scaleFor(name, Math.max(Number(before), Number(now)));
    return `<tr><th scope="row">${QUANTITY_TITLES[name]}, ${scale.unit}</th><td>${scale.text(before)}</td><td>${scale.text(now)}</td></tr>`;
  });
  return `<section><h2>Restatements</h2><p>${count(superseded)} entries were revised, ${count(revisions)} of the revisions are from after the range. ${why.map(([reason, number]) => `${count(number)}: ${REVISION_WORDS[reason]}`).join('; ')}. What was first stated stays in the ledger and in this pack.</p>
<table class="figures"><thead><tr><th scope="col">Total</th><th scope="col">As first stated</th><th scope="col">As it stands</th></tr></thead><tbody>
${lines.join('\n')}
</tbody></table></section>`;
}

function disclosure({ facts, stated, totals }: ReportInput, total: Totals): string {
  const { covered, coveredInputTokens: input, coveredOutputTokens: output } = total.counts;
  const gas = total.amount('gwp');
  const use = facts.useGas();
  const per = (units: number): string => {
    if (units === 0) return 'no unit';
    const scale = scaleFor('gwp', Number(gas.value) / units);
    const each = (amount: string | number): string => scale.text(Number(amount) / units);
    const terms =
      use === null
        ? ''
        : `; O\u00a0=\u00a0E\u00a0×\u00a0I is ${each(use)} ${scale.unit}, M\u00a0${each(Math.max(0, Number(gas.value) - use))} ${scale.unit}`;
    return `${each(gas.value)} ${scale.unit} [${each(gas.lower)}–${each(gas.upper)}]${terms}`;
  };
  const energy = total.amount('energy');
  const intensity =
    use === null || Number(energy.value) === 0
      ? ''
      : `<p>I, the grid’s greenhouse gas weighted by the energy used: ${(use / Number(energy.value)).toPrecision(3)} kg CO₂e per kWh.</p>`;
  return `<section><h2>For disclosures</h2>
<p><strong>GHG Protocol.</strong> For the organisation that called the gateway these are emissions of a purchased service: Scope 3, category 1. For the operator of the machines the electricity is Scope 2 and the making of hardware Scope 3, category 2. The figures are location-based; market-based ones stand apart where contracts were declared.</p>
<p><strong>ESRS and ISO 14064.</strong> Greenhouse gas belongs to ESRS E1 (gross Scope 3), water to E3, minerals and fossil energy to E5 as supporting information; in ISO 14064-1 to category 4, services used. Data are primary for requests and tokens, and modelled for energy except where the quality is T1. Primary data (ESRS E1 AR 46(g)): ${primaryShare(totals, total)}.</p>
<p><strong>Basis.</strong> Greenhouse gas is in CO₂ equivalents over 100 years, all gases together, by the warming potentials that the sources below used. They give no gas apart, and the factors do not say by which assessment report of the IPCC (AR5 or AR6) these are. Depletion of minerals and fossil energy of electricity is by an inventory whose year stands beside each factor. ${stated.inventory === undefined ? 'This page has no base year and no consolidation approach: both are the reporting organisation’s.' : 'Base year and consolidation approach are the reporting organisation’s; what the operator states of its own inventory stands below, and no figure here rests on it.'} Every change of an estimate is a restatement with a reason, of any size, as the section above has them; there is no threshold below which one is left out. The service that made this pack keeps one for ${counted(stated.keptDays, 'day')}: those who rely on it keep it, and earlier packs to compare with.</p>
<p><strong>SCI for AI,</strong> (O + M) per functional unit: per request ${per(covered)}; per 1 000 tokens in and out ${per((input + output) / 1_000)}.</p>${intensity}</section>`;
}

const INVENTORY_TITLES: readonly (readonly [keyof Inventory, string])[] = [
  ['consolidationApproach', 'Consolidation approach'],
  ['baseYear', 'Base year'],
  ['restatementPolicy', 'Restatements'],
  ['restatementThresholdPercent', 'Threshold of restatements'],
  ['gwpSet', 'Warming potentials'],
];

function inventorySection({ inventory }: ReportStatement): string[] {
  if (inventory === undefined) return [];
  const stated = INVENTORY_TITLES.flatMap(([name, title]): [string, string][] => {
    const value = inventory[name];
    const unit = name === 'restatementThresholdPercent' ? '\u00a0%' : '';
    return value === undefined ? [] : [[title, escaped(value) + unit]];
  });
  return [
    `<section><h2>The operator’s inventory</h2><p>What the operator states of its own inventory of greenhouse gas. It is the operator’s word: nothing in this pack shows it, and no figure here rests on it.</p>
<table class="facts"><tbody>
${rows(stated)}
</tbody></table></section>`,
  ];
}

function witnessSection({ witnessPolicy }: ReportStatement): string[] {
  if (witnessPolicy === undefined) return [];
  return [
    `<section><h2>Witnesses</h2><p>Whose cosignatures of its anchor log the operator asks for, in the form of C2SP tlog-policy. The policy is the operator’s own: both verifiers say whether it is met, and hold the pack against another, of witnesses that you know, with <code>--witness-policy</code>.</p>
${witnessPolicy
  .trimEnd()
  .split('\n')
  .map((line) => `<p class="line"><code>${escaped(line)}</code></p>`)
  .join('\n')}</section>`,
  ];
}

/** Of the greenhouse gas that was estimated, the part whose energy a meter measured. */
function primaryShare(totals: PackTotals, total: Totals): string {
  const [all, metered] = [total, new Map(totals.by('data_quality')).get('T1')].map((each) =>
    Number(each?.amount('gwp').value ?? 0),
  );
  return all === 0
    ? 'nothing was estimated'
    : `${((metered! / all!) * 100).toFixed(1)} % of the greenhouse gas is of energy that was metered`;
}

function uncertainty(): string {
  return `<section><h2>Uncertainty</h2><p>Each receipt states a 5–95 % interval. Receipts share their model of energy, the size of models, the batch, host and building, grid factors, and the part of the day in which people work, so their errors do not cancel: a total’s bounds are the sums of the bounds, as if every receipt erred in the same direction at once. No cause is taken as independent from request to request, no draws are made, and anybody can add up the same figures. Intervals are therefore wide. The methodology names each cause and who shares it.</p></section>`;
}

const BASIS_WORDS = {
  declared: 'declared by the operator',
  assumed: 'assumed by the methodology',
} as const;

function factors({ factors: figures, factorsLeftOut, sources, hourly }: ReportFacts): string {
  if (figures.size === 0) return '';
  const used = new Map<string, number>();
  const cite = (id: string): string => {
    const number = used.get(id) ?? used.size + 1;
    used.set(id, number);
    return `[${number}]`;
  };
  const lines = [...figures.values()].map(
    ({ record, name, value, unit, year, sources: of, basis }) =>
      `<tr><th scope="row">${escaped(record)}</th><td class="words">${escaped(name)}</td><td>${escaped(value)}</td><td class="words">${escaped(unit)}</td><td class="words">${basis === undefined ? escaped(year) : 'of the requests'}</td><td class="words">${basis === undefined ? of.map(cite).join(' ') : BASIS_WORDS[basis]}</td></tr>`,
  );
  const notes = [...used.keys()].map((id) => {
    const source = sources.get(id);
    return `<li>${escaped(source?.title ?? id)} <small>Licence: ${escaped(source?.licence ?? 'not stated')}.</small></li>`;
  });
  const more =
    factorsLeftOut === 0
      ? ''
      : `<p>${count(factorsLeftOut)} further figures stand in the lineage documents.</p>`;
  const hours = hourly
    ? '<p>Factors of single hours of the grid stand on the receipts that were computed with them, with provider and version.</p>'
    : '';
  return `<section><h2>Factors</h2><table class="figures dense"><thead><tr><th scope="col">Record</th><th scope="col" class="words">Figure</th><th scope="col">Value</th><th scope="col" class="words">Unit</th><th scope="col" class="words">Vintage</th><th scope="col" class="words">Source</th></tr></thead><tbody>
${lines.join('\n')}
</tbody></table>${more}${hours}<h3>Sources</h3><ol class="sources">${notes.join('\n')}</ol></section>`;
}

function check({ issuer }: ReportInput): string {
  return `<section><h2>How to check this</h2><p>The seal of the pack pins this page and the tables beside it by digest. <code>VERIFY.md</code> says how to verify the pack offline; <code>docket verify</code> and <code>verify.py</code> add up the receipts again, and compare every figure of <code>totals.csv</code> and <code>receipts/*.csv</code> with what they come to; <code>docket verify</code> alone makes this page again, and compares it; names and contracts are as <code>stated.json</code> has them. The seal is by <code>${escaped(issuer)}</code>: use keys that you fetched from it yourself.</p></section>`;
}
