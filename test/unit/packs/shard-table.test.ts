/** The table of a shard, as verifiers read it beside the receipts. */
import { expect, it } from 'vitest';
import { ShardTable } from '#cli/verify/shard-table.ts';
import { receiptRow, RECEIPTS_HEADER } from '#shared/packs/tables.ts';
import { buildReceipt } from '#shared/receipts/build.ts';
import { INPUTS } from '../receipts/samples.ts';

it('a time of integration is of a day that the calendar has, and of an hour that a day has', () => {
  const document = {
    ...buildReceipt(INPUTS['full']!),
    validFrom: '2026-11-30T23:50:00.000Z',
  };
  const contradicted = (time: string): boolean => {
    const rows = `${RECEIPTS_HEADER}${time},1,${receiptRow(document, 0, null)}`;
    const table = new ShardTable(
      Buffer.from(rows),
      'table.csv',
      Date.parse('2026-12-01T00:30:00Z'),
    );
    table.take(document, 0, null);
    return table.findings().contradiction !== undefined;
  };
  expect(contradicted('2026-12-01T00:00:00.000Z')).toBe(false);
  expect(contradicted('2026-11-31T00:00:00.000Z')).toBe(true);
  expect(contradicted('2026-11-30T24:00:00.000Z')).toBe(true);
});
