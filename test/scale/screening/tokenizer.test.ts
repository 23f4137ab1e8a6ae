import { readFileSync } from 'node:fs';
import fc from 'fast-check';
import { countTokens as cl100k, encode as encodeCl100k } from 'gpt-tokenizer/encoding/cl100k_base';
import { countTokens as o200k } from 'gpt-tokenizer/encoding/o200k_base';
import {
  CL100K_TOKEN_SPLIT_REGEX,
  O200K_TOKEN_SPLIT_REGEX,
} from 'gpt-tokenizer/encodingParams/constants';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { createTokenCounter } from '#shared/screening/files/token-counter.ts';
import { promptsOf } from '#shared/screening/prompt.ts';
import { wordsOf } from '#shared/screening/words.ts';
import { runs } from '#test/support/depth.ts';
import { anyCharacter } from '#test/support/any-character.ts';
import { forAll, forAllAsync } from '#test/support/for-all.ts';
import { turnsDuring } from '#test/support/turns-during.ts';

const counter = createTokenCounter();
const book = readFileSync(new URL('../../fixtures/almanac.txt', import.meta.url), 'utf8');
const asText = { disallowedSpecial: new Set<string>() };
const prompt = (texts: string[], over = {}) => ({ texts, tokens: 0, messages: 0, ...over });

describe('wordsOf', () => {
  it('reads a text in windows, and finds the words that are in the whole', () => {
    const piece = fc.oneof(
      fc.string({ unit: anyCharacter, maxLength: 12 }),
      fc.constantFrom(
        '\n',
        ' \n  ',
        "x'll",
        "A's",
        '=/\n/',
        '12345',
        ' é',
        'न्म',
        '\u{1d7d9}',
        'aB',
        '😀',
      ),
    );
    forAll(
      [fc.array(piece, { maxLength: 20 }), fc.integer({ min: 8, max: 40 })],
      { numRuns: runs(2_000) },
      (pieces, n) => {
        const text = pieces.join('');
        for (const split of [O200K_TOKEN_SPLIT_REGEX, CL100K_TOKEN_SPLIT_REGEX]) {
          const whole = text.match(split) ?? [];
          const read = [...wordsOf(text, split, n)];
          expect(read).toEqual(whole.slice(0, read.length));
          if (whole.every((word) => word.length * 4 < n)) expect(read).toEqual(whole);
        }
      },
    );
  });
});

/** Tokens of a text that is counted whole. */
async function counted(text: string, family: string | undefined): Promise<number> {
  const { tokens, lower, upper } = await counter.countPrompts([prompt([text])], family);
  expect([lower, upper]).toEqual([tokens, tokens]);
  return tokens;
}

/** Without the two characters that are white space in JavaScript's expressions and not in Rust's, or the other way around. */
const comparable = (text: string): string => text.replaceAll(/[\u0085\ufeff]/g, '');

describe('countPrompts of a text', () => {
  it('counts prose exactly as in one piece', async () => {
    expect(await counted(book, 'o200k_base')).toBe(o200k(book));
    expect(await counted(book, 'cl100k_base')).toBe(cl100k(book));
  });

  it('counts any short text exactly', async () => {
    await forAllAsync([fc.string({ unit: 'grapheme', maxLength: 200 })], async (any) => {
      const text = comparable(any);
      expect(await counted(text, 'cl100k_base')).toBe(cl100k(text, asText));
    });
  });

  it('takes for white space what the vocabularies were made with', async () => {
    // As tiktoken 0.14 counts it, whose expressions are Rust's.
    const text = ' \u0085 \u0085x\n\u0085'.repeat(400);
    expect(await counted(text, 'o200k_base')).toBe(3_600);
    expect(await counted(text, 'cl100k_base')).toBe(3_600);
  });

  it('reads names of special tokens and lone surrogates as text', async () => {
    expect(await counted('<|endoftext|>', 'o200k_base')).toBeGreaterThan(1);
    expect(await counted('a\ud800b', 'o200k_base')).toBeGreaterThan(0);
  });

  it('counts runs of any length exactly as in one piece', async () => {
    const known = [
      `${'    '.repeat(300)}x\n`.repeat(20),
      `${'/'.repeat(1_100)} `.repeat(10),
      '1234567890'.repeat(2_000),
      `${'='.repeat(1_030)}\n`.repeat(50),
      'ab'.repeat(2_000),
    ];
    for (const text of known) {
      expect(await counted(text, 'o200k_base')).toBe(o200k(text));
      expect(await counted(text, 'cl100k_base')).toBe(cl100k(text));
    }
    const piece = fc.oneof(
      fc.string({ unit: anyCharacter, minLength: 1, maxLength: 4 }),
      fc.constantFrom(
        ' ',
        '=',
        '-',
        '/',
        '\n',
        '\t',
        '0',
        'q',
        'ab',
        '灯台',
        'ไทย',
        '😀',
        '\r\n',
        "'",
      ),
    );
    const run = fc.tuple(piece, fc.integer({ min: 1, max: 700 }));
    await forAllAsync(
      [fc.array(run, { minLength: 1, maxLength: 4 })],
      { numRuns: runs(400) },
      async (parts) => {
        const text = comparable(parts.map(([one, times]) => one.repeat(times)).join(''));
        expect(await counted(text, 'o200k_base')).toBe(o200k(text, asText));
        expect(await counted(text, 'cl100k_base')).toBe(cl100k(text, asText));
      },
    );
  });

  it('counts long words that are no runs exactly as in one piece', async () => {
    const letters = fc.constantFrom(
      ...'e t a o i n z q A B É ß ж я 灯 台 守 ไ ท ย ก ่ = - #'.split(' '),
    );
    const word = fc.string({ unit: letters, minLength: 257, maxLength: 700 });
    await forAllAsync([word], { numRuns: runs(400) }, async (text) => {
      expect(await counted(text, 'o200k_base')).toBe(o200k(text));
      expect(await counted(text, 'cl100k_base')).toBe(cl100k(text));
    });
  });

  it('says between what the count lies of a text with a word that no writing has', async () => {
    const text = `${'灯'.repeat(1_100_000)} and the rest`;
    const { tokens, lower, upper } = await counter.countPrompts([prompt([text])], 'o200k_base');
    expect(lower).toBeLessThanOrEqual(tokens);
    expect(tokens).toBeLessThanOrEqual(upper);
    // Each of these characters is a token of its own, or less.
    expect(lower).toBeLessThanOrEqual(1_100_004);
    expect(upper).toBeGreaterThanOrEqual(1_100_000);
    expect(lower).toBeLessThan(upper);
  });

  it('counts a text of 600,000 characters whole, however its density changes', async () => {
    const texts = ['the lighthouse '.repeat(20_000), 'q7#'.repeat(100_000)];
    const whole = texts.join('');
    expect(await counted(whole, 'o200k_base')).toBe(o200k(whole));
  });

  it('of a text beyond the bound says between what the count lies, which holds however its density changes', async () => {
    const bounded = createTokenCounter(4_096);
    const piece = fc.constantFrom(
      'the lighthouse keeper wrote ',
      ' '.repeat(128),
      '灯台守は日誌を書いた。',
      'жщ',
      '😀',
      'q7#Zx',
      '\n',
      '0123456789',
    );
    const passage = fc.tuple(piece, fc.integer({ min: 1, max: 200 }));
    let estimated = 0;
    await forAllAsync(
      [fc.array(passage, { minLength: 1, maxLength: 5 })],
      { numRuns: runs(300) },
      async (passages) => {
        const text = passages.map(([one, times]) => one.repeat(times)).join('');
        const { tokens, lower, upper } = await bounded.countPrompts([prompt([text])], 'o200k_base');
        expect(lower).toBeLessThanOrEqual(tokens);
        expect(tokens).toBeLessThanOrEqual(upper);
        if (lower === upper) return;
        estimated += 1;
        const real = await counted(text, 'o200k_base');
        expect(lower).toBeLessThanOrEqual(real);
        expect(real).toBeLessThanOrEqual(upper);
      },
    );
    expect(estimated).toBeGreaterThan(0);
  });

  it('estimates the tokens of prose beyond the bound from its beginning', async () => {
    const bounded = createTokenCounter(8_192);
    const { tokens, lower, upper } = await bounded.countPrompts([prompt([book])], 'o200k_base');
    expect(lower).toBeLessThan(upper);
    expect(Math.abs(tokens / o200k(book) - 1)).toBeLessThan(0.01);
  });

  it('approximates an unknown family by o200k_base', async () => {
    expect(await counted('hello world', 'spm-unknown')).toBe(2);
    expect(await counted('hello world', undefined)).toBe(2);
  });
});

describe('countPrompts of a request', () => {
  it('adds what the chat format puts around each message', async () => {
    const [chat] = promptsOf('chat.completions', {
      messages: [{ role: 'user', content: 'hello world' }],
    });
    expect((await counter.countPrompts([chat!], 'o200k_base')).tokens).toBe(2 + 4 + 3);
  });

  it('takes token ids as they are', async () => {
    const [ids] = promptsOf('completions', { prompt: [1, 2, 3] });
    expect((await counter.countPrompts([ids!], 'o200k_base')).tokens).toBe(3);
  });
});

describe('promptFits', () => {
  it('answers at once for a prompt with no more bytes than the window has tokens', () => {
    expect(
      counter.promptFits(prompt(['é'.repeat(50)]), {
        contextWindow: 100,
        tokenizer: 'o200k_base',
      }),
    ).toBe(true);
  });

  it('answers at once for a prompt that no tokenizer could fit', () => {
    expect(
      counter.promptFits(prompt(['x'.repeat(12_801)]), {
        contextWindow: 100,
        tokenizer: 'o200k_base',
      }),
    ).toBe(false);
    expect(counter.promptFits(prompt(['x'.repeat(12_801)]), { contextWindow: 100 })).toBe(false);
  });

  it('decides at the very token [codes.prompt_too_long]', async () => {
    const tokens = o200k(book);
    expect(
      await counter.promptFits(prompt([book]), {
        contextWindow: tokens,
        tokenizer: 'o200k_base',
      }),
    ).toBe(true);
    expect(
      await counter.promptFits(prompt([book]), {
        contextWindow: tokens - 1,
        tokenizer: 'o200k_base',
      }),
    ).toBe(false);
    expect(
      await counter.promptFits(prompt([book, book]), {
        contextWindow: 2 * tokens - 1,
        tokenizer: 'o200k_base',
      }),
    ).toBe(false);
  });

  it('counts token ids exactly, for any family', () => {
    expect(counter.promptFits(prompt([], { tokens: 100 }), { contextWindow: 100 })).toBe(true);
    expect(counter.promptFits(prompt([], { tokens: 101 }), { contextWindow: 100 })).toBe(false);
  });

  it('never refuses what may fit when the family is unknown [codes.prompt_too_long]', () => {
    expect(
      counter.promptFits(prompt(['x'.repeat(12_800)]), {
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
      .map((parts) => comparable(parts.join(' ')));
    await forAllAsync([text, fc.nat(3)], async (long, slack) => {
      const contextWindow = o200k(long, asText) + slack;
      expect(
        await counter.promptFits(prompt([long]), { contextWindow, tokenizer: 'o200k_base' }),
      ).toBe(true);
    });
  });

  it('loads a vocabulary once, in turns of which other work gets some forty, however many ask for it at once', async () => {
    vi.resetModules();
    const { createTokenCounter: unloaded } =
      await import('#shared/screening/files/token-counter.ts');
    const hello = promptsOf('completions', { prompt: 'hello world' });
    const fresh = unloaded();
    const { result, turns } = await turnsDuring(async () =>
      Promise.all(Array.from({ length: 20 }, () => fresh.countPrompts(hello, 'o200k_base'))),
    );
    expect(new Set(result.map(({ tokens }) => tokens))).toEqual(new Set([2]));
    expect(turns).toBeGreaterThan(40);
    expect(turns).toBeLessThan(100);
  });

  it('stops reading a huge prompt as soon as it is too long, and gives other work its turns', async () => {
    const window = { contextWindow: 60_000, tokenizer: 'o200k_base' };
    // The vocabulary is read from its file first, in as many turns as that takes.
    await counter.promptFits(prompt([book]), window);
    const { result, turns } = await turnsDuring(async () =>
      counter.promptFits(prompt([book.repeat(200)]), window),
    );
    expect(result).toBe(false);
    // 60,000 tokens of this text are about 17 turns; all of it would be more than 300.
    expect(turns).toBeGreaterThan(10);
    expect(turns).toBeLessThan(100);
  });

  it('spends bounded work on a word of a megabyte', async () => {
    const word = 'qzjx'.repeat(250_000);
    expect(
      await counter.promptFits(prompt([word]), {
        contextWindow: 20_000,
        tokenizer: 'o200k_base',
      }),
    ).toBe(false);
  });

  it('leaves to the upstream what takes more steps than the budget, on a machine however slow', async () => {
    let now = 0;
    const clock = vi.spyOn(performance, 'now').mockImplementation(() => (now += 10_000));
    onTestFinished(() => clock.mockRestore());
    const window = { contextWindow: 100_000, tokenizer: 'o200k_base' };
    const [long, short] = [book.repeat(20), book.repeat(2)];
    const budget = { steps: 1_000_000 };
    expect(await counter.promptFits(prompt([long]), window, budget)).toBe(false);
    const spent = 1_000_000 - budget.steps;
    expect(await counter.promptFits(prompt([long]), window, { steps: spent })).toBe(false);
    expect(await counter.promptFits(prompt([long]), window, { steps: spent - 20_000 })).toBe(true);
    expect(await counter.promptFits(prompt([short]), window, { steps: 1_000_000 })).toBe(true);
  });
});

describe('decoder', () => {
  it('gives back the text of token ids, and leaves out ids that do not exist', () => {
    const decode = counter.decoder('o200k_base');
    expect(decode?.([24912, 2375, 999_999_999])).toBe('hello world');
    expect(counter.decoder('spm-unknown')).toBeUndefined();
  });

  it('reads a special token, and an id between texts and special tokens, as a space', () => {
    expect(counter.decoder('cl100k_base')?.([15339, 100_256, 1917])).toBe('hello  world');
    expect(counter.decoder('cl100k_base')?.([15339, 100_257, 14957])).toBe('hello world');
    expect(counter.decoder('o200k_harmony')?.([24912, 200_006, 24169])).toBe('hello world');
  });

  it('does not carry half a character over to the next text', () => {
    const decode = counter.decoder('cl100k_base')!;
    const [half, rest] = encodeCl100k('💥');
    expect(decode([half!])).toBe('\ufffd');
    expect(decode([15339])).toBe('hello');
    expect(decode(encodeCl100k('a 💥 b'))).toBe('a 💥 b');
    expect(decode([half!, rest!, 15339])).toBe('💥hello');
  });

  it('gives back any text that is well formed', () => {
    forAll([fc.string({ unit: anyCharacter, maxLength: 60 })], (text) => {
      fc.pre(text.isWellFormed());
      expect(counter.decoder('cl100k_base')?.(encodeCl100k(text, asText))).toBe(text);
    });
  });

  it('never throws for any ids', () => {
    const decode = counter.decoder('cl100k_base');
    forAll([fc.array(fc.nat(2 ** 31 - 1)), fc.array(fc.nat(101_000))], (wild, near) => {
      expect(typeof decode?.(wild)).toBe('string');
      expect(typeof decode?.(near)).toBe('string');
    });
  });
});
