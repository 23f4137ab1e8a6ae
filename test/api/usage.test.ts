import { beforeAll, describe, expect, it } from 'vitest';
import { systemSurroundings } from '#shared/kernel/system/surroundings.ts';
import { newId } from '#shared/kernel/system/new-id.ts';
import { createTestDatabase } from '#test/support/database.ts';
import {
  commitReceipts,
  inferenceRecord,
  makeReceiptSigner,
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
  await commitReceipts(database.poolAs('docket_receipts', 1), signer, [
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
      input_tokens: 273,
    });
    expect(Number(total.energy_kwh)).toBeCloseTo(2 * Number(data[0].energy_kwh), 12);
    expect(total.energy_kwh).toMatch(/^0\.\d+$/);
  });

  it.each([
    ['model', ['llama-3.1-8b', UNSIZED]],
    ['region', ['eu-west']],
    ['key', ['key_a']],
  ])('GET /usage 200: groups by %s', async (by, groups) => {
    const { data } = (await edge.get(`/usage?group_by=${by}&to=2026-11-21`, key)).json();
    expect(data.map(({ group }: { group: string }) => group)).toEqual(groups);
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
