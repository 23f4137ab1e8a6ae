import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pino } from 'pino';
import { Registry } from 'prom-client';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { adminAppOf } from '#api/admin/deps.ts';
import { PER_ADDRESS, PER_KEY } from '#api/admin/operators.ts';
import { apiEvents } from '#api/events.ts';
import { openResources } from '#api/routes/deps.ts';
import { DECLARATION_VERSION, STATEMENTS } from '#shared/accounts/declaration.ts';
import type { Region } from '#shared/catalogue/catalogue.ts';
import { primaryAlone } from '#shared/kernel/postgres/replica.ts';
import { systemSurroundings } from '#shared/kernel/system/surroundings.ts';
import { createCommandLines } from '#shared/persons/postgres/command-lines.ts';
import { createExportRegistry } from '#shared/packs/postgres/exports.ts';
import { receiptIssuer } from '#shared/receipts/issuer.ts';
import type { Person, StaffRole } from '#shared/persons/roles.ts';
import {
  activeAccount,
  contract,
  createRegistries,
  currentVetting,
  referApplicant,
  vetting,
} from '#test/support/accounts.ts';
import { newPerson, openDashboardEdge } from '#test/support/dashboard.ts';
import { createTestDatabase } from '#test/support/database.ts';
import { runDocket } from '#test/support/docket-cli.ts';
import { atFileEnd } from '#test/support/file-end.ts';
import { until } from '#test/support/until.ts';

const database = await createTestDatabase();
const registries = createRegistries(database.pool);
const home = await mkdtemp(join(tmpdir(), 'docket-home-'));
afterAll(() => rm(home, { recursive: true }));
const docket = (...args: string[]) =>
  runDocket(args, { DATABASE_URL: database.url, HOME: home, PUBLIC_URL: 'https://docket.example' });

const REGION = { code: 'eu-west', name: 'Western Europe', status: 'normal' } as Region;
const index = {
  models: new Map(),
  byName: new Map(),
  regions: new Map([[REGION.code, REGION]]),
  currency: null,
} as never;
const {
  app: publicApp,
  dashboard,
  browser,
} = await openDashboardEdge(database, undefined, {
  index,
});
const pool = database.poolAs('docket_api', 4);
const lines: object[] = [];
const log = pino({ level: 'info' }, { write: (line: string) => lines.push(JSON.parse(line)) });
/** The clock of rates while a test counts: what a busy machine steals refills nothing. */
let heldAt: number | undefined;
afterEach(() => (heldAt = undefined));
const app = await adminAppOf('support@docket.example', {
  pool,
  resources: openResources(
    { pool, reads: primaryAlone(pool) },
    receiptIssuer('https://gateway.example'),
    { isPending: async () => false },
  ),
  exports: {
    exports: createExportRegistry(pool, systemSurroundings),
    store: { read: async () => null, delete: async () => {} },
    start() {},
    keptDays: 7,
    onStoreError() {},
  },
  regionStatuses: dashboard.operations.regionStatuses,
  index: () => index,
  events: apiEvents(log, new Registry()),
  ratesNow: () => heldAt ?? performance.now(),
});
atFileEnd(() => app.close());

/** A key that a person has allowed, made without the page. */
async function keyOf(person: Person, name = 'a program'): Promise<string> {
  const commandLines = createCommandLines(database.pool, systemSurroundings);
  const { token, code } = await commandLines.ask('os:ada@here', { name, days: 7 });
  await database.pool.query(
    `update persons.command_line set person_id = $2, allowed_at = now(), expires_at = now() + interval '7 days'
     where code = $1`,
    [code, person.id],
  );
  return token;
}

const staff = (role: StaffRole, name?: string) =>
  newPerson(database.pool, [{ kind: 'staff', role }], name);

let otto: Person;
let key: string;
let reviewer: string;
let addresses = 0;
beforeAll(async () => {
  otto = await staff('operator', 'Otto Operator');
  key = await keyOf(otto);
  reviewer = await keyOf(await staff('reviewer'));
});

interface Asking {
  token?: string | null;
  headers?: Record<string, string>;
  address?: string;
}
interface Answered {
  [name: string]: unknown;
  error?: { code: string };
}
async function ask(
  method: 'GET' | 'POST' | 'PUT' | 'DELETE',
  path: string,
  body?: object,
  { token = key, headers = {}, address = `192.0.2.${(addresses += 1) % 250}` }: Asking = {},
) {
  const answer = await app.inject({
    method,
    url: `/admin/v1${path}`,
    remoteAddress: address,
    headers: { ...headers, ...(token !== null && { authorization: `Bearer ${token}` }) },
    ...(body !== undefined && { payload: body }),
  });
  const json: Answered = answer.payload === '' ? {} : answer.json<Answered>();
  return { status: answer.statusCode, json, code: json.error?.code, answer };
}

const entriesOf = async (orgId: string) =>
  (await registries.audit.list({ orgId, limit: 100, order: 'desc' })).items;

const CONTACT = { name: 'Tess Example', email: 'tess@bakery.example' };
const NEW = {
  name: 'Harmless Bakery',
  plan: 'audit_plus',
  billing_contact: CONTACT,
  technical_contact: CONTACT,
};

describe('operator keys', () => {
  it('a program acts in the name of the person who allowed its key on the page, until an operator ends it [admin.keys]', async () => {
    const { id } = await activeAccount(registries);
    const ottos = browser();
    await ottos.signIn(otto);
    const issuing = docket('operator-keys', 'issue', '--name', 'nightly', '--days', '7', '--json');
    let code: string | undefined;
    await until(async () => {
      const waits = 'select code from persons.command_line where person_id is null';
      code = (await database.pool.query<{ code: string }>(waits)).rows[0]?.code;
      return code !== undefined;
    });
    const page = '/dashboard/service/command-line';
    const shown = (await ottos.get(`${page}?code=${code}`)).payload;
    expect(shown).toContain('operator key <strong>nightly</strong>');
    expect((await ottos.send(page, `${page}/allow`, { code: code! })).statusCode).toBe(303);
    const issued = JSON.parse((await issuing).stdout) as { key: string; id: string };
    expect(issued).toMatchObject({
      key: expect.stringMatching(/^dko_[\w-]{43}$/),
      name: 'nightly',
    });
    expect((await ottos.get(page)).payload).toContain(`Operator key nightly ${issued.id}`);

    const done = await ask(
      'POST',
      `/organisations/${id}/suspend`,
      { reason: 'Invoices are unpaid', ticket: 'T-7' },
      { token: issued.key, address: '192.0.2.9' },
    );
    expect(done.json).toMatchObject({ id, state: 'suspended' });
    expect((await entriesOf(id))[0]).toMatchObject({
      action: 'account.suspended',
      actorKind: 'operator',
      actorId: otto.id,
      address: `operator-key:nightly ${issued.id}@192.0.2.9`,
      reason: 'Invoices are unpaid',
      details: expect.stringContaining('"ticket":"T-7"'),
    });
    expect(lines.at(-1)).toMatchObject({
      event: 'admin_answered',
      route: '/admin/v1/organisations/:org_id/suspend',
      status: 200,
      operatorId: otto.id,
      key: `nightly ${issued.id}`,
    });
    expect(JSON.stringify(lines)).not.toContain(issued.key.slice(0, 12));

    // A command line does not act by it.
    expect(await createCommandLines(pool, systemSurroundings).by(issued.key)).toBeNull();
    const listed = JSON.parse((await docket('operator-keys', 'list', '--json')).stdout) as object[];
    expect(listed).toContainEqual(
      expect.objectContaining({ id: issued.id, name: 'nightly', acts_as: otto.email }),
    );
    const revoke = ['operator-keys', 'revoke', issued.id, '--reason', 'left'];
    expect((await docket(...revoke)).code).toBe(0);
    expect((await ask('GET', '/regions', undefined, { token: issued.key })).status).toBe(401);
    expect((await docket(...revoke)).stderr).toContain('No operator key holds');
    const ofKeys = (await entriesOf('service')).slice(0, 2);
    expect(ofKeys.map(({ action, details }) => [action, JSON.parse(details).id])).toEqual([
      ['operator_key.revoked', issued.id],
      ['operator_key.issued', issued.id],
    ]);
    const wrong = await docket('operator-keys', 'issue', '--name', 'x', '--days', '91');
    expect(wrong).toMatchObject({ code: 1, stderr: expect.stringContaining('1 to 90') });
  });

  it('no operation but the description is open without an operator key, and none stands on the public port [admin.port]', async () => {
    const { paths } = (await ask('GET', '/openapi.json', undefined, { token: null })).json as {
      paths: Record<string, Record<string, { security: object[]; parameters?: object[] }>>;
    };
    const operations = Object.entries(paths).flatMap(([path, item]) =>
      Object.entries(item).map(([method, one]) => ({ path, method, ...one })),
    );
    expect(operations.length).toBeGreaterThan(35);
    const commandLine = await createCommandLines(database.pool, systemSurroundings).ask('os:a@b');
    await database.pool.query(
      'update persons.command_line set person_id = $2, allowed_at = now() where code = $1',
      [commandLine.code, otto.id],
    );
    const wrong = [null, 'dko_', `dko_${'a'.repeat(43)}`, commandLine.token, `${key}x`];
    for (const { path, method, security, parameters = [] } of operations) {
      const named = path.match(/\{\w+\}/g) ?? [];
      const inPath = parameters.filter((one) => (one as { in: string }).in === 'path');
      expect([path, inPath.length]).toEqual([path, named.length]);
      const url = path.replaceAll(/\{\w+\}/g, 'x');
      const onPublic = { method: method.toUpperCase() as 'GET', url, headers: {} };
      expect([path, (await publicApp.inject(onPublic)).statusCode]).toEqual([path, 404]);
      if (security.length === 0) continue;
      const token = wrong[addresses % wrong.length]!;
      const { status, code, answer } = await ask(
        method.toUpperCase() as 'GET',
        url.replace('/admin/v1', ''),
        undefined,
        { token },
      );
      expect([path, status, code]).toEqual([path, 401, 'invalid_api_key']);
      expect(answer.headers['access-control-allow-origin']).toBeUndefined();
    }
    expect(operations.filter(({ security }) => security.length === 0)).toHaveLength(1);
  });

  it('a key does what the part of its person allows, on organisations that are not their own, and nothing once they have none [admin.keys]', async () => {
    const { orgId } = await referApplicant(registries);
    const { vettingId } = (await registries.vettings.openReview(orgId))!;
    const decide = { screening_id: vettingId!, reason: 'Another person' };
    const approve = (token: string) =>
      ask('POST', `/organisations/${orgId}/approve`, decide, { token });
    expect(await approve(key)).toMatchObject({ status: 403, code: 'insufficient_scope' });
    expect(
      (await ask('GET', '/reviews?open=true', undefined, { token: reviewer })).json,
    ).toMatchObject({ data: [{ org_id: orgId, screening_id: vettingId, decision: null }] });
    const suspended = await ask(
      'POST',
      `/organisations/${orgId}/suspend`,
      { reason: 'no' },
      { token: reviewer },
    );
    expect(suspended).toMatchObject({ status: 403, code: 'insufficient_scope' });
    // Of organisations, reviewers see what is under review, here as on pages.
    for (const path of ['', '/audit-log', '/exports', '/keys', '/ledger/entries'])
      expect([
        path,
        (await ask('GET', `/organisations/${orgId}${path}`, undefined, { token: reviewer })).code,
      ]).toEqual([path, 'insufficient_scope']);
    expect((await approve(reviewer)).json).toMatchObject({ state: 'approved' });

    const { id } = await activeAccount(registries);
    const both = await newPerson(database.pool, [
      { kind: 'staff', role: 'operator' },
      { kind: 'organisation', orgId: id, role: 'owner' },
    ] as never);
    const theirs = await keyOf(both);
    const close = { reason: 'my own' };
    expect(
      (await ask('POST', `/organisations/${id}/close`, close, { token: theirs })).status,
    ).toBeGreaterThanOrEqual(400);
    expect((await registries.accounts.get(id)).state).toBe('active');
    await database.pool.query('delete from persons.staff where person_id = $1', [both.id]);
    expect((await ask('GET', '/regions', undefined, { token: theirs })).status).toBe(403);
  });

  it('an address that tries keys is refused for that before they are looked up, and others are not, nor a key there that was good [admin.rates]', async () => {
    heldAt = performance.now();
    const address = '198.51.100.7';
    const statuses = new Set<number>();
    for (let i = 0; i < PER_ADDRESS.burst && !statuses.has(429); i += 1) {
      const token = `dko_${'b'.repeat(43)}`;
      statuses.add((await ask('GET', '/regions', undefined, { token, address })).status);
    }
    expect([...statuses]).toEqual([401, 429]);
    const fresh = await keyOf(otto, 'one that was not shown yet');
    const { status, answer } = await ask('GET', '/regions', undefined, { token: fresh, address });
    expect(status).toBe(429);
    expect(Number(answer.headers['retry-after'])).toBeGreaterThan(0);
    expect((await ask('GET', '/regions', undefined, { token: fresh })).status).toBe(200);
    // Behind one proxy all programs have one address.
    expect((await ask('GET', '/regions', undefined, { token: fresh, address })).status).toBe(200);
  });

  it('a key beyond its rate is refused before it is looked up again, from wherever, and one that was ended is no good one [admin.rates]', async () => {
    heldAt = performance.now();
    const token = await keyOf(otto, 'one that asks on and on');
    const statuses: number[] = [];
    for (let i = 0; i < PER_KEY.burst * 3 && statuses.at(-1) !== 429; i += 1)
      statuses.push((await ask('GET', '/openapi.json', undefined, { token })).status);
    // The description needs no key and makes none known.
    expect(statuses).not.toContain(429);
    for (let i = 0; i < PER_KEY.burst * 3 && statuses.at(-1) !== 429; i += 1)
      statuses.push((await ask('GET', '/regions', undefined, { token })).status);
    expect(statuses.at(-1)).toBe(429);
    await database.pool.query(`delete from persons.command_line where key_name = $1`, [
      'one that asks on and on',
    ]);
    expect((await ask('GET', '/regions', undefined, { token })).status).toBe(429);
  });
});

describe('acts', () => {
  it('an organisation goes by programs from its account to its closing, and each act is an entry of its log [admin.acts]', async () => {
    const { vettings, sanctions } = registries;
    const opened = await ask('POST', '/organisations', NEW);
    expect(opened.status).toBe(201);
    const id = String(opened.json['id']);
    expect(opened.answer.headers.location).toBe(`/admin/v1/organisations/${id}`);
    const act = async (name: string, body: object = {}, method: 'POST' | 'PUT' = 'POST') => {
      const { status, json } = await ask(method, `/organisations/${id}/${name}`, body);
      return status === 200 ? json : { status, ...json.error };
    };
    const statements = STATEMENTS[DECLARATION_VERSION]!;
    const declaring = {
      country: 'FR',
      industry: 'retail',
      parties: [{ role: 'director', name: 'Dora Example', country: 'FR' }],
      answers: Object.fromEntries(statements.map((each) => [each.id, each.expected])),
      declared_by: 'Tess Example',
    };
    expect(await act('declare', { ...declaring, answers: {} })).toMatchObject({ status: 400 });
    expect(await act('declare', declaring)).toMatchObject({ state: 'declared' });
    await vettings.record(id, vetting());
    const { kind, documentSha256: document_sha256, signatory } = contract();
    expect(await act('sign', { kind, document_sha256, signatory })).toMatchObject({
      state: 'contracted',
    });
    expect(await act('activate')).toMatchObject({ code: 'invalid_account_state' });
    await vettings.record(id, await currentVetting({ vettings, sanctions }, id));
    expect(await act('activate')).toMatchObject({ state: 'active' });
    const limits = {
      requests_per_second: 500,
      burst: 2_000,
      requests_per_day: 2_000_000,
      concurrent_streams: 400,
    };
    expect(await act('limits', { limits }, 'PUT')).toMatchObject({ code: 'invalid_plan' });
    for (let times = 0; times < 2; times += 1) {
      expect(await act('plan', { plan: 'enterprise' }, 'PUT')).toMatchObject({
        plan: 'enterprise',
      });
      expect(await act('limits', { limits }, 'PUT')).toMatchObject({ limits });
      const hold = { legal_hold: true, reason: 'Order 4711' };
      expect(await act('legal-hold', hold, 'PUT')).toMatchObject({ legal_hold: true });
    }
    expect(await act('suspend', {})).toMatchObject({ status: 400, code: 'invalid_reason' });
    expect(await act('suspend', { reason: 'unpaid' })).toMatchObject({ state: 'suspended' });
    expect(await act('suspend', { reason: 'unpaid' })).toMatchObject({
      code: 'invalid_account_state',
    });
    expect(await act('reinstate', { reason: 'paid' })).toMatchObject({ state: 'active' });
    expect(await act('close', { reason: 'asked for' })).toMatchObject({ state: 'closed' });
    const byOtto = (await entriesOf(id)).filter(({ actorId }) => actorId === otto.id);
    expect(byOtto.map(({ action }) => action).toReversed()).toEqual([
      'account.created',
      'account.declared',
      'account.contracted',
      'account.activated',
      'account.plan_set',
      'account.limits_set',
      'account.legal_hold_set',
      'account.suspended',
      'account.reinstated',
      'account.closed',
    ]);
  });

  it('a request that is sent twice under one Idempotency-Key opens one account [admin.acts]', async () => {
    const headers = { 'idempotency-key': 'crm-4711' };
    const answers = await Promise.all(
      [1, 2, 3].map(() => ask('POST', '/organisations', NEW, { headers })),
    );
    expect(new Set(answers.map(({ json }) => json['id'])).size).toBe(1);
    const id = String(answers[0]!.json['id']);
    expect((await entriesOf(id)).map(({ action }) => action)).toEqual(['account.created']);
    const other = await ask('POST', '/organisations', { ...NEW, name: 'Another' }, { headers });
    expect(other).toMatchObject({ status: 400, code: 'idempotency_key_reused' });
    // What another person calls theirs is another request.
    const token = await keyOf(await staff('operator'));
    const theirs = await ask('POST', '/organisations', NEW, { headers, token });
    expect(theirs.json['id']).not.toBe(id);
  });

  it('keys are revoked, restored, and reported as leaked by themselves or their digest [admin.acts]', async () => {
    const { id: orgId } = await activeAccount(registries);
    const actor = { kind: 'operator', id: 'ada' } as const;
    const issued = await registries.keys.issue(orgId, { name: 'Nightly' }, actor);
    const { id } = issued.key;
    expect((await ask('GET', `/organisations/${orgId}/keys`)).json).toMatchObject({
      data: [{ id, state: 'active' }],
    });
    const report = { key: issued.plaintext, reason: 'In a build log' };
    expect((await ask('POST', '/leaked-keys', report)).json).toMatchObject({
      id,
      state: 'revoked',
      leaked: true,
    });
    expect(JSON.stringify(lines)).not.toContain(issued.plaintext);
    const restore = { reason: 'A copy of no use' };
    expect((await ask('POST', `/keys/${id}/restore`, restore)).json).toMatchObject({
      state: 'active',
    });
    expect((await ask('POST', `/keys/${id}/revoke`, { reason: 'Unused' })).json).toMatchObject({
      state: 'revoked',
      leaked: false,
    });
    expect((await ask('POST', '/leaked-keys', { ...report, key: 'x' })).code).toBe('invalid_key');
    expect(
      (await entriesOf(orgId)).slice(0, 3).map((entry) => [entry.action, entry.actorId]),
    ).toEqual([
      ['key.revoked', otto.id],
      ['key.restored', otto.id],
      ['key.revoked', otto.id],
    ]);
  });

  it('a region is set with a reason, told to the public, and goes back to the catalogue without its note [admin.acts]', async () => {
    const set = (body: object) => ask('PUT', '/regions/eu-west', body);
    for (const reason of [undefined, ' '])
      expect((await set({ status: 'degraded', reason })).code).toBe('invalid_reason');
    const away = { status: 'degraded', note: 'A loop is repaired.', reason: 'Upstream is down' };
    expect((await set(away)).json).toMatchObject({
      status: 'degraded',
      is_set: true,
      note: { text: 'A loop is repaired.' },
    });
    expect((await set({ status: 'catalogue', reason: 'back' })).json).toMatchObject({
      status: 'normal',
      is_set: false,
      note: null,
    });
    expect((await ask('PUT', '/regions/nowhere', away)).code).toBe('region_not_found');
    expect((await entriesOf('service'))[1]).toMatchObject({
      action: 'region.set',
      subject: 'eu-west',
      actorId: otto.id,
      reason: 'Upstream is down',
    });
  });

  it('what an organisation reads by its own keys an operator reads below its address, and asks for a pack in their own name [admin.acts]', async () => {
    const { id } = await activeAccount(registries);
    const at = `/organisations/${id}`;
    for (const path of ['/usage', '/requests', '/exports', '/ledger/entries', '/audit-log'])
      expect([path, (await ask('GET', at + path)).status]).toEqual([path, 200]);
    for (const path of ['/usage', '/keys', '/exports/exp_x', '/ledger/checkpoint'])
      expect([path, (await ask('GET', `/organisations/org_x${path}`)).code]).toEqual([
        path,
        'organisation_not_found',
      ]);
    expect((await ask('GET', '/requests/req_01M7W53ZF4Z6X0T8WB5N2K9MVC')).code).toBe(
      'request_not_found',
    );
    const asked = await ask('POST', `${at}/exports`, { format: 'evidence-pack' });
    expect([asked.status, asked.code]).toEqual([400, 'invalid_range']);
    expect((await ask('GET', `${at}/usage?limit=1`)).status).toBe(400);
    expect((await ask('GET', '/organisations?limit=101')).code).toBe('invalid_limit');
    expect((await ask('GET', '/organisations/%ff')).code).toBe('invalid_url');
    const hostile = await ask('POST', `${at}/suspend`, { reason: 'a\u202Eb\n<script>' });
    expect(hostile).toMatchObject({ status: 400, code: 'invalid_reason' });
    const unknown = await ask('POST', `${at}/suspend`, { reason: 'x', actor: 'another' });
    expect(unknown.status).toBe(400);
    const large = await ask('POST', `${at}/suspend`, { reason: 'x'.repeat(300_000) });
    expect(large).toMatchObject({ status: 413, code: 'request_too_large' });
    expect((await ask('DELETE', at)).status).toBe(405);
    expect((await registries.accounts.get(id)).state).toBe('active');
  });
});
