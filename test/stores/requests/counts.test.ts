import fc from 'fast-check';
import { beforeEach, describe, expect, it } from 'vitest';
import { newId } from '#shared/kernel/system/new-id.ts';
import { systemSurroundings } from '#shared/kernel/system/surroundings.ts';
import { OTHER_VALUES } from '#shared/kernel/tags.ts';
import { DAY_MS, HOUR_MS, MINUTE_MS } from '#shared/kernel/time.ts';
import {
  ALL_ORGANISATIONS,
  COUNTED_NAMES_MAX,
  DAYS_KEPT_DAYS,
  HOURS_KEPT_DAYS,
  PERCENTILE_ERROR,
  percentileOf,
} from '#shared/requests/counts.ts';
import {
  type CountsRequest,
  countRequests,
  forgetCounts,
  readCounts,
} from '#shared/requests/postgres/counts.ts';
import { tellFailing } from '#shared/requests/postgres/failing.ts';
import { writeRequests } from '#shared/requests/postgres/requests.ts';
import type { RequestRow } from '#shared/requests/row.ts';
import { activeAccount, createRegistries, OPERATOR } from '#test/support/accounts.ts';
import { createTestDatabase } from '#test/support/database.ts';
import { newPerson } from '#test/support/dashboard.ts';
import { runs } from '#test/support/depth.ts';
import { forAllAsync } from '#test/support/for-all.ts';
import { refusedRow, requestRow } from '#test/support/requests.ts';

const database = await createTestDatabase();
const registries = createRegistries(database.pool);
const api = database.poolAs('docket_api');
const housekeeping = database.poolAs('docket_housekeeping');
const TODAY = Math.floor(Date.now() / DAY_MS) * DAY_MS;

let orgId = '';
beforeEach(async () => {
  orgId = (await activeAccount(registries)).id;
  await database.pool.query('truncate request_count, request_uncounted');
});

const countAll = async (rows?: number): Promise<void> => {
  while ((await countRequests(housekeeping, rows)).isMore);
};
const read = (asked: Partial<CountsRequest> = {}) =>
  readCounts(api, {
    orgId,
    by: 'all',
    step: 'day',
    from: TODAY - 3 * DAY_MS,
    to: TODAY + DAY_MS,
    order: 'requests',
    limit: 100,
    time: 'total',
    ...asked,
  });
const sumOf = (rows: Awaited<ReturnType<typeof read>>) =>
  rows.reduce(
    (sum, { requests, refused, failed, gone, times }) => ({
      requests: sum.requests + requests,
      refused: sum.refused + refused,
      failed: sum.failed + failed,
      gone: sum.gone + gone,
      timed: sum.timed + times.reduce((all, each) => all + each, 0),
    }),
    { requests: 0, refused: 0, failed: 0, gone: 0, timed: 0 },
  );

const anyRow = fc.record({
  hoursAgo: fc.nat(50),
  outcome: fc.constantFrom(
    { status: 200, code: null },
    { status: 200, code: 'upstream_error' },
    { status: 499, code: null },
    { status: 503, code: 'region_degraded' },
    { status: 400, code: 'invalid_model', model: null },
    { status: 429, code: 'requests_per_second_exceeded', requests: 12 },
  ),
  keyId: fc.constantFrom('key_a', 'key_b'),
  region: fc.constantFrom('eu-west', null),
  tags: fc.constantFrom(null, ['team=a'], ['team=b', 'run=7']),
  totalMs: fc.nat(100_000),
});

describe('counts of requests [requests.counts]', () => {
  it('each row is in every sum once, by hour, day and name, for its organisation and for all, however often it was written and by whom it is counted', async () => {
    await forAllAsync(
      [fc.array(anyRow, { minLength: 1, maxLength: 40 }), fc.integer({ min: 1, max: 20 })],
      { numRuns: runs(100) },
      async (given, perRound) => {
        await database.pool.query('truncate request_count, request_uncounted');
        const rows = given.map(({ hoursAgo, outcome, ...rest }): RequestRow => {
          const at = TODAY - hoursAgo * HOUR_MS;
          return requestRow({ orgId, id: newId('req', at), ...rest, ...outcome });
        });
        const half = Math.ceil(rows.length / 2);
        await writeRequests(api, rows.slice(0, half));
        await countRequests(housekeeping, perRound);
        // A batch whose outcome was not heard of is written again, with others.
        await writeRequests(api, rows);
        await Promise.all([countAll(perRound), countAll(perRound)]);
        await countAll();
        const total = (of: readonly RequestRow[]) =>
          of.reduce((sum, { requests }) => sum + requests, 0);
        const isFailed = ({ status, code }: RequestRow) =>
          status >= 500 || (status < 400 && code !== null);
        const expected = {
          requests: total(rows),
          refused: total(rows.filter(({ status }) => status === 400 || status === 429)),
          failed: total(rows.filter(isFailed)),
          gone: total(rows.filter(({ status }) => status === 499)),
          timed: rows.filter(({ status, code }) => status < 400 && code === null).length,
        };
        for (const step of ['hour', 'day'] as const) {
          for (const of of [orgId, ALL_ORGANISATIONS]) {
            expect(sumOf(await read({ step, orgId: of }))).toEqual(expected);
          }
          const byKey = await read({ step, by: 'key' });
          expect(sumOf(byKey)).toEqual(expected);
          const hours = new Set(rows.map(({ id }) => id.slice(4, 14)));
          expect(byKey.length).toBeLessThanOrEqual(2 * hours.size);
          const tagged = rows.filter(({ tags }) => tags?.includes('team=b'));
          const ofTag = await read({ step, by: 'tag', tagKey: 'team' });
          expect(sumOf(ofTag.filter(({ name }) => name === 'team=b')).requests).toBe(total(tagged));
          expect(ofTag.filter(({ name }) => name.startsWith('run'))).toEqual([]);
        }
        expect(await read({ orgId: ALL_ORGANISATIONS, by: 'key' })).toEqual([]);
      },
    );
  });

  it('a percentile is as far from that of the rows as is stated, and no further', async () => {
    const times = Array.from({ length: 400 }, (_, i) => Math.round(1.031 ** i) + (i % 3));
    await writeRequests(
      api,
      times.map((totalMs) => requestRow({ orgId, totalMs })),
    );
    await countAll();
    const [row] = await read({ from: TODAY, to: TODAY + DAY_MS });
    const sorted = times.toSorted((a, b) => a - b);
    for (const share of [0.01, 0.25, 0.5, 0.95, 0.99, 1]) {
      const exact = sorted[Math.ceil(sorted.length * share) - 1]!;
      const found = percentileOf(row!.times, share)!;
      expect(Math.abs(found - exact)).toBeLessThanOrEqual(exact * PERCENTILE_ERROR + 1);
    }
    expect(percentileOf([], 0.5)).toBeUndefined();
  });

  it('names beyond those of a day are counted together, however many a caller makes, and none of another organisation', async () => {
    const other = (await activeAccount(registries)).id;
    for (const start of [0, 80]) {
      await writeRequests(
        api,
        Array.from({ length: 80 }, (_, i) =>
          requestRow({ orgId, tags: [`team=t${start + i}`, 'run=1'], at: TODAY + i }),
        ),
      );
      await countAll();
    }
    const names = new Map(
      (await read({ by: 'tag', tagKey: 'team', limit: 500 })).map((row) => [
        row.name,
        row.requests,
      ]),
    );
    expect(names.size).toBe(COUNTED_NAMES_MAX + 1);
    expect(names.get(`team=${OTHER_VALUES}`)).toBe(160 - COUNTED_NAMES_MAX);
    expect(sumOf(await read({ by: 'tag', tagKey: 'run' })).requests).toBe(160);
    expect(await read({ orgId: other })).toEqual([]);
  });

  it('hours and days are forgotten after their time, and all of a closed organisation with it', async () => {
    const other = (await activeAccount(registries)).id;
    await writeRequests(api, [
      requestRow({ orgId }),
      requestRow({ orgId, at: Date.now() - (HOURS_KEPT_DAYS + 1) * DAY_MS }),
      requestRow({ orgId, at: Date.now() - (DAYS_KEPT_DAYS + 1) * DAY_MS }),
      requestRow({ orgId: other }),
    ]);
    await countAll();
    while ((await forgetCounts(housekeeping, 5)) === 5);
    const all = { from: 0, to: TODAY + DAY_MS };
    expect(await read({ ...all, step: 'hour' })).toHaveLength(1);
    expect(await read(all)).toHaveLength(2);
    const operators = createRegistries(database.poolAs('docket_operator'));
    await operators.accounts.close(orgId, OPERATOR, 'asked for');
    while ((await forgetCounts(housekeeping, 5)) === 5);
    expect(await read(all)).toEqual([]);
    expect(await read({ ...all, orgId: other })).toHaveLength(1);
  });

  it('no role but that of housekeeping changes a count, and the api adds none but by a row', async () => {
    for (const role of ['docket_api', 'docket_operator', 'docket_receipts'] as const) {
      const pool = database.poolAs(role, 1);
      for (const text of [
        'update request_count set requests = 0',
        'delete from request_count',
        'delete from request_uncounted',
        `insert into request_uncounted (org_id, at, key_id, outcome, requests) values ('org_x', now(), 'k', 'failed', 9)`,
      ]) {
        await expect(pool.query(text)).rejects.toMatchObject({ code: '42501' });
      }
    }
  });
});

describe('too many that fail [requests.failing]', () => {
  const failures = (count: number, row: Partial<RequestRow> = {}) =>
    Array.from({ length: count }, () =>
      requestRow({ orgId, status: 503, code: 'region_degraded', ...row }),
    );
  const tell = (now = Date.now()) =>
    tellFailing(housekeeping, { ...systemSurroundings, now: () => now }, orgId);
  const told = async () => {
    const { rows } = await database.pool.query<{ data: object }>(
      `select data from event where org_id = $1 and type = 'requests.failing' order by id`,
      [orgId],
    );
    return rows.map(({ data }) => data);
  };

  it('is told once while it lasts, with its codes, and again after half an hour without it', async () => {
    const owner = await newPerson(database.pool, [{ kind: 'organisation', orgId, role: 'owner' }]);
    await writeRequests(api, [
      ...failures(25),
      ...failures(3, { status: 400, code: 'invalid_model' }),
      ...Array.from({ length: 72 }, () => requestRow({ orgId })),
    ]);
    expect((await countRequests(housekeeping)).failing).toEqual([orgId]);
    const start = Date.now();
    await Promise.all([tell(start), tell(start + 1), tell(start + 2)]);
    await tell(start + 5 * MINUTE_MS);
    expect(await told()).toEqual([
      {
        requests: 100,
        failed: 28,
        share: 28,
        codes: [
          { code: 'region_degraded', requests: 25 },
          { code: 'invalid_model', requests: 3 },
        ],
      },
    ]);
    const { rows } = await database.pool.query(
      `select body from mail_outbox where recipient = $1 and subject = '28 % of requests are refused or fail'`,
      [owner.email],
    );
    expect(rows).toHaveLength(1);
    const later = start + 40 * MINUTE_MS;
    await writeRequests(
      api,
      failures(25).map((row) => ({ ...row, id: newId('req', later - MINUTE_MS) })),
    );
    await tell(later);
    expect(await told()).toHaveLength(2);
  });

  it.for<[string, () => RequestRow[]]>([
    ['few', () => failures(19)],
    [
      'a small share',
      () => [...failures(20), ...Array.from({ length: 181 }, () => requestRow({ orgId }))],
    ],
    ['those that came too fast', () => [refusedRow({ orgId, requests: 5_000 })]],
    [
      'those of an hour ago',
      () =>
        failures(50, { id: '' }).map((row) => ({ ...row, id: newId('req', Date.now() - HOUR_MS) })),
    ],
  ])('%s are not told', async ([, rows]) => {
    await writeRequests(api, rows());
    expect(await tell()).toBe(false);
    expect(await told()).toEqual([]);
  });
});
