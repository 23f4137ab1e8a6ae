import crypto, { hash } from 'node:crypto';
import { syncBuiltinESMExports } from 'node:module';
import { beforeAll, describe, expect, it, onTestFinished, vi } from 'vitest';
import { Fault } from '#shared/kernel/errors.ts';
import { inTransaction } from '#shared/kernel/postgres/transaction.ts';
import { systemSurroundings } from '#shared/kernel/system/surroundings.ts';
import { hashPassword } from '#shared/persons/password-hash.ts';
import { writePassword } from '#shared/persons/postgres/logins.ts';
import { createPersonRegistry } from '#shared/persons/postgres/persons.ts';
import type { Person } from '#shared/persons/roles.ts';
import { activeAccount, createRegistries, movableClock, OPERATOR } from '#test/support/accounts.ts';
import { buildTestApp } from '#test/support/app.ts';
import { createTestDatabase, waitsForLock } from '#test/support/database.ts';
import { formTokenOf, newPerson, openDashboardEdge, PASSWORD } from '#test/support/dashboard.ts';
import { until } from '#test/support/until.ts';

const database = await createTestDatabase();
const registries = createRegistries(database.pool);
const { browser, dashboard, errors } = await openDashboardEdge(database);
let orgId: string;
let owner: Person;

beforeAll(async () => {
  orgId = (await activeAccount(registries)).id;
  owner = await newPerson(database.pool, [{ kind: 'organisation', orgId, role: 'owner' }]);
});

describe('signing in', () => {
  it('a person signs in, sees the organisation, and signs out [dashboard.sign-in]', async () => {
    const visitor = browser();
    const signedIn = await visitor.signIn(owner);
    expect([signedIn.statusCode, signedIn.headers.location]).toEqual([303, '/dashboard']);
    // There is no key yet, and nothing works before that.
    const first = await visitor.get('/dashboard');
    expect(first.headers.location).toBe(`/dashboard/${orgId}/onboarding`);
    expect((await visitor.get(first.headers.location!)).payload).toContain('Create the first key');
    await registries.keys.issue(orgId, { name: 'a key' }, OPERATOR);
    const home = await visitor.get('/dashboard');
    expect(home.headers.location).toBe(`/dashboard/${orgId}/overview`);
    const page = await visitor.get(`/dashboard/${orgId}/keys`);
    expect(page.statusCode).toBe(200);
    expect(page.payload).toContain(owner.email);
    const out = await visitor.send('/dashboard/account', '/dashboard/sign-out');
    expect(out.headers.location).toBe('/dashboard/sign-in?done=out');
    expect((await visitor.get(`/dashboard/${orgId}/keys`)).statusCode).toBe(303);
  });

  it('a wrong password and an unknown address get the same answer [dashboard.sign-in]', async () => {
    const wrong = await browser().signIn(owner, 'not the password at all');
    const unknown = await browser().signIn({ email: 'nobody@person.example' });
    expect([wrong.statusCode, unknown.statusCode]).toEqual([401, 401]);
    const words = (page: string): string =>
      page.replaceAll(/value="[^"]*"/g, '').replaceAll(/\s+/g, ' ');
    expect(words(wrong.payload)).toBe(words(unknown.payload));
  });

  it('a password is hashed as often for an address that is not known, and for one that has chosen none, as for one that has [dashboard.sign-in, dashboard.brute-force]', async () => {
    const invited = await newPerson(database.pool, [
      { kind: 'organisation', orgId, role: 'member' },
    ]);
    await database.pool.query('delete from persons.login where person_id = $1', [invited.id]);
    // What imports it by its name gets the one that counts, though other files have loaded it before.
    const hashed = vi.spyOn(crypto, 'scrypt');
    syncBuiltinESMExports();
    onTestFinished(() => {
      hashed.mockRestore();
      syncBuiltinESMExports();
    });
    for (const { email } of [owner, invited, { email: 'nobody@person.example' }]) {
      hashed.mockClear();
      const visitor = browser({ address: '192.0.2.80' });
      expect((await visitor.signIn({ email }, 'not the password at all')).statusCode).toBe(401);
      expect(hashed.mock.calls.length, email).toBe(1);
    }
  });

  it('who has not confirmed the address does not get in, and is sent a link that confirms it [dashboard.sign-in]', async () => {
    const person = await newPerson(database.pool, [
      { kind: 'organisation', orgId, role: 'member' },
    ]);
    await database.pool.query('update persons.person set email_verified = false where id = $1', [
      person.id,
    ]);
    const visitor = browser();
    expect((await visitor.signIn(person)).statusCode).toBe(403);
    const link = await newestLink(person);
    const confirmed = await visitor.send(link, '/dashboard/e-mail/confirm', {
      token: new URL(link, 'https://x').searchParams.get('token')!,
    });
    expect(confirmed.headers.location).toBe('/dashboard/sign-in?done=confirmed');
    expect((await visitor.signIn(person)).statusCode).toBe(303);
  });

  it('a session is a new one: a cookie that was there before lets no visitor in [dashboard.session]', async () => {
    const attacker = browser();
    await attacker.signIn(owner);
    const planted = [...attacker.cookies].find(([name]) => name.includes('session'))!;
    await attacker.send('/dashboard/account', '/dashboard/sign-out');
    const victim = browser();
    victim.cookies.set(...planted);
    await victim.signIn(owner);
    const mine = victim.cookies.get(planted[0]);
    expect(mine).not.toBe(planted[1]);
    const again = browser();
    again.cookies.set(...planted);
    expect((await again.get(`/dashboard/${orgId}/keys`)).statusCode).toBe(303);
  });

  it('the session’s cookie is for our pages alone: HttpOnly, Secure, SameSite, and made up ones are refused [dashboard.session]', async () => {
    const visitor = browser();
    const reply = await visitor.signIn(owner);
    const line = [reply.headers['set-cookie']].flat().find((each) => each?.includes('session'));
    expect(line).toMatch(/^__Secure-docket\.session_token=.*HttpOnly/);
    expect(line).toMatch(/; Secure/);
    expect(line).toMatch(/SameSite=Lax/i);
    expect(line).toMatch(/Path=\/dashboard/);
    const [name, value] = [...visitor.cookies].find(([each]) => each.includes('session'))!;
    const forger = browser();
    // The token as the database has it, signed with nothing and with something else.
    const token = decodeURIComponent(value).split('.')[0]!;
    for (const made of [token, `${token}.AAAA`, value.slice(0, -6)]) {
      forger.cookies.set(name, made);
      expect((await forger.get('/dashboard/account')).statusCode).toBe(303);
    }
  });

  it('of the token in the cookie the database has a hash, and one that is copied from there opens nothing [dashboard.session]', async () => {
    const visitor = browser({ address: '192.0.2.81' });
    await visitor.signIn(owner);
    const [name, value] = [...visitor.cookies].find(([each]) => each.includes('session'))!;
    const [token = '', mark = ''] = decodeURIComponent(value).split('.');
    expect(Buffer.from(token, 'base64url')).toHaveLength(32);
    const { rows } = await database.pool.query<{ token: string }>('select * from persons.session');
    const kept = JSON.stringify(rows);
    expect([kept.includes(token), kept.includes(mark)]).toEqual([false, false]);
    expect(rows.map((row) => row.token)).toContain(hash('sha256', token));
    const thief = browser({ address: '192.0.2.82' });
    for (const row of rows) {
      thief.cookies.set(name, `${row.token}.${mark}`);
      expect((await thief.get('/dashboard/account')).statusCode).toBe(303);
    }
  });

  it('after some wrong passwords for one address no further one is tried, the right one included [dashboard.brute-force]', async () => {
    const person = await newPerson(database.pool, [
      { kind: 'organisation', orgId, role: 'member' },
    ]);
    const attacker = browser({ address: '192.0.2.66' });
    const statuses: number[] = [];
    for (let i = 0; i < 10; i += 1) {
      statuses.push((await attacker.signIn(person, `guess number ${i}`)).statusCode);
    }
    expect(statuses.slice(0, 8)).toEqual(Array.from({ length: 8 }, () => 401));
    expect(statuses.slice(8)).toEqual([429, 429]);
    expect((await attacker.signIn(person)).statusCode).toBe(429);
    // Its owner, at another address, is not shut out by that.
    expect((await browser({ address: '192.0.2.67' }).signIn(person)).statusCode).toBe(303);
  });

  it('attempts, letters, passkeys and single sign-on are counted by the /64 of an address, whose owner has 2^64 of them [dashboard.brute-force]', async () => {
    const email = 'ada@nowhere.example';
    const [signIn, organisation] = ['/dashboard/sign-in', '/dashboard/sign-in/organisation'];
    const counted = async (address: string): Promise<number> => {
      const visitor = browser({ address });
      await visitor.send(signIn, signIn, { email, password: PASSWORD });
      await visitor.send('/dashboard/sign-in/code', '/dashboard/sign-in/code', { code: '1' });
      await visitor.send('/dashboard/sign-up', '/dashboard/sign-up', { name: 'Ada', email });
      await visitor.send(organisation, organisation, { email });
      await visitor.get('/dashboard/sign-in/passkey');
      const text = 'select count(*)::int as n from persons.rate';
      return (await database.pool.query<{ n: number }>(text)).rows[0]!.n;
    };
    const first = await counted('2001:db8:0:7::1');
    expect(await counted('2001:db8:0:7:8:9:a:b')).toBe(first);
    // Another network has counts of its own; those of the e-mail address are the same.
    expect(await counted('2001:db8:0:8::1')).toBe(first + 6);
  });

  it('an attempt that is refused waits for no row, and the next one asks PostgreSQL nothing [dashboard.brute-force]', async () => {
    const name = 'a name that floods';
    const once = { burst: 1, intervalMs: 60_000 };
    expect(await dashboard.takeAttempt(name, once)).toBe(0);
    const holder = await database.pool.connect();
    await holder.query('begin');
    await holder.query('select from persons.rate where name = $1 for update', [name]);
    expect(await dashboard.takeAttempt(name, once)).toBeGreaterThan(0);
    // What would be asked now would find that there was no attempt.
    await holder.query('delete from persons.rate where name = $1', [name]);
    await holder.query('commit');
    holder.release();
    expect(await dashboard.takeAttempt(name, once)).toBeGreaterThan(0);
    expect(
      await dashboard.takeAttempts([
        ['another name', once],
        [name, once],
      ]),
    ).toBe(false);
    expect(await dashboard.takeAttempt('another name', once)).toBe(0);
  });

  it('what there is no room for is refused with the time to wait, and is no failure [dashboard.brute-force]', async () => {
    const signIn = () => Promise.reject(new Fault('dispatch_unavailable', { retryAfterMs: 5_000 }));
    const app = await buildTestApp(database.pool, { dashboard: { ...dashboard, signIn } });
    const { statusCode, headers, payload } = await app.inject('/dashboard/sign-in');
    expect([statusCode, headers['retry-after']]).toEqual([503, '5']);
    expect(payload).toContain('Wait a little');
    expect(errors).toEqual([]);
  });

  it('goes on to a page of the dashboard, and to no other site [dashboard.sign-in]', async () => {
    const visitor = browser({ address: '192.0.2.9' });
    const to = `/dashboard/${orgId}/keys?after=key_1`;
    const inside = await visitor.send('/dashboard/sign-in', '/dashboard/sign-in', {
      email: owner.email,
      password: PASSWORD,
      to,
    });
    expect(inside.headers.location).toBe(to);
    for (const elsewhere of [
      'https://evil.example',
      '//evil.example',
      '/dashboard/../..//evil',
      // What an organisation names as its issuer is another site too.
      `/dashboard/sso/${orgId}/start`,
      `/dashboard/account/../sso/${orgId}/sign-out`,
      '/dashboard/../docs',
    ]) {
      const other = browser({ address: '192.0.2.9' });
      const reply = await other.send('/dashboard/sign-in', '/dashboard/sign-in', {
        email: owner.email,
        password: PASSWORD,
        to: elsewhere,
      });
      expect(reply.headers.location).toBe('/dashboard');
    }
  });
});

/** Fields that no form of ours has. */
const manyFields = (count: number): Record<string, string> =>
  Object.fromEntries(Array.from({ length: count }, (_, i) => [`field-${i}`, 'typed']));

describe('a session that has ended', () => {
  it('is said to have; a form that comes then is not done, and what was typed comes back, save what is secret [dashboard.session, dashboard.forms]', async () => {
    const person = await newPerson(database.pool, [{ kind: 'organisation', orgId, role: 'owner' }]);
    const visitor = browser({ address: '192.0.2.70' });
    await visitor.signIn(person);
    await database.pool.query('delete from persons.session where person_id = $1', [person.id]);
    const page = `/dashboard/${orgId}/keys`;
    const sent = await visitor.get(page);
    expect(sent.headers.location).toBe(
      `/dashboard/sign-in?${new URLSearchParams({ to: page, done: 'ended' }).toString()}`,
    );
    expect((await visitor.get(sent.headers.location!)).payload).toContain('Your session has ended');
    const { statusCode, payload } = await visitor.post(page, {
      form: 'a token',
      name: 'Nightly <b>batch</b>',
      current: 'a password',
      'client-secret': 'another',
      note: `dkt_${'A'.repeat(38)}`,
    });
    expect(statusCode).toBe(401);
    expect(payload).toContain('Nothing was done');
    expect(payload).toContain('Nightly &#60;b&#62;batch&#60;/b&#62;');
    expect(payload).toContain('dkt_AAAA<');
    expect(payload).not.toMatch(/a token|a password|another|dkt_AAAAA/);
    expect(payload).toContain('href="/dashboard/sign-in"');
    const long = await visitor.post(page, { note: 'x'.repeat(30_000), ...manyFields(900) });
    expect([long.statusCode, long.payload.length < 16_384]).toEqual([401, true]);
    // Who was never in is only asked to sign in.
    const stranger = browser({ address: '192.0.2.71' });
    expect((await stranger.get(page)).headers.location).not.toContain('ended');
  });

  it('to a cookie that was made up nothing is repeated, however it is signed [dashboard.session, dashboard.forms]', async () => {
    const page = '/dashboard/account/password';
    for (const made of ['x', `x.${'A'.repeat(43)}=`, encodeURIComponent(`x.${'A'.repeat(43)}=`)]) {
      const stranger = browser({ address: '192.0.2.72' });
      stranger.cookies.set('__Secure-docket.session_token', made);
      expect((await stranger.get(page)).headers.location).not.toContain('ended');
      const { statusCode, payload } = await stranger.post(page, { a: 'z'.repeat(60_000) });
      expect([statusCode, payload]).toEqual([303, '']);
    }
  });

  it('cookies that are not ours are not decoded, and of those in our name a few [dashboard.session]', async () => {
    const decoded = vi.spyOn(globalThis, 'decodeURIComponent');
    for (const name of ['', 'docket.']) {
      const stranger = browser({ address: '192.0.2.73' });
      for (let i = 0; i < 1_500; i += 1) stranger.cookies.set(`${name}${i}`, '%');
      expect((await stranger.get('/dashboard/account')).statusCode).toBe(303);
    }
    expect(decoded.mock.calls.length).toBeLessThan(100);
    decoded.mockRestore();
  });
});

describe('passwords', () => {
  it('a link from an e-mail sets a password once, ends every session and confirms the address [dashboard.password]', async () => {
    const person = await newPerson(database.pool, [
      { kind: 'organisation', orgId, role: 'member' },
    ]);
    const open = browser({ address: '192.0.2.20' });
    await open.signIn(person);
    const visitor = browser({ address: '192.0.2.21' });
    await visitor.send('/dashboard/password/forgot', '/dashboard/password/forgot', {
      email: person.email,
    });
    const link = await newestLink(person);
    const token = new URL(link, 'https://x').searchParams.get('token')!;
    const { rows } = await database.pool.query('select identifier from persons.verification');
    expect(JSON.stringify(rows)).not.toContain(token);
    const password = 'another phrase of words';
    const short = await visitor.send(link, '/dashboard/password/reset', {
      token,
      password: 'short',
    });
    expect(short.statusCode).toBe(400);
    expect(short.payload).toContain('A password needs 12 to 128 characters.');
    expect(short.payload).toContain('name="token"');
    const set = await visitor.send(link, '/dashboard/password/reset', { token, password });
    expect(set.headers.location).toBe('/dashboard/sign-in?done=password');
    const twice = await visitor.send(link, '/dashboard/password/reset', { token, password });
    expect(twice.statusCode).toBe(400);
    // The way to another link, and no word of a password that is long enough.
    expect(twice.payload).toContain('This link has been used or has expired.');
    expect(twice.payload).toContain('action="/dashboard/password/forgot"');
    expect(twice.payload).not.toContain('128 characters');
    expect((await open.get('/dashboard/account')).statusCode).toBe(303);
    expect((await visitor.signIn(person, PASSWORD)).statusCode).toBe(401);
    expect((await visitor.signIn(person, password)).statusCode).toBe(303);
    const change = async (fields: Record<string, string>): Promise<string> => {
      const page = '/dashboard/account';
      return (await visitor.send(page, `${page}/password`, fields)).payload;
    };
    expect(await change({ current: PASSWORD, password })).toContain(
      'The current password is wrong. Nothing was changed.',
    );
    expect(await change({ current: password, password: 'short' })).toContain(
      'A password needs 12 to 128 characters. Nothing was changed.',
    );
  });

  it('a new password ends the links to another that are on their way [dashboard.password]', async () => {
    const person = await newPerson(database.pool, [
      { kind: 'organisation', orgId, role: 'member' },
    ]);
    const visitor = browser({ address: '192.0.2.22' });
    const links: string[] = [];
    const forgot = '/dashboard/password/forgot';
    for (let i = 0; i < 2; i += 1) {
      await visitor.send(forgot, forgot, { email: person.email });
      await until(async () => {
        const newest = await newestLink(person);
        if (!links.includes(newest)) links.push(newest);
        return links.length > i;
      });
    }
    const resets = links.map((link, i) =>
      browser({ address: `192.0.2.${23 + i}` }).send(link, '/dashboard/password/reset', {
        token: new URL(link, 'https://x').searchParams.get('token')!,
        password: `phrase of words ${i}`,
      }),
    );
    const statuses = (await Promise.all(resets)).map(({ statusCode }) => statusCode);
    expect(statuses.toSorted((a, b) => a - b)).toEqual([303, 400]);
    expect(errors).toEqual([]);
  });

  it.each([
    ['a session', false, 'persons.session where person_id = $1'],
    ['a wait for a code', true, 'persons.verification where value = $1'],
  ])(
    'the old password opens nothing once another is being set, though it was right when it was compared: %s [dashboard.password, dashboard.sign-in]',
    async (_what, hasSecondFactor, kept) => {
      const person = await newPerson(database.pool, [
        { kind: 'organisation', orgId, role: 'member' },
      ]);
      await database.pool.query('update persons.person set two_factor_enabled = $2 where id = $1', [
        person.id,
        hasSecondFactor,
      ]);
      const password = await hashPassword('another phrase of words');
      await inTransaction(database.pool, async (client) => {
        await writePassword(client, systemSurroundings, person.id, password);
        const answer = browser({ address: '192.0.2.26' }).signIn(person);
        let isAnswered = false;
        void answer.then(() => (isAnswered = true));
        await until(async () => isAnswered || (await waitsForLock(database.pool)));
        return () => answer;
      }).then(async (answer) => expect((await answer()).statusCode).toBe(401));
      expect((await database.pool.query(`select from ${kept}`, [person.id])).rowCount).toBe(0);
    },
  );

  it('the old password sets no other once another is being set, though it was right when it was compared [dashboard.password]', async () => {
    const person = await newPerson(database.pool, [
      { kind: 'organisation', orgId, role: 'member' },
    ]);
    const visitor = browser({ address: '192.0.2.27' });
    await visitor.signIn(person);
    const mine = 'the phrase of its owner';
    const password = await hashPassword(mine);
    const answer = await inTransaction(database.pool, async (client) => {
      await writePassword(client, systemSurroundings, person.id, password);
      const page = '/dashboard/account';
      const fields = { current: PASSWORD, password: 'the phrase of another' };
      const changing = visitor.send(page, `${page}/password`, fields);
      await until(() => waitsForLock(database.pool));
      return () => changing;
    });
    expect((await answer()).statusCode).not.toBe(303);
    expect((await browser({ address: '192.0.2.28' }).signIn(person, mine)).statusCode).toBe(303);
  });

  it('a session that is being opened while another password is set ends with those that are open [dashboard.password, dashboard.session]', async () => {
    const person = await newPerson(database.pool, [
      { kind: 'organisation', orgId, role: 'member' },
    ]);
    const persons = createPersonRegistry(database.poolAs('docket_operator', 1), movableClock());
    const password = await hashPassword('another phrase of words');
    const set = await inTransaction(database.pool, async (client) => {
      await client.query('select from persons.login where person_id = $1 for share', [person.id]);
      const setting = persons.setPassword(person, password);
      await until(() => waitsForLock(database.pool));
      await client.query(
        `insert into persons.session (id, person_id, token, expires_at, created_at)
           values ('opened', $1, 'opened', now() + interval '1 hour', now())`,
        [person.id],
      );
      return () => setting;
    });
    await set();
    const open = 'select from persons.session where person_id = $1';
    expect((await database.pool.query(open, [person.id])).rowCount).toBe(0);
  });

  it('asking for a link says the same for an address without an account [dashboard.password]', async () => {
    const ask = (email: string) =>
      browser({ address: '192.0.2.30' }).send(
        '/dashboard/password/forgot',
        '/dashboard/password/forgot',
        { email },
      );
    const [known, unknown] = [await ask(owner.email), await ask('nobody@person.example')];
    const words = (page: string): string => page.replaceAll(/value="[^"]*"/g, '');
    expect(words(known.payload)).toBe(words(unknown.payload));
  });

  it('sessions are listed, another can be ended, and another person’s cannot [dashboard.session]', async () => {
    const [here, there, stranger] = [
      browser({ address: '192.0.2.40' }),
      browser({ address: '2001:db8::7' }),
      browser({ address: '192.0.2.42' }),
    ];
    const person = await newPerson(database.pool, [
      { kind: 'organisation', orgId, role: 'auditor' },
    ]);
    await here.signIn(person);
    await there.signIn(person);
    await stranger.signIn(owner);
    const page = (await here.get('/dashboard/account')).payload;
    expect(page).toContain('>192.0.2.40<');
    expect(page).toContain('>2001:db8::7<');
    const session = /name="session" value="([^"]+)"/.exec(page)![1]!;
    await stranger.send('/dashboard/account', '/dashboard/account/sessions/end', { session });
    expect((await there.get('/dashboard/account')).statusCode).toBe(200);
    await here.send('/dashboard/account', '/dashboard/account/sessions/end', { session });
    expect((await there.get('/dashboard/account')).statusCode).toBe(303);
    expect((await here.get('/dashboard/account')).statusCode).toBe(200);
  });
});

describe('forms', () => {
  it('a form without its token, with another’s, or from another site changes nothing [dashboard.forms]', async () => {
    const visitor = browser({ address: '192.0.2.50' });
    await visitor.signIn(owner);
    const other = browser({ address: '192.0.2.51' });
    await other.signIn(owner);
    const stolen = formTokenOf((await other.get('/dashboard/account')).payload);
    const own = formTokenOf((await visitor.get('/dashboard/account')).payload);
    const keys = `/dashboard/${orgId}/keys`;
    for (const form of ['', 'AAAA', stolen]) {
      const reply = await visitor.post(keys, { form, name: 'forged' });
      expect(reply.statusCode).toBe(403);
    }
    for (const origin of ['https://evil.example', 'null', '']) {
      const foreign = browser({ origin, address: '192.0.2.50' });
      for (const [name, value] of visitor.cookies) foreign.cookies.set(name, value);
      expect((await foreign.post(keys, { form: own, name: 'forged' })).statusCode).toBe(403);
    }
    expect((await visitor.get(keys)).payload).not.toContain('forged');
    // Each page has another token, and none ends the ones before.
    const next = formTokenOf((await visitor.get('/dashboard/account')).payload);
    expect(next).not.toBe(own);
    for (const form of [next, own]) {
      const good = await visitor.post(keys, { form, name: 'meant', scope: 'inference:read' });
      expect(good.statusCode).toBe(303);
    }
  });

  it('another site signs no visitor in: the sign-in form has a token of the visitor’s [dashboard.forms]', async () => {
    const fresh = browser({ address: '192.0.2.52' });
    const fields = { email: owner.email, password: PASSWORD };
    expect((await fresh.post('/dashboard/sign-in', fields)).statusCode).toBe(403);
    const attacker = browser({ address: '192.0.2.53' });
    const form = formTokenOf((await attacker.get('/dashboard/sign-in')).payload);
    expect((await fresh.post('/dashboard/sign-in', { ...fields, form })).statusCode).toBe(403);
  });

  it('takes no other body than a form [dashboard.forms]', async () => {
    const { app } = await openDashboardEdge(database);
    const reply = await app.inject({
      method: 'POST',
      url: '/dashboard/sign-in',
      headers: { origin: 'https://gateway.example', 'content-type': 'application/json' },
      payload: '{}',
    });
    expect(reply.statusCode).toBe(415);
    expect(reply.headers['content-type']).toContain('text/html');
  });
});

/** The address that the newest letter to a person leads to. */
async function newestLink({ email }: Person): Promise<string> {
  let address: string | undefined;
  await until(async () => {
    const { rows } = await database.pool.query<{ body: string }>(
      'select body from mail_outbox where recipient = $1 order by id desc limit 1',
      [email],
    );
    address = /https:\/\/gateway\.example(\/\S+token=\S+)/.exec(rows[0]?.body ?? '')?.[1];
    return address !== undefined;
  }, 'an e-mail with an address is written');
  return address!;
}
