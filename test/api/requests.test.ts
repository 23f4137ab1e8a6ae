/** What became of requests, as a caller asks for it. */
import { beforeAll, describe, expect, it } from 'vitest';
import { timeOfId } from '#shared/kernel/ids.ts';
import { indexCatalogue } from '#shared/catalogue/route-index.ts';
import { newId } from '#shared/kernel/system/new-id.ts';
import { writeRequests } from '#shared/requests/postgres/requests.ts';
import { openEdge } from '#test/support/app.ts';
import { createTestDatabase } from '#test/support/database.ts';
import { refusedRow, requestRow } from '#test/support/requests.ts';
import { catalogue, endpoint, model, region } from '#test/unit/catalogue/routed-catalogue.ts';

const database = await createTestDatabase();
const pool = database.poolAs('docket_api', 2);
const index = indexCatalogue(
  catalogue([region('eu')], [endpoint('one', ['eu'])], [model('llama', ['one'])]),
);
const edge = await openEdge(pool, { models: { index: () => index, confidenceOf() {} } });
const key = edge.keyFor('org_a');
const at = Date.now() - 60_000;
const of = { orgId: 'org_a', model: 'llama', region: 'eu' };
const answered = requestRow({ ...of, at });
const refused = refusedRow({ ...of, at: at + 1_000, requests: 381, lastMs: 47_000 });
const misspelt = refusedRow({ ...of, at: at + 2_000, status: 400, code: 'invalid_colour' });
const get = (path: string, asking: string | null = key) => edge.get(path, asking);

beforeAll(() => writeRequests(pool, [answered, refused, misspelt]));

const idsOf = async (query: string): Promise<string[]> => {
  const answer = await get(`/requests?${query}`);
  expect([query, answer.status]).toEqual([query, 200]);
  return (answer.json() as { data: { id: string }[] }).data.map(({ id }) => id);
};

describe('GET /requests [requests.found]', () => {
  it('GET /requests 200: the newest first, page by page, as the cursor pages of the SDK expect', async () => {
    const first = (await get('/requests?limit=2')).json();
    expect(first).toMatchObject({
      object: 'list',
      first_id: misspelt.id,
      last_id: refused.id,
      has_more: true,
    });
    expect(first.data[1]).toMatchObject({
      object: 'request',
      code: 'requests_per_second_exceeded',
      requests: 381,
      created_at: new Date(at + 1_000).toISOString(),
      last_at: new Date(at + 48_000).toISOString(),
      receipt_id: null,
    });
    expect(await idsOf(`after=${refused.id}`)).toEqual([answered.id]);
  });

  it.each([
    ['status=ok', () => [answered.id]],
    ['status=failed', () => [misspelt.id, refused.id]],
    ['status=429', () => [refused.id]],
    ['code=invalid_colour', () => [misspelt.id]],
    ['code=upstream_error', () => []],
    ['model=llama&region=eu&order=asc', () => [answered.id, refused.id, misspelt.id]],
    [`from=${new Date(at + 1_000).toISOString()}`, () => [misspelt.id, refused.id]],
    [`to=${new Date(at + 1_000).toISOString()}`, () => [answered.id]],
  ] as const)('GET /requests 200 with %s has what fits, and nothing else', async (query, ids) => {
    expect(await idsOf(query)).toEqual(ids());
  });

  it.each([
    ['status=broken', 'invalid_status'],
    ['status=399', 'invalid_status'],
    ['code=invalid_color', 'invalid_code'],
    ['model=lama', 'invalid_model'],
    ['region=eu-wset', 'invalid_region'],
    ['key=key_0', 'invalid_key'],
    ['from=yesterday', 'invalid_from'],
    ['from=2026-11-20&to=2026-11-20', 'invalid_to'],
    ['limit=0', 'invalid_limit'],
    [`after=${newId('req')}`, 'invalid_after'],
    ['stauts=failed', 'invalid_stauts'],
  ])('GET /requests 400 with %s', async (query, code) => {
    const answer = await get(`/requests?${query}`);
    expect([answer.status, answer.json().error.code]).toEqual([400, code]);
  });

  it('GET /requests 401 without a key, 403 without the scope', async () => {
    expect((await get('/requests', null)).status).toBe(401);
    expect((await get('/requests', edge.keyFor('org_a', ['inference:write']))).status).toBe(403);
  });
});

describe('GET /requests/{id} [requests.found]', () => {
  it('GET /requests/{id} 200: status, times, tokens and receipt of one', async () => {
    expect((await get(`/requests/${answered.id}`)).json()).toMatchObject({
      id: answered.id,
      created_at: new Date(timeOfId(answered.id)).toISOString(),
      status: 200,
      input_tokens: 21,
      queued_ms: 6,
      total_ms: 412,
      receipt_id: answered.id.replace('req_', 'rcpt_'),
      replayed: false,
    });
  });

  it('GET /requests/{id} 404 for a request of another organisation, and for none', async () => {
    for (const [id, asking] of [
      [answered.id, edge.keyFor('org_b')],
      [newId('req'), key],
      ['nonsense', key],
    ] as const) {
      const answer = await get(`/requests/${id}`, asking);
      expect([answer.status, answer.json().error.code]).toEqual([404, 'request_not_found']);
    }
  });
});
