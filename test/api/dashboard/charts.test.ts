import { beforeAll, describe, expect, it } from 'vitest';
import { chartsPage } from '#api/dashboard/charts/page.ts';
import { type Charted, pointsOf } from '#api/dashboard/charts/series.ts';
import { newId } from '#shared/kernel/system/new-id.ts';
import { DAY_MS, HOUR_MS } from '#shared/kernel/time.ts';
import { createUsageReader } from '#shared/receipts/postgres/usage.ts';
import { countRequests } from '#shared/requests/postgres/counts.ts';
import { writeRequests } from '#shared/requests/postgres/requests.ts';
import { activeAccount, createRegistries, OPERATOR } from '#test/support/accounts.ts';
import { createTestDatabase } from '#test/support/database.ts';
import { newPerson, openDashboardEdge, type TestBrowser } from '#test/support/dashboard.ts';
import {
  inferenceRecord,
  issueReceipts,
  makeReceiptSigner,
  receiptPools,
} from '#test/support/issuing.ts';
import { requestRow } from '#test/support/requests.ts';

const database = await createTestDatabase();
const registries = createRegistries(database.pool);
const { signer } = makeReceiptSigner();
const { browser, errors } = await openDashboardEdge(database);
const MIDNIGHT = Math.floor(Date.now() / DAY_MS) * DAY_MS;
const dayText = (at: number): string => new Date(at).toISOString().slice(0, 10);
const visitors = {} as Record<'member' | 'stranger' | 'operator', TestBrowser>;
let [orgId, otherOrgId] = ['', ''];

beforeAll(async () => {
  [orgId, otherOrgId] = [
    (await activeAccount(registries)).id,
    (await activeAccount(registries)).id,
  ];
  const { key } = await registries.keys.issue(orgId, { name: '<i>Nightly</i>' }, OPERATOR);
  const model = '<script>alert(1)</script>';
  await writeRequests(database.pool, [
    ...[120, 480, 900].map((totalMs) =>
      requestRow({ orgId, keyId: key.id, totalMs, at: MIDNIGHT }),
    ),
    requestRow({ orgId, keyId: key.id, model, status: 503, code: 'region_degraded', at: MIDNIGHT }),
    requestRow({ orgId, keyId: key.id, at: MIDNIGHT - 31 * DAY_MS }),
    requestRow({ orgId, keyId: key.id, at: MIDNIGHT - 50 * DAY_MS }),
    requestRow({ orgId: otherOrgId, at: MIDNIGHT }),
  ]);
  await countRequests(database.poolAs('docket_housekeeping'));
  const at = (time: number, more = {}) =>
    inferenceRecord({ orgId, keyId: key.id, requestId: newId('req', time), ...more });
  await issueReceipts(receiptPools(database), signer, [
    at(MIDNIGHT - 3 * DAY_MS),
    at(MIDNIGHT - 3 * DAY_MS + 1, { tags: ['team=search'] }),
    at(MIDNIGHT, { region: 'eu-north' }),
  ]);
  const person = async (of: string, n: number): Promise<TestBrowser> => {
    const one = browser({ address: `192.0.2.${n}` });
    const place =
      of === ''
        ? ({ kind: 'staff', role: 'operator' } as const)
        : ({ kind: 'organisation', orgId: of, role: 'member' } as const);
    await one.signIn(await newPerson(database.pool, [place]));
    return one;
  };
  visitors.member = await person(orgId, 191);
  visitors.stranger = await person(otherOrgId, 192);
  visitors.operator = await person('', 193);
});

const words = (page: string): string => page.replaceAll(/<[^>]+>/g, ' ').replaceAll(/\s+/g, ' ');
const chart = async (query: string): Promise<string> =>
  (await visitors.member.get(`/dashboard/${orgId}/charts?${query}`)).payload;

describe('charts [dashboard.charts]', () => {
  it.for(['tokens', 'energy', 'gwp'] as const)(
    '%s are those that the API adds up, to the last digit, of days and of hours, by what has a name',
    async (of) => {
      for (const [days, step, by] of [
        [7, 'day', 'region'],
        [1, 'hour', 'model'],
      ] as const) {
        const hour = Math.floor(Date.now() / HOUR_MS) * HOUR_MS + HOUR_MS;
        const to = step === 'hour' ? hour : MIDNIGHT + DAY_MS;
        const { groups, total } = await createUsageReader(database.pool).usage({
          orgId,
          range: { from: to - days * DAY_MS, to },
          groupBy: [step, by],
        });
        expect(groups!.length).toBeGreaterThan(0);
        const query = `of=${of}&by=${by}&days=${days}`;
        const file = await visitors.member.get(`/dashboard/${orgId}/charts.csv?${query}`);
        const [head, ...lines] = file.payload
          .trim()
          .split('\r\n')
          .map((line) => line.split(','));
        const column = (name: string): string[] => lines.map((line) => line[head!.indexOf(name)]!);
        expect(column('energy_kwh')).toEqual(groups!.map(({ amounts }) => amounts.energy.value));
        expect(column('output_tokens')).toEqual(groups!.map(({ tokens }) => String(tokens.output)));
        const page = await chart(query);
        if (of === 'tokens')
          expect(words(page)).toContain(` ${total.tokens.input + total.tokens.output} `);
        else expect(page).toContain(`title="${total.amounts[of].value}"`);
      }
    },
  );

  it('requests, errors and times have their figures, those of the period before, and the way to each request', async () => {
    const requests = words(await chart('of=requests&by=key'));
    expect(requests).toMatch(/Requests 4 2.0 times as much as in the 30 days before/);
    const begun = dayText(MIDNIGHT - 24 * DAY_MS);
    const late = words(await chart(`of=requests&from=${begun}&to=${dayText(MIDNIGHT)}`));
    expect(late).toContain('Requests 4 1 in the 25 days before, which began without any');
    expect(requests).toMatch(/Share of errors 25 % 0 % in the 30 days before/);
    expect(requests).toContain('The dotted line is the period before.');
    const alone = words(await chart('of=requests&days=1'));
    expect(alone).toContain('Share of errors 25 % no requests in the 24 hours before');
    expect(alone).not.toContain('dotted line');
    const errors503 = await chart('of=errors&by=code&days=7');
    expect(errors503).toMatch(/requests\?code=region_degraded&#38;status=failed&#38;from=/);
    const times = words(await chart('of=times&days=1&by=model'));
    expect(times).toMatch(/p50 4\d\d ms/);
    expect(times).toMatch(/llama-3.1-8b 3 /);
    const { payload } = await visitors.member.get(
      `/dashboard/${orgId}/charts.csv?of=requests&by=model`,
    );
    expect(payload.split('\r\n')[0]).toBe(
      'day,model,requests,refused,failed,client_left,total_p50_ms,total_p95_ms,total_p99_ms',
    );
    expect(payload).toContain('<script>alert(1)</script>,1,0,1,0,,,');
  });

  it('names of others are words of the page, what is none of ours asks for nothing, and days that are none are named', async () => {
    for (const query of [
      'of=errors&by=model',
      'of=requests&by=key',
      'of=errors&by=model&as=lines',
      'of=<script>&by=<i>&days=9&as=%22',
    ]) {
      const page = await chart(query);
      expect(page).not.toContain('<script>alert');
      expect(page).not.toContain('<i>');
      expect(page).toContain('<figure');
    }
    for (const [days, says] of [
      ['from=2026-01-02&to=2026-01-01', 'The last day is before the first'],
      ['from=2026-02-30&to=2026-03-01', 'Name both days'],
      ['from=2020-01-01&to=2026-01-01', 'at most 92 days'],
    ] as const) {
      const page = await visitors.member.get(`/dashboard/${orgId}/charts?${days}`);
      expect([page.statusCode, page.payload.includes(says)]).toEqual([400, true]);
      const file = await visitors.member.get(`/dashboard/${orgId}/charts.csv?${days}`);
      expect(file.statusCode).toBe(400);
    }
  });

  it('an organisation sees its own alone, and operators all together, without what is of one', async () => {
    for (const path of ['charts', 'charts.csv']) {
      expect((await visitors.stranger.get(`/dashboard/${orgId}/${path}`)).statusCode).toBe(404);
      expect((await visitors.member.get(`/dashboard/service/${path}`)).statusCode).toBe(404);
    }
    const other = words((await visitors.stranger.get(`/dashboard/${otherOrgId}/charts`)).payload);
    expect(other).toMatch(/Requests 1 /);
    const all = (await visitors.operator.get('/dashboard/service/charts?of=requests&by=key'))
      .payload;
    expect(words(all)).toMatch(/Requests 5 /);
    expect(all).not.toContain('by=key');
    expect(all).not.toContain('of=energy');
    expect(errors).toEqual([]);
  });

  it('a page of a quarter with all of its series stays within its budget of bytes [dashboard.budget]', () => {
    const period = {
      days: 90,
      step: 'day',
      from: MIDNIGHT - 89 * DAY_MS,
      to: MIDNIGHT + DAY_MS,
    } as const;
    const points = pointsOf(period);
    const values = points.map((_, i) => 123_456_789 + i);
    const part = (name: string) => ({
      name,
      requests: 123_456_789,
      refused: 123_456,
      failed: 123_456,
      gone: 123_456,
      percentiles: [],
      timed: 0,
      amount: '0',
    });
    const names = Array.from({ length: 10 }, (_, i) => `${i}${'n'.repeat(39)}`);
    const charted: Charted = {
      points,
      series: names.slice(0, 5).map((name) => ({ name, values })),
      rest: { name: '', values },
      whole: { name: '', values },
      before: { name: '', values },
      total: part(''),
      totalBefore: part(''),
      parts: names.map(part),
    };
    for (const as of ['stacked', 'lines'] as const) {
      const { text } = chartsPage({
        asked: {
          of: 'requests',
          by: 'model',
          as,
          period,
          typed: { from: '', to: '' },
          problem: undefined,
        },
        charted,
        tags: ['team'],
        keys: new Map(),
        address: `/dashboard/${orgId}/charts`,
        list: `/dashboard/${orgId}/requests`,
      });
      // Its menu takes 7 KB, of 60.
      expect(Buffer.byteLength(text)).toBeLessThan(53_000);
    }
  });
});
