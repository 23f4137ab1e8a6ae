import { describe, expect, it } from 'vitest';
import { PackError, validatePack } from '#shared/screening/pack.ts';
import { parseTerm } from '#shared/screening/terms.ts';
import { thrownBy } from '#test/support/thrown-by.ts';

const RULE = {
  id: 'a-rule',
  code: 'dual_use_screen_block',
  category: 'test',
  description: 'for tests',
  any: [{ sequence: ['one', ['one', 'two']], gap: 2 }],
  positive: ['x'],
  negative: ['y'],
};
const PACK = {
  format: 1,
  version: '2026-01-31',
  description: 'for tests',
  groups: { one: ['first'], two: ['second'] },
  rules: [RULE],
};

/** The path at which a pack is refused. */
const refusal = (data: unknown): string =>
  thrownBy(PackError, () => validatePack(data, 'digest'))?.path ?? 'accepted';

const withRule = (change: object): object => ({ ...PACK, rules: [{ ...RULE, ...change }] });
const withPattern = (change: object): object =>
  withRule({ any: [{ sequence: ['one', 'two'], gap: 2, ...change }] });

describe('a rule pack', () => {
  it('gets its types and defaults', () => {
    expect(validatePack(PACK, 'digest')).toMatchObject({
      digest: 'digest',
      masks: [],
      guard: { groups: [], within: 0 },
      rules: [
        { any: [{ sequence: [['one'], ['one', 'two']], gap: 2, break: [], order: 'given' }] },
      ],
    });
  });

  it.each([
    ['no object', [], ''],
    ['an unknown field', { ...PACK, extra: 1 }, 'extra'],
    ['another format', { ...PACK, format: 2 }, 'format'],
    ['a version that is no day', { ...PACK, version: 'v1' }, 'version'],
    ['a missing field', { ...PACK, rules: undefined }, 'rules'],
    ['a group of no terms', { ...PACK, groups: { one: [] } }, 'groups.one'],
    ['a group with a bad name', { ...PACK, groups: { 'One ': ['first'] } }, 'groups.One '],
    ['a term too short', { ...PACK, groups: { one: ['first', 'a b'] } }, 'groups.one[1]'],
    ['an unknown mask', { ...PACK, masks: ['three'] }, 'masks[0]'],
    ['a guard too wide', { ...PACK, guard: { groups: ['one'], within: 99 } }, 'guard.within'],
    ['two rules of one name', { ...PACK, rules: [RULE, RULE] }, 'rules[1].id'],
    ['an unknown rule field', withRule({ severity: 1 }), 'rules[0].severity'],
    ['an unknown code', withRule({ code: 'customer_suspended' }), 'rules[0].code'],
    ['no positive examples', withRule({ positive: [] }), 'rules[0].positive'],
    ['no negative examples', withRule({ negative: [] }), 'rules[0].negative'],
    ['no patterns', withRule({ any: [] }), 'rules[0].any'],
    [
      'an unknown group',
      withPattern({ sequence: ['one', 'three'] }),
      'rules[0].any[0].sequence[1]',
    ],
    [
      'an unknown group of several',
      withPattern({ sequence: ['one', ['two', 'constructor']] }),
      'rules[0].any[0].sequence[1][1]',
    ],
    ['one element alone', withPattern({ sequence: ['one'] }), 'rules[0].any[0].sequence'],
    [
      'too many in any order',
      withPattern({ sequence: ['one', 'two', 'one', 'two'], order: 'any' }),
      'rules[0].any[0].sequence',
    ],
    ['a gap that is no number', withPattern({ gap: '3' }), 'rules[0].any[0].gap'],
    ['a gap too wide', withPattern({ gap: 17 }), 'rules[0].any[0].gap'],
    ['an unknown break', withPattern({ break: ['three'] }), 'rules[0].any[0].break[0]'],
    ['an unknown order', withPattern({ order: 'random' }), 'rules[0].any[0].order'],
  ])('is refused with its path: %s', (_, data, path) => {
    expect(refusal(data)).toBe(path);
  });
});

describe('terms of a rule pack', () => {
  it('resolve alternatives, nested and empty ones too', () => {
    const texts = parseTerm('(big|very (big|small)) cake(|s)').map((term) => term.text);
    expect(texts).toEqual([
      'big cake',
      'big cakes',
      'very big cake',
      'very big cakes',
      'very small cake',
      'very small cakes',
    ]);
  });

  it.each(['ab', 'abc*', 'a*b cake', '(cake', 'cake)', 'a b c d e f g hh', '', '...'])(
    'are refused: %j',
    (written) => {
      expect(() => parseTerm(written)).toThrow(SyntaxError);
    },
  );

  it('are refused when they stand for too many', () => {
    expect(() => parseTerm('(a|b)(a|b)(a|b)(a|b)(a|b)(a|b)(a|b)(a|b)(a|b)(a|b) cake')).toThrow(
      /512/,
    );
  });
});
