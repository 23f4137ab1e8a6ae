/** Members come in by the issuer of their organisation, and by no other's; what it says opens that one organisation alone. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { SessionSecrets } from '#api/dashboard/session/secrets.ts';
import type { Person } from '#shared/persons/roles.ts';
import { activeAccount, createRegistries, OPERATOR } from '#test/support/accounts.ts';
import { createTestDatabase, waitsForLock } from '#test/support/database.ts';
import { until } from '#test/support/until.ts';
import {
  formTokenOf,
  newPerson,
  openDashboardEdge,
  PASSWORD,
  type TestBrowser,
} from '#test/support/dashboard.ts';
import {
  inferenceRecord,
  issueReceipts,
  makeReceiptSigner,
  receiptPools,
} from '#test/support/issuing.ts';
import { newId } from '#shared/kernel/system/new-id.ts';
import { type Account, startForgedIssuer, startProvider } from '#test/support/issuers.ts';

const database = await createTestDatabase();
const registries = createRegistries(database.pool);
const [ours, theirs, third] = await Promise.all([
  activeAccount(registries),
  activeAccount(registries),
  activeAccount(registries),
]);
const callbackOf = (org: string) => `https://gateway.example/dashboard/sso/${org}/callback`;
const [provider, forged] = await Promise.all([
  startProvider([callbackOf(ours.id)]),
  startForgedIssuer(),
]);
const insideIssuers = [provider.issuer, forged.issuer];
const SECRET = 'the secret of these dashboards but for one';
const { browser, errors, dashboard } = await openDashboardEdge(database, undefined, {
  insideIssuers,
  sessionSecrets: [SECRET],
});
afterAll(() => Promise.all([provider.close(), forged.close()]));

let owner: Person;
let otherOwner: Person;

const partIn = (orgId: string, role: 'owner' | 'admin' | 'member') =>
  [{ kind: 'organisation', orgId, role }] as const;

beforeAll(async () => {
  owner = await newPerson(database.pool, partIn(ours.id, 'owner'));
  otherOwner = await newPerson(database.pool, partIn(theirs.id, 'owner'));
  await setUp(ours.id, owner, provider, 'ours.example');
  await setUp(theirs.id, otherOwner, forged, 'theirs.example');
});

let address = 0;
const newBrowser = () => browser({ address: `198.51.100.${(address += 1)}` });

/** Names the issuer on the page of an organisation, and a domain, which an operator confirms. */
async function setUp(
  org: string,
  by: Person,
  { issuer, client }: { issuer: string; client: { id: string; secret: string } },
  domain: string,
): Promise<TestBrowser> {
  const visitor = newBrowser();
  await visitor.signIn(by);
  const page = `/dashboard/${org}/single-sign-on`;
  const saved = await visitor.send(page, page, {
    issuer,
    'client-id': client.id,
    'client-secret': client.secret,
    role: 'member',
  });
  if (saved.statusCode !== 303)
    throw new Error(/role="alert">([^]*?)<\/div/.exec(saved.payload)?.[1] ?? String(errors.at(-1)));
  expect(saved.headers.location).toBe(`${page}?done=saved`);
  await visitor.send(page, `${page}/domains`, { domain });
  await dashboard.singleSignOn.confirmDomain({ orgId: org, actor: OPERATOR }, domain);
  return visitor;
}

/** Goes from us to the issuer and back. */
async function comeIn(visitor: TestBrowser, account: Account, to = '') {
  const begun = await visitor.get(`/dashboard/sso/${ours.id}/start?to=${encodeURIComponent(to)}`);
  const back = await provider.signIn(begun.headers.location!, account);
  return visitor.get(back.pathname + back.search);
}

/** The same with the issuer that says what it is told to. */
async function comeForged(visitor: TestBrowser, org = theirs.id) {
  const begun = await visitor.get(`/dashboard/sso/${org}/start`);
  const back = forged.sendBack(begun.headers.location!);
  return visitor.get(back.pathname + back.search);
}

const ada = (of = 'ours.example'): Account => ({
  sub: `ada of ${of}`,
  email: `ada@${of}`,
  email_verified: true,
  name: 'Ada of the Issuer',
});

/** A receipt that an organisation has. */
async function receiptOf(org: string): Promise<string> {
  const pools = receiptPools(database);
  const record = inferenceRecord({ orgId: org, requestId: newId('req') });
  const [receipt] = await issueReceipts(pools, makeReceiptSigner().signer, [record]);
  return receipt!;
}

async function actionsOf(org: string): Promise<string[]> {
  const { rows } = await database.pool.query<{ action: string }>(
    'select action from audit_log where org_id = $1 order by sequence',
    [org],
  );
  return rows.map(({ action }) => action);
}

describe('coming in by the issuer', () => {
  it('who has an address of the organisation becomes a member, sees the organisation, and stands in the audit log [dashboard.single-sign-on]', async () => {
    const visitor = newBrowser();
    const found = await visitor.send(
      '/dashboard/sign-in/organisation',
      '/dashboard/sign-in/organisation',
      {
        email: 'Ada@Ours.Example',
      },
    );
    expect(found.payload).toContain(`/dashboard/sso/${ours.id}/start?`);
    const entered = await comeIn(visitor, ada());
    expect([entered.statusCode, entered.headers.location]).toEqual([303, '/dashboard']);
    const home = await visitor.get('/dashboard');
    expect(home.headers.location).toBe(`/dashboard/${ours.id}/overview`);
    const page = await visitor.get(`/dashboard/${ours.id}/team`);
    expect(page.payload).toContain('Ada of the Issuer');
    expect(page.payload).toContain('ada@ours.example');
    expect(await actionsOf(ours.id)).toEqual(
      expect.arrayContaining([
        'single_sign_on.changed',
        'sign_in_domain.claimed',
        'sign_in_domain.confirmed',
        'member.linked',
        'member.added',
      ]),
    );
    // Coming again adds nothing.
    const before = await actionsOf(ours.id);
    const to = `/dashboard/${ours.id}/usage`;
    expect((await comeIn(newBrowser(), ada(), to)).headers.location).toBe(to);
    expect(await actionsOf(ours.id)).toEqual(before);
  });

  it('the client secret stands nowhere in the database, and no page shows it [dashboard.single-sign-on]', async () => {
    const { rows } = await database.pool.query('select * from persons.single_sign_on');
    expect(JSON.stringify(rows)).not.toContain(provider.client.secret);
    const visitor = newBrowser();
    await visitor.signIn(owner);
    const page = await visitor.get(`/dashboard/${ours.id}/single-sign-on`);
    expect(page.payload).not.toContain(provider.client.secret);
    expect(page.payload).toContain(provider.issuer);
  });

  it('works while SESSION_SECRET is exchanged, and afterwards where it was used meanwhile [dashboard.single-sign-on]', async () => {
    const newer = 'the secret that comes after it';
    const begunWith = async (...sessionSecrets: SessionSecrets): Promise<number> => {
      const parts = { insideIssuers, sessionSecrets };
      const edge = await openDashboardEdge(database, undefined, parts);
      const one = edge.browser({ address: `198.51.100.${(address += 1)}` });
      return (await one.get(`/dashboard/sso/${ours.id}/start`)).statusCode;
    };
    expect(await begunWith(newer)).toBe(503);
    expect(await begunWith(newer, SECRET)).toBe(303);
    expect(await begunWith(newer)).toBe(303);
    expect(await begunWith(SECRET, newer)).toBe(303);
    expect(await begunWith(SECRET)).toBe(303);
  });

  it('keys that the issuer has changed are taken with the next sign-in [dashboard.single-sign-on]', async () => {
    provider.rotate();
    expect((await comeIn(newBrowser(), ada())).statusCode).toBe(303);
  });

  it('an invitation gives its role, and who was taken out of the team comes back by one alone [dashboard.single-sign-on]', async () => {
    const visitor = newBrowser();
    await visitor.signIn(owner);
    const team = `/dashboard/${ours.id}/team`;
    const bob: Account = { sub: 'bob', email: 'bob@ours.example', email_verified: true };
    await visitor.send(team, `${team}/invite`, { email: bob.email!, role: 'admin' });
    await comeIn(newBrowser(), bob);
    const members = await dashboard.persons.members(ours.id);
    const member = members.find(({ email }) => email === bob.email)!;
    // Without a name from the issuer, what stands before the @.
    expect(member).toMatchObject({ role: 'admin', name: 'bob' });
    await visitor.send(team, `${team}/remove`, { member: member.id });
    const refused = await comeIn(newBrowser(), bob);
    expect([refused.statusCode, refused.payload]).toEqual([
      403,
      expect.stringContaining('You were taken out of the team'),
    ]);
    await visitor.send(team, `${team}/invite`, { email: bob.email!, role: 'auditor' });
    expect((await comeIn(newBrowser(), bob)).statusCode).toBe(303);
  });

  it('leaving ends the session here and leads to where the one at the issuer ends [dashboard.single-sign-on]', async () => {
    const visitor = newBrowser();
    await comeIn(visitor, ada());
    const out = await visitor.send('/dashboard/account', '/dashboard/sign-out');
    expect(out.headers.location).toBe(`/dashboard/sso/${ours.id}?done=out`);
    expect((await visitor.get(`/dashboard/${ours.id}/team`)).statusCode).toBe(303);
    const page = await visitor.get(out.headers.location!);
    expect(page.payload).toContain(`/dashboard/sso/${ours.id}/sign-out`);
    const there = await visitor.get(`/dashboard/sso/${ours.id}/sign-out`);
    expect(there.headers.location).toMatch(`${provider.issuer}/session/end?client_id=docket&`);
    // To one who is signed in the page does not say that they are out.
    await comeIn(visitor, ada());
    expect((await visitor.get(out.headers.location!)).payload).not.toContain('You are signed out');
  });

  it.each(['none', 'cross-site', 'same-site'])(
    'an address of ours that is opened from outside (%s) leads to no issuer: our page says first whose it is [dashboard.single-sign-on]',
    async (site) => {
      const page = `/dashboard/sso/${ours.id}`;
      const led = async (path: string, from: string) =>
        (await newBrowser().get(page + path, { 'sec-fetch-site': from })).headers.location!;
      const to = encodeURIComponent(`/dashboard/${ours.id}/keys`);
      expect(await led(`/start?to=${to}`, site)).toBe(`${page}?to=${to}`);
      expect(await led('/sign-out', site)).toBe(page);
      for (const path of ['/start', '/sign-out'])
        expect(await led(path, 'same-origin')).toMatch(provider.issuer);
    },
  );
});

describe('what a session by an issuer is good for', () => {
  it('its own organisation alone: no other of the same person, no work for the service, no password, no invitation [dashboard.single-sign-on-reach]', async () => {
    const carol = await newPerson(database.pool, [
      ...partIn(ours.id, 'admin'),
      ...partIn(third.id, 'owner'),
      { kind: 'staff', role: 'operator' },
    ]);
    await database.pool.query('update persons.person set email = $2 where id = $1', [
      carol.id,
      'carol@ours.example',
    ]);
    const visitor = newBrowser();
    await comeIn(visitor, { sub: 'carol', email: 'carol@ours.example', email_verified: true });
    expect((await visitor.get(`/dashboard/${ours.id}/keys`)).statusCode).toBe(200);
    for (const page of [`/dashboard/${third.id}/keys`, '/dashboard/service/accounts']) {
      expect((await visitor.get(page)).statusCode).toBe(404);
    }
    const receipt = await receiptOf(third.id);
    expect((await visitor.get(`/dashboard/receipts/${receipt}`)).statusCode).toBe(404);
    for (const page of ['/dashboard/apply', '/dashboard/invitations']) {
      expect((await visitor.get(page)).statusCode).toBe(403);
    }
    const changed = await visitor.send('/dashboard/account', '/dashboard/account/password', {
      current: PASSWORD,
      password: 'another phrase of words',
    });
    expect(changed.statusCode).toBe(403);
    // And it sees nothing of the sessions that she opens herself.
    const own = browser({ address: '203.0.113.77' });
    await own.signIn({ email: 'carol@ours.example' });
    expect((await own.get(`/dashboard/${third.id}/keys`)).statusCode).toBe(200);
    expect((await visitor.get('/dashboard/account')).payload).not.toContain('203.0.113.77');
  });

  it('required, it is asked of every member but owners, who keep their password [dashboard.single-sign-on-required]', async () => {
    const visitor = newBrowser();
    await visitor.signIn(owner);
    const page = `/dashboard/${ours.id}/single-sign-on`;
    const set = (required: 'yes' | 'no') => visitor.send(page, `${page}/required`, { required });
    const member = await newPerson(database.pool, partIn(ours.id, 'admin'));
    const inside = newBrowser();
    await inside.signIn(member);
    const keys = `/dashboard/${ours.id}/keys`;
    expect((await inside.get(keys)).statusCode).toBe(200);
    const receipt = `/dashboard/receipts/${await receiptOf(ours.id)}/receipt.json`;
    expect((await inside.get(receipt)).statusCode).toBe(200);
    expect((await set('yes')).headers.location).toBe(`${page}?done=required`);
    // With the next page, also of a session that was open before.
    expect((await inside.get(keys)).headers.location).toBe(
      `/dashboard/sso/${ours.id}?to=${encodeURIComponent(keys)}`,
    );
    expect((await inside.send('/dashboard/account', keys, { name: 'x' })).statusCode).toBe(303);
    expect((await inside.get(receipt)).statusCode).toBe(404);
    expect((await visitor.get(keys)).statusCode).toBe(200);
    expect((await visitor.get(receipt)).statusCode).toBe(200);
    const byIssuer = newBrowser();
    await comeIn(byIssuer, ada());
    expect((await byIssuer.get(keys)).statusCode).toBe(200);
    expect((await set('no')).headers.location).toBe(`${page}?done=not-required`);
    expect((await inside.get(keys)).statusCode).toBe(200);
  });

  it('only an owner sets it up: an admin could come in as an owner by an issuer of their own [dashboard.single-sign-on]', async () => {
    for (const role of ['admin', 'member'] as const) {
      const visitor = newBrowser();
      await visitor.signIn(await newPerson(database.pool, partIn(ours.id, role)));
      const page = `/dashboard/${ours.id}/single-sign-on`;
      expect((await visitor.get(page)).statusCode).toBe(role === 'admin' ? 200 : 403);
      for (const path of ['', '/required', '/remove', '/domains', '/domains/remove']) {
        const reply = await visitor.send('/dashboard/account', page + path, {
          issuer: forged.issuer,
          'client-id': 'mine',
          'client-secret': 'mine',
          domain: 'ours.example',
          required: 'no',
        });
        expect([path, reply.statusCode]).toEqual([path, 403]);
      }
    }
  });

  it('acts that give something want a sign-in at the issuer that asked for something, in a tab of its own [dashboard.step-up]', async () => {
    const visitor = newBrowser();
    const account: Account = { sub: 'eve', email: 'eve@ours.example', email_verified: true };
    await comeIn(visitor, account);
    await database.pool.query(
      "update persons.membership set role = 'admin' where person_id = (select id from persons.person where email = $1)",
      [account.email],
    );
    // The provider says no auth_time unless it is asked; a new session is no proof by itself.
    const keys = `/dashboard/${ours.id}/keys`;
    const create = (extra: Record<string, string> = {}) =>
      visitor.send('/dashboard/account', keys, {
        name: 'by eve',
        scope: 'inference:read',
        ...extra,
      });
    const asked = await create();
    expect([asked.statusCode, asked.payload]).toEqual([
      403,
      expect.stringContaining(`/dashboard/sso/${ours.id}/start?again=1`),
    ]);
    expect((await create({ 'confirming-password': 'done' })).payload).toContain(
      'not confirmed it there yet',
    );
    // Another person at the issuer confirms nothing here.
    const again = async (who: Account) => {
      const begun = await visitor.get(`/dashboard/sso/${ours.id}/start?again=1`);
      expect(begun.headers.location).toContain('prompt=login');
      const back = await provider.signIn(begun.headers.location!, who);
      return visitor.get(back.pathname + back.search);
    };
    expect((await again(ada())).statusCode).toBe(403);
    expect((await create()).statusCode).toBe(403);
    expect((await again(account)).payload).toContain('Close this tab');
    expect((await create()).statusCode).toBe(303);
  });
});

describe('what is not let in', () => {
  const claims = { email: 'mallory@theirs.example', sub: 'mallory' };

  it.each([
    [
      'an address that the issuer has not verified',
      { claims: { ...claims, email_verified: false } },
      'does not say that the e-mail address is verified',
    ],
    [
      'a verification that is a text',
      { claims: { ...claims, email_verified: 'true' } },
      'does not say that the e-mail address is verified',
    ],
    [
      'an address that is not the one that it has verified elsewhere',
      {
        claims: { ...claims, email_verified: undefined },
        userInfo: { sub: 'mallory', email: 'm@elsewhere.example', email_verified: true },
      },
      'of no domain that is confirmed',
    ],
    [
      'a name that no database takes',
      { claims: { ...claims, sub: 'mallory\0' } },
      'in a form that can be stored',
    ],
    ['no address', { claims: { sub: 'mallory' } }, 'says no e-mail address'],
    [
      'an address of another organisation',
      { claims: { ...claims, email: 'ada@ours.example' } },
      'of no domain that is confirmed',
    ],
    [
      'an address below our domain',
      { claims: { ...claims, email: 'x@sub.theirs.example' } },
      'of no domain that is confirmed',
    ],
    [
      'an address with two @',
      { claims: { ...claims, email: 'x@ours.example@theirs.example' } },
      '',
    ],
    [
      'a token for another client',
      { claims: { ...claims, aud: 'another' } },
      'did not pass the checks',
    ],
    [
      'a token of another issuer',
      { claims: { ...claims, iss: 'https://issuer.example' } },
      'did not pass the checks',
    ],
    [
      'a token for another sign-in',
      { claims: { ...claims, nonce: 'another' } },
      'did not pass the checks',
    ],
    [
      'a token that is over',
      { claims: { ...claims, exp: 1_000_000_000 } },
      'did not pass the checks',
    ],
    ['a token signed with another key', { claims, foreignKey: true }, 'did not pass the checks'],
    ['a token without a signature', { claims, alg: 'none' }, 'did not pass the checks'],
  ])('%s [dashboard.single-sign-on-refusals]', async (_, forgery, words) => {
    forged.say(forgery);
    const visitor = newBrowser();
    const reply = await comeForged(visitor);
    expect([reply.statusCode >= 400 && reply.statusCode < 500, reply.payload]).toEqual([
      true,
      expect.stringContaining(words),
    ]);
    expect((await visitor.get('/dashboard/account')).statusCode).toBe(303);
    const { rows } = await database.pool.query(
      "select 1 from persons.person where email like 'mallory@%' or email like 'x@%'",
    );
    expect(rows).toEqual([]);
  });

  it('an issuer whose answers come compressed is not read: a few bytes could unpack to gigabytes [dashboard.single-sign-on-refusals]', async () => {
    forged.say({ isPacked: true });
    const reply = await newBrowser().get(`/dashboard/sso/${theirs.id}/start`);
    expect(reply.statusCode).toBeGreaterThanOrEqual(400);
    expect(reply.payload).toContain('did not pass the checks');
  });

  it('what another organisation’s issuer sends is not taken for ours, nor what was begun elsewhere or is sent twice [dashboard.single-sign-on-refusals]', async () => {
    const visitor = newBrowser();
    const begun = await visitor.get(`/dashboard/sso/${theirs.id}/start`);
    const back = forged.sendBack(begun.headers.location!);
    forged.say({ claims: { email: 'tess@theirs.example', sub: 'tess' } });
    // Brought to the address of another organisation.
    const mixed = `/dashboard/sso/${ours.id}/callback${back.search}`;
    expect((await visitor.get(mixed)).statusCode).toBe(400);
    // That was one use; the right address is too late then.
    expect((await visitor.get(back.pathname + back.search)).statusCode).toBe(400);
    // By a browser that has not begun it.
    const again = forged.sendBack(
      (await visitor.get(`/dashboard/sso/${theirs.id}/start`)).headers.location!,
    );
    expect((await newBrowser().get(again.pathname + again.search)).statusCode).toBe(400);
    const cookie = visitor.cookies.get('docket_sso')!;
    expect((await visitor.get(again.pathname + again.search)).statusCode).toBe(303);
    visitor.cookies.set('docket_sso', cookie);
    expect((await visitor.get(again.pathname + again.search)).statusCode).toBe(400);
  });

  it('a domain is of one organisation, and claimed it opens nothing [dashboard.single-sign-on-refusals]', async () => {
    const visitor = newBrowser();
    await visitor.signIn(otherOwner);
    const page = `/dashboard/${theirs.id}/single-sign-on`;
    await visitor.send(page, `${page}/domains`, { domain: 'ours.example' });
    forged.say({ claims: { email: 'ada@ours.example', sub: 'not ada' } });
    expect((await comeForged(newBrowser())).payload).toContain('of no domain that is confirmed');
    const operator = newBrowser();
    const otto = await newPerson(database.pool, [{ kind: 'staff', role: 'operator' }]);
    await operator.signIn(otto);
    const account = `/dashboard/service/accounts/${theirs.id}`;
    const taken = await operator.send(account, `${account}/domain`, { domain: 'ours.example' });
    expect([taken.statusCode, taken.payload]).toEqual([
      400,
      expect.stringContaining(`confirmed already, for ${ours.id}`),
    ]);
    await visitor.send(page, `${page}/domains`, { domain: 'further.example' });
    const confirmed = await operator.send(account, `${account}/domain`, {
      domain: 'further.example',
    });
    expect(confirmed.headers.location).toBe(`${account}?done=domain`);
    await visitor.send(page, `${page}/domains/remove`, { domain: 'ours.example' });
  });

  it('an issuer within our own network, without TLS, or with a redirect to there is not asked [dashboard.single-sign-on-outside]', async () => {
    const visitor = newBrowser();
    await visitor.signIn(await newPerson(database.pool, partIn(third.id, 'owner')));
    const page = `/dashboard/${third.id}/single-sign-on`;
    const save = (issuer: string) =>
      visitor.send(page, page, { issuer, 'client-id': 'docket', 'client-secret': 'secret' });
    for (const issuer of [
      'https://169.254.169.254/latest/meta-data',
      'https://127.0.0.1:6379',
      'https://[::1]',
      'https://[::ffff:10.0.0.1]',
      'https://0x7f000001',
      'https://localhost',
    ]) {
      const reply = await save(issuer);
      expect([issuer, reply.statusCode, reply.payload]).toEqual([
        issuer,
        400,
        expect.stringContaining('not on the public internet'),
      ]);
    }
    for (const issuer of ['http://issuer.example', 'ftp://x', 'https://u:p@issuer.example', 'no']) {
      expect((await save(issuer)).payload).toContain('begins with https://');
    }
    // One that may be asked, but leads on.
    forged.say({ redirect: 'http://169.254.169.254/' });
    expect((await save(forged.issuer)).payload).toContain('its answer cannot be read');
    forged.say({ discovery: { issuer: 'https://another.example' } });
    expect((await save(forged.issuer)).payload).toContain('did not pass the checks');
    expect(await dashboard.singleSignOn.of(third.id)).toBeUndefined();
  });

  it('keys that lie within our network are not fetched, though the issuer itself may be asked [dashboard.single-sign-on-outside]', async () => {
    forged.say({ discovery: { jwks_uri: 'https://127.0.0.1:1/keys' }, claims });
    const reply = await comeForged(newBrowser());
    expect([reply.statusCode, reply.payload]).toEqual([
      503,
      expect.stringContaining('not on the public internet'),
    ]);
  });

  it('an issuer that is away or refuses us is said to be, and the owner gets in by the password [dashboard.single-sign-on-away]', async () => {
    const gone = await startForgedIssuer();
    insideIssuers.push(gone.issuer);
    const visitor = await setUp(
      third.id,
      await newPerson(database.pool, partIn(third.id, 'owner')),
      gone,
      'third.example',
    );
    const begun = await newBrowserAt(third.id);
    gone.say({ tokenStatus: 401 });
    const back = gone.sendBack(begun.location);
    expect((await begun.visitor.get(back.pathname + back.search)).payload).toContain(
      'client id or secret that the organisation entered is wrong',
    );
    await gone.close();
    const reply = await newBrowser().get(`/dashboard/sso/${third.id}/start`);
    expect([reply.statusCode, reply.payload]).toEqual([
      503,
      expect.stringContaining('cannot be reached'),
    ]);
    expect((await visitor.get(`/dashboard/${third.id}/keys`)).statusCode).toBe(200);
    // Another issuer has the secret of the one before only if it is typed again.
    const page = `/dashboard/${third.id}/single-sign-on`;
    const moved = await visitor.send(page, page, {
      issuer: forged.issuer,
      'client-id': 'docket',
    });
    expect(moved.payload).toContain('Enter the client secret of this issuer too');
    const removed = await visitor.send(page, `${page}/remove`);
    expect(removed.headers.location).toBe(`${page}?done=removed`);
    expect((await newBrowser().get(`/dashboard/sso/${third.id}/start`)).statusCode).toBe(404);
  });

  it('an organisation tries a few issuers, and then one in half a minute: each is a server that we ask for it [dashboard.single-sign-on-outside]', async () => {
    const { id } = await activeAccount(registries);
    const by = await newPerson(database.pool, partIn(id, 'owner'));
    const visitor = await setUp(id, by, forged, 'tried.example');
    const page = `/dashboard/${id}/single-sign-on`;
    const form = formTokenOf((await visitor.get(page)).payload);
    const save = () =>
      visitor.post(page, {
        form,
        issuer: forged.issuer,
        'client-id': 'docket',
        'client-secret': 's',
      });
    const codes: number[] = [];
    for (let i = 0; i < 11; i += 1) codes.push((await save()).statusCode);
    expect([codes.indexOf(400), codes.lastIndexOf(303)]).toEqual([9, 8]);
    expect((await save()).payload).toContain('Wait a minute');
  });

  it('who came in by the issuer is out when it is removed or becomes another [dashboard.single-sign-on-reach]', async () => {
    const visitor = newBrowser();
    forged.say({ claims: { email: 'tom@theirs.example', sub: 'tom' } });
    await comeForged(visitor);
    expect((await visitor.get(`/dashboard/${theirs.id}/usage`)).statusCode).toBe(200);
    const byOwner = newBrowser();
    await byOwner.signIn(otherOwner);
    const page = `/dashboard/${theirs.id}/single-sign-on`;
    await byOwner.send(page, page, {
      issuer: forged.issuer,
      'client-id': 'another',
      'client-secret': 'another',
    });
    expect((await visitor.get(`/dashboard/${theirs.id}/usage`)).statusCode).toBe(303);
    const required = await byOwner.send(page, `${page}/required`, { required: 'yes' });
    expect(required.payload).toContain('No one has signed in with it yet');
  });

  it('while it is required, to remove it asks as much as to require it no longer: members get in by their passwords again [dashboard.single-sign-on-required, dashboard.step-up]', async () => {
    const { id } = await activeAccount(registries);
    const by = await newPerson(database.pool, partIn(id, 'owner'));
    const visitor = await setUp(id, by, forged, 'required.example');
    const page = `/dashboard/${id}/single-sign-on`;
    const of = async () => (await dashboard.singleSignOn.of(id))?.required;
    const doubt = () =>
      database.pool.query('update persons.session set confirmed_at = null where person_id = $1', [
        by.id,
      ]);
    await database.pool.query(
      'update persons.single_sign_on set required = true where org_id = $1',
      [id],
    );
    await doubt();
    const asked = await visitor.send(page, `${page}/remove`);
    expect([asked.statusCode, asked.payload.includes('Confirm that it is you')]).toEqual([
      403,
      true,
    ]);
    expect(await of()).toBe(true);
    const done = await visitor.send(page, `${page}/remove`, { 'confirming-password': PASSWORD });
    expect(done.headers.location).toBe(`${page}?done=removed`);
    expect(await of()).toBeUndefined();
    // What takes away and gives nothing asks nothing.
    await setUp(id, by, forged, 'free.example');
    await doubt();
    expect((await visitor.send(page, `${page}/remove`)).headers.location).toContain('removed');
  });

  it('who comes in while the issuer, or the domain, is taken away is out when that is done [dashboard.single-sign-on-reach]', async () => {
    for (const path of ['domains/remove', 'remove']) {
      const { id } = await activeAccount(registries);
      const by = await newPerson(database.pool, partIn(id, 'owner'));
      const domain = `${path.replace('/', '-')}.example`;
      const visitor = await setUp(id, by, forged, domain);
      forged.say({ claims: { email: `eve@${domain}`, sub: `eve of ${domain}` } });
      const page = `/dashboard/${id}/single-sign-on`;
      const { enter } = dashboard.singleSignOn;
      let removing: ReturnType<TestBrowser['send']> | undefined;
      dashboard.singleSignOn.enter = (entering, letIn) =>
        enter(entering, async (person, client) => {
          const opened = await letIn(person, client);
          removing = visitor.send(page, `${page}/${path}`, { domain });
          await until(() => waitsForLock(database.pool), 'the act waits for who comes in');
          return opened;
        });
      const stranger = newBrowser();
      expect((await comeForged(stranger, id)).statusCode).toBe(303);
      dashboard.singleSignOn.enter = enter;
      expect((await removing!).statusCode).toBe(303);
      expect((await stranger.get(`/dashboard/${id}/usage`)).headers.location).toContain('sign-in');
    }
  });

  it('none of this was a failure of ours', () => {
    expect(errors).toEqual([]);
  });
});

async function newBrowserAt(org: string) {
  const visitor = newBrowser();
  const { headers } = await visitor.get(`/dashboard/sso/${org}/start`);
  return { visitor, location: headers.location! };
}
