import { describe, expect, it } from 'vitest';
import { parseInvoices } from '#cli/auditing/invoices.ts';
import { gapsBetween, PacksDoNotFit, ReceiptedDays } from '#cli/auditing/reconcile.ts';
import type { TableRow } from '#cli/auditing/pack-tables.ts';

const HEADER = 'date,model,input_tokens,output_tokens\n';
const EXACT = { names: new Map<string, string>(), tolerance: 0 };

function rowOf(startedAt: string, inputTokens: number, changes: Partial<TableRow> = {}): TableRow {
  return {
    shard: '',
    line: 0,
    isCounted: true,
    isRevision: false,
    index: 0,
    receipt: '',
    startedAt,
    model: 'llama',
    region: '',
    tier: '',
    dataQuality: '',
    inputTokens,
    outputTokens: 1,
    columns: {},
    ...changes,
  };
}

function days(rows: readonly TableRow[]): ReceiptedDays {
  const receipted = new ReceiptedDays();
  receipted.take(rows);
  return receipted;
}

describe('tokens of receipts against invoices', () => {
  it('are of the day in UTC on which the request began, and of the model', () => {
    const receipted = days([
      rowOf('2026-11-23T23:59:59.999Z', 5),
      rowOf('2026-11-24T00:00:00.000Z', 7),
      rowOf('2026-11-24T12:00:00.000Z', 2, { model: 'mistral' }),
    ]);
    const invoices = parseInvoices(`${HEADER}2026-11-23,llama,5,1\n2026-11-24,llama,6,1\n`);
    const found = receipted.compare(invoices, EXACT);
    expect(found.map(({ day, model, agreement }) => [day, model, agreement])).toEqual([
      ['2026-11-23', 'llama', 'equal'],
      ['2026-11-24', 'llama', 'differs'],
      ['2026-11-24', 'mistral', 'only_receipts'],
    ]);
  });

  it('count an inference once, by its first receipt, however often it was revised, and in several packs', () => {
    const first = rowOf('2026-11-23T10:00:00.000Z', 5, { isCounted: false });
    const revision = rowOf('2026-11-23T10:00:00.000Z', 5, { isRevision: true });
    const receipted = days([first, revision, revision]);
    const invoices = parseInvoices(`${HEADER}2026-11-23,llama,5,1\n`);
    expect(receipted.compare(invoices, EXACT)).toMatchObject([{ receipts: 1, agreement: 'equal' }]);
  });

  it('may be within a share of each other, by another name, in several lines of a day', () => {
    const receipted = days([rowOf('2026-11-23T10:00:00.000Z', 1_000)]);
    const invoices = parseInvoices(`${HEADER}2026-11-23,LLaMA 3,600,1\n2026-11-23,llama,410,0\n`);
    const how = { names: new Map([['LLaMA 3', 'llama']]), tolerance: 0.01 };
    expect(receipted.compare(invoices, how)).toMatchObject([
      { inputTokens: { receipts: 1_000, invoices: 1_010 }, agreement: 'within' },
    ]);
    expect(receipted.compare(invoices, { ...how, tolerance: 0.009 })).toMatchObject([
      { agreement: 'differs' },
    ]);
  });

  it('name what was billed and has no receipt, and take nothing for missing where nothing was used', () => {
    const blocked = rowOf('2026-11-23T10:00:00.000Z', 0, { outputTokens: 0 });
    const invoices = parseInvoices(`${HEADER}2026-11-22,llama,4,4\n`);
    const found = days([blocked]).compare(invoices, EXACT);
    expect(found.map(({ agreement }) => agreement)).toEqual(['only_invoices', 'equal']);
  });
});

describe('a list of invoices', () => {
  it.each([
    ['date,model,input_tokens\n2026-11-23,llama,1\n', 'there is no column output_tokens'],
    ['', 'there is no column date'],
    [`${HEADER}23.11.2026,llama,1,1\n`, 'line 2: date is a day'],
    [`${HEADER}2026-02-30,llama,1,1\n`, 'line 2: date is a day'],
    [`${HEADER}2026-11-23,,1,1\n`, 'line 2: model is empty'],
    [`${HEADER}2026-11-23,llama,"1,000",1\n`, 'line 2: input_tokens is a whole number'],
    [`${HEADER}2026-11-23,llama,1,-1\n`, 'line 2: output_tokens is a whole number'],
    [`${HEADER}2026-11-23,llama,1\n`, 'it is not CSV'],
    [`${HEADER}2026-11-23,"llama,1,1\n`, 'it is not CSV'],
  ])('that begins %j is refused by its line and column', (text, problem) => {
    expect(() => parseInvoices(text)).toThrow(problem);
  });

  it('may have a mark of its encoding, columns in any order, further ones and times of midnight', () => {
    const text =
      '\uFEFFcost,output_tokens,model,date,input_tokens\r\n$3,2,m,2026-11-23T00:00:00Z,1\r\n';
    expect(parseInvoices(text)).toEqual([
      { day: '2026-11-23', model: 'm', inputTokens: 1, outputTokens: 2 },
    ]);
  });
});

describe('several packs', () => {
  const pack = (first: number, last: number, log = 'gateway.example/ledger/a') => ({
    path: `${first}.zip`,
    log,
    first,
    last,
  });

  it('name the entries between them that none has, in any order of the packs', () => {
    expect(gapsBetween([pack(20, 29), pack(0, 9), pack(10, 14)])).toEqual([
      { first: 15, last: 19 },
    ]);
    expect(gapsBetween([pack(5, 9)])).toEqual([]);
  });

  it('are refused when an entry would count twice, or when they are of two ledgers', () => {
    expect(() => gapsBetween([pack(0, 9), pack(9, 12)])).toThrow(PacksDoNotFit);
    expect(() => gapsBetween([pack(0, 99), pack(5, 9)])).toThrow('both have the entries 5 to 9');
    expect(() => gapsBetween([pack(0, 9), pack(10, 12, 'other')])).toThrow(PacksDoNotFit);
  });
});
