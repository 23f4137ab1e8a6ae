import { DAY_MS } from '#shared/kernel/time.ts';
import { afterAll, describe, expect, it } from 'vitest';
import { DECLARATION_VERSION, STATEMENTS } from '#shared/accounts/declaration.ts';
import { createMailOutbox } from '#shared/accounts/postgres/mail.ts';
import { createPersonRegistry } from '#shared/persons/postgres/persons.ts';
import { createSmtpMailer } from '#workers/housekeeping/mail/smtp.ts';
import {
  contract,
  createRegistries,
  currentVetting,
  declaration,
  movableClock,
  newAccount,
  OPERATOR,
  vetting,
} from '#test/support/accounts.ts';
import { createTestDatabase } from '#test/support/database.ts';
import {
  formTokenOf,
  newPerson,
  openDashboardEdge,
  PASSWORD,
  type TestBrowser,
  withoutFormToken,
} from '#test/support/dashboard.ts';
import { decodeLetter, startSmtpServer } from '#test/support/smtp.ts';
import { until } from '#test/support/until.ts';

const database = await createTestDatabase();
const registries = createRegistries(database.pool);
const { accounts, vettings, audit } = registries;
const { browser, errors } = await openDashboardEdge(database);
const server = await startSmtpServer();
const mailer = createSmtpMailer(server.url, 'docket@gateway.example');
afterAll(async () => {
  await mailer.close();
  await server.close();
});
const outbox = createMailOutbox(database.poolAs('docket_housekeeping'), movableClock(), {
  supportEmail: 'support@docket.example',
  publicUrl: 'https://gateway.example',
});

/** Waits for e-mails to this address, has the mail server take what waits, and returns the last link in it. */
async function linkTo(email: string, letters = 1): Promise<string> {
  await until(async () => {
    const text = 'select count(*)::int as n from mail_outbox where recipient = $1';
    return (await database.pool.query<{ n: number }>(text, [email])).rows[0]!.n >= letters;
  });
  await outbox.sendDue(mailer, 100);
  expect(server.recipients).toContain(email);
  const text = decodeLetter(server.data);
  const links = [...text.matchAll(/https:\/\/gateway\.example(\/dashboard\/password\/reset\S+)/g)];
  return links.at(-1)![1]!;
}

async function signUp(visitor: TestBrowser, email: string, name = 'Nora Newcomer') {
  return visitor.send('/dashboard/sign-up', '/dashboard/sign-up', { name, email });
}

const APPLICATION = {
  name: 'Newcomer & Sons',
  plan: 'audit_plus',
  billing: 'billing@newcomer.example',
  'billing-name': 'Bill Newcomer',
  technical: 'tech@newcomer.example',
  'technical-name': 'Tess Newcomer',
};
const OWNERS = {
  country: 'France',
  industry: 'retail',
  trading_names: 'Newcomer\r\n\r\nNew & Co\r\n',
  'party-0': 'Nora Newcomer',
  'role-0': 'owner',
  'country-0': 'germany',
  'party-2': 'Dirk Director',
  'role-2': 'director',
  'country-2': 'GB',
};
const ANSWERS = Object.fromEntries(
  STATEMENTS[DECLARATION_VERSION]!.map(({ id, expected }) => [
    `answer-${id}`,
    expected ? 'yes' : 'no',
  ]),
);

describe('signing up', () => {
  it('a person signs up by an e-mail, founds an organisation, declares in steps that can be resumed, and comes to a first key [dashboard.sign-up, accounts.onboarding]', async () => {
    const email = 'nora@newcomer.example';
    const visitor = browser({ address: '198.51.100.1' });
    expect((await signUp(visitor, 'Nora@newcomer.example')).payload).toContain('on its way');
    const link = await linkTo(email);
    const token = new URL(link, 'https://gateway.example').searchParams.get('token')!;
    await visitor.send(link, '/dashboard/password/reset', { token, password: PASSWORD });
    await visitor.signIn({ email });
    expect((await visitor.get('/dashboard')).headers.location).toBe('/dashboard/apply');
    const wrong = await visitor.send('/dashboard/apply', '/dashboard/apply', {
      ...APPLICATION,
      technical: 'nobody',
    });
    expect(wrong.statusCode).toBe(400);
    expect(wrong.payload).toContain('id="technical-error"');
    expect(wrong.payload).toContain('value="Newcomer &#38; Sons"');
    const founded = await visitor.send('/dashboard/apply', '/dashboard/apply', APPLICATION);
    const page = founded.headers.location as string;
    const orgId = page.split('/')[2]!;
    const { items } = await audit.list({ orgId, limit: 9, order: 'asc' });
    expect(items.map(({ action, actorKind }) => [action, actorKind])).toEqual([
      ['account.created', 'user'],
      ['member.added', 'user'],
    ]);

    const unknown = await visitor.send(page, `${page}/owners`, {
      ...OWNERS,
      'country-2': 'Atlantis',
    });
    expect(unknown.statusCode).toBe(400);
    expect(unknown.payload).toContain('href="#country-1"');
    expect(unknown.payload).toContain('value="Atlantis"');
    const more = await visitor.send(page, `${page}/owners`, { ...OWNERS, more: '9' });
    expect(more.payload).toContain('name="party-8"');
    await visitor.send(page, `${page}/owners`, OWNERS);
    await visitor.send('/dashboard/account', '/dashboard/sign-out');

    // Another day, another browser: it goes on where it was left.
    const later = browser({ address: '198.51.100.2' });
    await later.signIn({ email });
    expect((await later.get('/dashboard')).headers.location).toBe(page);
    const statements = (await later.get(page)).payload;
    expect(statements).toContain('Nora Newcomer, Dirk Director');
    expect(statements).toContain(`version ${DECLARATION_VERSION}`);
    for (const { text } of STATEMENTS[DECLARATION_VERSION]!) expect(statements).toContain(text);
    const fields = { version: DECLARATION_VERSION, declared_by: 'Nora Newcomer', ...ANSWERS };
    const partly = await later.send(page, `${page}/declaration`, {
      ...fields,
      'answer-dual_use': '',
    });
    expect(partly.statusCode).toBe(400);
    expect(partly.payload).toContain('dual_use is not answered');
    expect((await accounts.get(orgId)).state).toBe('onboarding');
    await later.send(page, `${page}/declaration`, fields);
    expect((await later.get(page)).payload).toContain('being screened');
    expect(await vettings.declaration(orgId)).toMatchObject({
      country: 'FR',
      tradingNames: ['Newcomer', 'New & Co'],
      parties: [
        { role: 'owner', name: 'Nora Newcomer', country: 'DE' },
        { role: 'director', name: 'Dirk Director', country: 'GB' },
      ],
      declaredBy: 'Nora Newcomer',
    });
    const { rows } = await database.pool.query('select from declaration_draft');
    expect(rows).toHaveLength(0);
    const again = await later.post(`${page}/declaration`, {
      form: formTokenOf((await later.get(page)).payload),
      ...fields,
    });
    expect(again.statusCode).toBe(409);

    await vettings.record(orgId, vetting());
    expect((await later.get(page)).payload).toContain('the contract is next');
    await accounts.sign(orgId, contract(), OPERATOR);
    expect((await later.get(page)).payload).toContain('The contract is signed');
    await vettings.record(orgId, await currentVetting(registries, orgId));
    await accounts.activate(orgId, OPERATOR);
    // The way in, and the link of the e-mails, lead to the first key until there is one.
    const ways = ['/dashboard', `/dashboard/${orgId}`];
    for (const way of ways) expect((await later.get(way)).headers.location).toBe(page);
    expect((await later.get(page)).payload).toContain('Create the first key');
    const key = await later.send(page, `/dashboard/${orgId}/keys`, {
      name: 'First key',
      scope: ['inference:read', 'inference:write'],
    });
    const shown = await later.get(key.headers.location as string);
    expect(shown.payload).toMatch(/dkt_\w{38}/);
    expect((await later.get(page)).payload).toContain('You are all set');
    for (const way of ways) {
      expect((await later.get(way)).headers.location).toBe(`/dashboard/${orgId}/overview`);
    }
    expect(errors).toEqual([]);
  });

  it('an address that is known gets the same answer and keeps its name; e-mails to one address are few [dashboard.sign-up, dashboard.brute-force]', async () => {
    const known = await newPerson(database.pool, [{ kind: 'staff', role: 'reviewer' }], 'Rita');
    const strange = 'nobody@newcomer.example';
    const pages: string[] = [];
    for (const email of [known.email, strange]) {
      const { statusCode, payload } = await signUp(browser(), email, 'Eve');
      expect(statusCode).toBe(200);
      pages.push(withoutFormToken(payload.replaceAll(email, '')));
      await linkTo(email);
    }
    expect(pages[0]).toBe(pages[1]);
    const persons = createPersonRegistry(database.pool, movableClock());
    expect((await persons.find(known.email))!.name).toBe('Rita');
    for (let i = 0; i < 5; i += 1) await signUp(browser(), strange);
    await linkTo(strange, 3);
    const text = 'select from mail_outbox where recipient = $1';
    expect((await database.pool.query(text, [strange])).rows).toHaveLength(3);
    // There is no end of notes, and they keep no letter from the address without one.
    for (let i = 0; i < 12; i += 1)
      await signUp(browser({ address: `198.51.100.${i}` }), `ada+${i}@newcomer.example`);
    await signUp(browser({ address: '198.51.100.99' }), 'ada@newcomer.example');
    await linkTo('ada+9@newcomer.example');
    await linkTo('ada@newcomer.example');
    const noted = `select from mail_outbox where recipient like 'ada+%'`;
    expect((await database.pool.query(noted)).rows).toHaveLength(10);
    for (const [name, email] of [
      ['', 'a@b.example'],
      ['Eve', 'no address'],
      ['Eve\u0007', 'a@b.example'],
    ] as const) {
      expect((await signUp(browser(), email, name)).statusCode).toBe(400);
    }
  });

  it('who never followed the e-mail is forgotten after a week; members, staff and persons who confirmed stay [dashboard.sign-up]', async () => {
    const clock = movableClock();
    const persons = createPersonRegistry(database.poolAs('docket_api'), clock);
    const housekeeping = createPersonRegistry(database.poolAs('docket_housekeeping'), clock);
    await persons.signUp({ name: 'Eve', email: 'eve@newcomer.example' });
    const staff = { name: 'Rob', email: 'rob@newcomer.example' };
    await createPersonRegistry(database.pool, clock).add(
      staff,
      { kind: 'staff', role: 'reviewer' },
      OPERATOR,
    );
    const confirmed = await newPerson(database.pool, [{ kind: 'staff', role: 'operator' }]);
    clock.advance(6 * DAY_MS);
    await housekeeping.removeExpired();
    expect(await persons.find('eve@newcomer.example')).toBeDefined();
    clock.advance(2 * DAY_MS);
    await housekeeping.removeExpired();
    expect(await persons.find('eve@newcomer.example')).toBeUndefined();
    expect(await persons.find(staff.email)).toBeDefined();
    expect(await persons.find(confirmed.email)).toBeDefined();
  });
});

describe('an application', () => {
  it('is filled in by owners and admins of the organisation alone, from its own pages, and what they type is text [dashboard.sign-up, dashboard.roles, dashboard.organisations]', async () => {
    const evil = '"><script>alert(1)</script>';
    const { id: orgId } = await accounts.create(newAccount({ name: evil }), OPERATOR);
    const page = `/dashboard/${orgId}/onboarding`;
    const visitors = {} as Record<'owner' | 'member' | 'auditor' | 'stranger', TestBrowser>;
    let last = 40;
    for (const role of ['owner', 'member', 'auditor'] as const) {
      visitors[role] = browser({ address: `198.51.100.${(last += 1)}` });
      await visitors[role].signIn(
        await newPerson(database.pool, [{ kind: 'organisation', orgId, role }]),
      );
    }
    visitors.stranger = browser({ address: '198.51.100.50' });
    await visitors.stranger.signIn(
      await newPerson(database.pool, [{ kind: 'staff', role: 'operator' }]),
    );
    const fields = { version: DECLARATION_VERSION, declared_by: 'Eve', ...ANSWERS };
    for (const role of ['member', 'auditor', 'stranger'] as const) {
      const status = role === 'stranger' ? 404 : 403;
      const form = formTokenOf((await visitors[role].get('/dashboard/account')).payload);
      expect((await visitors[role].get(page)).statusCode).toBe(role === 'stranger' ? 404 : 200);
      for (const [path, sent] of [
        ['owners', OWNERS],
        ['declaration', fields],
      ] as const) {
        const reply = await visitors[role].post(`${page}/${path}`, { form, ...sent });
        expect([role, path, reply.statusCode]).toEqual([role, path, status]);
      }
    }
    for (const path of [`${page}/owners`, `${page}/declaration`, '/dashboard/apply']) {
      expect((await visitors.owner.post(path, { ...OWNERS, ...APPLICATION })).statusCode).toBe(403);
    }
    const typed = { ...OWNERS, trading_names: evil, 'party-0': evil, industry: evil };
    const shown = [
      await visitors.owner.send(page, `${page}/owners`, typed),
      await visitors.owner.send(page, `${page}/owners`, { ...typed, industry: 'retail' }),
      await visitors.owner.get(page),
      await visitors.owner.send(page, `${page}/declaration`, {
        ...fields,
        version: evil,
        declared_by: evil,
      }),
      await visitors.owner.get(`${page}?part=owners&rows=${encodeURIComponent(evil)}`),
      await visitors.owner.send('/dashboard/apply', '/dashboard/apply', {
        ...APPLICATION,
        plan: evil,
        name: evil,
      }),
    ];
    expect(shown.map(({ statusCode }) => statusCode)).toEqual([400, 303, 200, 400, 200, 400]);
    for (const { payload } of shown) expect(payload).not.toContain('<script>alert');
    expect((await accounts.get(orgId)).state).toBe('onboarding');
    await accounts.declare(orgId, declaration(), OPERATOR);
  });

  it('one person founds three organisations, and then one a day [dashboard.sign-up]', async () => {
    const person = await newPerson(database.pool, [{ kind: 'staff', role: 'operator' }]);
    const visitor = browser({ address: '198.51.100.60' });
    await visitor.signIn(person);
    const found = async (): Promise<number> =>
      (await visitor.send('/dashboard/apply', '/dashboard/apply', APPLICATION)).statusCode;
    expect([await found(), await found(), await found(), await found()]).toEqual([
      303, 303, 303, 429,
    ]);
  });
});
