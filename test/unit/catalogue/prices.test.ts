import fc from 'fast-check';
import { expect, it } from 'vitest';
import { costBound, costOf } from '#shared/catalogue/prices.ts';
import { forAll } from '#test/support/for-all.ts';
import { GOOD, parse, problems } from './files.ts';

/** The good file with prices of its model. */
const priced = (prices: readonly string[], currency = 'currency: EUR\n'): string =>
  GOOD.replace('regions:\n', `${currency}regions:\n`).replace(
    '    footprint:',
    `    prices:\n${prices.map((each) => `      - { ${each} }\n`).join('')}    footprint:`,
  );
const LIST = [
  `from: 2026-01-01, input: '0.15', cached_input: '0.075', output: '0.6'`,
  `from: 2026-11-01, input: '2', output: '10'`,
  `from: 2026-01-01, region: eu-north, input: '3'`,
  `from: 2026-01-01, endpoint: local, region: eu-north, input: '5'`,
];
const NOVEMBER = Date.UTC(2026, 10, 1);
const costAt = (
  text: string,
  { at = NOVEMBER, region = 'eu-west', endpoint = 'other' },
  tokens: [number, number, number],
) => {
  const [inputTokens, cachedInputTokens, outputTokens] = tokens;
  const place = { model: 'acme/llama', region, endpoint, at };
  return costOf(parse(text).catalogue, place, { inputTokens, cachedInputTokens, outputTokens });
};

it('a request costs what the price of its day says, of its endpoint before its region, and nothing without one', () => {
  const list = priced(LIST);
  expect(costAt(list, { at: NOVEMBER - 1 }, [1_000, 400, 10])).toBe('EUR 0.000126');
  expect(costAt(list, {}, [1_000, 400, 10])).toBe('EUR 0.0021');
  expect(costAt(list, { region: 'eu-north' }, [1, 0, 9])).toBe('EUR 0.000003');
  expect(costAt(list, { region: 'eu-north', endpoint: 'local' }, [1, 0, 9])).toBe('EUR 0.000005');
  expect(costAt(list, { at: Date.UTC(2025, 11, 31) }, [1, 1, 1])).toBeUndefined();
  expect(costAt(GOOD, {}, [1, 1, 1])).toBeUndefined();
});

it('a cost is exact to its last place, and never above its bound, for all prices and tokens', () => {
  const micros = fc.integer({ min: 0, max: 999_999_999_999 });
  const tokens = fc.integer({ min: 0, max: 100_000_000 });
  const text = (each: number): string => (each / 1e6).toFixed(6);
  forAll([micros, micros, tokens, tokens], { numRuns: 50 }, (input, output, read, written) => {
    const list = priced([`from: 2026-01-01, input: '${text(input)}', output: '${text(output)}'`]);
    const cost = costAt(list, {}, [read, 0, written])!;
    const [whole = '', fraction = ''] = cost.slice('EUR '.length).split('.');
    const exact = BigInt(input) * BigInt(read) + BigInt(output) * BigInt(written);
    expect(BigInt(whole + fraction.padEnd(12, '0'))).toBe(exact);
    const bound = costBound(parse(list).catalogue.models[0]!, NOVEMBER, {
      input: read,
      output: written,
    });
    expect(bound).toBeGreaterThanOrEqual((Number(exact) / 1e12) * (1 - 1e-12));
  });
});

it('no request costs more than its bound, wherever it runs, for all lists of prices', () => {
  const price = fc.record(
    {
      from: fc.integer({ min: 0, max: 3 }),
      input: fc.nat(100),
      cachedInput: fc.nat(100),
      output: fc.nat(100),
      endpoint: fc.constantFrom('one', 'two'),
      region: fc.constantFrom('here', 'there'),
    },
    { requiredKeys: ['from', 'input', 'cachedInput', 'output'] },
  );
  const places = ['one', 'two', 'three'].flatMap((endpoint) =>
    ['here', 'there', 'nowhere'].map((region) => ({ endpoint, region })),
  );
  forAll([fc.array(price, { maxLength: 12 }), fc.nat(4)], (prices, at) => {
    const tokens = { inputTokens: 1_000_000, cachedInputTokens: 0, outputTokens: 0 };
    const catalogue = { currency: 'EUR', models: [{ id: 'm', prices }] } as never;
    const costs = places.map((place) => {
      const cost = costOf(catalogue, { model: 'm', at, ...place }, tokens) ?? 'EUR 0';
      return Number(cost.slice('EUR '.length));
    });
    const bound = costBound({ prices }, at, { input: 1_000_000, output: 0 });
    expect(bound).toBeGreaterThanOrEqual(Math.max(...costs));
  });
});

it('the bound of a request reads a long list of prices once', () => {
  let reads = 0;
  const prices = Array.from({ length: 256 }, (_, from) => ({
    get from() {
      reads += 1;
      return from;
    },
    input: from,
    cachedInput: 0,
    output: 0,
  }));
  expect(costBound({ prices }, NOVEMBER, { input: 1e12, output: 0 })).toBe(255);
  expect(reads).toBeLessThan(5 * prices.length);
});

it.each<[why: string, text: string, problem: string]>([
  [
    'a price without a currency',
    priced(LIST, ''),
    'models[0].prices: say in which `currency` they are, at the top of the file',
  ],
  [
    'a currency that is a word',
    priced(LIST, 'currency: euro\n'),
    'currency: must be three capital letters, as ISO 4217 has them',
  ],
  [
    'a price that is a number, which YAML may round',
    priced(['from: 2026-01-01, input: 0.15']),
    'models[0].prices[0].input: must be a string',
  ],
  [
    'a seventh place',
    priced([`from: 2026-01-01, input: '0.1234567'`]),
    'models[0].prices[0].input: must be a decimal in quotes, below 1000000 and with at most six places after the point',
  ],
  [
    'a day that does not exist',
    priced([`from: 2026-02-30, input: '1'`]),
    'models[0].prices[0].from: there is no such day',
  ],
  [
    'the same day twice',
    priced([LIST[0]!, LIST[0]!]),
    'models[0].prices[1]: is the second one from this day for the same',
  ],
  [
    'an endpoint that the model has not',
    priced([`from: 2026-01-01, input: '1', endpoint: remote`]),
    'models[0].prices[0].endpoint: the model has no endpoint remote',
  ],
  [
    'a region that does not exist',
    priced([`from: 2026-01-01, input: '1', region: eu-south`]),
    'models[0].prices[0].region: there is no region eu-south',
  ],
])('a price list is refused: %s', (_why, text, problem) => {
  expect(problems(text).map((line) => line.slice(line.indexOf(': ') + 2))).toContain(problem);
});
