import { beforeEach, describe, expect, it } from 'vitest';
import type { Person } from '#shared/persons/roles.ts';
import {
  activeAccount,
  createRegistries,
  OPERATOR,
  referApplicant,
} from '#test/support/accounts.ts';
import { createTestDatabase, waitsForLock } from '#test/support/database.ts';
import {
  ageSessionsOf,
  formTokenOf,
  newPerson,
  openDashboardEdge,
  PASSWORD,
  type TestBrowser,
} from '#test/support/dashboard.ts';
import { until } from '#test/support/until.ts';

const database = await createTestDatabase();
const registries = createRegistries(database.pool);
const { keys } = registries;
const { browser, dashboard, errors } = await openDashboardEdge(database);
const ASKED = 'Confirm that it is you';

let org = '';
let owner: Person;
let visitor: TestBrowser;

/** A person whose sign-in was an hour ago. */
async function signedInLongAgo(person: Person, address: string): Promise<TestBrowser> {
  const one = browser({ address });
  await one.signIn(person);
  await ageSessionsOf(person, database.pool);
  return one;
}

/** The hidden fields of the form that a page asks with. */
const keptIn = (page: string): Record<string, string[]> => {
  const kept: Record<string, string[]> = {};
  for (const [, name = '', value = ''] of page.matchAll(
    /type="hidden" name="([^"]+)" value="([^"]*)"/g,
  )) {
    (kept[name] ??= []).push(value);
  }
  return kept;
};

const keysNow = async () => (await keys.list({ orgId: org, limit: 10, order: 'asc' })).items;

beforeEach(async () => {
  org = (await activeAccount(registries)).id;
  owner = await newPerson(database.pool, [{ kind: 'organisation', orgId: org, role: 'owner' }]);
  visitor = await signedInLongAgo(owner, '192.0.2.7');
  errors.length = 0;
});

describe('acts that give', () => {
  it('a key is created when the password comes with what was filled in; then nothing is asked for a while [dashboard.step-up]', async () => {
    const address = `/dashboard/${org}/keys`;
    const fields = {
      name: 'a <b>"key"',
      expires: '',
      scope: ['inference:read', 'inference:write'],
    };
    const asked = await visitor.send(`${address}/new`, address, fields);
    expect([asked.statusCode, asked.payload.includes(ASKED)]).toEqual([403, true]);
    expect(asked.payload).not.toContain('<b>"key"');
    expect(await keysNow()).toEqual([]);
    const kept = keptIn(asked.payload);
    expect(kept['scope']).toEqual(fields.scope);
    kept['name'] = [fields.name];
    const wrong = await visitor.post(address, { ...kept, 'confirming-password': 'not this one' });
    expect([wrong.statusCode, wrong.payload.includes('password is wrong')]).toEqual([403, true]);
    expect(wrong.payload).not.toContain('not this one');
    expect(await keysNow()).toEqual([]);
    const done = await visitor.post(address, { ...kept, 'confirming-password': PASSWORD });
    expect([done.statusCode, done.headers.location]).toEqual([
      303,
      expect.stringContaining('/issued'),
    ]);
    const [first] = await keysNow();
    expect(first).toMatchObject({ name: fields.name, scopes: fields.scope });
    await visitor.send(`${address}/new`, address, { ...fields, name: 'another' });
    expect(await keysNow()).toHaveLength(2);
  });

  it('rotating, restoring, inviting, changing roles, approving and reinstating ask; revoking, removing and suspending do not [dashboard.step-up]', async () => {
    const pool = database.pool;
    const { key } = await keys.issue(org, { name: 'a key' }, OPERATOR);
    const place = { kind: 'organisation', orgId: org, role: 'member' } as const;
    const member = (await newPerson(pool, [place])).id;
    const operator = await signedInLongAgo(
      await newPerson(pool, [{ kind: 'staff', role: 'operator' }]),
      '192.0.2.8',
    );
    const reviewer = await signedInLongAgo(
      await newPerson(pool, [{ kind: 'staff', role: 'reviewer' }]),
      '192.0.2.9',
    );
    const { reviewId } = await referApplicant(registries);
    const account = `/dashboard/service/accounts/${org}`;
    const isAsked = async (
      who: TestBrowser,
      address: string,
      fields: Record<string, string> = {},
    ): Promise<boolean> =>
      (await who.send('/dashboard/account', address, fields)).payload.includes(ASKED);
    const of = `/dashboard/${org}`;
    expect(await isAsked(visitor, `${of}/keys/${key.id}/rotate`)).toBe(true);
    expect(await isAsked(visitor, `${of}/keys/${key.id}/revoke`, { leaked: 'yes' })).toBe(false);
    expect((await keysNow()).map(({ state }) => state)).toEqual(['revoked']);
    expect(await isAsked(visitor, `${of}/keys/${key.id}/restore`)).toBe(true);
    expect(await isAsked(visitor, `${of}/team/invite`, { email: 'x@person.example' })).toBe(true);
    expect(await isAsked(visitor, `${of}/team/role`, { member, role: 'owner' })).toBe(true);
    expect(await isAsked(visitor, `${of}/team/remove`, { member })).toBe(false);
    expect(await dashboard.persons.members(org)).toHaveLength(1);
    expect(await isAsked(operator, `${account}/suspend`, { 'suspend-reason': 'x' })).toBe(false);
    expect(await isAsked(operator, `${account}/reinstate`, { 'reinstate-reason': 'x' })).toBe(true);
    expect((await registries.accounts.get(org)).state).toBe('suspended');
    const decide = `/dashboard/service/reviews/${reviewId}/decide`;
    expect(await isAsked(reviewer, decide, { decision: 'approved' })).toBe(true);
    expect(await isAsked(reviewer, decide, { decision: 'rejected' })).toBe(false);
  });

  it('what was confirmed in one session opens no other, passwords cannot be tried out, and a form of another is not kept [dashboard.step-up, dashboard.brute-force, dashboard.forms]', async () => {
    const address = `/dashboard/${org}/team/invite`;
    const fields = { email: 'x@person.example', role: 'member' };
    const confirmed = { ...fields, 'confirming-password': PASSWORD };
    await visitor.send('/dashboard/account', address, confirmed);
    expect(await dashboard.teams.invitations(org)).toHaveLength(1);
    const again = await signedInLongAgo(owner, '192.0.2.10');
    const other = { email: 'y@person.example', role: 'member' };
    const asked = await again.send('/dashboard/account', address, other);
    expect(asked.payload).toContain(ASKED);
    const form = formTokenOf((await visitor.get('/dashboard/account')).payload);
    const foreign = await again.post(address, { ...confirmed, form });
    expect([foreign.statusCode, foreign.payload.includes(ASKED)]).toEqual([403, false]);
    for (let i = 0; i < 8; i += 1) {
      await again.send('/dashboard/account', address, { ...other, 'confirming-password': 'no' });
    }
    const late = { ...other, 'confirming-password': PASSWORD };
    expect((await again.send('/dashboard/account', address, late)).payload).toContain('Too many');
    expect(await dashboard.teams.invitations(org)).toHaveLength(1);
    expect(errors).toEqual([]);
  });
});

describe('what a person signs in with', () => {
  const ACCOUNT = '/dashboard/account';
  const key = { name: 'a key', scope: 'inference:write' };
  const NEXT = 'another correct horse battery';

  it('a new password opens a session that has confirmed nothing, and an e-mail tells of it [dashboard.step-up, dashboard.password, dashboard.letters]', async () => {
    const changed = { current: PASSWORD, password: NEXT };
    // The password that the form asks for anyway confirms the change; a wrong one does nothing.
    const wrong = await visitor.send(ACCOUNT, `${ACCOUNT}/password`, {
      ...changed,
      current: '?',
    });
    expect([wrong.statusCode, wrong.payload.includes(ASKED)]).toEqual([403, true]);
    const done = await visitor.send(ACCOUNT, `${ACCOUNT}/password`, changed);
    expect(done.headers.location).toBe(`${ACCOUNT}?done=password`);
    const asked = await visitor.send(ACCOUNT, `/dashboard/${org}/keys`, key);
    expect([asked.statusCode, asked.payload.includes(ASKED)]).toEqual([403, true]);
    const told = 'select subject from mail_outbox where recipient = $1';
    expect((await database.pool.query(told, [owner.email])).rows).toEqual([
      { subject: 'Your password for Docket was changed' },
    ]);
    expect(await keysNow()).toEqual([]);
  });

  it.each(['passkey', 'code'] as const)(
    'where there is a %s, a password confirms nothing: no key, no other password, app or passkey comes of it [dashboard.step-up, dashboard.second-factor, dashboard.passkeys]',
    async (proof) => {
      const thief = browser({ address: '192.0.2.11' });
      if (proof === 'passkey') {
        await database.pool.query(
          `insert into persons.passkey (id, person_id, name, public_key, counter, transports, created_at)
           values ($1, $1, 'Phone', '\\x00', 0, '{}', now())`,
          [owner.id],
        );
        // By the password, a moment ago.
        await thief.signIn(owner);
      } else {
        await thief.signIn(owner);
        await database.pool.query(
          'update persons.person set two_factor_enabled = true where id = $1',
          [owner.id],
        );
        await database.pool.query(
          'update persons.session set confirmed_at = null where person_id = $1',
          [owner.id],
        );
      }
      const confirming = { 'confirming-password': PASSWORD };
      for (const [address, fields] of [
        [`/dashboard/${org}/keys`, key],
        [`${ACCOUNT}/password`, { current: PASSWORD, password: NEXT }],
        [`${ACCOUNT}/second-factor/begin`, { current: PASSWORD }],
        [`${ACCOUNT}/passkeys`, { name: 'Mine', passkey: '{}' }],
        [`${ACCOUNT}/passkeys/remove`, { passkey: owner.id }],
      ] as const) {
        for (const sent of [fields, { ...fields, ...confirming }]) {
          const asked = await thief.send(ACCOUNT, address, sent);
          expect([address, asked.statusCode, asked.payload.includes(ASKED)]).toEqual([
            address,
            403,
            true,
          ]);
        }
      }
      const kept = 'select from persons.passkey where person_id = $1';
      expect((await database.pool.query(kept, [owner.id])).rowCount).toBe(
        proof === 'passkey' ? 1 : 0,
      );
      expect(await keysNow()).toEqual([]);
      expect(errors).toEqual([]);
    },
  );
});

describe('a part that is taken away while an act of it is under way', () => {
  /** Has a form wait where its act is to be written down, until this is done. */
  const whileItWaits = async <T>(
    orgId: string,
    send: () => Promise<T>,
    meanwhile: string,
  ): Promise<T> => {
    const client = await database.pool.connect();
    try {
      await client.query('begin');
      await client.query('select 1 from audit_head where org_id = $1 for update', [orgId]);
      const sent = send();
      await until(() => waitsForLock(database.pool), 'the act waits');
      await client.query(meanwhile);
      await client.query('commit');
      return await sent;
    } finally {
      client.release();
    }
  };

  it.each([
    ['removed', 'delete from persons.membership', 404],
    ['made a member', `update persons.membership set role = 'member'`, 403],
  ])(
    'an owner who is %s meanwhile has issued no key and invited no one [dashboard.step-up]',
    async (_what, change, status) => {
      const meanwhile = `${change} where person_id = '${owner.id}'`;
      const posts: [path: string, fields: Record<string, string>][] = [
        ['keys', { name: 'Late', scope: 'inference:write', expires: '' }],
        ['team/invite', { email: 'late@person.example', role: 'owner' }],
      ];
      for (const [path, fields] of posts) {
        await database.pool.query(
          `insert into persons.membership (person_id, org_id, role, created_at)
           values ($1, $2, 'owner', now())
           on conflict (person_id, org_id) do update set role = 'owner'`,
          [owner.id, org],
        );
        const page = `/dashboard/${org}/${path === 'keys' ? 'keys/new' : 'team'}`;
        const form = formTokenOf((await visitor.get(page)).payload);
        const answer = await whileItWaits(
          org,
          () =>
            visitor.post(`/dashboard/${org}/${path}`, {
              ...fields,
              form,
              'confirming-password': PASSWORD,
            }),
          meanwhile,
        );
        expect([path, answer.statusCode]).toEqual([path, status]);
      }
      expect(await keysNow()).toEqual([]);
      const { rows } = await database.pool.query(
        'select email from persons.invitation where org_id = $1',
        [org],
      );
      expect(rows).toEqual([]);
      expect(errors).toEqual([]);
    },
  );

  it('a reviewer who is none any more meanwhile has decided nothing, though they see reviews as an operator [dashboard.step-up]', async () => {
    const person = await newPerson(database.pool, [
      { kind: 'staff', role: 'reviewer' },
      { kind: 'staff', role: 'operator' },
    ]);
    const reviewer = browser({ address: '192.0.2.11' });
    await reviewer.signIn(person);
    const { reviewId, orgId } = await referApplicant(registries);
    const review = `/dashboard/service/reviews/${reviewId}`;
    const { payload } = await reviewer.get(review);
    const screening = /name="screening" value="([^"]+)"/.exec(payload)?.[1] ?? '';
    const answer = await whileItWaits(
      orgId,
      () =>
        reviewer.post(`${review}/decide`, {
          form: formTokenOf(payload),
          screening,
          decision: 'rejected',
          'rejected-note': 'As listed.',
        }),
      `delete from persons.staff where person_id = '${person.id}' and role = 'reviewer'`,
    );
    expect(answer.statusCode).toBe(404);
    expect((await dashboard.vettings.review(reviewId)).decision).toBeNull();
  });

  it('an owner who is made a member meanwhile does not make themself an owner again [dashboard.step-up]', async () => {
    const other = await newPerson(database.pool, [
      { kind: 'organisation', orgId: org, role: 'owner' },
    ]);
    const form = formTokenOf((await visitor.get(`/dashboard/${org}/team`)).payload);
    const client = await database.pool.connect();
    try {
      await client.query('begin');
      await client.query(
        `update persons.membership set role = 'member' where person_id = $1 and org_id = $2`,
        [owner.id, org],
      );
      const sent = visitor.post(`/dashboard/${org}/team/role`, {
        form,
        member: owner.id,
        role: 'owner',
        'confirming-password': PASSWORD,
      });
      await until(() => waitsForLock(database.pool), 'the act waits');
      await client.query('commit');
      expect((await sent).statusCode).toBe(400);
    } finally {
      client.release();
    }
    const members = await dashboard.persons.members(org);
    const roles = members.map(({ id, role }) => [id, role]);
    expect(Object.fromEntries(roles)).toEqual({ [owner.id]: 'member', [other.id]: 'owner' });
  });
});
