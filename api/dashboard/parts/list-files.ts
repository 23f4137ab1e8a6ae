import type { ServerResponse } from 'node:http';
import { Readable } from 'node:stream';
import { FairQueue } from '#api/plugins/fair-queue.ts';
import { Shares } from '#api/plugins/shares.ts';
import { Fault } from '#shared/kernel/errors.ts';
import type { Page, PageRequest } from '#shared/kernel/page.ts';

/** Rows of a file that are read at once: some milliseconds of work between two looks at what else is asked. */
const FILE_READ = 250;
/** Pages that are read at the same time, of all organisations; one of each. */
const READ_AT_ONCE = 2;
/** Files that are being fetched, of which an organisation alone has thirteen; each holds a page that its client has not read. */
const OPEN_MAX = 64;
const RETRY_MS = 1_000;

/**
 * Reads a list page by page, as fast as the clients of its files read them: neither the length of a list nor the number of its
 * readers adds to what the process holds or does at once.
 */
export class ListFiles<Asked extends PageRequest & { orgId: string }, Row extends { id: string }> {
  readonly #list: (asked: Asked) => Promise<Page<Row>>;
  readonly #turns = new FairQueue(READ_AT_ONCE);
  readonly #open = new Shares(OPEN_MAX);

  constructor(list: (asked: Asked) => Promise<Page<Row>>) {
    this.#list = list;
  }

  /**
   * The text of a file of so many rows at most, made of its pages as it is read, for this response, which may have been left.
   * The first page is read before this resolves.
   * @throws Fault when too many files are being fetched
   */
  async text(
    response: Pick<ServerResponse, 'destroyed' | 'once'>,
    { rowsMax, asked }: { rowsMax: number; asked: Omit<Asked, 'limit'> },
    textOf: (pages: AsyncGenerator<Page<Row>, void>) => AsyncGenerator<string, void>,
  ): Promise<Readable> {
    const { orgId } = asked as { orgId: string };
    if (response.destroyed || this.#open.take(orgId) !== undefined) {
      throw new Fault('requests_per_second_exceeded', {
        message: 'Too many files of this list are being downloaded. Wait until one has finished.',
        retryAfterMs: RETRY_MS,
      });
    }
    response.once('close', () => this.#open.giveBack(orgId));
    const text = textOf(this.#pages(asked, rowsMax));
    const first = await text.next();
    // A text that is made no faster than it is read.
    return Readable.from(beginningWith(first.done === true ? '' : first.value, text), {
      objectMode: false,
    });
  }

  async *#pages(asked: Omit<Asked, 'limit'>, rowsMax: number): AsyncGenerator<Page<Row>, void> {
    let after: Pick<PageRequest, 'after'> = {};
    for (let count = 0; ;) {
      const limit = Math.min(FILE_READ, rowsMax - count);
      const page = await this.#page({ ...asked, ...after, limit } as unknown as Asked);
      yield page;
      count += page.items.length;
      if (!page.hasMore || count >= rowsMax) return;
      after = { after: page.items.at(-1)!.id };
    }
  }

  async #page(asked: Asked): Promise<Page<Row>> {
    await this.#turns.enter(asked.orgId);
    try {
      return await this.#list(asked);
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
