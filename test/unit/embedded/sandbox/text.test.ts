import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { almanacAt } from '#embedded/sandbox/almanac.ts';
import { writeChoice } from '#embedded/sandbox/choice.ts';
import { likeliest, LOGPROB } from '#embedded/sandbox/logprobs.ts';
import { countTokens, encode, type Piece, piecesOf } from '#embedded/sandbox/tokens.ts';
import { forAll } from '#test/support/for-all.ts';

const textAt = (place: number): string =>
  [...almanacAt(place, false)].map(({ text }) => text).join('');

/** Writes a choice to its end. */
function run(source: Iterable<Piece>, bounds: { maxTokens: number; stops: string[] }) {
  const parts = writeChoice(source, bounds);
  const texts: string[] = [];
  let next = parts.next();
  for (; next.done !== true; next = parts.next()) texts.push(next.value.text);
  return { text: texts.join(''), end: next.value };
}

describe('the almanac', () => {
  it('has other paragraphs at neighbouring places, none so long that an answer is cut off', () => {
    const texts = Array.from({ length: 12 }, (_, place) => textAt(place));
    expect(new Set(texts).size).toBe(12);
    for (const text of texts) expect(countTokens(text)).toBeLessThan(200);
  });

  it('goes on from paragraph to paragraph, by tokens that are those of the whole text', () => {
    const place = 0xffff_fffe;
    const { text, end } = run(almanacAt(place, true), { maxTokens: 2_500, stops: [] });
    expect(end).toEqual({ tokens: 2_500, finish: 'length' });
    expect(countTokens(text)).toBe(2_500);
    expect(text).toContain(`${textAt(place)}\n\n${textAt(place + 1)}\n\n${textAt(place + 2)}`);
  });
});

describe('log probabilities', () => {
  it('are those of different tokens, the said one first, falling, and of no more than one in all', () => {
    for (const token of [' the', ' harbour', '.']) {
      const all = likeliest(token, 20);
      expect(all[0]).toEqual({ text: token, logprob: LOGPROB });
      expect(new Set(all.map(({ text }) => text)).size).toBe(20);
      const logprobs = all.map(({ logprob }) => logprob);
      expect(logprobs).toEqual(logprobs.toSorted((a, b) => b - a));
      expect(logprobs.reduce((sum, logprob) => sum + Math.exp(logprob), 0)).toBeLessThan(1 + 1e-9);
    }
    expect(likeliest('x', 0)).toEqual([]);
  });
});

describe('stop sequences and bounds', () => {
  it('cut the answer exactly where they begin, also inside a token', () => {
    forAll(
      [
        fc.string({ unit: fc.constantFrom('a', 'b', ' ', '\n', 'é', '🌊'), maxLength: 60 }),
        fc.array(
          fc.string({ unit: fc.constantFrom('a', 'b', ' ', '🌊'), minLength: 1, maxLength: 4 }),
          {
            maxLength: 3,
          },
        ),
      ],
      (text, stops) => {
        const found = stops.map((stop) => text.indexOf(stop)).filter((index) => index >= 0);
        const expected = found.length === 0 ? text : text.slice(0, Math.min(...found));
        expect(run(piecesOf(text), { maxTokens: 1000, stops }).text).toBe(expected);
      },
    );
  });

  it('ends with length after max_tokens and never counts more', () => {
    forAll(
      [fc.string({ unit: 'grapheme', maxLength: 80 }), fc.integer({ min: 1, max: 20 })],
      (text, maxTokens) => {
        const { end } = run(piecesOf(text), { maxTokens, stops: [] });
        expect(end.tokens).toBeLessThanOrEqual(maxTokens);
        expect(end.finish).toBe(countTokens(text) > maxTokens ? 'length' : 'stop');
      },
    );
  });
});

describe('counting tokens', () => {
  it('splits any text into pieces that join to the text and count as the whole', () => {
    forAll([fc.string({ unit: 'grapheme', maxLength: 200 })], (text) => {
      const pieces = [...piecesOf(text)];
      expect(pieces.map((piece) => piece.text).join('')).toBe(text);
      expect(pieces.reduce((sum, piece) => sum + piece.tokens, 0)).toBe(encode(text).length);
    });
  });

  it('counts a megabyte without a space before the test is given up, and text that looks like a control token', () => {
    expect(countTokens('a'.repeat(1_000_000))).toBeGreaterThan(100_000);
    expect(countTokens('<|endoftext|>')).toBeGreaterThan(1);
  });
});
