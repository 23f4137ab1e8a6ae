import { beforeAll, describe, expect, it } from 'vitest';
import { newId } from '#shared/kernel/system/new-id.ts';
import { DAY_MS } from '#shared/kernel/time.ts';
import { writeRequests } from '#shared/requests/postgres/requests.ts';
import { activeAccount, createRegistries, OPERATOR } from '#test/support/accounts.ts';
import { createTestDatabase } from '#test/support/database.ts';
import { newPerson, openDashboardEdge, type TestBrowser } from '#test/support/dashboard.ts';
import { refusedRow, requestRow } from '#test/support/requests.ts';

const database = await createTestDatabase();
const registries = createRegistries(database.pool);
const { browser, errors } = await openDashboardEdge(database);
const visitors = {} as Record<'auditor' | 'stranger', TestBrowser>;
let list = '';
let answered = requestRow({ orgId: '' });
let refused = answered;
let failed = answered;
let blocked = answered;

beforeAll(async () => {
  const { id: orgId } = await activeAccount(registries);
  const { key } = await registries.keys.issue(orgId, { name: 'batch' }, OPERATOR);
  list = `/dashboard/${orgId}/requests`;
  const now = Date.now();
  const of = { orgId, keyId: key.id };
  answered = requestRow({
    ...of,
    tags: ['team=search'],
    at: now - 3_000,
    streamed: true,
    firstMs: 206,
    totalMs: 1_898,
  });
  refused = refusedRow({ ...of, at: now - 2_000, requests: 381, lastMs: 1_500 });
  failed = refusedRow({
    ...of,
    at: now - 1_000,
    status: 502,
    code: 'upstream_error',
    totalMs: 8_100,
  });
  blocked = refusedRow({
    ...of,
    at: now - DAY_MS - 100,
    status: 403,
    code: 'acceptable_use_violation',
    hasReceipt: true,
  });
  const older = Array.from({ length: 30 }, (_, i) =>
    requestRow({ ...of, at: now - DAY_MS - i, model: 'mistral-7b' }),
  );
  await writeRequests(database.pool, [answered, refused, failed, blocked, ...older]);
  for (const [i, [name, org]] of [
    ['auditor', orgId] as const,
    ['stranger', (await activeAccount(registries)).id] as const,
  ].entries()) {
    const role = name === 'auditor' ? 'auditor' : 'owner';
    const person = await newPerson(database.pool, [{ kind: 'organisation', orgId: org, role }]);
    visitors[name] = browser({ address: `192.0.2.${40 + i}` });
    await visitors[name].signIn(person);
  }
});

const read = async (address: string): Promise<string> => {
  const { statusCode, payload } = await visitors.auditor.get(address);
  expect([address, statusCode]).toEqual([address, 200]);
  return payload;
};
/** Ids of the requests that a list shows. */
const shown = (page: string): string[] =>
  [...page.matchAll(/<th scope="row"><a href="[^"]*\/requests\/(req_\w+)"/g)].map(([, id]) => id!);

describe('requests [dashboard.requests]', () => {
  it('are listed with those that failed counted by code, page by page, and filtered by each of the fields', async () => {
    const first = await read(list);
    expect(shown(first)).toHaveLength(25);
    expect(first).toMatch(/requests_per_second_exceeded<\/code><\/a>\s*381 requests/);
    const [, next] = /href="([^"]+)">Older requests/.exec(first)!;
    expect(shown(await read(next!.replaceAll('&#38;', '&')))).toHaveLength(9);
    const found: [string, string[]][] = [
      ['status=failed', [failed.id, refused.id, blocked.id]],
      ['status=5xx', [failed.id]],
      ['code=upstream_error', [failed.id]],
      ['slow=5000', [failed.id]],
      [`key=${answered.keyId}&model=llama-3.1-8b&region=eu-west`, [answered.id]],
      ['tag=team=search', [answered.id]],
      ['tag=team=other', []],
      ['from=2020-01-01&to=2020-01-02', []],
    ];
    for (const [query, ids] of found)
      expect([query, shown(await read(`${list}?${query}`))]).toEqual([query, ids]);
    expect(await read(`${list}?from=2020-01-01&to=2020-01-02`)).toContain('No request matches');
    // What is no filter is none, on a page.
    expect(shown(await read(`${list}?status=nonsense&slow=-1&after=req_0`))).toHaveLength(25);
  });

  it('one is found by its own id, its receipt’s and its answer’s; what is not there is said', async () => {
    for (const prefix of ['req_', 'rcpt_', 'chatcmpl-']) {
      const name = answered.id.replace('req_', prefix);
      const { statusCode, headers } = await visitors.auditor.get(`${list}?find=${name}`);
      expect([statusCode, headers.location]).toEqual([303, `${list}/${answered.id}`]);
    }
    expect(await read(`${list}?find=${newId('req')}`)).toContain('No request of this organisation');
  });

  it('the page of one says how its time was spent, what its error means and what can be done, and why there is no receipt', async () => {
    const page = await read(`${list}/${answered.id}`);
    const table = page.slice(page.indexOf('aria-label="Times"')).replaceAll(/<[^>]+>|\s+/g, ' ');
    expect(table.replaceAll(/ +/g, ' ')).toMatch(
      /Before the upstream was called 6 Until the first of the stream 200 From the first to the end 1.692 In all 1.898/,
    );
    expect(page.match(/<rect class="(?:missing|band|bar)"/g)).toHaveLength(3);
    const error = await read(`${list}/${failed.id}`);
    expect(error).toContain('/docs#error-upstream-error');
    expect(error).toContain('Send it again with exponential backoff');
    expect(error).toContain('got no answer');
    const limited = await read(`${list}/${refused.id}`);
    expect(limited).toMatch(/Limits at that moment<\/dt>\s*<dd>\s*\d+ requests a second/);
    expect(limited).toContain('381 requests');
    expect(limited).toMatch(/From<\/dt>\s*<dd><code>203\.0\.113\.7</);
    expect(page).toMatch(/Screening<\/dt>\s*<dd>let it through/);
    // What has changed since is not said to have been so.
    await registries.accounts.setPlan(answered.orgId, 'audit', OPERATOR);
    expect(await read(`${list}/${refused.id}`)).toMatch(
      /Limits now<\/dt>[^]*set after this request/,
    );
  });

  it('the page of one that screening blocked says so, and begins an e-mail to support with its id', async () => {
    const page = await read(`${list}/${blocked.id}`);
    expect(page).toMatch(/Screening<\/dt>\s*<dd>blocked it; its receipt names the rule/);
    const [, mail] = /href="(mailto:[^"]+)">Write to support<\/a>,/.exec(page)!;
    expect(decodeURIComponent(mail!)).toContain(`/requests/${blocked.id}`);
    expect(decodeURIComponent(mail!)).toContain('acceptable_use_violation');
  });

  it('the list looks for new requests by itself where that is asked for, on its first page', async () => {
    expect(await read(list)).not.toContain('data-live');
    const followed = await read(`${list}?live=yes&status=failed`);
    expect(followed).toMatch(/id="list" data-live="3"/);
    expect(followed).toMatch(/href="[^"]*status=failed">Stop/);
    expect(await read(`${list}?live=yes&after=${failed.id}`)).not.toContain('data-live');
  });

  it('another organisation’s are as ones that do not exist', async () => {
    const own = list.replace(
      /org_\w+/,
      (await visitors.stranger.get('/dashboard')).headers.location!.match(/org_\w+/)![0],
    );
    for (const address of [list, `${list}/${answered.id}`, `${own}/${answered.id}`])
      expect((await visitors.stranger.get(address)).statusCode).toBe(404);
    const found = await visitors.stranger.get(`${own}?find=${answered.id}`);
    expect(found.payload).toContain('No request of this organisation');
    expect(errors).toEqual([]);
  });
});
