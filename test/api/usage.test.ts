import { beforeAll, describe, expect, it } from 'vitest';
import { DecimalSum } from '#shared/kernel/decimal.ts';
import { systemSurroundings } from '#shared/kernel/system/surroundings.ts';
import { newId } from '#shared/kernel/system/new-id.ts';
import { createTestDatabase } from '#test/support/database.ts';
import {
  inferenceRecord,
  issueReceipts,
  makeReceiptSigner,
  receiptPools,
  UNSIZED,
} from '#test/support/issuing.ts';
import { openEdge } from '#test/support/app.ts';

const database = await createTestDatabase();
const { signer } = makeReceiptSigner();
const NOW = Date.UTC(2026, 10, 20, 12);
const DAY = 86_400_000;
const edge = await openEdge(database.poolAs('docket_api', 2), {
  surroundings: { ...systemSurroundings, now: () => NOW },
});
const key = edge.keyFor('org_a');

beforeAll(async () => {
  const at = (time: number, more = {}) =>
    inferenceRecord({ requestId: newId('req', time), ...more });
  const pools = receiptPools(database);
  await issueReceipts(pools, signer, [
    at(NOW - DAY),
    at(NOW - 2),
    at(NOW - 1, { model: UNSIZED }),
    at(NOW - 40 * DAY),
  ]);
});

describe('GET /usage', () => {
  it('GET /usage 200: the last thirty days by day, unless told otherwise', async () => {
    const answer = await edge.get('/usage', key);
    expect(answer.status).toBe(200);
    const { data, total, ...rest } = answer.json();
    expect(rest).toEqual({
      object: 'usage',
      from: '2026-10-21T12:00:00.000Z',
      to: '2026-11-20T12:00:00.000Z',
      group_by: 'day',
      ledger_size: 4,
    });
    expect(data.map(({ group, requests }: never) => [group, requests])).toEqual([
      ['2026-11-19', 1],
      ['2026-11-20', 2],
    ]);
    expect(total).toMatchObject({
      requests: 3,
      covered: 2,
      uncovered: 1,
      refused: 0,
      coverage: 0.6666,
      input_tokens: 273,
      uncovered_input_tokens: 91,
      data_quality: { T1: 0, TS: 0, T2: 0, T3: 2, T4: 0, T5: 0 },
    });
    const twice = new DecimalSum();
    for (const { energy_kwh_upper: upper } of [data[0], data[0]]) twice.add(upper);
    expect(total.energy_kwh_upper).toBe(twice.toString());
  });

  it.each([
    ['model', ['llama-3.1-8b', UNSIZED]],
    ['region', ['eu-west']],
    ['key', ['key_a']],
    ['month,model', ['2026-11, llama-3.1-8b', `2026-11, ${UNSIZED}`]],
    ['tier,quality', ['degraded, ', 'enterprise, T3']],
  ])('GET /usage 200: groups by %s', async (by, groups) => {
    const { data } = (await edge.get(`/usage?group_by=${by}&to=2026-11-21`, key)).json();
    expect(data.map(({ group }: { group: string }) => group)).toEqual(groups);
  });

  it('GET /usage 200: a range of the ledger, as exports have it', async () => {
    const { data, total, ...rest } = (
      await edge.get('/usage?first_index=1&group_by=model', key)
    ).json();
    expect(rest).toMatchObject({ first_index: 1, last_index: 3, ledger_size: 4 });
    expect(rest).not.toHaveProperty('from');
    expect(total.requests).toBe(3);
    expect(data[0].by).toEqual({ model: 'llama-3.1-8b' });
  });

  it.each([
    ['/usage?format=csv&group_by=model,day', {}],
    ['/usage?group_by=model,day', { accept: 'text/csv' }],
  ])('GET /usage 200: CSV, a line for each group: %s', async (path, headers) => {
    const answer = await edge.app.inject({
      url: `/v1${path}`,
      headers: { authorization: `Bearer ${key}`, ...headers },
    });
    expect(answer.headers['content-type']).toBe('text/csv; charset=utf-8');
    const [header, ...lines] = answer.body.trimEnd().split('\r\n');
    expect(header).toMatch(/^model,day,requests,.*,energy_kwh,energy_kwh_lower,energy_kwh_upper,/);
    expect(lines.map((line) => line.split(',').slice(0, 3))).toEqual([
      ['llama-3.1-8b', '2026-11-19', '1'],
      ['llama-3.1-8b', '2026-11-20', '1'],
      [UNSIZED, '2026-11-20', '1'],
    ]);
  });

  it('GET /usage 400 for a grouping that there is not, with those that there are', async () => {
    const { error } = (await edge.get('/usage?group_by=colour', key)).json();
    expect(error.message).toContain('hour, day, month, model, region, key, tier, quality');
  });

  it('GET /usage 200: a period is given as dates or as seconds', async () => {
    const total = async (query: string) => (await edge.get(`/usage?${query}`, key)).json().total;
    expect(await total('from=2026-10-01&to=2026-11-01')).toMatchObject({ requests: 1 });
    const [from, to] = [(NOW - 2) / 1_000, NOW / 1_000].map(Math.floor);
    expect(await total(`from=${from}&to=${to}`)).toMatchObject({ requests: 2 });
  });

  it('GET /usage 200: zero for an organisation that has used nothing, though others have', async () => {
    const { data, total } = (await edge.get('/usage', edge.keyFor('org_b'))).json();
    expect(data).toEqual([]);
    expect(total).toMatchObject({ requests: 0, covered: 0, energy_kwh: '0', adpe_kgsbe: '0' });
  });

  it.each([
    ['from=2026-11-20&to=2026-11-20', 'invalid_to'],
    ['from=2024-01-01&to=2026-01-01', 'invalid_to'],
    ['to=tomorrow', 'invalid_to'],
    ['from=1e9', 'invalid_from'],
    ['group_by=colour', 'invalid_group_by'],
    ['group_by=', 'invalid_group_by'],
    ['group_by=day,day', 'invalid_group_by'],
    ['group_by=day,model,key,tier', 'invalid_group_by'],
    ['format=xml', 'invalid_format'],
    ['first_index=2&last_index=1', 'invalid_first_index'],
    ['first_index=4', 'invalid_first_index'],
    ['last_index=4', 'invalid_last_index'],
    ['last_index=-1', 'invalid_last_index'],
    ['first_index=0&from=2026-11-01', 'invalid_from'],
  ])('GET /usage 400 for %s', async (query, code) => {
    const answer = await edge.get(`/usage?${query}`, key);
    expect(answer.status).toBe(400);
    expect(answer.json().error).toMatchObject({ code, type: 'validation_error' });
  });

  it('GET /usage 401 without a key, 403 without the scope', async () => {
    expect((await edge.get('/usage', null)).status).toBe(401);
    const writer = edge.keyFor('org_a', ['inference:write']);
    expect((await edge.get('/usage', writer)).json().error.code).toBe('insufficient_scope');
  });
});
