import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { inJoules, joulesIn, stepsOfPath } from '#shared/catalogue/stated-energy.ts';
import { forAll } from '#test/support/for-all.ts';

describe('energy that an upstream states', () => {
  it('is found by a JSON path to one value, in the unit of the catalogue', () => {
    const path = stepsOfPath("$.usage.energy['gpu 0'][1].used")!;
    const body = { usage: { energy: { 'gpu 0': [0, { used: 2.5 }] } } };
    expect(joulesIn(body, { path, unit: 'Wh' })).toBe(9_000);
    expect(joulesIn(body, { path })).toBe(2.5);
    expect(joulesIn({ usage: null }, { path })).toBeUndefined();
    expect(joulesIn(body, { header: 'x-energy' })).toBeUndefined();
  });

  it('is no amount of energy unless it is a number, at least 0', () => {
    for (const value of [-1, NaN, Infinity, '5', null, undefined, {}])
      expect(inJoules(value, { unit: 'mJ' })).toBeUndefined();
    expect(inJoules(0, { unit: 'mJ' })).toBe(0);
  });

  it.each(['', '$', 'usage.energy', '$..energy', '$.a[*]', '$.a[?@.b]', '$.a.', "$['a'"])(
    'a path that may lead to several values, or to none, is refused: %s',
    (text) => expect(stepsOfPath(text)).toBeUndefined(),
  );

  it('a path never makes the reader fail, for any answer', () => {
    const path = stepsOfPath('$.__proto__.length[0]')!;
    forAll([fc.anything()], (body) => {
      expect(joulesIn(body, { path }) ?? 0).toBeGreaterThanOrEqual(0);
    });
  });
});
