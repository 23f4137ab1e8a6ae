import { expect, it } from 'vitest';
import { type LaidPack, namedEarlier } from '#cli/auditing/reconcile.ts';
import { areInOrder, earlierPack } from '#shared/packs/report/statement.ts';
import { Totals } from '#shared/packs/totals.ts';

const totals = new Totals().document();
const october: LaidPack = {
  path: 'october.zip',
  name: 'october',
  log: 'gateway.example/log/a',
  first: 0,
  last: 9,
  size: 12,
  seal: 'uEiA',
  totals,
  earlier: [],
};
const named = earlierPack(
  { name: 'october', seal: 'uEiA', checkpointSize: 12, firstIndex: 0, lastIndex: 9 },
  totals,
);
const november = { ...october, path: 'november.zip', first: 10, last: 19, size: 20, seal: 'uEiB' };

it.each([
  ['same', named, october],
  ['other_figures', { ...named, covered: 1 }, october],
  ['other_figures', { ...named, lastIndex: 8 }, october],
  ['another_seal', named, { ...october, seal: 'uEiC' }],
  ['another_seal', { ...named, covered: 1 }, { ...october, seal: 'uEiC', size: 13 }],
  ['other_figures', { ...named, covered: 1 }, { ...october, seal: 'uEiC' }],
  ['not_given', { ...named, seal: 'uEiD', firstIndex: 3 }, october],
])('a pack that a later one names is %s', (found, earlier, given) => {
  const packs = [given, { ...november, earlier: [earlier] }];
  expect(namedEarlier(packs)).toEqual([{ by: 'november.zip', named: earlier, found }]);
});

it('packs of before end before the range, and each before the one that is nearer', () => {
  const older = { ...named, firstIndex: 0, lastIndex: 4 };
  const newer = { ...named, firstIndex: 5, lastIndex: 9 };
  expect(areInOrder([newer, older], 10)).toBe(true);
  expect(areInOrder([newer, older], 9)).toBe(false);
  expect(areInOrder([older, newer], 10)).toBe(false);
  expect(areInOrder([{ ...newer, checkpointSize: 9 }], 10)).toBe(false);
});
