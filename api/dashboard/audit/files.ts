import { auditLogList } from '#api/routes/audit-log.ts';
import type { AuditEntry } from '#shared/accounts/audit/entry.ts';
import type { Page } from '#shared/kernel/page.ts';
import { auditCsvHeader, auditCsvLines } from './audit-csv.ts';

type Pages = AsyncGenerator<Page<AuditEntry>, void>;

/** Pages as one list of the API. */
export async function* jsonOf(pages: Pages): AsyncGenerator<string, void> {
  let list: Omit<ReturnType<typeof auditLogList>, 'data'> | undefined;
  for await (const page of pages) {
    const { data, ...rest } = auditLogList(page);
    const entries = data.map((entry) => JSON.stringify(entry)).join(',');
    const between = list !== undefined && entries !== '' ? ',' : '';
    yield list === undefined ? `{"data":[${entries}` : `${between}${entries}`;
    list = { ...rest, first_id: list?.first_id ?? rest.first_id };
  }
  yield `],${JSON.stringify(list).slice(1)}`;
}

/** Pages as lines of a spreadsheet, with the names of those persons who have one here. */
export function csvOf(
  namesOf: (ids: readonly string[]) => Promise<ReadonlyMap<string, string>>,
  whenEmpty: () => Promise<void>,
): (pages: Pages) => AsyncGenerator<string, void> {
  return async function* (pages) {
    let head = auditCsvHeader;
    for await (const { items } of pages) {
      if (items.length === 0 && head !== '') await whenEmpty();
      const names = await namesOf(items.map(({ actorId }) => actorId));
      yield `${head}${auditCsvLines(items, names)}`;
      head = '';
    }
  };
}
