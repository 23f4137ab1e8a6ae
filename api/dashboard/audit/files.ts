import type { ServerResponse } from 'node:http';
import { FairQueue } from '#api/plugins/fair-queue.ts';
import { Shares } from '#api/plugins/shares.ts';
import { auditLogList } from '#api/routes/audit-log.ts';
import type { AuditEntry } from '#shared/accounts/audit/entry.ts';
import type { AuditLog, AuditPageRequest } from '#shared/accounts/postgres/audit.ts';
import { Fault } from '#shared/kernel/errors.ts';
import type { Page } from '#shared/kernel/page.ts';
import { auditCsvHeader, auditCsvLines } from './audit-csv.ts';

/** Entries of a file that are read at once: some milliseconds of work between two looks at what else is asked. */
const FILE_READ = 250;
/** Pages that are read at the same time, of all organisations; one of each. */
const READ_AT_ONCE = 2;
/** Files that are being fetched, of which an organisation alone has thirteen; each holds a page that its client has not read. */
const OPEN_MAX = 64;
const RETRY_MS = 1_000;

type Pages = AsyncGenerator<Page<AuditEntry>, void>;

/**
 * Reads the audit log page by page, as fast as the clients of its files read them: neither the length of a log nor the number
 * of its readers adds to what the process holds or does at once.
 */
export class AuditFiles {
  readonly #audit: Pick<AuditLog, 'list'>;
  readonly #turns = new FairQueue(READ_AT_ONCE);
  readonly #open = new Shares(OPEN_MAX);

  constructor(audit: Pick<AuditLog, 'list'>) {
    this.#audit = audit;
  }

  /**
   * The text of a file of so many entries at most, made of its pages as it is read, for this response, which may have been
   * left. The first page is read before this resolves.
   * @throws Fault when too many files are being fetched
   */
  async text(
    response: Pick<ServerResponse, 'destroyed' | 'once'>,
    { entriesMax, ...asked }: Omit<AuditPageRequest, 'limit'> & { entriesMax: number },
    textOf: (pages: Pages) => AsyncGenerator<string, void>,
  ): Promise<AsyncGenerator<string, void>> {
    const { orgId } = asked;
    if (response.destroyed || this.#open.take(orgId) !== undefined) {
      throw new Fault('requests_per_second_exceeded', {
        message: 'Too many audit-log files are being downloaded. Wait until one has finished.',
        retryAfterMs: RETRY_MS,
      });
    }
    response.once('close', () => this.#open.giveBack(orgId));
    const text = textOf(this.#pages(asked, entriesMax));
    const first = await text.next();
    return beginningWith(first.done === true ? '' : first.value, text);
  }

  async *#pages(asked: Omit<AuditPageRequest, 'limit'>, entriesMax: number): Pages {
    let after: Pick<AuditPageRequest, 'after'> = {};
    for (let count = 0; ;) {
      const page = await this.#page({ ...asked, ...after, limit: FILE_READ });
      yield page;
      count += page.items.length;
      if (!page.hasMore || count >= entriesMax) return;
      after = { after: page.items.at(-1)!.id };
    }
  }

  async #page(asked: AuditPageRequest): Promise<Page<AuditEntry>> {
    await this.#turns.enter(asked.orgId);
    try {
      return await this.#audit.list(asked);
    } finally {
      this.#turns.leave(asked.orgId);
    }
  }
}

async function* beginningWith(
  first: string,
  rest: AsyncGenerator<string, void>,
): AsyncGenerator<string, void> {
  yield first;
  yield* rest;
}

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
