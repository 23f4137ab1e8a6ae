import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { mayRound, parseExactly } from '#shared/kernel/exact-json.ts';
import { forAll } from '#test/support/for-all.ts';

const anyDigits = (max: number) =>
  fc
    .array(fc.integer({ min: 0, max: 9 }), { minLength: 1, maxLength: max })
    .map((all) => all.join(''));
/** A number as JSON allows it, of any length. */
const number = fc
  .record({
    sign: fc.constantFrom('', '-'),
    whole: anyDigits(24).map((text) => text.replace(/^0+(?=\d)/, '')),
    part: fc.option(anyDigits(24), { nil: undefined }),
    power: fc.option(fc.integer({ min: -400, max: 400 }), { nil: undefined }),
  })
  .map(({ sign, whole, part, power }) =>
    [
      sign,
      whole,
      part === undefined ? '' : `.${part}`,
      power === undefined ? '' : `e${power}`,
    ].join(''),
  );

describe('numbers in JSON', () => {
  it('are written again as they were, wherever they stand', () => {
    forAll([fc.array(number)], (numbers) => {
      const text = `{"deep":[{"all":[${numbers.join(',')}]}],"text":"12345678901234567890"}`;
      expect(JSON.stringify(parseExactly(text))).toBe(text);
    });
  });

  it('are of the same value when JavaScript writes them, unless they are said to be rounded perhaps', () => {
    forAll([number], (text) => {
      if (!mayRound(text)) expect(valueOf(JSON.stringify(JSON.parse(text)))).toBe(valueOf(text));
    });
  });
});

/** One text for each value: its digits without zeros around them, and the power of ten behind the last. */
function valueOf(text: string): string {
  const [, sign, whole = '', part = '', power = '0'] =
    /^(-?)(\d+)(?:\.(\d+))?(?:e([+-]?\d+))?$/.exec(text) ?? [];
  const digits = `${whole}${part}`.replace(/^0+/, '');
  const significant = digits.replace(/0+$/, '');
  if (significant === '') return '0';
  return `${sign}${significant}e${Number(power) - part.length + digits.length - significant.length}`;
}
