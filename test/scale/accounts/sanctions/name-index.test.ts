import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { HIT_SCORE, LOOK_SCORE } from '#shared/accounts/sanctions/assess.ts';
import type { ListedName } from '#shared/accounts/sanctions/listed.ts';
import { NameIndex } from '#shared/accounts/sanctions/name-index.ts';
import { syntheticNames } from '#test/support/synthetic-names.ts';
import { anyCharacter } from '#test/support/any-character.ts';
import { runs } from '#test/support/depth.ts';
import { forAll } from '#test/support/for-all.ts';

const listed = (
  name: string,
  entityId = name,
  kind: ListedName['kind'] = 'organisation',
): ListedName => ({
  source: 'opensanctions',
  entityId,
  name,
  kind,
  weak: false,
  programme: 'TEST',
});

/** Invented parties among 5,000 other invented names, so that word weights are those of a real list. */
const CROWD = syntheticNames(5_000, 1).map((name, at) => listed(name, `crowd-${at}`));
const index = new NameIndex([
  listed('Zorvanik Heavy Industries LLC'),
  listed('Bank Quellmar'),
  listed('Grzegorz Brzęczyszczykiewicz', 'grzegorz', 'person'),
  listed('Мирослав Квантович Зорин', 'zorin', 'person'),
  listed('Abd al-Rahim Tarfaoui', 'tarfaoui', 'person'),
  listed('北方量子公司', 'northern-quantum'),
  ...CROWD,
]);
/** Forms of company, and other words that no list has. */
const PADDING = 'The And Of GmbH Ltd Wa Wb Wc Wd We Wf Wg Wh Wi Wj Wk Wl Wm Wn Wo';
const best = (name: string): [string | undefined, number] => {
  const match = index.search(name, 0)[0];
  return [match?.listed.entityId, match?.score ?? 0];
};

describe('name matching', () => {
  it.each([
    ['the same name', 'Zorvanik Heavy Industries LLC', 'Zorvanik Heavy Industries LLC'],
    ['another legal form', 'Zorvanik Heavy Industries GmbH', 'Zorvanik Heavy Industries LLC'],
    ['another order', 'Industries Heavy Zorvanik', 'Zorvanik Heavy Industries LLC'],
    ['capitals and punctuation', 'ZORVANIK, HEAVY-INDUSTRIES', 'Zorvanik Heavy Industries LLC'],
    ['a slip of the keyboard', 'Zorvanyk Heavy Industries', 'Zorvanik Heavy Industries LLC'],
    ['swapped letters', 'Zorvanki Heavy Industries', 'Zorvanik Heavy Industries LLC'],
    ['no space', 'BankQuellmar', 'Bank Quellmar'],
    ['more words around it', 'Bank Quellmar Overseas', 'Bank Quellmar'],
    ['words put before it', `${PADDING} Bank Quellmar`, 'Bank Quellmar'],
    ['words put around it', `${PADDING} Miroslav Zorin ${PADDING}`, 'zorin'],
    ['marks that cannot be seen', 'Miros\u00adlav Zo\u200brin', 'zorin'],
    [
      'letters that look alike',
      'Z\u043Erv\u0430nik H\u0435avy Industries',
      'Zorvanik Heavy Industries LLC',
    ],
    ['no diacritics', 'Grzegorz Brzeczyszczykiewicz', 'grzegorz'],
    ['surname first', 'Brzęczyszczykiewicz, Grzegorz', 'grzegorz'],
    ['Latin for Cyrillic', 'Miroslav Kvantovich Zorin', 'zorin'],
    ['without the patronymic', 'Miroslav Zorin', 'zorin'],
    ['another romanisation', 'Miroslaw Kwantowitsch Zorin', 'zorin'],
    ['particles left out', 'Abdal Rahim Tarfaoui', 'tarfaoui'],
    ['an apostrophe', "Abd al-Rah'im Tarfaoui", 'tarfaoui'],
    ['another script, exactly', '北方量子公司', 'northern-quantum'],
  ])('finds %s', (_case, query, entity) => {
    const [found, score] = best(query);
    expect(found).toBe(entity);
    expect(score).toBeGreaterThanOrEqual(LOOK_SCORE);
  });

  it.each([
    ['a common word', 'Heavy Industries'],
    ['one word of a name', 'Quellmar'],
    ['the given name only', 'Miroslav Petersen'],
    ['the surname only', 'Elena Zorin'],
    ['a kindred name', 'Bank Quintessa'],
    ['nothing', ''],
    ['punctuation', '---'],
    ['a very long text', 'Lorem ipsum dolor sit amet '.repeat(200)],
  ])('does not make a hit of %s', (_case, query) => {
    expect(index.search(query, HIT_SCORE)).toEqual([]);
  });

  it('finds every listed name by itself with full score', () => {
    for (const { name } of CROWD.slice(0, 200)) expect(best(name)[1]).toBeCloseTo(1, 9);
  });

  it('does not depend on the order of words', () => {
    forAll([fc.constantFrom(...CROWD.slice(0, 500))], { numRuns: runs(50) }, ({ name }) => {
      const reversed = name.split(' ').toReversed().join(' ');
      return index.search(reversed, HIT_SCORE).some(({ listed: found }) => found.name === name);
    });
  });

  it('takes fewer than one of a hundred unrelated names for one of 5,000 listed ones', () => {
    const strangers = syntheticNames(300, 99);
    const hits = strangers.filter((name) => index.search(name, HIT_SCORE).length > 0);
    expect(hits.length).toBeLessThan(3);
  });

  it('takes any text without failing', () => {
    forAll([fc.string({ unit: anyCharacter, maxLength: 300 })], { numRuns: runs(100) }, (text) => {
      for (const { score } of index.search(text, LOOK_SCORE)) expect(score).toBeLessThanOrEqual(1);
    });
  });
});
