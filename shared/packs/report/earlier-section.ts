import { count, scaleFor } from '#shared/methodology/readable.ts';
import type { Totals } from '#shared/packs/totals.ts';
import type { EarlierPack } from './statement.ts';
import { escaped } from './text.ts';

const SHOWN = ['energy', 'gwp', 'water'] as const;

type Figures = Pick<EarlierPack, 'amounts' | 'covered' | 'failed' | 'uncovered'>;

/** Packs that were sealed before, beside this one. */
export function earlierSection(earlier: readonly EarlierPack[], total: Totals): string {
  if (earlier.length === 0) {
    return '<section><h2>Earlier packs</h2><p>When this pack was asked for, no pack of entries before these was sealed.</p></section>';
  }
  const values = { ...total.counts, amounts: amountsOf(total) };
  const all = [values, ...earlier];
  const scales = SHOWN.map((name) =>
    scaleFor(name, Math.max(...all.map(({ amounts }) => Number(amounts[name].value)))),
  );
  const row = (head: string, { covered, uncovered, failed, amounts }: Figures): string => {
    const cells = SHOWN.map((name, i) => {
      const { value, lower, upper } = amounts[name];
      const { text } = scales[i]!;
      return `<td title="${value}">${text(value)} <small>[${text(lower)}–${text(upper)}]</small></td>`;
    });
    return `<tr><th scope="row">${head}</th><td>${count(covered)}</td><td>${count(uncovered)}</td><td>${count(failed)}</td>${cells.join('')}</tr>`;
  };
  const lines = earlier.map((each) =>
    row(
      `Entries ${count(each.firstIndex)} to ${count(each.lastIndex)} of ${count(each.checkpointSize)}<br><code>${escaped(each.name)}</code><br>seal <code>${each.seal}</code>`,
      each,
    ),
  );
  const units = scales.map(({ unit }) => unit.replaceAll(' ', '\u00a0'));
  return `<section><h2>Earlier packs</h2><p>Packs of this organisation that were sealed before this one was asked for and end before its entries, nearest first, with the figures that their seals state, as of their own heads: what was revised since is not in them. Which packs there were, and what they state, is the word of the operator. Lay them beside this one: <code>docket reconcile</code> verifies each, and compares seal and figures.</p>
<table class="figures dense"><thead><tr><th scope="col">Pack</th><th scope="col">Estimated</th><th scope="col">Not estimated</th><th scope="col">Failed</th><th scope="col">Energy, ${units[0]}</th><th scope="col">Gas, ${units[1]}</th><th scope="col">Water, ${units[2]}</th></tr></thead><tbody>
${[row('This pack', values), ...lines].join('\n')}
</tbody></table></section>`;
}

function amountsOf(total: Totals): EarlierPack['amounts'] {
  const [energy, gwp, water] = SHOWN.map((name) => total.amount(name));
  return {
    energy: energy!,
    gwp: gwp!,
    water: water!,
    adpe: total.amount('adpe'),
    adpf: total.amount('adpf'),
  };
}
