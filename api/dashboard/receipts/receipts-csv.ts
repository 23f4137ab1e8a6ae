import { csvLine, fieldOfOthers } from '#shared/kernel/csv.ts';
import { timeOfId } from '#shared/kernel/ids.ts';
import type { Page } from '#shared/kernel/page.ts';
import type { StoredReceipt } from '#shared/ledger/postgres/receipt-list.ts';
import { STATED_COLUMNS, statedFields } from '#shared/packs/tables.ts';
import { documentIn } from './page.ts';

const HEADER = csvLine(['asked_at', 'id', 'receipt', 'revises', ...STATED_COLUMNS]);

/** Pages of receipts as lines of a spreadsheet, whose columns are named as those of a pack's tables. */
export async function* receiptsCsv(
  pages: AsyncIterable<Page<StoredReceipt>>,
): AsyncGenerator<string, void> {
  let head = HEADER;
  for await (const { items } of pages) {
    yield `${head}${items.map(lineOf).join('')}`;
    head = '';
  }
}

function lineOf({ id, body }: StoredReceipt): string {
  const document = documentIn(body);
  const askedAt = new Date(timeOfId(id)).toISOString();
  const stated = statedFields(document).map((value) =>
    typeof value === 'string' ? fieldOfOthers(value) : value,
  );
  return csvLine([askedAt, id, document.id, document.wasRevisionOf?.id ?? '', ...stated]);
}
