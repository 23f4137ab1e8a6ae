import { beforeAll, describe, expect, it } from 'vitest';
import { newId } from '#shared/kernel/system/new-id.ts';
import { createUsageReader } from '#shared/receipts/postgres/usage.ts';
import { activeAccount, createRegistries, OPERATOR } from '#test/support/accounts.ts';
import { createTestDatabase } from '#test/support/database.ts';
import { newPerson, openDashboardEdge, type TestBrowser } from '#test/support/dashboard.ts';
import {
  inferenceRecord,
  issueReceipts,
  makeReceiptSigner,
  receiptPools,
  UNSIZED,
} from '#test/support/issuing.ts';

const database = await createTestDatabase();
const registries = createRegistries(database.pool);
const { signer } = makeReceiptSigner();
const { browser, errors } = await openDashboardEdge(database);
const DAY_MS = 86_400_000;
const MIDNIGHT = Math.floor(Date.now() / DAY_MS) * DAY_MS;
const visitors = {} as Record<'auditor' | 'stranger', TestBrowser>;
let orgId = '';
let otherOrgId = '';
let keyName = '';

beforeAll(async () => {
  const visitor = async (
    of: string,
    role: 'owner' | 'auditor',
    n: number,
  ): Promise<TestBrowser> => {
    const person = await newPerson(database.pool, [{ kind: 'organisation', orgId: of, role }]);
    const one = browser({ address: `192.0.2.${n}` });
    await one.signIn(person);
    return one;
  };
  orgId = (await activeAccount(registries)).id;
  otherOrgId = (await activeAccount(registries)).id;
  keyName = '<i>Nightly</i>';
  const { key } = await registries.keys.issue(orgId, { name: keyName }, OPERATOR);
  const at = (time: number, more = {}) =>
    inferenceRecord({ orgId, keyId: key.id, requestId: newId('req', time), ...more });
  const pools = receiptPools(database);
  await issueReceipts(pools, signer, [
    at(MIDNIGHT - 3 * DAY_MS),
    at(MIDNIGHT - 3 * DAY_MS + 1, { tags: ['team=search'] }),
    at(MIDNIGHT - 2 * DAY_MS, { model: UNSIZED }),
    at(MIDNIGHT + 1),
    at(MIDNIGHT - 50 * DAY_MS),
  ]);
  visitors.auditor = await visitor(orgId, 'auditor', 181);
  visitors.stranger = await visitor(otherOrgId, 'owner', 182);
});

const words = (page: string): string => page.replaceAll(/<[^>]+>/g, ' ').replaceAll(/\s+/g, ' ');

describe('overview and usage', () => {
  it('the overview has the totals, each day with its interval, a gap where nothing is estimated, and today’s part of the budget [dashboard.usage]', async () => {
    const { payload } = await visitors.auditor.get(`/dashboard/${orgId}/overview?by=key`);
    const text = words(payload);
    expect(text).toContain('1 of 4 not estimated');
    expect(text).toMatch(/Covered 75 %/);
    expect(text).toMatch(/1 of [\d ]+, &#60; 0.1 %/);
    expect(payload.match(/class="gap"/g)).toHaveLength(3);
    expect(text.match(/: not estimated/g)).toHaveLength(3);
    expect(text).toMatch(
      /Busiest of the last 24 hours 1 request in an hour, less than 0.01 a second/,
    );
    expect(text).toContain('of water from 15 °C to the boil');
    expect(text).toMatch(/: 2 requests/);
    // A rotation leaves two keys of one name.
    expect(payload).toMatch(/dkt_\w{4}… &#60;i&#62;Nightly/);
    expect(payload).not.toContain('<i>Nightly');
    const longer = words(
      (await visitors.auditor.get(`/dashboard/${orgId}/overview?days=90`)).payload,
    );
    expect(longer).toContain('1 of 5 not estimated');
  });

  it('an organisation without a request is told what would be here [dashboard.usage]', async () => {
    const { payload } = await visitors.stranger.get(`/dashboard/${otherOrgId}/overview`);
    expect(payload).toContain('No requests with a receipt in the last 30 days');
    const usage = await visitors.stranger.get(`/dashboard/${otherOrgId}/usage`);
    expect(usage.payload).toContain('No requests in this period');
  });

  it('the CSV has the figures that the API has, by two things at once [dashboard.usage]', async () => {
    const day = (ms: number): string => new Date(ms).toISOString().slice(0, 10);
    const query = `from=${day(MIDNIGHT - 5 * DAY_MS)}&to=${day(MIDNIGHT)}&by=model&and=region`;
    const file = await visitors.auditor.get(`/dashboard/${orgId}/usage.csv?${query}`);
    const [head, ...lines] = file.payload.trim().split('\r\n');
    const { groups } = await createUsageReader(database.pool).usage({
      orgId,
      range: { from: MIDNIGHT - 5 * DAY_MS, to: MIDNIGHT + DAY_MS },
      groupBy: ['model', 'region'],
    });
    const column = head!.split(',').indexOf('energy_kwh_upper');
    expect(lines.map((line) => line.split(',')[column])).toEqual(
      groups!.map(({ amounts }) => amounts.energy.upper),
    );
    expect(lines.map((line) => line.split(',').slice(0, 2))).toEqual(
      groups!.map(({ names }) => names),
    );
    const page = words((await visitors.auditor.get(`/dashboard/${orgId}/usage?${query}`)).payload);
    expect(page).toMatch(/Total 4 1 /);
  });

  it('the page and its CSV are by a declared tag too, and of one value of it; two at once are refused [dashboard.usage, tags.usage]', async () => {
    const address = `/dashboard/${orgId}/usage`;
    const plain = (await visitors.auditor.get(address)).payload;
    expect(plain).not.toContain('Only the tag');
    await registries.accounts.setTags(orgId, ['team', 'run'], OPERATOR);
    const read = async (query: string) =>
      (await visitors.auditor.get(`${address}${query}`)).payload;
    const page = await read('?by=tag:team');
    expect(page).toContain('<option value="tag:run"');
    expect(words(page)).toMatch(/Total 4 1 .* not stated 3 1 .* search 1 0 /);
    expect(words(page)).toContain('“other values”');
    expect(words(await read('?by=day&tag=team%3Dsearch'))).toMatch(/Total 1 0 /);
    const lines = (await read('.csv?by=tag:team')).trim().split('\r\n');
    expect(lines.map((line) => line.split(',').slice(0, 2))).toEqual([
      ['tag:team', 'requests'],
      ['', '3'],
      ['search', '1'],
    ]);
    for (const query of ['?by=tag:team&and=tag:run', '?by=tag:team&tag=run=1', '?tag=run'])
      expect((await visitors.auditor.get(`${address}${query}`)).statusCode).toBe(400);
  });

  it('days that are none, or too many, are said, and nothing of another organisation is shown [dashboard.usage, dashboard.organisations]', async () => {
    const address = `/dashboard/${orgId}/usage`;
    for (const query of [
      'from=x&to=2026-01-01',
      'from=2026-02-01&to=2026-01-01',
      'from=2020-01-01&to=2026-01-01',
      'from=2026-02-31&to="><b>',
    ]) {
      const reply = await visitors.auditor.get(`${address}?${query}`);
      expect([query, reply.statusCode]).toEqual([query, 400]);
      expect(reply.payload).not.toContain('<b>');
      expect((await visitors.auditor.get(`${address}.csv?${query}`)).statusCode).toBe(400);
    }
    for (const query of ['by=nothing', 'by=model&and=model', 'and=key', 'by=key&by=model']) {
      expect((await visitors.auditor.get(`${address}?${query}`)).statusCode).toBe(200);
    }
    const strange = await visitors.auditor.get(`/dashboard/${orgId}/overview?by=constructor`);
    expect(strange.statusCode).toBe(200);
    for (const path of ['overview', 'usage', 'usage.csv']) {
      expect((await visitors.stranger.get(`/dashboard/${orgId}/${path}`)).statusCode).toBe(404);
    }
    expect(errors).toEqual([]);
  });

  it('without prices no page shows money; with them who spent what, by tag and model, has the same digits on pages and in CSV [dashboard.usage, tags.usage]', async () => {
    const read = async (path: string) =>
      (await visitors.auditor.get(`/dashboard/${orgId}/${path}`)).payload;
    const paths = ['overview', 'usage?by=tag:team&and=model', 'usage.csv?by=tag:team&and=model'];
    for (const path of [...paths, 'budgets'])
      expect(await read(path)).not.toMatch(/\bcosts?\b|\bEUR\b|\bmoney\b/i);
    await issueReceipts(receiptPools(database), signer, [
      inferenceRecord({ orgId, tags: ['team=search'], cost: 'EUR 1200.000000000001' }),
      inferenceRecord({ orgId, model: 'mixtral-8x7b', cost: 'EUR 0.005' }),
    ]);
    const overview = await read(paths[0]!);
    expect(words(overview)).toMatch(/Cost 1 200\.01 EUR 4 requests not in it/);
    expect(overview).toContain('title="1200.005000000001 EUR"');
    const page = await read(paths[1]!);
    expect(words(page)).toMatch(/Cost by tag team and model 1 200\.00 EUR/);
    expect(page).toContain('title="1200.000000000001 EUR"');
    const [head = '', ...lines] = (await read(paths[2]!)).trim().split('\r\n');
    const [first, ...more] = ['cost', 'currency', 'priced_requests'].map((name) =>
      head.split(',').indexOf(name),
    );
    const rows = lines.map((line) => line.split(','));
    expect(rows.map((row) => [row[0], row[first!], ...more.map((at) => row[at])])).toEqual(
      expect.arrayContaining([
        ['search', '1200.000000000001', 'EUR', '1'],
        ['', '0.005', 'EUR', '1'],
      ]),
    );
    // The playground asks for what its request has cost, with the currency, which is on no receipt.
    const { rows: costs } = await database.pool.query<{ entry_id: string; cost: string }>(
      'select entry_id, cost from ledger_body where org_id = $1 and cost is not null',
      [orgId],
    );
    expect(costs).toHaveLength(2);
    for (const { entry_id: id, cost } of costs) {
      const path = `/dashboard/${orgId}/playground/receipts/${id}/cost.json`;
      expect((await visitors.auditor.get(path)).json()).toEqual({ cost: `EUR ${cost}` });
      expect((await visitors.stranger.get(path)).statusCode).toBe(404);
    }
    expect(errors).toEqual([]);
  });
});
