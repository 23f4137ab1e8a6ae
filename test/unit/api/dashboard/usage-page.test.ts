import { expect, it } from 'vitest';
import { html } from '#api/html.ts';
import type { Frame } from '#api/dashboard/parts/layout.ts';
import { table } from '#api/dashboard/parts/elements.ts';
import { usagePage } from '#api/dashboard/usage/page.ts';
import { type StackedParts, usageChart } from '#api/dashboard/usage/stacked.ts';
import { moneyText } from '#shared/methodology/readable.ts';
import type { UsageFigures, UsageGrouping, UsageReport } from '#shared/receipts/usage.ts';

it('a table of usage stays within the budget of a page, however many rows and digits it has, and says where the rest is [dashboard.budget]', () => {
  const amount = {
    value: '12345.678901234567890123',
    lower: '1234.5678901234567890123',
    upper: '123456.78901234567890123',
  };
  const tokens = { input: 123_456_789_012, cachedInput: 0, output: 123_456_789_012 };
  const figures = {
    requests: 123_456_789,
    uncovered: 1_234,
    covered: 123_455_555,
    tokens,
    cost: '1234567.123456789',
    priced: 123_455_555,
    amounts: { energy: amount, gwp: amount, water: amount },
  } as unknown as UsageFigures;
  const names = (i: number): string[] => [
    new Date(i * 86_400_000).toISOString().slice(0, 10),
    'a-model-with-a-name-as-long-as-they-are',
  ];
  const groups = Array.from({ length: 2_000 }, (_, i) => ({ ...figures, names: names(i) }));
  const price = {
    from: 0,
    input: 150_000,
    cachedInput: 75_000,
    output: 600_000,
    region: 'eu-west',
  };
  const { text } = usagePage({ membership: { orgId: 'org_a' }, now: 0 } as Frame, {
    from: '2026-10-25',
    to: '2026-11-23',
    groupBy: ['day', 'model'],
    tags: [],
    tag: '',
    report: { ledgerSize: 1, currency: 'EUR', groups, total: figures },
    problem: undefined,
    range: { from: 0, to: 30 * 86_400_000 },
    before: { from: -30 * 86_400_000, to: 0, figures },
    prices: Array.from({ length: 2_000 }, () => ({ ...price, model: names(0)[1]! })),
    keyNames: new Map(),
  });
  // What a page loads beside itself takes 40 KB.
  expect(Buffer.byteLength(text)).toBeLessThan(160_000);
  expect(text).toContain('the CSV has all');
  expect(text).toMatch(/The first 30 of 2.000/);
  // As cards these rows would be forty screens of a phone.
  expect(text).toContain('class="table scrolls"');
});

it('a chart of costs says of a day what the table by day says, where doubles add up to another cent', () => {
  const of = (cost: string, names: string[]) => ({ cost, names });
  const parts = (groups: unknown, groupBy: UsageGrouping[]): StackedParts => ({
    report: { ledgerSize: 1, currency: 'EUR', groups, total: {} } as UsageReport,
    groupBy,
    nameOf: (name) => name,
    range: { from: 0, to: 86_400_000 },
  });
  const day = '1970-01-01';
  const byModel = [of('0.1', [day, 'a']), of('0.045', [day, 'b'])];
  const chart = usageChart(parts(byModel, ['day', 'model']))!.text;
  expect(chart).toContain(`${day}: ${moneyText(Number('0.145'))} EUR;`);
  expect(usageChart(parts([of('0.145', [day])], ['day']))!.text).toContain(`${day}: 0.14 EUR`);
});

it('a cell without a value is empty, so that a phone leaves it out; values keep their blanks', () => {
  const rows = [undefined, '<td> </td>'].map(
    (value) =>
      html`<tr>
        <td class="num" data-head="Models">${value}</td>
      </tr>`,
  );
  const { text } = table('Regions', ['Models'], rows, 'stacked');
  expect(text).toContain('data-head="Models"></td>');
  expect(text).toContain('&#60;td&#62; &#60;/td&#62;');
});
