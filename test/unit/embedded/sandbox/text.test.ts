import { readFileSync } from 'node:fs';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { fixedText, writeChoice } from '#embedded/sandbox/choice.ts';
import { END, START, shippedModel } from '#embedded/sandbox/ngram.ts';
import { seededRandom } from '#embedded/sandbox/random.ts';
import { sampleText, type SamplerSettings, type TokenStep } from '#embedded/sandbox/sampling.ts';
import { countTokens, encode, piecesOf, textOf } from '#embedded/sandbox/tokens.ts';

const model = shippedModel();

function settings(changed: Partial<SamplerSettings> = {}): SamplerSettings {
  return {
    temperature: 1,
    topP: 1,
    topK: 0,
    minP: 0,
    presencePenalty: 0,
    frequencyPenalty: 0,
    logitBias: new Map(),
    topic: new Set(),
    topLogprobs: undefined,
    ignoreEnd: false,
    ...changed,
  };
}

function writeTokens(count: number, seed: number, changed: Partial<SamplerSettings> = {}) {
  const steps: TokenStep[] = [];
  for (const step of sampleText(
    model,
    settings({ ignoreEnd: true, ...changed }),
    seededRandom(seed),
  )) {
    steps.push(step);
    if (steps.length === count) break;
  }
  return steps;
}

/** Writes a choice to its end. */
function run(text: string, bounds: { maxTokens: number; stops: string[] }) {
  const parts = writeChoice(fixedText(text), bounds);
  const texts: string[] = [];
  let next = parts.next();
  for (; next.done !== true; next = parts.next()) texts.push(next.value.text);
  return { texts, text: texts.join(''), end: next.value };
}

describe('the text model', () => {
  it('has a distribution after every pair of tokens of its text', () => {
    const text = readFileSync('embedded/sandbox/almanac.txt', 'utf8');
    for (const paragraph of text.split('\n\n').slice(0, 20)) {
      let [before, last] = [START, START];
      for (const token of [...encode(paragraph.trim()), END]) {
        const candidates = model.after(before, last);
        expect(candidates.tokens).toContain(token);
        expect(candidates.counts.reduce((sum, count) => sum + count, 0)).toBe(candidates.total);
        [before, last] = [last, token];
      }
    }
  });

  it('has tokens of whole characters only, so that every step can be shown', () => {
    const text = readFileSync('embedded/sandbox/almanac.txt', 'utf8');
    for (const token of new Set(encode(text))) expect(textOf([token])).not.toContain('\ufffd');
  });
});

describe('sampling', () => {
  it('writes the same for the same seed and something else for another', () => {
    const text = (seed: number) =>
      writeTokens(60, seed)
        .map((step) => step.text)
        .join('');
    expect(text(7)).toBe(text(7));
    expect(text(7)).not.toBe(text(8));
  });

  it('takes the likeliest token at temperature 0 for any seed', () => {
    const greedy = (seed: number) =>
      writeTokens(40, seed, { temperature: 0, topLogprobs: 3 }).map((step) => {
        expect(step.top[0]?.logprob).toBe(step.logprob);
        return step.text;
      });
    expect(greedy(1)).toEqual(greedy(2));
  });

  it('keeps to one candidate when top_p is next to nothing', () => {
    const narrow = writeTokens(40, 1, { topP: 0.0001 }).map((step) => step.text);
    expect(narrow).toEqual(writeTokens(40, 2, { temperature: 0 }).map((step) => step.text));
  });

  it('gives log probabilities that add up to one over all candidates', () => {
    for (const step of writeTokens(50, 3, { topLogprobs: 100_000 })) {
      const mass = step.top.reduce((sum, { logprob }) => sum + Math.exp(logprob), 0);
      expect(mass).toBeCloseTo(1, 9);
      expect(step.logprob).toBeLessThanOrEqual(0);
    }
  });

  it('spreads over more words at a higher temperature', () => {
    const distinct = (temperature: number) =>
      new Set(writeTokens(300, 5, { temperature }).map((step) => step.text)).size;
    expect(distinct(2)).toBeGreaterThan(distinct(0.1));
  });

  it('never takes a token that logit_bias forbids', () => {
    const [the] = encode(' the') as [number];
    const written = writeTokens(300, 5, { logitBias: new Map([[the, -100]]) });
    expect(written.map((step) => step.text)).not.toContain(' the');
  });
});

describe('stop sequences and bounds', () => {
  it('cut the answer exactly where they begin, also inside a token', () => {
    fc.assert(
      fc.property(
        fc.string({ unit: fc.constantFrom('a', 'b', ' ', '\n', 'é', '🌊'), maxLength: 60 }),
        fc.array(
          fc.string({ unit: fc.constantFrom('a', 'b', ' ', '🌊'), minLength: 1, maxLength: 4 }),
          {
            maxLength: 3,
          },
        ),
        (text, stops) => {
          const found = stops.map((stop) => text.indexOf(stop)).filter((index) => index >= 0);
          const expected = found.length === 0 ? text : text.slice(0, Math.min(...found));
          expect(run(text, { maxTokens: 1000, stops }).text).toBe(expected);
        },
      ),
    );
  });

  it('ends with length after max_tokens and never counts more', () => {
    fc.assert(
      fc.property(
        fc.string({ unit: 'grapheme', maxLength: 80 }),
        fc.integer({ min: 1, max: 20 }),
        (text, maxTokens) => {
          const { end } = run(text, { maxTokens, stops: [] });
          expect(end.tokens).toBeLessThanOrEqual(maxTokens);
          expect(end.finish).toBe(countTokens(text) > maxTokens ? 'length' : 'stop');
        },
      ),
    );
  });
});

describe('counting tokens', () => {
  it('splits any text into pieces that join to the text and count as the whole', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'grapheme', maxLength: 200 }), (text) => {
        const pieces = [...piecesOf(text)];
        expect(pieces.map((piece) => piece.text).join('')).toBe(text);
        expect(pieces.reduce((sum, piece) => sum + piece.tokens, 0)).toBe(encode(text).length);
      }),
    );
  });

  it('counts a megabyte without a space before the test is given up, and text that looks like a control token', () => {
    expect(countTokens('a'.repeat(1_000_000))).toBeGreaterThan(100_000);
    expect(countTokens('<|endoftext|>')).toBeGreaterThan(1);
  });
});
