import { expect, it } from 'vitest';
import { usageCsv } from '#api/routes/usage.ts';
import { DATA_QUALITIES, QUANTITY_UNITS } from '#shared/methodology/measurement.ts';
import type { UsageFigures } from '#shared/receipts/usage.ts';

const tokens = { input: 1, cachedInput: 0, output: 1 };
const amount = { value: '1', lower: '0', upper: '2' };
const GROUP = {
  names: ['2026-11-20'],
  requests: 1,
  refused: 0,
  failed: 0,
  covered: 1,
  uncovered: 0,
  tokens,
  uncoveredTokens: tokens,
  amounts: Object.fromEntries(
    Object.keys(QUANTITY_UNITS).map((name) => [name, amount]),
  ) as UsageFigures['amounts'],
  cost: '0.5',
  priced: 1,
  quality: DATA_QUALITIES.map(() => 0),
};

it.each([
  ['prices', 'EUR', /,cost,currency,priced_requests$/],
  ['no prices', null, /,T5$/],
])(
  'CSV of usage has the same columns whether there was a request or none: with %s',
  (_, currency, end) => {
    const [header] = usageCsv(['day'], [GROUP], currency).split('\r\n');
    expect(header).toMatch(end);
    expect(usageCsv(['day'], [], currency)).toBe(`${header}\r\n`);
  },
);
