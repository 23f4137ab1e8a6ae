import { Webhook } from 'standardwebhooks';
import { beforeEach, describe, expect, it } from 'vitest';
import type { OrganisationRole } from '#shared/persons/roles.ts';
import { activeAccount, createRegistries, OPERATOR } from '#test/support/accounts.ts';
import { createTestDatabase } from '#test/support/database.ts';
import { openDashboardEdge, PASSWORD, type TestBrowser } from '#test/support/dashboard.ts';

const database = await createTestDatabase();
const registries = createRegistries(database.pool);
const { dashboard, errors, newVisitor } = await openDashboardEdge(database);

let org = '';
let page = '';
let owner: TestBrowser;

const signedIn = (role: OrganisationRole): Promise<TestBrowser> =>
  newVisitor({ kind: 'organisation', orgId: org, role });
const ADDRESS = 'https://hooks.example/services/T0/very-secret';
const HOOK = { address: ADDRESS, description: 'On <call>', event: 'key.leaked' };
const unconfirm = () =>
  database.pool.query(`update persons.session set confirmed_at = now() - interval '1 hour'`);

beforeEach(async () => {
  org = (await activeAccount(registries)).id;
  page = `/dashboard/${org}/webhooks`;
  owner = await signedIn('owner');
  errors.length = 0;
});

describe('the page of webhooks [webhooks.page]', () => {
  it('an owner makes one and sees its secret once, tests, changes, rotates and ends it; the audit log has neither secret nor path', async () => {
    expect((await owner.get(page)).payload).toContain('No webhooks');
    const made = await owner.send(page, page, HOOK);
    const shown = made.headers.location as string;
    const [endpoint] = await dashboard.webhooks.list(org);
    const one = `${page}/${endpoint!.id}`;
    expect(shown).toBe(`${one}/secret`);
    const secret = /whsec_[A-Za-z0-9+/=]+/.exec((await owner.get(shown)).payload)![0];
    expect(() => new Webhook(secret)).not.toThrow();
    expect((await owner.get(shown)).headers.location).toBe(one);
    expect((await owner.send(one, `${one}/test`, {})).headers.location).toBe(`${one}?done=tested`);
    const seen = (await owner.get(one)).payload;
    expect(seen).toContain('webhook.test');
    expect(seen).toContain('On &#60;call&#62;');
    await owner.send(one, `${one}/change`, { ...HOOK, event: 'export.ready' });
    const rotated = await owner.send(one, `${one}/secret`, {});
    const next = (await owner.get(rotated.headers.location as string)).payload;
    expect(next).toContain('The secret before signs as well until');
    expect(await dashboard.webhooks.list(org)).toMatchObject([{ events: ['export.ready'] }]);
    await owner.send(one, `${one}/end`, {});
    expect(await dashboard.webhooks.list(org)).toEqual([]);
    const { rows } = await database.pool.query<{ action: string; details: string }>(
      `select action, details from audit_log where org_id = $1 and action like 'webhook%' order by sequence`,
      [org],
    );
    expect(rows.map(({ action }) => action)).toEqual([
      'webhook.made',
      'webhook.changed',
      'webhook.rotated',
      'webhook.ended',
    ]);
    for (const { details } of rows) expect(details).not.toMatch(/very-secret|whsec_/);
    expect(errors).toEqual([]);
  });

  it('what cannot be taken is said with what was typed, and nothing is saved', async () => {
    const refused = await owner.send(page, page, { ...HOOK, address: 'http://10.0.0.1/x' });
    expect(refused.statusCode).toBe(400);
    expect(refused.payload).toContain('Nothing was saved. The address begins with https://');
    expect(refused.payload).toContain('value="http://10.0.0.1/x"');
    expect((await owner.send(page, page, { ...HOOK, event: 'x' })).payload).toContain(
      'Choose at least one event',
    );
    expect(await dashboard.webhooks.list(org)).toEqual([]);
  });

  it('members and auditors see neither the page nor its entry in the menu; to another organisation it is none', async () => {
    const asked = { address: ADDRESS, description: '', events: ['key.leaked'] };
    const { endpoint } = await dashboard.webhooks.make(org, asked, OPERATOR);
    const one = `${page}/${endpoint.id}`;
    for (const role of ['member', 'auditor'] as const) {
      const reader = await signedIn(role);
      expect((await reader.get(one)).statusCode).toBe(403);
      expect((await reader.get(`/dashboard/${org}/budgets`)).payload).not.toContain('Webhooks');
    }
    expect((await (await signedIn('admin')).get(one)).payload).toContain(ADDRESS);
    org = (await activeAccount(registries)).id;
    const stranger = await signedIn('owner');
    expect((await stranger.get(one)).statusCode).toBe(404);
    const theirs = `/dashboard/${org}/webhooks/${endpoint.id}`;
    expect((await stranger.get(theirs)).statusCode).toBe(404);
    const from = `/dashboard/${org}/webhooks`;
    for (const act of ['change', 'secret', 'resume', 'end', 'test', 'again']) {
      expect((await stranger.send(from, `${theirs}/${act}`, HOOK)).statusCode, act).toBe(404);
    }
  });

  it('where the service sends none any more, its pages say so beside webhooks that were made before', async () => {
    await owner.send(page, page, HOOK);
    const [endpoint] = await dashboard.webhooks.list(org);
    const said = 'This service sends no webhooks at present';
    for (const isOffered of [true, false]) {
      dashboard.webhooks.isOffered = isOffered;
      for (const address of [page, `${page}/${endpoint!.id}`])
        expect((await owner.get(address)).payload.includes(said)).toBe(!isOffered);
      const notifications = (await owner.get(`/dashboard/${org}/notifications`)).payload;
      expect(notifications.includes('Programs of yours can be told')).toBe(isOffered);
    }
    dashboard.webhooks.isOffered = true;
  });

  it('messages that are sent by hand are bounded', async () => {
    const asked = { address: ADDRESS, description: '', events: ['key.leaked'] };
    const { endpoint } = await dashboard.webhooks.make(org, asked, OPERATOR);
    const one = `${page}/${endpoint.id}`;
    const statuses = [];
    for (let i = 0; i < 12; i += 1) {
      statuses.push((await owner.send(one, `${one}/test`, {})).statusCode);
    }
    expect(statuses.slice(0, 10)).toEqual(Array.from({ length: 10 }, () => 303));
    expect(statuses.at(-1)).toBe(429);
  });

  it('to make, change or rotate one asks for the password; to end one does not [dashboard.step-up]', async () => {
    // Who has just signed in is not asked, and the page says so.
    expect((await owner.get(page)).payload).toMatch(/unless you have in the last 10\s+minutes/);
    await owner.send(page, page, HOOK);
    const [endpoint] = await dashboard.webhooks.list(org);
    const one = `${page}/${endpoint!.id}`;
    await unconfirm();
    for (const [path, fields] of [
      [page, HOOK],
      [`${one}/change`, HOOK],
      [`${one}/secret`, {}],
    ] as const) {
      expect((await owner.send(page, path, fields)).payload).toContain('Confirm that it is you');
    }
    expect(await dashboard.webhooks.list(org)).toMatchObject([{ secretBeforeUntil: null }]);
    const confirmed = { ...HOOK, 'confirming-password': PASSWORD };
    expect((await owner.send(page, `${one}/change`, confirmed)).statusCode).toBe(303);
    await unconfirm();
    expect((await owner.send(one, `${one}/end`, {})).statusCode).toBe(303);
  });
});
