import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { foldCodePoint, normalise } from '#shared/screening/fold.ts';
import { forAll } from '#test/support/for-all.ts';

/** Any code points, unpaired surrogates among them. */
const codePoints = fc.array(fc.integer({ min: 0, max: 0x10_ffff }), { maxLength: 20 });

describe('folding a text', () => {
  it('changes nothing the second time, for any text', () => {
    forAll([codePoints], (points) => {
      const text = String.fromCodePoint(...points);
      const once = normalise(text);
      expect(normalise(once)).toBe(once);
    });
  });

  it('changes nothing the second time, for every character of the first plane', () => {
    const wrong: string[] = [];
    for (let code = 0; code < 0x10000; code += 1) {
      const once = normalise(String.fromCharCode(code));
      if (normalise(once) !== once) wrong.push(code.toString(16));
    }
    expect(wrong).toEqual([]);
  });

  it('reads composed and decomposed text alike', () => {
    forAll([fc.string({ unit: 'grapheme' })], (text) => {
      const forms = ['NFC', 'NFD'].map((form) => normalise(text.normalize(form)));
      expect(forms).toEqual([normalise(text), normalise(text)]);
    });
  });

  it.each([
    ['Ｈｏｗ', 'how'],
    ['𝓱𝓸𝔀', 'how'],
    ['ⓗⓞⓦ', 'how'],
    ['h\u200bo\u00ad\u2060w', 'how'],
    ['hо\u0301w', 'how'],
    ['ﬁne', 'fine'],
    ['Straße', 'strasse'],
    ['🇭🇴🇼', 'how'],
    ['Kill', 'kiii'],
    ['KILL', 'kiii'],
    ['one—two\u00a0three\n\nfour', 'one two three four'],
    ['蛋糕ok', '蛋 糕 ok'],
    ['a🍰b', 'a b'],
    ['\ud800', ''],
  ])('reads %j as %j', (text, expected) => {
    expect(normalise(text)).toBe(expected);
  });

  it('reads each character that stands for Latin letters or digits as these, in every block', () => {
    const wrong: string[] = [];
    for (let code = 128; code < 0x110000; code += 1) {
      const standsFor = String.fromCodePoint(code).normalize('NFKD');
      if (!/^[a-z0-9]+$/i.test(standsFor)) continue;
      const letters = standsFor.toLowerCase().replaceAll('l', 'i');
      if (foldCodePoint(code) !== letters) wrong.push(code.toString(16));
    }
    expect(wrong).toEqual([]);
  });

  it('never reads a character as more than a short word', () => {
    let longest = 0;
    for (let code = 0; code < 0x20000; code += 1)
      longest = Math.max(longest, foldCodePoint(code).length);
    expect(longest).toBeLessThanOrEqual(8);
  });
});
