import { beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { firstRequestIdAt, timeOfId } from '#shared/kernel/ids.ts';
import { newId } from '#shared/kernel/system/new-id.ts';
import { DAY_MS } from '#shared/kernel/time.ts';
import {
  createRequestReader,
  findRequestRow,
  listQuery,
  type RequestPageRequest,
  writeRequests,
} from '#shared/requests/postgres/requests.ts';
import { createPool } from '#shared/kernel/postgres/pool.ts';
import { inTransaction } from '#shared/kernel/postgres/transaction.ts';
import { forgetRequestsOfClosed, turnRequestDays } from '#shared/requests/postgres/retention.ts';
import { RequestRecorder } from '#api/requests/recorder.ts';
import { activeAccount, createRegistries, OPERATOR } from '#test/support/accounts.ts';
import { startCuttingProxy } from '#test/support/cutting-proxy.ts';
import { createTestDatabase } from '#test/support/database.ts';
import { atFileEnd } from '#test/support/file-end.ts';
import { refusedRow, requestRow } from '#test/support/requests.ts';

const database = await createTestDatabase();
const registries = createRegistries(database.pool);
const api = database.poolAs('docket_api');
const requests = createRequestReader(api);
const housekeeping = database.poolAs('docket_housekeeping');

let orgId = '';
let other = '';
beforeEach(async () => {
  orgId = (await activeAccount(registries)).id;
  other = (await activeAccount(registries)).id;
});

const idsOf = async (asked: Partial<RequestPageRequest> = {}): Promise<string[]> => {
  const page = await requests.list({ orgId, limit: 100, order: 'desc', ...asked });
  return page.items.map(({ id }) => id);
};

describe('what became of requests [requests.record]', () => {
  it('a row is read as it was written, by its organisation and by operators, and is there once when it is written twice', async () => {
    const replay = requestRow({ orgId, replayOf: newId('req'), firstMs: 3, streamed: true });
    const rows = [
      requestRow({ orgId, tags: ['team=a', 'run=7'] }),
      replay,
      refusedRow({ orgId, requests: 12, lastMs: 800 }),
    ];
    await writeRequests(api, rows);
    await writeRequests(api, rows);
    expect((await idsOf()).toSorted()).toEqual(rows.map(({ id }) => id).toSorted());
    const operator = database.poolAs('docket_operator', 1);
    for (const row of rows) {
      expect(await requests.get(orgId, row.id)).toEqual(row);
      expect(await findRequestRow(operator, row.id)).toEqual(row);
    }
    expect(await findRequestRow(operator, 'req_nothing')).toBeNull();
  });

  it('nothing is seen of another organisation by any id, code or cursor', async () => {
    const theirs = refusedRow({ orgId: other, code: 'invalid_colour' });
    await writeRequests(api, [theirs]);
    expect(await requests.get(orgId, theirs.id)).toBeNull();
    expect(await idsOf()).toEqual([]);
    expect(await requests.hasFailedWith(orgId, 'invalid_colour')).toBe(false);
    expect(await requests.hasFailedWith(other, 'invalid_colour')).toBe(true);
    expect((await requests.failures(orgId, {})).codes).toEqual([]);
    await expect(idsOf({ after: theirs.id })).rejects.toMatchObject({ code: 'invalid_after' });
  });

  it('pages of either order hold every row once, and filters those alone that fit', async () => {
    const start = Date.now() - DAY_MS;
    const rows = Array.from({ length: 40 }, (_, i) => {
      const of = i % 4 === 0 ? refusedRow : requestRow;
      return of({
        orgId,
        at: start + i * 3_600_000,
        model: i % 2 === 0 ? 'llama-3.1-8b' : 'mistral-7b',
        region: i % 3 === 0 ? 'eu-north' : 'eu-west',
        keyId: i % 5 === 0 ? 'key_a' : 'key_b',
        totalMs: i * 100,
        ...(i === 7 ? { status: 502, code: 'upstream_error' } : {}),
        ...(i === 9 ? { status: 499 } : {}),
      });
    });
    await writeRequests(api, rows);
    const wanted = (fits: (row: (typeof rows)[number], i: number) => boolean): string[] =>
      rows.filter(fits).map(({ id }) => id);
    const cases: [Partial<RequestPageRequest>, string[]][] = [
      [{}, wanted(() => true)],
      [{ status: 'failed' }, wanted(({ code }) => code !== null)],
      [{ status: 'ok' }, wanted(({ code, status }) => code === null && status < 400)],
      [{ status: '4xx' }, wanted(({ status }) => status >= 400 && status < 500)],
      [{ status: 499 }, wanted((_row, i) => i === 9)],
      [{ code: 'upstream_error' }, wanted((_row, i) => i === 7)],
      [{ status: 'ok', code: 'upstream_error' }, []],
      [{ model: 'mistral-7b', region: 'eu-north' }, wanted((_row, i) => i % 6 === 3)],
      [{ key: 'key_a' }, wanted((_row, i) => i % 5 === 0)],
      [{ atLeastMs: 3_000 }, wanted(({ totalMs }) => totalMs >= 3_000)],
      [
        { from: timeOfId(rows[5]!.id), to: timeOfId(rows[9]!.id) },
        wanted((_row, i) => i >= 5 && i < 9),
      ],
    ];
    for (const [filters, expected] of cases) {
      for (const order of ['asc', 'desc'] as const) {
        const found: string[] = [];
        for (let hasMore = true; hasMore;) {
          const after = found.length === 0 ? {} : { after: found.at(-1)! };
          const page = await requests.list({ orgId, limit: 7, order, ...after, ...filters });
          found.push(...page.items.map(({ id }) => id));
          ({ hasMore } = page);
        }
        const ordered = order === 'asc' ? expected : expected.toReversed();
        expect([filters, found]).toEqual([filters, ordered]);
      }
    }
  });

  it('failures are counted by code, those too that a row stands for', async () => {
    await writeRequests(api, [
      requestRow({ orgId }),
      refusedRow({ orgId, requests: 381, lastMs: 59_000 }),
      refusedRow({ orgId }),
      refusedRow({ orgId, code: 'upstream_error', status: 502 }),
      refusedRow({ orgId, at: Date.now() - DAY_MS, code: 'invalid_model', status: 400 }),
    ]);
    expect(await requests.failures(orgId, { from: Date.now() - DAY_MS / 2 })).toEqual({
      codes: [
        { code: 'requests_per_second_exceeded', requests: 382 },
        { code: 'upstream_error', requests: 1 },
      ],
      isWhole: true,
    });
  });

  it('the api adds and reads rows and can do nothing else with them, and workers nothing at all', async () => {
    const refused = { code: '42501' };
    for (const text of [
      'delete from request',
      'update request set status = 200',
      'truncate request',
    ])
      await expect(api.query(text)).rejects.toMatchObject(refused);
    await expect(api.query('select drop_request_partitions(1)')).rejects.toMatchObject(refused);
    await expect(housekeeping.query('select code from request')).rejects.toMatchObject(refused);
    const receipts = database.poolAs('docket_receipts', 1);
    await expect(receipts.query('select from request')).rejects.toMatchObject(refused);
  });
});

describe('the time of requests [requests.kept]', () => {
  const partitions = async (): Promise<string[]> => {
    const { rows } = await database.pool.query<{ name: string }>(
      `select inhrelid::regclass::text as name from pg_inherits
       where inhparent = 'request'::regclass order by 1`,
    );
    return rows.map(({ name }) => name);
  };
  const nameOf = (at: number): string =>
    `request_${new Date(at).toISOString().slice(0, 10).replaceAll('-', '_')}`;

  it('days are made ahead, and whole days that are over their time are gone with their partitions and from the default one', async () => {
    const today = Math.floor(Date.now() / DAY_MS) * DAY_MS;
    const old = [29, 30, 31, 32].map((days) => today - days * DAY_MS);
    for (const at of old.slice(1, 3)) {
      await database.pool.query(
        `create table ${nameOf(at)} partition of request
         for values from ('${firstRequestIdAt(at)}') to ('${firstRequestIdAt(at + DAY_MS)}')`,
      );
    }
    await database.pool.query(`drop table ${nameOf(today + 7 * DAY_MS)}`);
    // Of the first and the last of these days there is no partition.
    const rows = old.map((at) => requestRow({ orgId, at }));
    await writeRequests(api, rows);
    expect(await turnRequestDays(housekeeping, 30)).toEqual({
      made: [nameOf(today + 7 * DAY_MS)],
      dropped: [nameOf(old[2]!)],
    });
    expect(await partitions()).toContain(nameOf(old[1]!));
    expect(await idsOf()).toEqual([rows[0]!.id, rows[1]!.id]);
    expect(await turnRequestDays(housekeeping, 30)).toEqual({ made: [], dropped: [] });
  });

  it('what a closed organisation has left is deleted, and no row of another', async () => {
    await writeRequests(api, [
      ...Array.from({ length: 3 }, () => requestRow({ orgId })),
      requestRow({ orgId: other }),
    ]);
    expect(await forgetRequestsOfClosed(housekeeping, 2)).toBe(0);
    await registries.accounts.close(orgId, OPERATOR, 'over');
    expect(await forgetRequestsOfClosed(housekeeping, 2)).toBe(2);
    expect(await forgetRequestsOfClosed(housekeeping, 2)).toBe(1);
    expect(await idsOf()).toEqual([]);
    expect(await idsOf({ orgId: other })).toHaveLength(1);
  });
});

describe('a list among many rows [requests.record]', () => {
  const many = 'org_01M7W53ZF4Z6X0T8WB5N2K9MVC';
  beforeAll(async () => {
    // A fiftieth failed; a fifth is of another organisation.
    await database.pool.query(
      `insert into request (id, org_id, key_id, route, status, code, model, region, has_receipt, total_ms, tags)
       select request_id_at(now() - i * interval '12 seconds') || lpad(i::text, 16, '0'),
         case when i % 5 = 0 then 'org_other' else $1 end, 'key_' || i % 7, 'POST /v1/chat/completions',
         case when i % 50 = 0 then 502 else 200 end, case when i % 50 = 1 then 'upstream_error' end, 'llama', 'eu', true, i,
         case when i % 5 = 1 then array['run=' || i, 'team=a'] when i % 5 = 2 then array['team=b'] end
       from generate_series(1, 10000) i`,
      [many],
    );
    await database.pool.query('vacuum analyze request');
  });

  it.each([
    ['the newest', {}],
    ['after one', { after: 'one' }],
    ['a span', { from: Date.now() - DAY_MS / 2, to: Date.now() - DAY_MS / 3 }],
    ['a key and a model', { key: 'key_3', model: 'llama' }],
    ['those that failed', { status: 'failed' }],
    ['a code', { code: 'upstream_error' }],
    ['slow ones', { atLeastMs: 5_000 }],
    ['those with a tag', { tag: 'team=a' }],
    ['failed ones with a tag', { tag: 'team=a', status: 'failed' }],
  ] as const)('%s are found by an index alone', async (_name, filters) => {
    const asked: RequestPageRequest = { orgId: many, limit: 20, order: 'desc', ...filters };
    if (asked.after !== undefined) {
      const { after: _one, ...first } = asked;
      asked.after = (await requests.list(first)).items[9]!.id;
    }
    const page = await requests.list(asked);
    expect(page.items.length).toBe(20);
    const { query, values } = listQuery(asked);
    const { rows } = await inTransaction(api, async (client) => {
      await client.query('set local enable_sort = off');
      return client.query<{ 'QUERY PLAN': string }>(`explain ${query.text}`, values);
    });
    const plan = rows.map((row) => row['QUERY PLAN']).join('\n');
    expect(plan).toMatch(/Index Only Scan/);
    expect(plan).not.toMatch(/Seq Scan|-> {2}Sort|Incremental Sort/);
  });
});

describe('a filter that few rows fit [requests.record]', () => {
  it('has a bounded number of rows looked through for a page, which says when there are more', async () => {
    const start = Date.now() - DAY_MS;
    const rows = Array.from({ length: 30 }, (_, i) =>
      requestRow({
        orgId,
        at: start + i * 1_000,
        keyId: i === 25 || i === 3 ? 'key_rare' : 'key_often',
        tags: [`run=${i}`],
      }),
    );
    await writeRequests(api, rows);
    const bounded = createRequestReader(api, 10);
    const page = async (asked: Partial<RequestPageRequest>) => {
      const found = await bounded.list({ orgId, limit: 5, order: 'desc', ...asked });
      return { ...found, items: found.items.map(({ id }) => id) };
    };
    const [rare, early] = [rows[25]!, rows[3]!];
    const first = { items: [rare.id], hasMore: true, isNoneAmongMany: false };
    const cut = { items: [], hasMore: false, isNoneAmongMany: true };
    const last = { items: [early.id], hasMore: false, isNoneAmongMany: false };
    for (const asked of [{ key: 'key_rare' }, { key: 'key_rare', status: 'ok' }] as const) {
      expect(await page(asked)).toEqual(first);
      expect(await page({ ...asked, after: rare.id })).toEqual(cut);
      expect(await page({ ...asked, to: start + 10_000 })).toEqual(last);
    }
    expect(await page({ tag: 'run=25' })).toEqual(first);
    expect(await page({ tag: 'run=3' })).toEqual(cut);
    expect(await page({ limit: 20 })).toMatchObject({ items: { length: 10 }, hasMore: true });
  });
});

describe('a database that is away [requests.record]', () => {
  it('costs its requests nothing, and what fits is written when it is back', async () => {
    const nothing = await startCuttingProxy('http://127.0.0.1', 0);
    nothing.end();
    const url = nothing.baseUrl.replace('http', 'postgres');
    const away = createPool({ url, max: 1, applicationName: 'away' });
    atFileEnd(() => away.end());
    const told: unknown[] = [];
    let isAway = true;
    const recorder = new RequestRecorder({
      write: (rows) => writeRequests(isAway ? away : api, rows),
      events: {
        requestsUnwritten: (error) => told.push(error),
        requestsUnrecorded: (rows) => told.push(rows),
      },
      rowsMax: 40,
    });
    const ids = Array.from({ length: 50 }, () => newId('req'));
    for (const requestId of ids.slice(0, 30)) note(recorder, requestId);
    await recorder.flush();
    await recorder.flush();
    expect(told).toEqual([expect.any(Error)]);
    for (const requestId of ids.slice(30)) note(recorder, requestId);
    isAway = false;
    await recorder.close();
    expect((await idsOf()).toSorted()).toEqual(ids.slice(10).toSorted());
    expect(told.slice(1).reduce((sum: number, rows) => sum + Number(rows), 0)).toBe(10);
  });

  const note = (recorder: RequestRecorder, requestId: string): void =>
    recorder.note({
      requestId,
      orgId,
      keyId: 'key_1',
      method: 'POST',
      route: '/v1/chat/completions',
      status: 200,
      hasReceipt: true,
      isFree: false,
      ms: 1,
    });
});
