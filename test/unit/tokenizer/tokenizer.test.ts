import { readFileSync } from 'node:fs';
import fc from 'fast-check';
import { countTokens as cl100k } from 'gpt-tokenizer/encoding/cl100k_base';
import { countTokens as o200k } from 'gpt-tokenizer/encoding/o200k_base';
import { describe, expect, it } from 'vitest';
import { SLICE_CHARS, slicesOf } from '../../../shared/adapters/tokenizer/slices.ts';
import { createTokenizer } from '../../../shared/adapters/tokenizer/tokenizer.ts';
import { promptsOf } from '../../../shared/domain/prompt.ts';

const tokenizer = createTokenizer();
const book = readFileSync(new URL('../../../dev/sandbox/almanac.txt', import.meta.url), 'utf8');
const asText = { disallowedSpecial: new Set<string>() };
const prompt = (texts: string[], over = {}) => ({ texts, tokens: 0, messages: 0, ...over });

describe('slicesOf', () => {
  it('cuts any text into bounded slices that make up the text, never through a character', () => {
    const piece = fc.oneof(
      fc.string({ unit: 'binary', maxLength: 900 }),
      fc.constantFrom(' '.repeat(700), '😀'.repeat(600), 'word '.repeat(200)),
    );
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 6 }), (pieces) => {
        const text = pieces.join('');
        const slices = [...slicesOf(text)];
        expect(slices.join('')).toBe(text);
        for (const slice of slices) {
          expect(slice.length).toBeLessThanOrEqual(SLICE_CHARS);
          if (text.isWellFormed()) expect(slice.isWellFormed()).toBe(true);
        }
      }),
    );
  });
});

describe('countTokens', () => {
  it('counts prose in slices exactly as in one piece', async () => {
    expect(await tokenizer.countTokens(book, 'o200k_base')).toBe(o200k(book));
    expect(await tokenizer.countTokens(book, 'cl100k_base')).toBe(cl100k(book));
  });

  it('counts short texts exactly, whatever is in them', async () => {
    await fc.assert(
      fc.asyncProperty(fc.string({ unit: 'grapheme', maxLength: 200 }), async (text) => {
        expect(await tokenizer.countTokens(text, 'cl100k_base')).toBe(cl100k(text, asText));
      }),
    );
  });

  it('reads names of special tokens and lone surrogates as text', async () => {
    expect(await tokenizer.countTokens('<|endoftext|>', 'o200k_base')).toBeGreaterThan(1);
    expect(await tokenizer.countTokens('a\ud800b', 'o200k_base')).toBeGreaterThan(0);
  });

  it('stays near the true count for words longer than a slice', async () => {
    const word = 'ab'.repeat(2_000);
    expect(
      Math.abs((await tokenizer.countTokens(word, 'o200k_base')) - o200k(word)),
    ).toBeLessThanOrEqual(8);
  });

  it('approximates an unknown family by o200k_base', async () => {
    expect(await tokenizer.countTokens('hello world', 'spm-unknown')).toBe(2);
    expect(await tokenizer.countTokens('hello world', undefined)).toBe(2);
  });
});

describe('countPrompt', () => {
  it('adds what the chat format puts around each message', async () => {
    const [chat] = promptsOf('chat.completions', {
      messages: [{ role: 'user', content: 'hello world' }],
    });
    expect(await tokenizer.countPrompt(chat!, 'o200k_base')).toBe(2 + 4 + 3);
  });

  it('takes token ids as they are', async () => {
    const [ids] = promptsOf('completions', { prompt: [1, 2, 3] });
    expect(await tokenizer.countPrompt(ids!, 'o200k_base')).toBe(3);
  });
});

describe('promptFits', () => {
  it('answers at once for a prompt with no more bytes than the window has tokens', () => {
    expect(
      tokenizer.promptFits(prompt(['é'.repeat(50)]), {
        contextWindow: 100,
        tokenizer: 'o200k_base',
      }),
    ).toBe(true);
  });

  it('answers at once for a prompt that no tokenizer could fit', () => {
    expect(
      tokenizer.promptFits(prompt(['x'.repeat(12_801)]), {
        contextWindow: 100,
        tokenizer: 'o200k_base',
      }),
    ).toBe(false);
    expect(tokenizer.promptFits(prompt(['x'.repeat(12_801)]), { contextWindow: 100 })).toBe(false);
  });

  it('decides at the very token', async () => {
    const tokens = o200k(book);
    expect(
      await tokenizer.promptFits(prompt([book]), {
        contextWindow: tokens,
        tokenizer: 'o200k_base',
      }),
    ).toBe(true);
    expect(
      await tokenizer.promptFits(prompt([book]), {
        contextWindow: tokens - 1,
        tokenizer: 'o200k_base',
      }),
    ).toBe(false);
    expect(
      await tokenizer.promptFits(prompt([book, book]), {
        contextWindow: 2 * tokens - 1,
        tokenizer: 'o200k_base',
      }),
    ).toBe(false);
  });

  it('counts token ids exactly, for any family', () => {
    expect(tokenizer.promptFits(prompt([], { tokens: 100 }), { contextWindow: 100 })).toBe(true);
    expect(tokenizer.promptFits(prompt([], { tokens: 101 }), { contextWindow: 100 })).toBe(false);
  });

  it('never refuses what may fit when the family is unknown', () => {
    expect(
      tokenizer.promptFits(prompt(['x'.repeat(12_800)]), {
        contextWindow: 100,
        tokenizer: 'spm-unknown',
      }),
    ).toBe(true);
  });

  it('never refuses a prompt whose tokens fit', async () => {
    const text = fc
      .array(fc.oneof(fc.string({ unit: 'grapheme' }), fc.lorem(), fc.constant(' '.repeat(90))), {
        maxLength: 8,
      })
      .map((parts) => parts.join(' '));
    await fc.assert(
      fc.asyncProperty(text, fc.nat(3), async (long, slack) => {
        const contextWindow = o200k(long, asText) + slack;
        expect(
          await tokenizer.promptFits(prompt([long]), { contextWindow, tokenizer: 'o200k_base' }),
        ).toBe(true);
      }),
    );
  });

  it('stops reading a huge prompt as soon as it is too long, and gives other work its turn', async () => {
    const huge = book.repeat(200);
    let turns = 0;
    const count = (): void => {
      turns += 1;
      if (turns < 1000) setImmediate(count);
    };
    setImmediate(count);
    const started = performance.now();
    expect(
      await tokenizer.promptFits(prompt([huge]), {
        contextWindow: 60_000,
        tokenizer: 'o200k_base',
      }),
    ).toBe(false);
    // Reading all of it would take some ten times as long as the part that decides.
    const decided = performance.now() - started;
    const restarted = performance.now();
    await tokenizer.countTokens(huge, 'o200k_base');
    expect(decided).toBeLessThan((performance.now() - restarted) / 2);
    expect(turns).toBeGreaterThan(5);
  });

  it('spends bounded work on a word of a megabyte', async () => {
    const word = 'qzjx'.repeat(250_000);
    expect(
      await tokenizer.promptFits(prompt([word]), {
        contextWindow: 20_000,
        tokenizer: 'o200k_base',
      }),
    ).toBe(false);
  });
});

describe('decoder', () => {
  it('gives back the text of token ids, and leaves out ids that do not exist', async () => {
    const decode = await tokenizer.decoder('o200k_base');
    expect(decode?.([24912, 2375, 999_999_999])).toBe('hello world');
    expect(await tokenizer.decoder('spm-unknown')).toBeUndefined();
  });

  it('never throws for any ids', async () => {
    const decode = await tokenizer.decoder('cl100k_base');
    fc.assert(
      fc.property(fc.array(fc.nat(2 ** 31 - 1)), fc.array(fc.nat(101_000)), (wild, near) => {
        expect(typeof decode?.(wild)).toBe('string');
        expect(typeof decode?.(near)).toBe('string');
      }),
    );
  });
});
