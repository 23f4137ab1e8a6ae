import { beforeEach, describe, expect, it } from 'vitest';
import {
  type Act,
  ACTS,
  may,
  ORGANISATION_ROLES,
  type OrganisationRole,
  type Person,
} from '#shared/persons/roles.ts';
import { activeAccount, createRegistries, newAccount, OPERATOR } from '#test/support/accounts.ts';
import { createTestDatabase, waitsForLock } from '#test/support/database.ts';
import {
  formTokenOf,
  newPerson,
  openDashboardEdge,
  PASSWORD,
  type TestBrowser,
} from '#test/support/dashboard.ts';
import { until } from '#test/support/until.ts';

const database = await createTestDatabase();
const registries = createRegistries(database.pool);
const { browser, errors, dashboard } = await openDashboardEdge(database);

interface Someone {
  person: Person;
  visitor: TestBrowser;
}

let last = 0;
let ours = '';
let owner: Someone;

async function someone(role?: OrganisationRole, orgId = ours): Promise<Someone> {
  const elsewhere = role === undefined;
  const place = {
    kind: 'organisation',
    orgId: elsewhere ? (await activeAccount(registries)).id : orgId,
    role: role ?? 'owner',
  } as const;
  const person = await newPerson(database.pool, [place], `Person ${(last += 1)}`);
  const visitor = browser({ address: `192.0.2.${last}` });
  await visitor.signIn(person);
  return { person, visitor };
}

const team = (org = ours): string => `/dashboard/${org}/team`;

const act = ({ visitor }: Someone, name: string, fields: Record<string, string>) =>
  visitor.send(team(), `${team()}/${name}`, fields);

const rolesNow = async (): Promise<Record<string, string>> =>
  Object.fromEntries((await dashboard.persons.members(ours)).map(({ id, role }) => [id, role]));

const lettersTo = async (email: string): Promise<string[]> =>
  (
    await database.pool.query<{ body: string }>(
      'select body from mail_outbox where recipient = $1',
      [email],
    )
  ).rows.map(({ body }) => body);

beforeEach(async () => {
  ours = (await activeAccount(registries)).id;
  owner = await someone('owner');
  errors.length = 0;
});

describe('the team', () => {
  it('an invitation goes by e-mail to an address, and who has confirmed the address becomes a member by accepting, once [dashboard.team]', async () => {
    const invited = await someone();
    const { email, id } = invited.person;
    const sent = await act(owner, 'invite', { email: email.toUpperCase(), role: 'admin' });
    expect(sent.headers.location).toBe(`${team()}?done=invited`);
    expect((await lettersTo(email)).join()).toContain('/dashboard/invitations');
    // Nothing of the person is told to those who invite: not their name, not that there is one.
    const seen = (await owner.visitor.get(team())).payload;
    expect([seen.includes(email), seen.includes(invited.person.name)]).toEqual([true, false]);
    expect((await invited.visitor.get(team())).statusCode).toBe(404);
    const answer = { org: ours, answer: 'accept' };
    const page = '/dashboard/invitations';
    expect((await invited.visitor.get(page)).payload).toContain('Harmless Bakery');
    const accepted = await invited.visitor.send(page, page, answer);
    expect(accepted.headers.location).toBe(team());
    expect((await rolesNow())[id]).toBe('admin');
    expect((await invited.visitor.send(page, page, answer)).statusCode).toBe(404);
    const { items } = await registries.audit.list({ orgId: ours, limit: 2, order: 'desc' });
    expect(items.map(({ action, actorId }) => [action, actorId])).toEqual([
      ['member.added', id],
      ['member.invited', owner.person.id],
    ]);
    const again = await act(owner, 'invite', { email, role: 'owner' });
    expect([again.statusCode, (await rolesNow())[id]]).toEqual([400, 'admin']);
  });

  it('says that no e-mail tells of an invitation when as many have gone out as an hour takes', async () => {
    const invited = await someone();
    const { email } = invited.person;
    await database.pool.query(
      `insert into mail_outbox (org_id, recipient, subject, body, created_at, next_attempt_at)
       select $1, $2, 'x', 'x', now(), now() from generate_series(1, 20)`,
      [ours, email],
    );
    const sent = await act(owner, 'invite', { email, role: 'member' });
    expect(sent.headers.location).toBe(`${team()}?done=untold`);
    expect((await owner.visitor.get(`${team()}?done=untold`)).payload).toContain(
      'No e-mail was sent',
    );
    expect(await lettersTo(email)).toHaveLength(20);
    // It stands all the same.
    const page = '/dashboard/invitations';
    const accepted = await invited.visitor.send(page, page, { org: ours, answer: 'accept' });
    expect(accepted.statusCode).toBe(303);
    expect(await rolesNow()).toMatchObject({ [invited.person.id]: 'member' });
  });

  it('invites once its organisation is approved: until then it writes to members alone, and says so [dashboard.team, dashboard.letters]', async () => {
    ours = (await registries.accounts.create(newAccount(), OPERATOR)).id;
    const stranger = await someone('owner');
    const { payload } = await stranger.visitor.get(team());
    expect([
      payload.includes('once the application is approved'),
      payload.includes('/invite'),
    ]).toEqual([true, false]);
    const form = formTokenOf((await stranger.visitor.get('/dashboard/account')).payload);
    const email = 'elsewhere@person.example';
    const refused = await stranger.visitor.post(`${team()}/invite`, {
      form,
      email,
      role: 'member',
    });
    expect([refused.statusCode, refused.payload.includes('Nothing was done')]).toEqual([400, true]);
    const { id, name } = stranger.person;
    const by = { orgId: ours, actor: { kind: 'user', id, name }, by: 'owner' } as const;
    const letter = { to: email, subject: 'x', body: 'x' };
    // Whichever page or command asks.
    await expect(dashboard.teams.invite(by, email, 'member', () => letter)).rejects.toMatchObject({
      code: 'invalid_account_state',
    });
    expect(await lettersTo(email)).toEqual([]);
  });

  it('an invitation is for one address: no other person takes it, nor when it was withdrawn, declined or is over [dashboard.team, dashboard.organisations]', async () => {
    const [invited, other] = [await someone(), await someone()];
    const page = '/dashboard/invitations';
    const answer = { org: ours, answer: 'accept' };
    const { email } = invited.person;
    await act(owner, 'invite', { email, role: 'member' });
    expect((await other.visitor.get(page)).payload).toContain('No invitations');
    expect((await other.visitor.send(page, page, answer)).statusCode).toBe(404);
    await act(owner, 'withdraw', { email });
    expect((await invited.visitor.send(page, page, answer)).statusCode).toBe(404);
    await act(owner, 'invite', { email, role: 'member' });
    await invited.visitor.send(page, page, { org: ours, answer: 'decline' });
    expect((await invited.visitor.send(page, page, answer)).statusCode).toBe(404);
    await act(owner, 'invite', { email, role: 'member' });
    await database.pool.query(`update persons.invitation set expires_at = now() - interval '1 s'`);
    expect((await invited.visitor.send(page, page, answer)).statusCode).toBe(404);
    expect(Object.keys(await rolesNow())).toEqual([owner.person.id]);
  });

  it('the last owner can neither go nor become something else, also when two owners act at once [dashboard.team]', async () => {
    const member = owner.person.id;
    for (const [name, fields] of [
      ['remove', { member }],
      ['role', { member, role: 'auditor' }],
    ] as const) {
      const refused = await act(owner, name, fields);
      expect(refused.statusCode).toBe(400);
      expect(refused.payload).toContain('keeps one owner');
    }
    const second = await someone('owner');
    const by = ({ person }: Someone) =>
      ({ orgId: ours, actor: { kind: 'user', id: person.id }, by: 'owner' }) as const;
    for (let round = 0; round < 10; round += 1) {
      await Promise.allSettled([
        dashboard.teams.remove(by(owner), second.person.id),
        dashboard.teams.remove(by(second), owner.person.id),
        dashboard.teams.setRole(by(owner), owner.person.id, 'member'),
      ]);
      expect(Object.values(await rolesNow()).filter((role) => role === 'owner')).toHaveLength(1);
      const both = [owner.person.id, second.person.id];
      await database.pool.query(
        `insert into persons.membership select id, $1, 'owner', now() from unnest($2::text[]) id
             on conflict (person_id, org_id) do update set role = 'owner'`,
        [ours, both],
      );
    }
    expect(errors).toEqual([]);
  });

  it('an admin deals with all but owners; members and auditors deal with none; every member may leave [dashboard.team, dashboard.roles]', async () => {
    const [admin, member, auditor] = [
      await someone('admin'),
      await someone('member'),
      await someone('auditor'),
    ];
    const before = await rolesNow();
    const token = async ({ visitor }: Someone): Promise<string> =>
      formTokenOf((await visitor.get('/dashboard/account')).payload);
    for (const one of [member, auditor]) {
      const form = await token(one);
      for (const [name, fields] of [
        ['invite', { email: 'new@person.example', role: 'auditor' }],
        ['withdraw', { email: 'new@person.example' }],
        ['role', { member: one.person.id, role: 'owner' }],
        ['remove', { member: admin.person.id }],
      ] as const) {
        const { statusCode } = await one.visitor.post(`${team()}/${name}`, { form, ...fields });
        expect(statusCode).toBe(403);
      }
    }
    for (const [name, fields] of [
      ['invite', { email: 'new@person.example', role: 'owner' }],
      ['role', { member: admin.person.id, role: 'owner' }],
      ['role', { member: owner.person.id, role: 'member' }],
      ['remove', { member: owner.person.id }],
    ] as const) {
      expect((await act(admin, name, fields)).statusCode).toBe(400);
    }
    await act(owner, 'invite', { email: 'boss@person.example', role: 'owner' });
    for (const name of ['invite', 'withdraw']) {
      const tried = await act(admin, name, { email: 'boss@person.example', role: 'auditor' });
      expect(tried.statusCode).toBe(400);
    }
    expect(await rolesNow()).toEqual(before);
    expect(await dashboard.teams.invitations(ours)).toMatchObject([{ role: 'owner' }]);
    await act(admin, 'role', { member: member.person.id, role: 'auditor' });
    await act(admin, 'remove', { member: auditor.person.id });
    expect((await auditor.visitor.get(team())).statusCode).toBe(404);
    await act(member, 'remove', { member: member.person.id });
    expect(Object.keys(await rolesNow()).toSorted()).toEqual(
      [owner.person.id, admin.person.id].toSorted(),
    );
  });

  it('a team is dealt with by its own forms and ids alone: another organisation’s are not found, others’ forms are refused [dashboard.team, dashboard.forms, dashboard.organisations]', async () => {
    const stranger = await someone();
    const admin = await someone('admin');
    const form = formTokenOf((await stranger.visitor.get('/dashboard/account')).payload);
    const own = formTokenOf((await owner.visitor.get('/dashboard/account')).payload);
    for (const [name, fields] of [
      ['invite', { email: 'x@person.example', role: 'owner' }],
      ['withdraw', { email: 'x@person.example' }],
      ['role', { member: admin.person.id, role: 'owner' }],
      ['remove', { member: admin.person.id }],
    ] as const) {
      const address = `${team()}/${name}`;
      expect((await stranger.visitor.post(address, { form, ...fields })).statusCode).toBe(404);
      expect((await owner.visitor.post(address, { form, ...fields })).statusCode).toBe(403);
      expect((await owner.visitor.post(address, fields)).statusCode).toBe(403);
      expect(
        (await browser({ origin: 'https://evil.example' }).post(address, { form: own })).statusCode,
      ).toBe(403);
    }
    for (const name of ['role', 'remove']) {
      const tried = await act(owner, name, { member: stranger.person.id, role: 'auditor' });
      expect(tried.statusCode).toBe(404);
    }
    expect((await rolesNow())[admin.person.id]).toBe('admin');
    expect(await lettersTo('x@person.example')).toEqual([]);
  });

  it('e-mails to an address are few, and hold what others typed as one short line [dashboard.team, dashboard.escaped]', async () => {
    const email = 'often@person.example';
    const statuses: number[] = [];
    // What mail programs take for one address is one.
    const spelt = ['often@PERSON.example', 'often@ｐerson.example', 'often@person。example.'];
    for (const typed of [email, ...spelt, email]) {
      const invited = await act(owner, 'invite', { email: typed, role: 'member' });
      statuses.push(invited.statusCode);
    }
    expect(statuses).toEqual([303, 303, 303, 429, 429]);
    expect(await lettersTo(email)).toHaveLength(3);
    const noted: number[] = [];
    const owners = [await someone('owner'), await someone('owner')];
    for (let i = 0; i < 12; i += 1) {
      const to = { email: `many+${i}@person.example`, role: 'member' };
      noted.push((await act(owners[i % 2]!, 'invite', to)).statusCode);
    }
    expect(noted.filter((status) => status === 303)).toHaveLength(10);
    expect(noted.slice(10)).toEqual([429, 429]);
    const hostile = 'a"><script>@person.example';
    const refused = await act(owner, 'invite', { email: hostile, role: 'member' });
    expect(refused.statusCode).toBe(400);
    expect(refused.payload).not.toContain('<script>@');
  });

  it('an invitation leads into no organisation that has closed since [dashboard.team]', async () => {
    const guest = await someone();
    await act(owner, 'invite', { email: guest.person.email, role: 'owner' });
    await registries.accounts.close(ours, OPERATOR, 'asked');
    const form = formTokenOf((await guest.visitor.get('/dashboard/account')).payload);
    const fields = { form, org: ours, answer: 'accept' };
    const taken = await guest.visitor.post('/dashboard/invitations', fields);
    expect(taken.statusCode).toBe(404);
    expect((await guest.visitor.get(`/dashboard/${ours}/audit-log`)).statusCode).toBe(404);
  });

  it('what a role may do stands on the page as the pages themselves ask it [dashboard.roles]', async () => {
    const { payload } = await owner.visitor.get(team());
    const rows = [...payload.matchAll(/<th scope="row">([^<]+)<\/th>([^]*?)<\/tr>/g)];
    const shown = rows.map(([, words, cells]) => [
      words,
      cells!.match(/\b(?:yes|no)\b/g)?.map((cell) => cell === 'yes'),
    ]);
    const asked = (Object.keys(ACTS) as Act[]).map((each) => [
      ACTS[each].words,
      ORGANISATION_ROLES.map((role) => may({ role, orgState: 'active' }, each)),
    ]);
    expect(shown).toEqual(asked);
  });

  const withPasskey = ({ person: { id } }: Someone) =>
    database.pool.query(
      `insert into persons.passkey (id, person_id, name, public_key, counter, transports, created_at)
       values ($1, $1, 'Phone', '\\x00', 0, '{}', now())`,
      [id],
    );
  const shownInSessions = ({ person: { id } }: Someone, hasShown: boolean) =>
    database.pool.query('update persons.session set confirmed_at = $2 where person_id = $1', [
      id,
      hasShown ? new Date() : null,
    ]);

  it('where an owner requires a second factor, its pages are shut to a password alone, who has none is led to set one up, and it is lifted with a proof [dashboard.second-factor-required, dashboard.team]', async () => {
    const [admin, member] = [await someone('admin'), await someone('member')];
    const rule = (one: Someone, name: 'require' | 'lift') =>
      one.visitor.send('/dashboard/account', `${team()}/second-factor/${name}`);
    expect((await rule(admin, 'require')).statusCode).toBe(403);
    // Who has none would shut themselves out.
    const refused = await rule(owner, 'require');
    expect([refused.statusCode, refused.payload.includes('no second factor yourself')]).toEqual([
      400,
      true,
    ]);
    await withPasskey(owner);
    await shownInSessions(owner, false);
    expect((await rule(owner, 'require')).payload).toContain('Confirm that it is you');
    await shownInSessions(owner, true);
    expect((await rule(owner, 'require')).headers.location).toBe(`${team()}?done=required`);
    expect((await owner.visitor.get(team())).payload).toContain('2 of 3 have none');

    const setUp = '/dashboard/account/second-factor';
    const { headers } = await member.visitor.get(`/dashboard/${ours}/receipts`);
    expect(headers.location).toBe(
      `${setUp}?to=${encodeURIComponent(`/dashboard/${ours}/receipts`)}`,
    );
    const page = await member.visitor.get(headers.location!);
    expect(page.payload).toContain('members need a second factor');
    const begun = await member.visitor.send(headers.location!, `${setUp}/begin`, {
      current: PASSWORD,
      to: `/dashboard/${ours}/receipts`,
    });
    expect(begun.payload).toContain(`name="to" value="/dashboard/${ours}/receipts"`);
    for (const path of ['keys', 'overview', 'team', 'usage.csv', 'audit-log.json']) {
      expect((await member.visitor.get(`/dashboard/${ours}/${path}`)).headers.location).toContain(
        setUp,
      );
    }
    const left = await member.visitor.send('/dashboard/account', `${team()}/remove`, {
      member: member.person.id,
    });
    expect([left.statusCode, left.headers.location]).toEqual([303, setUp]);

    // A passkey that the session has not shown opens nothing: a password alone has opened it.
    await withPasskey(member);
    await shownInSessions(member, false);
    const confirm = '/dashboard/account/confirm';
    const asked = await member.visitor.get(team());
    expect(asked.headers.location).toBe(`${confirm}?to=${encodeURIComponent(team())}`);
    expect((await member.visitor.get(asked.headers.location!)).payload).toContain(
      'confirm with your passkey',
    );
    const tried = await member.visitor.send(asked.headers.location!, confirm, {
      to: team(),
      'confirming-password': PASSWORD,
    });
    expect(tried.statusCode).toBe(403);
    await shownInSessions(member, true);
    expect((await member.visitor.get(asked.headers.location!)).headers.location).toBe(team());
    expect((await member.visitor.get(team())).statusCode).toBe(200);

    await shownInSessions(owner, true);
    expect((await rule(owner, 'lift')).headers.location).toBe(`${team()}?done=lifted`);
    expect((await admin.visitor.get(team())).statusCode).toBe(200);
    const { items } = await registries.audit.list({ orgId: ours, limit: 2, order: 'desc' });
    expect(items.map(({ action, details }) => [action, details])).toEqual([
      ['second_factor.required', '{"required":false}'],
      ['second_factor.required', '{"required":true}'],
    ]);
    expect(errors).toEqual([]);
  });

  it('owners see where members are signed in, and end it: the person is told, the log has it; others neither see nor end any [dashboard.member-sessions, dashboard.team, dashboard.organisations]', async () => {
    const [admin, member, stranger] = [
      await someone('admin'),
      await someone('member'),
      await someone(),
    ];
    const page = `${team()}/sessions`;
    const sessionOf = async ({ person }: Someone): Promise<string> =>
      (
        await database.pool.query<{ id: string }>(
          'select id from persons.session where person_id = $1',
          [person.id],
        )
      ).rows[0]!.id;
    const end = (one: Someone, session: string) =>
      one.visitor.send('/dashboard/account', `${page}/end`, { session });
    for (const path of ['', '/end']) {
      const form = formTokenOf((await admin.visitor.get('/dashboard/account')).payload);
      const { statusCode } =
        path === ''
          ? await admin.visitor.get(page)
          : await admin.visitor.post(page + path, { form });
      expect(statusCode).toBe(403);
    }
    await database.pool.query(
      `update persons.session set created_at = now() - interval '3 hours', address = '2001:db8:1:2:3::4'
         where id = $1`,
      [await sessionOf(member)],
    );
    const seen = (await owner.visitor.get(page)).payload;
    expect([
      seen.includes(await sessionOf(member)),
      seen.includes('2001:db8:1:2::/64'),
      seen.includes('3:0:0:4'),
      seen.includes(await sessionOf(stranger)),
      seen.includes('This one'),
    ]).toEqual([true, true, false, false, true]);
    expect((await end(owner, await sessionOf(stranger))).statusCode).toBe(404);
    expect((await stranger.visitor.get('/dashboard/account')).statusCode).toBe(200);
    const ended = await end(owner, await sessionOf(member));
    expect(ended.headers.location).toBe(`${page}?done=ended`);
    expect((await member.visitor.get(team())).headers.location).toContain('/dashboard/sign-in');
    expect(await lettersTo(member.person.email)).toEqual([
      expect.stringContaining('has ended a session of yours'),
    ]);
    const { items } = await registries.audit.list({ orgId: ours, limit: 1, order: 'desc' });
    expect(items).toMatchObject([
      { action: 'session.ended', actorId: owner.person.id, subject: member.person.id },
    ]);
  });

  it('when a session was last used is noted every five minutes, and not with each page [dashboard.member-sessions]', async () => {
    const usedAt = async (): Promise<Date | null> =>
      (
        await database.pool.query<{ last_used_at: Date | null }>(
          'select last_used_at from persons.session where person_id = $1',
          [owner.person.id],
        )
      ).rows[0]!.last_used_at;
    await owner.visitor.get(team());
    expect(await usedAt()).toBeNull();
    await database.pool.query(
      `update persons.session set created_at = now() - interval '5 minutes' where person_id = $1`,
      [owner.person.id],
    );
    await owner.visitor.get(team());
    const noted = await usedAt();
    expect(noted).not.toBeNull();
    await owner.visitor.get(team());
    expect(await usedAt()).toEqual(noted);
  });

  it('a page opens although it cannot be noted that its session is used, and that is reported [dashboard.member-sessions]', async () => {
    await database.pool.query(
      `update persons.session set created_at = now() - interval '5 minutes' where person_id = $1`,
      [owner.person.id],
    );
    await database.pool.query('revoke update on persons.session from docket_api');
    const { statusCode } = await owner.visitor.get(team());
    await database.pool.query('grant update on persons.session to docket_api');
    expect([statusCode, errors.length]).toEqual([200, 1]);
  });

  it('a session that ended while an owner was ending it is told of once, and stands in the log once [dashboard.member-sessions]', async () => {
    const [member, other] = [await someone('member'), await someone('owner')];
    const { rows } = await database.pool.query<{ id: string }>(
      'select id from persons.session where person_id = $1',
      [member.person.id],
    );
    const session = rows[0]!.id;
    const page = `${team()}/sessions`;
    const holding = await database.pool.connect();
    await holding.query('begin');
    await holding.query('select from persons.session where id = $1 for update', [session]);
    const ending = [owner, other].map(({ visitor }) =>
      visitor.send('/dashboard/account', `${page}/end`, { session }),
    );
    await until(() => waitsForLock(database.pool, 2), 'both wait');
    await holding.query('commit');
    holding.release();
    const replies = await Promise.all(ending);
    expect(new Set(replies.map(({ statusCode }) => statusCode))).toEqual(new Set([303, 404]));
    expect(await lettersTo(member.person.email)).toHaveLength(1);
    const { items } = await registries.audit.list({ orgId: ours, limit: 5, order: 'desc' });
    expect(items.filter(({ action }) => action === 'session.ended')).toHaveLength(1);
  });

  it('sessions by a password are no business of an organisation whose members get in by its issuer alone, save those of owners [dashboard.member-sessions]', async () => {
    const member = await someone('member');
    const listed = async (): Promise<boolean[]> => {
      const { payload } = await owner.visitor.get(`${team()}/sessions`);
      return [payload.includes(member.person.name), payload.includes('This one')];
    };
    expect(await listed()).toEqual([true, true]);
    await database.pool.query(
      `insert into persons.single_sign_on
           (org_id, issuer, client_id, client_secret, role, required, changed_at)
         values ($1, 'https://issuer.example', 'a', 'b', 'member', true, now())`,
      [ours],
    );
    expect(await listed()).toEqual([false, true]);
  });

  it('a second factor that one organisation requires leads no one there who has another that is open [dashboard.second-factor-required]', async () => {
    const { id: other } = await activeAccount(registries);
    const places = [ours, other].map(
      (orgId) => ({ kind: 'organisation', orgId, role: 'member' }) as const,
    );
    const visitor = browser({ address: '192.0.2.250' });
    await visitor.signIn(await newPerson(database.pool, places));
    for (const [asking, open] of [
      [ours, other],
      [other, ours],
    ] as const) {
      await database.pool.query('delete from persons.second_factor_rule');
      await database.pool.query('insert into persons.second_factor_rule values ($1, now())', [
        asking,
      ]);
      expect((await visitor.get('/dashboard')).headers.location).toContain(open);
    }
  });

  it('an address says that a second factor is required, or no longer, while that is so alone [dashboard.second-factor-required]', async () => {
    const { payload } = await owner.visitor.get(`${team()}?done=required`);
    expect(payload).not.toContain('A second factor is required');
    expect((await owner.visitor.get(`${team()}?done=lifted`)).payload).toContain(
      'no longer required',
    );
  });
});
