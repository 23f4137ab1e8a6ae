import { createHmac } from 'node:crypto';
import { beforeEach, describe, expect, it, vi } from 'vitest';
import type { SessionSecrets } from '#api/dashboard/session/secrets.ts';
import { HashingQueue } from '#api/dashboard/session/hashing-queue.ts';
import { hashPassword } from '#shared/persons/password-hash.ts';
import { createPersonRegistry } from '#shared/persons/postgres/persons.ts';
import type { Person } from '#shared/persons/roles.ts';
import { activeAccount, createRegistries, movableClock, OPERATOR } from '#test/support/accounts.ts';
import { createTestDatabase } from '#test/support/database.ts';
import {
  ageSessionsOf,
  type DashboardEdge,
  formTokenOf,
  newPerson,
  openDashboardEdge,
  PASSWORD,
  type TestBrowser,
} from '#test/support/dashboard.ts';

const database = await createTestDatabase();
const registries = createRegistries(database.pool);
const SECRET = 'the secret of these dashboards but for one';
const { browser, errors } = await openDashboardEdge(database, undefined, {
  sessionSecrets: [SECRET],
});
const ACCOUNT = '/dashboard/account';
const FACTOR = `${ACCOUNT}/second-factor`;
const CODE = '/dashboard/sign-in/code';

let org = '';
let person: Person;
let visitor: TestBrowser;
let last = 0;

/** The code of an app now (RFC 6238 with its defaults), by the key as a person would type it. */
function codeOf(key: string, at = Date.now()): string {
  const digits = Array.from(key.replaceAll('=', '')).map((letter) =>
    'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567'.indexOf(letter).toString(2).padStart(5, '0'),
  );
  const bytes = digits
    .join('')
    .match(/.{8}/g)!
    .map((byte) => Number.parseInt(byte, 2));
  const counter = Buffer.alloc(8);
  counter.writeBigUInt64BE(BigInt(Math.floor(at / 30_000)));
  const mac = createHmac('sha1', Buffer.from(bytes)).update(counter).digest();
  const number = mac.readUInt32BE(mac.at(-1)! & 15) & 0x7fffffff;
  return String(number % 1_000_000).padStart(6, '0');
}

/** As if the last code that was taken had been of long ago. */
const later = () =>
  database.pool.query('update persons.two_factor set last_step = 0 where person_id = $1', [
    person.id,
  ]);

const wrongFor = (key: string): string => {
  const taken = [-30_000, 0, 30_000].map((ms) => codeOf(key, Date.now() + ms));
  return ['000000', '000001', '000002', '000003'].find((code) => !taken.includes(code))!;
};

/** Sets a second factor up; gives the key and the recovery codes. */
async function setUp(): Promise<{ key: string; recovery: string[] }> {
  const { payload } = await visitor.send(ACCOUNT, `${FACTOR}/begin`, { current: PASSWORD });
  expect(payload).toContain('<svg class="qr"');
  const key = /<code id="totp-key"[^>]*>([A-Z2-7=]+)</.exec(payload)![1]!;
  const recovery = /<pre id="recovery-codes"[^>]*>([^<]+)</.exec(payload)![1]!.trim().split('\n');
  const on = await visitor.send(ACCOUNT, `${FACTOR}/confirm`, { code: codeOf(key) });
  expect(on.headers.location).toBe(`${ACCOUNT}?done=on`);
  await later();
  return { key, recovery };
}

const stranger = (): TestBrowser => browser({ address: `198.51.100.${(last += 1)}` });
const isIn = async (one: TestBrowser): Promise<boolean> =>
  (await one.get(ACCOUNT)).statusCode === 200;

beforeEach(async () => {
  org = (await activeAccount(registries)).id;
  person = await newPerson(database.pool, [{ kind: 'organisation', orgId: org, role: 'owner' }]);
  visitor = stranger();
  await visitor.signIn(person);
  errors.length = 0;
});

describe('a second factor', () => {
  it('asks other sessions of its person anew, which have shown less than there is then [dashboard.second-factor, dashboard.step-up]', async () => {
    const other = stranger();
    await other.signIn(person);
    const issue = () =>
      other.send(`/dashboard/${org}/keys/new`, `/dashboard/${org}/keys`, {
        name: 'a key',
        expires: '',
        scope: 'inference:read',
      });
    expect((await issue()).statusCode).toBe(303);
    await setUp();
    const asked = await issue();
    expect([asked.statusCode, asked.payload.includes('Confirm that it is you')]).toEqual([
      403,
      true,
    ]);
    expect(await isIn(other)).toBe(true);
  });

  it('that a session has begun is not turned on by it once its person has a passkey, which it has not shown [dashboard.second-factor, dashboard.step-up, dashboard.passkeys]', async () => {
    const thief = stranger();
    await thief.signIn(person);
    const { payload } = await thief.send(ACCOUNT, `${FACTOR}/begin`, { current: PASSWORD });
    const key = /<code id="totp-key"[^>]*>([A-Z2-7=]+)</.exec(payload)![1]!;
    await database.pool.query(
      `insert into persons.passkey (id, person_id, name, public_key, counter, transports, created_at)
         values ($1, $1, 'Phone', '\\x00', 0, '{}', now())`,
      [person.id],
    );
    await database.pool.query(
      'update persons.session set confirmed_at = null where person_id = $1',
      [person.id],
    );
    for (const more of [{}, { 'confirming-password': PASSWORD }]) {
      const asked = await thief.send(ACCOUNT, `${FACTOR}/confirm`, {
        code: codeOf(key),
        ...more,
      });
      expect([asked.statusCode, asked.payload.includes('Confirm that it is you')]).toEqual([
        403,
        true,
      ]);
    }
    const { rows } = await database.pool.query(
      'select two_factor_enabled from persons.person where id = $1',
      [person.id],
    );
    expect(rows).toEqual([{ two_factor_enabled: false }]);
  });

  it('is not begun by a session that ended while its password was compared [dashboard.second-factor, dashboard.session]', async () => {
    vi.spyOn(HashingQueue.prototype, 'run').mockImplementationOnce(async (_caller, compare) => {
      const result = await compare();
      await database.pool.query('delete from persons.session where person_id = $1', [person.id]);
      return result;
    });
    const { payload } = await visitor.send(ACCOUNT, `${FACTOR}/begin`, { current: PASSWORD });
    expect(payload).not.toContain('<svg class="qr"');
    const { rows } = await database.pool.query(
      'select from persons.two_factor where person_id = $1',
      [person.id],
    );
    expect(rows).toEqual([]);
  });

  it('is on when a code of the app has come; then the password alone opens no page, and a code does [dashboard.second-factor, dashboard.sign-in]', async () => {
    const wrong = await visitor.send(ACCOUNT, `${FACTOR}/begin`, { current: 'not this one' });
    expect(wrong.statusCode).toBe(400);
    const begun = await visitor.send(ACCOUNT, `${FACTOR}/begin`, { current: PASSWORD });
    expect(begun.statusCode).toBe(200);
    // A wrong code leaves what was shown.
    const sealed = /name="begun" value="([^"]+)"/.exec(begun.payload)![1]!;
    const codes = /id="recovery-codes"[^>]*>([^<]+)</.exec(begun.payload)![1]!;
    const slip = await visitor.send(ACCOUNT, `${FACTOR}/confirm`, {
      code: '000000',
      begun: sealed,
    });
    expect(slip.statusCode).toBe(400);
    expect(slip.payload).toContain(codes);
    expect(slip.payload).toContain('QR code of the key below');
    const second = stranger();
    await second.signIn(person);
    expect(await isIn(second), 'it asks for nothing before a first code').toBe(true);
    const { key } = await setUp();
    expect(await isIn(visitor)).toBe(true);
    const one = stranger();
    const asked = await one.signIn(person);
    expect(asked.headers.location).toMatch(CODE);
    expect(await isIn(one)).toBe(false);
    expect((await one.send(CODE, CODE, { code: wrongFor(key) })).statusCode).toBe(401);
    expect(await isIn(one)).toBe(false);
    expect((await one.send(CODE, CODE, { code: codeOf(key) })).statusCode).toBe(303);
    expect(await isIn(one)).toBe(true);
    const { rows } = await database.pool.query<{ subject: string }>(
      'select subject from mail_outbox where recipient = $1',
      [person.email],
    );
    expect(rows.map(({ subject }) => subject).join()).toContain('is on');
    const kept = await database.pool.query('select * from persons.two_factor');
    expect(JSON.stringify(kept.rows)).not.toContain(key);
    expect(errors).toEqual([]);
  });

  it('a recovery code lets in once; codes without a password, for another person, or after five wrong ones do not [dashboard.second-factor, dashboard.brute-force]', async () => {
    const { key, recovery } = await setUp();
    const one = stranger();
    await one.signIn(person);
    expect((await one.send(CODE, CODE, { code: recovery[0]! })).statusCode).toBe(303);
    expect(await isIn(one)).toBe(true);
    const two = stranger();
    await two.signIn(person);
    expect((await two.send(CODE, CODE, { code: recovery[0]! })).statusCode).toBe(401);
    const three = stranger();
    expect((await three.send(CODE, CODE, { code: codeOf(key) })).statusCode).toBe(401);
    expect(await isIn(three)).toBe(false);
    // The session of another person beside the challenge opens nothing of either by their code.
    const other = await newPerson(database.pool, [{ kind: 'staff', role: 'operator' }]);
    const four = stranger();
    await four.signIn(other);
    expect((await four.send(CODE, CODE, { code: codeOf(key) })).statusCode).toBe(401);
    for (let i = 0; i < 5; i += 1) await two.send(CODE, CODE, { code: wrongFor(key) });
    expect((await two.send(CODE, CODE, { code: codeOf(key) })).statusCode).toBe(401);
    expect(await isIn(two)).toBe(false);
    expect(errors).toEqual([]);
  });

  it('a recovery code that comes several times at once is taken once, and none stands in the database [dashboard.second-factor]', async () => {
    const { recovery } = await setUp();
    const { rows } = await database.pool.query('select * from persons.two_factor');
    for (const code of recovery) expect(JSON.stringify(rows)).not.toContain(code);
    const visitors = [stranger(), stranger(), stranger()];
    for (const each of visitors) await each.signIn(person);
    const [shared = '', other = ''] = recovery;
    const replies = await Promise.all(
      visitors.map((each) => each.send(CODE, CODE, { code: shared })),
    );
    const taken = replies.filter(({ statusCode }) => statusCode === 303);
    expect([taken.length, replies.length]).toEqual([1, 3]);
    // Another code, at the same time or later, is not lost by that.
    const one = stranger();
    await one.signIn(person);
    expect((await one.send(CODE, CODE, { code: other })).statusCode).toBe(303);
    expect(errors).toEqual([]);
  });

  it('who has the password alone tries twenty codes of the app and then one an hour, however often they sign in; a recovery code still lets in [dashboard.second-factor, dashboard.brute-force]', async () => {
    const { key, recovery } = await setUp();
    for (let i = 0; i < 4; i += 1) {
      const guesser = stranger();
      await guesser.signIn(person);
      for (let j = 0; j < 5; j += 1) {
        const { statusCode } = await guesser.send(CODE, CODE, { code: wrongFor(key) });
        expect(statusCode).toBe(401);
      }
    }
    const late = stranger();
    await late.signIn(person);
    const refused = await late.send(CODE, CODE, { code: codeOf(key) });
    expect([refused.statusCode, refused.payload]).toEqual([
      429,
      expect.stringContaining('one an hour'),
    ]);
    // An hour for each but the first that was tried at once, of 20.
    const { rows } = await database.pool.query<{ hours: number }>(
      `select extract(epoch from max(due_at) - now())::float8 / 3600 as hours from persons.rate`,
    );
    expect(Math.ceil(rows[0]!.hours)).toBe(20);
    expect((await late.send(CODE, CODE, { code: recovery[0]! })).statusCode).toBe(303);
    expect(errors).toEqual([]);
  });

  it('a code is taken as a person types it: recovery codes in capitals, and both with other hyphens and spaces or none [dashboard.second-factor]', async () => {
    const { key, recovery } = await setUp();
    const app = codeOf(key);
    for (const code of [
      recovery[0]!.toUpperCase(),
      recovery[1]!.replaceAll('-', ''),
      ` ${recovery[2]!.replaceAll('-', ' ')} `,
      `${app.slice(0, 3)}-${app.slice(3)}`,
    ]) {
      const one = stranger();
      await one.signIn(person);
      expect((await one.send(CODE, CODE, { code })).statusCode, code).toBe(303);
    }
  });

  it('a code that waits for a password is over when the password changes, by a person or from the command line [dashboard.second-factor, dashboard.password]', async () => {
    const { key } = await setUp();
    const one = stranger();
    await one.signIn(person);
    const persons = createPersonRegistry(database.poolAs('docket_operator', 1), movableClock());
    await persons.setPassword(person, await hashPassword('another phrase of words'));
    expect((await one.send(CODE, CODE, { code: codeOf(key) })).statusCode).toBe(401);
    expect(await isIn(one)).toBe(false);
    expect(errors).toEqual([]);
  });

  it('that was set up with another SESSION_SECRET is said to be lost, with the way back in, wherever a code is asked for [dashboard.second-factor]', async () => {
    const { key, recovery } = await setUp();
    const other = await openDashboardEdge(database);
    const one = other.browser({ address: '198.51.100.250' });
    await one.signIn(person);
    for (const code of [codeOf(key), recovery[0]!]) {
      const told = await one.send(CODE, CODE, { code });
      expect(told.statusCode, code).toBe(503);
      expect(told.payload).toContain('support@docket.example');
    }
    expect(other.errors).toEqual([]);
  });

  it('counts while SESSION_SECRET is exchanged, and the app that was used meanwhile afterwards too [dashboard.second-factor]', async () => {
    const { key, recovery } = await setUp();
    const newer = 'the secret that comes after it';
    const edge = (...sessionSecrets: SessionSecrets) =>
      openDashboardEdge(database, undefined, { sessionSecrets });
    const signsIn = async (at: DashboardEdge, code: string): Promise<number> => {
      const one = at.browser({ address: `198.51.100.${(last += 1)}` });
      await one.signIn(person);
      return (await one.send(CODE, CODE, { code })).statusCode;
    };
    const meanwhile = await edge(newer, SECRET);
    expect(await signsIn(meanwhile, recovery[0]!)).toBe(303);
    expect(await signsIn(meanwhile, recovery[0]!)).not.toBe(303);
    expect(await signsIn(meanwhile, codeOf(key))).toBe(303);
    await later();
    const afterwards = await edge(newer);
    expect(await signsIn(afterwards, codeOf(key))).toBe(303);
    expect(await signsIn(afterwards, recovery[1]!)).not.toBe(303);
    expect([...meanwhile.errors, ...afterwards.errors]).toEqual([]);
  });

  it('a code of the app is taken once, for setting up, signing in and stepping up alike, also when it comes twice at once [dashboard.second-factor]', async () => {
    const { payload } = await visitor.send(ACCOUNT, `${FACTOR}/begin`, { current: PASSWORD });
    const key = /<code id="totp-key"[^>]*>([A-Z2-7=]+)</.exec(payload)![1]!;
    const now = Date.now();
    const [before, code, next] = [-30_000, 0, 30_000].map((ms) => codeOf(key, now + ms));
    await visitor.send(ACCOUNT, `${FACTOR}/confirm`, { code: code! });
    const signedIn = async (typed: string): Promise<boolean> => {
      const one = stranger();
      await one.signIn(person);
      await one.send(CODE, CODE, { code: typed });
      return isIn(one);
    };
    const sessions = async (): Promise<number> =>
      (await database.pool.query('select from persons.session where person_id = $1', [person.id]))
        .rowCount!;
    expect(await sessions()).toBe(1);
    expect(await signedIn(code!), 'what turned it on').toBe(false);
    expect(await signedIn(before!), 'one from before it').toBe(false);
    const atOnce = await Promise.all([next!, next!, next!].map(signedIn));
    expect(atOnce.filter(Boolean)).toHaveLength(1);
    expect(await sessions(), 'a refused code leaves no session').toBe(2);
    await ageSessionsOf(person, database.pool);
    const fields = { name: 'k', scope: 'inference:write', 'confirming-password': next! };
    const refused = await visitor.send(ACCOUNT, `/dashboard/${org}/keys`, fields);
    expect(refused.payload).toContain('was already used');
    expect(await isIn(visitor), 'a session that was open stays').toBe(true);
    await later();
    expect((await visitor.send(ACCOUNT, `/dashboard/${org}/keys`, fields)).statusCode).toBe(303);
    expect(errors).toEqual([]);
  });

  it('what gives something is confirmed by a code, and by no password [dashboard.second-factor, dashboard.step-up]', async () => {
    const { key } = await setUp();
    await ageSessionsOf(person, database.pool);
    const address = `/dashboard/${org}/keys`;
    const create = (confirming: string) =>
      visitor.send(ACCOUNT, address, {
        name: 'a key',
        scope: 'inference:write',
        'confirming-password': confirming,
      });
    expect((await create(PASSWORD)).payload).toContain('code is wrong');
    expect((await create(wrongFor(key))).payload).toContain('code is wrong');
    const { items } = await registries.keys.list({ orgId: org, limit: 1, order: 'asc' });
    expect(items).toEqual([]);
    expect((await create(codeOf(key))).statusCode).toBe(303);
  });

  it.each(['confirming an act', 'turning it off'])(
    'codes are not tried out in an open session either, by %s: after twenty wrong ones the next ends it [dashboard.second-factor, dashboard.brute-force]',
    async (how) => {
      const { key } = await setUp();
      await database.pool.query(
        `update persons.session set confirmed_at = null where person_id = $1`,
        [person.id],
      );
      const tryCode = (code: string) =>
        how === 'turning it off'
          ? visitor.send(ACCOUNT, `${FACTOR}/end`, { current: PASSWORD, code })
          : visitor.send(ACCOUNT, `/dashboard/${org}/keys`, { 'confirming-password': code });
      expect((await tryCode(wrongFor(key))).statusCode).not.toBe(401);
      expect(await isIn(visitor)).toBe(true);
      // As if nineteen others had been tried, more slowly than by one a minute.
      await database.pool.query(
        `update persons.rate set due_at = now() + interval '20 hours' where name = $1`,
        [`wrong codes of ${person.id}`],
      );
      const ended = await tryCode(wrongFor(key));
      expect([ended.statusCode, ended.payload.includes('You are signed out')]).toEqual([401, true]);
      expect(await isIn(visitor)).toBe(false);
    },
  );

  it('is turned off with password and code, or by an operator for who has lost both, and only by forms of the session [dashboard.second-factor, dashboard.forms]', async () => {
    const { key } = await setUp();
    const end = (current: string, code: string) =>
      visitor.send(ACCOUNT, `${FACTOR}/end`, { current, code });
    expect((await end(PASSWORD, wrongFor(key))).statusCode).toBe(400);
    expect((await end('not this one', codeOf(key))).statusCode).toBe(400);
    const other = stranger();
    await other.signIn(await newPerson(database.pool, [{ kind: 'staff', role: 'operator' }]));
    const form = formTokenOf((await other.get(ACCOUNT)).payload);
    for (const act of ['begin', 'confirm', 'end']) {
      const fields = { form, current: PASSWORD, code: codeOf(key) };
      expect((await visitor.post(`${FACTOR}/${act}`, fields)).statusCode).toBe(403);
    }
    expect((await stranger().signIn(person)).headers.location).toMatch(CODE);
    const says = async (done: string) =>
      (await visitor.get(`${ACCOUNT}?done=${done}`)).payload.includes('class="note good"');
    expect([await says('on'), await says('off'), await says('passkey')]).toEqual([
      true,
      false,
      false,
    ]);
    expect((await end(PASSWORD, codeOf(key))).headers.location).toBe(`${ACCOUNT}?done=off`);
    expect([await says('on'), await says('off')]).toEqual([false, true]);
    expect((await stranger().signIn(person)).headers.location).toBe('/dashboard');
    await setUp();
    const persons = createPersonRegistry(database.poolAs('docket_operator', 1), movableClock());
    await persons.removeSecondFactor(person.email, OPERATOR);
    expect((await stranger().signIn(person)).headers.location).toBe('/dashboard');
    await expect(persons.removeSecondFactor(person.email, OPERATOR)).rejects.toMatchObject({
      code: 'invalid_email',
    });
    expect(errors).toEqual([]);
  });
});
