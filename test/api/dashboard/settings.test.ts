import { beforeEach, describe, expect, it } from 'vitest';
import { hashKey } from '#shared/keys/format.ts';
import { createCredentialSource } from '#shared/keys/postgres/credentials.ts';
import type { OrganisationRole, Person } from '#shared/persons/roles.ts';
import {
  activeAccount,
  createRegistries,
  currentVetting,
  OPERATOR,
} from '#test/support/accounts.ts';
import { createTestDatabase } from '#test/support/database.ts';
import {
  ageSessionsOf,
  newPerson,
  openDashboardEdge,
  PASSWORD,
  type TestBrowser,
} from '#test/support/dashboard.ts';
import { index } from '#test/unit/catalogue/offer.ts';

const database = await createTestDatabase();
const registries = createRegistries(database.pool);
const { accounts, audit, vettings } = registries;
const { errors, signedIn: signInAs } = await openDashboardEdge(database, undefined, { index });

let org = '';
let settings = '';
let owner: Person;
let visitor: TestBrowser;

async function signedIn(role: OrganisationRole, orgId = org): Promise<[Person, TestBrowser]> {
  const person = await newPerson(database.pool, [{ kind: 'organisation', orgId, role }]);
  return [person, await signInAs(person)];
}

const save = (form: string, fields: Record<string, string | string[]>, by = visitor) =>
  by.send(settings, `${settings}/${form}`, fields);

const newest = async (limit: number) =>
  (await audit.list({ orgId: org, limit, order: 'desc' })).items.map(
    ({ action, actorId }) => `${action} ${actorId}`,
  );

const CONTACTS = {
  'billing-name': 'Bill Example',
  'billing-email': 'billing@bakery.example',
  'technical-name': 'Tess Example',
  'technical-email': 'technical@bakery.example',
};

beforeEach(async () => {
  org = (await activeAccount(registries)).id;
  settings = `/dashboard/${org}/settings`;
  [owner, visitor] = await signedIn('owner');
  errors.length = 0;
});

describe('regions and models', () => {
  it('what is chosen holds for every key, which processes that have it in memory are told; the log names the person [dashboard.settings]', async () => {
    const { plaintext } = await registries.keys.issue(org, { name: 'A key' }, OPERATOR);
    const told: string[] = [];
    const listener = await database.pool.connect();
    listener.on('notification', ({ payload = '' }) => told.push(payload));
    await listener.query('listen docket_credentials');
    const shown = (await visitor.get(settings)).payload;
    // What another organisation has alone is not offered.
    expect(shown).toContain('value="us"');
    expect(shown).not.toContain('dedicated');
    const saved = await save('use', {
      'regions-which': 'some',
      regions: ['us'],
      'models-which': 'all',
      models: ['both'],
    });
    expect(saved.headers.location).toBe(`${settings}?done=use`);
    const hash = hashKey(plaintext);
    const found = await createCredentialSource(database.pool).findByHashes([hash]);
    expect(found.get(hash)).toMatchObject({ allowedRegions: ['us'], allowedModels: null });
    await listener.query('unlisten *');
    listener.release();
    expect(told.join()).toContain(org);
    expect(await newest(1)).toEqual([`account.allowed_set ${owner.id}`]);
    // A model that none of them has is marked.
    expect((await visitor.get(settings)).payload).toMatch(/eu-only\s+.*in none of your regions/s);
    // The same again is no act.
    await save('use', { 'regions-which': 'some', regions: ['us', 'us'], 'models-which': 'all' });
    expect((await newest(2)).map((line) => line.split(' ')[0])).not.toEqual([
      'account.allowed_set',
      'account.allowed_set',
    ]);
    const none = await save('use', { 'regions-which': 'some', 'models-which': 'all' });
    expect(none.statusCode).toBe(400);
    expect(none.payload).toContain('Choose one of the regions at least');
    expect((await accounts.get(org)).allowedRegions).toEqual(['us']);
  });

  it('allowing more, and sending letters elsewhere, asks for the password; allowing less does not [dashboard.settings, dashboard.step-up]', async () => {
    await ageSessionsOf(owner, database.pool);
    const use = (regions: string[], more = {}) =>
      save('use', { 'regions-which': 'some', regions, 'models-which': 'all', ...more });
    expect((await use(['eu'])).statusCode).toBe(303);
    const asked = await use(['eu', 'us']);
    expect(asked.payload).toContain('Confirm that it is you');
    const everything = await save('use', { 'regions-which': 'all', 'models-which': 'all' });
    expect(everything.statusCode).toBe(403);
    const redirected = await save('contacts', {
      ...CONTACTS,
      'billing-email': 'eve@evil.example',
    });
    expect(redirected.statusCode).toBe(403);
    const account = await accounts.get(org);
    expect([account.allowedRegions, account.billing.email]).toEqual([
      ['eu'],
      'billing@bakery.example',
    ]);
    const confirmed = await use(['eu', 'us'], { 'confirming-password': PASSWORD });
    expect(confirmed.statusCode).toBe(303);
    expect((await accounts.get(org)).allowedRegions).toEqual(['eu', 'us']);
    // What was narrowed once the page had decided that nothing is asked is not widened by it.
    const seen = await accounts.get(org);
    expect((await use(['eu'])).statusCode).toBe(303);
    const stale = accounts.setAllowed(org, seen, OPERATOR, seen);
    await expect(stale).rejects.toMatchObject({ code: 'invalid_account_state' });
    expect((await accounts.get(org)).allowedRegions).toEqual(['eu']);
  });
});

describe('kept responses', () => {
  const kept = async (): Promise<number> => {
    const { rows } = await database.pool.query<{ n: number }>(
      'select count(*)::int as n from kept_response where org_id = $1',
      [org],
    );
    return rows[0]!.n;
  };

  it('owners alone decide whether they are kept, to begin asks for the password; to end deletes what is kept at once [dashboard.settings, dashboard.step-up, responses.kept-choice]', async () => {
    await ageSessionsOf(owner, database.pool);
    await database.pool.query(
      `insert into kept_response (org_id, id, sealed, expires_at)
         values ($1, 'resp_1', 'sealed', now() + interval '1 hour')`,
      [org],
    );
    const keeps = async () => (await accounts.get(org)).keepResponses;
    const [, admin] = await signedIn('admin');
    expect((await save('keep', { keep: 'off' }, admin)).statusCode).toBe(403);
    expect([await keeps(), await kept()]).toEqual([true, 1]);
    expect((await visitor.get(settings)).payload).toContain('deleted at once');
    for (const unsaid of [{}, { keep: 'of' }]) {
      expect((await save('keep', unsaid)).statusCode).toBe(400);
    }
    expect([await keeps(), await kept()]).toEqual([true, 1]);

    const saved = await save('keep', { keep: 'off' });
    expect(saved.headers.location).toBe(`${settings}?done=keep`);
    expect([await keeps(), await kept()]).toEqual([false, 0]);
    expect(await newest(1)).toEqual([`account.keep_responses_set ${owner.id}`]);
    expect((await save('keep', { keep: 'on' })).statusCode).toBe(403);
    expect(await keeps()).toBe(false);
    const confirmed = { keep: 'on', 'confirming-password': PASSWORD };
    expect((await save('keep', confirmed)).statusCode).toBe(303);
    expect(await keeps()).toBe(true);
  });
});

describe('names and contacts', () => {
  it('a new name stands in packs and is screened anew; a form with one wrong field changes nothing [dashboard.settings, dashboard.escaped]', async () => {
    const wrong = await save('names', { name: 'New <b>Bakery', identifier: 'x'.repeat(201) });
    expect(wrong.statusCode).toBe(400);
    expect(wrong.payload).toContain('New &#60;b&#62;Bakery');
    expect((await accounts.get(org)).name).toBe('Harmless Bakery');
    expect(await vettings.due(100)).not.toContain(org);
    const before = await vettings.applicant(org);
    await save('names', { name: 'New <b>Bakery', identifier: 'LEI 529900T8BM49AURSDO55' });
    expect(await accounts.get(org)).toMatchObject({
      name: 'New <b>Bakery',
      identifier: 'LEI 529900T8BM49AURSDO55',
    });
    expect(await newest(2)).toEqual([
      `account.identified ${owner.id}`,
      `account.renamed ${owner.id}`,
    ]);
    const page = (await visitor.get(settings)).payload;
    expect([page.includes('New &#60;b&#62;Bakery'), page.includes('<b>Bakery')]).toEqual([
      true,
      false,
    ]);
    expect(await vettings.due(100)).toContain(org);
    // One that compared the name from before does not count, however late it comes.
    const { namesRevision } = before!;
    await vettings.record(org, { ...(await currentVetting(registries, org)), namesRevision });
    expect(await vettings.due(100)).toContain(org);
    await vettings.record(org, await currentVetting(registries, org));
    expect(await vettings.due(100)).not.toContain(org);
  });

  it('a change of contacts is told to the addresses from before; a new one is asked once, and new names are screened [dashboard.settings]', async () => {
    const letters = async (): Promise<string[]> =>
      (
        await database.pool.query<{ recipient: string }>(
          `select recipient from mail_outbox where org_id = $1 and subject like '%contacts%' order by 1`,
          [org],
        )
      ).rows.map(({ recipient }) => recipient);
    expect((await save('contacts', CONTACTS)).statusCode).toBe(303);
    expect(await letters()).toEqual([]);
    await save('contacts', { ...CONTACTS, 'technical-email': 'new@bakery.example' });
    expect(await letters()).toEqual(['billing@bakery.example', 'technical@bakery.example']);
    const asked = `select subject from mail_outbox where recipient = 'new@bakery.example'`;
    expect((await database.pool.query(asked)).rows).toEqual([
      { subject: 'May Docket write to this address?' },
    ]);
    expect(await vettings.due(100)).not.toContain(org);
    await save('contacts', { ...CONTACTS, 'technical-name': 'Someone Else' });
    expect(await vettings.due(100)).toContain(org);
    const wrong = await save('contacts', { ...CONTACTS, 'billing-email': 'nobody' });
    expect([wrong.statusCode, wrong.payload.includes('value="nobody"')]).toEqual([400, true]);
    // Of four fields a refusal says which.
    expect(wrong.payload).toContain('The e-mail address of the billing contact is not one.');
    const unnamed = await save('contacts', { ...CONTACTS, 'technical-name': '' });
    expect(unnamed.payload).toContain('The name of the technical contact must be 1 to 200');
    expect(errors).toEqual([]);
  });

  it('of new contacts that confirm nothing four a day are asked, and their subject says nothing of who names them [dashboard.settings, dashboard.letters]', async () => {
    const asked = async (): Promise<string[]> =>
      (
        await database.pool.query<{ subject: string }>(
          `select subject from mail_outbox where recipient like '%@stranger.example'`,
        )
      ).rows.map(({ subject }) => subject);
    await database.pool.query('delete from contact_address where org_id = $1', [org]);
    const name = async (from: number, to: number): Promise<void> => {
      for (let at = from; at < to; at += 1) {
        const emails = { 'technical-email': `person-${at}@stranger.example` };
        expect((await save('contacts', { ...CONTACTS, ...emails })).statusCode).toBe(303);
      }
    };
    const own = CONTACTS['billing-email'];
    await database.pool.query(
      'insert into contact_address values ($1, $2, null, now(), now()) on conflict do nothing',
      [org, own],
    );
    await name(0, 7);
    expect(await asked()).toEqual(Array(4).fill('May Docket write to this address?'));
    await database.pool.query(
      `update contact_address set asked_at = asked_at - interval '25 hours' where org_id = $1`,
      [org],
    );
    await name(7, 8);
    expect(await asked()).toHaveLength(5);
  });

  it('members and auditors read the settings and change none; another organisation’s are not there [dashboard.settings, dashboard.roles, dashboard.organisations]', async () => {
    const stranger = (await signedIn('owner', (await activeAccount(registries)).id))[1];
    const admin = (await signedIn('admin'))[1];
    const others = [(await signedIn('member'))[1], (await signedIn('auditor'))[1]];
    const forms: readonly [string, Record<string, string>][] = [
      ['use', { 'regions-which': 'some', regions: 'eu', 'models-which': 'all' }],
      ['names', { name: 'Taken over', identifier: '' }],
      ['contacts', { ...CONTACTS, 'billing-email': 'eve@evil.example' }],
    ];
    const before = await accounts.get(org);
    for (const other of others) {
      const page = await other.get(settings);
      expect([page.statusCode, page.payload.includes('action="/dashboard/org')]).toEqual([
        200,
        false,
      ]);
      for (const [form, fields] of forms) {
        const sent = await other.send(settings, `${settings}/${form}`, fields);
        expect(sent.statusCode).toBe(403);
      }
    }
    for (const [form, fields] of forms) {
      const token = /name="form" value="([\w-]+)"/.exec(
        (await stranger.get('/dashboard/account')).payload,
      )![1]!;
      const sent = await stranger.post(`${settings}/${form}`, { form: token, ...fields });
      expect(sent.statusCode).toBe(404);
      expect((await visitor.post(`${settings}/${form}`, fields)).statusCode).toBe(403);
    }
    expect(await accounts.get(org)).toEqual(before);
    expect((await save('names', { name: 'By the admin' }, admin)).statusCode).toBe(303);
    await accounts.close(org, OPERATOR, 'ended');
    const late = await save('names', { name: 'After the end' });
    expect([late.statusCode, (await accounts.get(org)).name]).toEqual([403, 'By the admin']);
  });
});

describe('closing', () => {
  it('an owner asks support for it with a reason, which is told what comes of it; nothing else changes, and no admin asks [dashboard.closed]', async () => {
    const shown = (await visitor.get(settings)).payload;
    expect(shown).toContain('Ask for closing…');
    expect(shown).toMatch(/packs and audit log for\s+90 days more/);
    const [, admin] = await signedIn('admin');
    expect((await admin.get(settings)).payload).not.toContain('Ask for closing…');
    expect((await save('close', { reason: 'x' }, admin)).statusCode).toBe(403);
    expect((await save('close', { reason: ' ' })).payload).toContain('Nothing was asked. Say why.');
    const asked = await save('close', { reason: 'We merge' });
    expect((await visitor.get(asked.headers.location!)).payload).toContain(
      'Support has been asked',
    );
    expect(await newest(1)).toEqual([`account.closing_asked ${owner.id}`]);
    const { rows } = await database.pool.query<{ subject: string; body: string }>(
      `select subject, body from mail_outbox where recipient = 'support@docket.example' and body like '%' || $1 || '%'`,
      [org],
    );
    expect(rows).toEqual([
      {
        subject: '“Harmless Bakery” asks to be closed',
        body: expect.stringMatching(
          new RegExp(
            `${org}.*\\n\\nReason: We merge\\n\\nhttps://gateway.example/dashboard/service/accounts/${org}$`,
          ),
        ),
      },
    ]);
    expect((await save('close', { reason: 'We merge' })).payload).toContain('already been asked');
    expect((await accounts.get(org)).state).toBe('active');
  });
});

describe('tags', () => {
  it('owners and admins declare them, members do not; what cannot be one is said beside what was typed, and nothing changes [dashboard.settings, tags.declared]', async () => {
    const [, admin] = await signedIn('admin');
    const [, member] = await signedIn('member');
    const tags = async () => (await accounts.get(org)).tags;
    expect((await save('tags', { tags: 'team' }, member)).statusCode).toBe(403);
    for (const typed of [
      'team, user',
      'a=b',
      '_x',
      Array(11)
        .fill(0)
        .map((_, i) => `k${i}`)
        .join(),
    ]) {
      const refused = await save('tags', { tags: typed });
      expect(refused.statusCode).toBe(400);
      expect(refused.payload).toContain(`value="${typed}"`);
    }
    expect(await tags()).toEqual([]);
    expect((await save('tags', { tags: ' team,project  team' }, admin)).statusCode).toBe(303);
    expect(await tags()).toEqual(['team', 'project']);
    expect((await newest(1))[0]).toMatch(/^account.tags_set /);
    expect((await save('tags', { tags: '' })).statusCode).toBe(303);
    expect(await tags()).toEqual([]);
  });
});

it('owners alone switch the playground off, which revokes its keys at once; to switch it on asks for the password [dashboard.settings, dashboard.step-up, dashboard.playground]', async () => {
  await ageSessionsOf(owner, database.pool);
  const isOn = async () => (await accounts.get(org)).playground;
  const [, admin] = await signedIn('admin');
  expect((await save('playground', { playground: 'off' }, admin)).statusCode).toBe(403);
  for (const unsaid of [{}, { playground: 'of' }])
    expect((await save('playground', unsaid)).statusCode).toBe(400);
  expect(await isOn()).toBe(true);
  const actor = { kind: 'user', id: owner.id } as const;
  await registries.keys.playground(org, owner, actor);
  expect((await visitor.get(`/dashboard/${org}/keys`)).payload).toContain('Playground of Ada');
  const saved = await save('playground', { playground: 'off' });
  expect(saved.headers.location).toBe(`${settings}?done=playground`);
  expect(await isOn()).toBe(false);
  expect((await registries.keys.playgrounds(org)).map(({ state }) => state)).toEqual(['revoked']);
  expect(await newest(2)).toEqual([
    `account.playground_set ${owner.id}`,
    `key.revoked ${owner.id}`,
  ]);
  expect((await save('playground', { playground: 'on' })).statusCode).toBe(403);
  expect(await isOn()).toBe(false);
  const confirmed = { playground: 'on', 'confirming-password': PASSWORD };
  expect((await save('playground', confirmed)).statusCode).toBe(303);
  expect(await isOn()).toBe(true);
});
