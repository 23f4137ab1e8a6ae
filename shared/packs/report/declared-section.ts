import { count } from '#shared/methodology/readable.ts';
import type { Totals } from '#shared/packs/totals.ts';
import { type DeclaredInput, evidenceOf, withContracts } from './declared.ts';
import type { ReportFacts } from './facts.ts';
import type { SensitivityRow } from './sensitivity.ts';
import type { DeclaredKind, Evidence, ReportStatement } from './statement.ts';
import { escaped } from './text.ts';

const WORDS: Readonly<Record<DeclaredKind, string>> = {
  batch: 'Concurrent requests per replica',
  contract: 'Contract, kg\u00a0CO₂e per\u00a0kWh',
  gpus: 'GPUs per replica',
  precision: 'Precision of the weights',
  pue: 'Power usage effectiveness',
  size: 'Billions of parameters',
  wue: 'Water on site, L per\u00a0kWh',
  zone: 'Grid zone',
};

/** More rows than people read; all of it is in the derivation records. */
const ROWS_MAX = 200;

/** What the operator declares, which evidence it names, and how the totals answer to it. */
export function declaredSection(
  facts: ReportFacts,
  stated: ReportStatement,
  total: Totals,
): string {
  const declared = withContracts(facts.declared(), stated);
  if (declared.length === 0) return '';
  const lines = declared.slice(0, ROWS_MAX).map((each) => {
    const evidence = evidenceOf(each, stated.evidence);
    return `<tr><th scope="row">${WORDS[each.input]}</th><td class="words">${escaped(each.of)}</td><td class="words">${escaped(each.value)}</td><td class="words">${evidence.length === 0 ? 'none' : evidence.map(evidenceText).join('<br>')}</td></tr>`;
  });
  return `<section><h2>Declared inputs</h2><p>What the operator states, and nothing in this pack shows. Evidence is a file that the operator has, named here by its SHA-256 and not in the pack: ask for it, and <code>docket verify --evidence</code> says whether it is that file. Whether it bears out what is declared is for people to read.</p>
<table class="figures dense"><thead><tr><th scope="col">Input</th><th scope="col" class="words">Of</th><th scope="col" class="words">Declared</th><th scope="col" class="words">Evidence</th></tr></thead><tbody>
${lines.join('\n')}
</tbody></table>${leftOut(declared)}${sensitivity(facts, total)}</section>`;
}

function leftOut({ length }: readonly (DeclaredInput | SensitivityRow)[]): string {
  return length <= ROWS_MAX ? '' : `<p>${count(length - ROWS_MAX)} further are not shown.</p>`;
}

function evidenceText(evidence: Evidence): string {
  const { says, file, sha256, certificate, vintage, volumeKwh } = evidence;
  const bought = [
    ...(certificate === undefined ? [] : [`certificate ${certificate}`]),
    ...(vintage === undefined ? [] : [`vintage ${vintage}`]),
    ...(volumeKwh === undefined ? [] : [`${count(Number(volumeKwh))} kWh`]),
  ];
  const text = [says, ...bought].join('; ');
  return `${escaped(text)} (${escaped(file)}, <code>${sha256}</code>)`;
}

function sensitivity({ sensitivity: of }: ReportFacts, total: Totals): string {
  const [energy, gwp, water] = (['energy', 'gwp', 'water'] as const).map((name) =>
    Number(total.amount(name).value),
  );
  if (energy === 0) return '';
  const rows = of.rows({ energy: energy!, gwp: gwp!, water: water! });
  if (rows.length === 0) return '';
  const lines = rows.slice(0, ROWS_MAX).map((row) => {
    const cells = [row.energy, row.gwp, row.water].map((share) => `<td>${percent(share)}</td>`);
    return `<tr><th scope="row">${WORDS[row.input]}</th><td class="words">${escaped(row.of)}</td><td class="words">${row.change}</td>${cells.join('')}</tr>`;
  });
  return `<h3>Sensitivity</h3><p>By how much the totals would be others, were one input another and the rest as it is: the formulas of each lineage document, evaluated again, on what its receipts add up to. Power usage effectiveness, water on site and grid factors are exact; for the others the first receipt of each derivation stands for all of its receipts. Receipts of which the pack has no lineage document stay as they are.</p>
<table class="figures dense"><thead><tr><th scope="col">Input</th><th scope="col" class="words">Of</th><th scope="col" class="words">Change</th><th scope="col">Energy</th><th scope="col">Gas</th><th scope="col">Water</th></tr></thead><tbody>
${lines.join('\n')}
</tbody></table>${leftOut(rows)}`;
}

/** `+1.2 %`; a change that is no change has no sign. */
function percent(share: number): string {
  if (!Number.isFinite(share)) return 'not computed';
  const text = (Math.abs(share) * 100).toFixed(1);
  const sign = Number(text) === 0 ? '' : share < 0 ? '−' : '+';
  return `${sign}${text}\u00a0%`;
}
