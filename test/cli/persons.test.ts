import { describe, expect, it } from 'vitest';
import { activeAccount, createRegistries } from '#test/support/accounts.ts';
import { createTestDatabase } from '#test/support/database.ts';
import { type CommandResult, HERE, runDocket } from '#test/support/docket-cli.ts';

const database = await createTestDatabase();
const registries = createRegistries(database.pool);

const persons = (...args: string[]): Promise<CommandResult> =>
  runDocket(['persons', ...args], { DATABASE_URL: database.url });

const add = (email: string, ...place: string[]): Promise<CommandResult> =>
  persons('add', email, '--name', 'Someone', ...place);

async function roles(orgId: string): Promise<string[]> {
  const { stdout } = await persons('list', '--org', orgId, '--json');
  const members = JSON.parse(stdout) as { email: string; role: string }[];
  return members.map(({ email, role }) => `${email} ${role}`).toSorted();
}

describe('docket persons', () => {
  it('adds, changes and removes members; the last owner is neither removed nor made anything else [dashboard.team]', async () => {
    const org = (await activeAccount(registries)).id;
    const [one, two] = ['one@person.example', 'two@person.example'];
    expect((await add(one, '--org', org, '--role', 'owner')).code).toBe(0);
    expect((await add(two, '--org', org, '--role', 'member')).code).toBe(0);
    const removal = await persons('remove', one, '--org', org);
    expect(removal).toMatchObject({ code: 1, stdout: '' });
    expect(removal.stderr).toContain('keeps one owner');
    expect((await add(one, '--org', org, '--role', 'admin')).code).toBe(1);
    expect(await roles(org)).toEqual([`${one} owner`, `${two} member`]);
    expect((await add(two, '--org', org, '--role', 'owner')).code).toBe(0);
    expect((await persons('remove', one, '--org', org)).code).toBe(0);
    expect((await persons('remove', one, '--org', org)).code).toBe(1);
    expect(await roles(org)).toEqual([`${two} owner`]);
  });

  it('an act by the command line says who typed it on which machine and why, and is listed by what it was', async () => {
    const org = (await activeAccount(registries)).id;
    const email = 'third@person.example';
    const place = ['--org', org, '--role', 'owner', '--name', 'Third'];
    expect((await persons('add', email, ...place, '--reason', 'asked by e-mail')).code).toBe(0);
    const list = (...args: string[]) =>
      runDocket(['audit', 'list', ...args], { DATABASE_URL: database.url });
    const found = await list('--org', org, '--action', 'member.added', '--json');
    expect(JSON.parse(found.stdout)).toMatchObject([
      {
        action: 'member.added',
        actor: { kind: 'operator', id: HERE },
        address: HERE,
        reason: 'asked by e-mail',
      },
    ]);
    const none = await list('--org', org, '--by', 'ada', '--to', '2020-01-01');
    expect(none).toMatchObject({ code: 0, stdout: 'No such act.\n' });
    expect(await list('--org', org, '--action', 'member.aded')).toMatchObject({
      code: 1,
      stdout: '',
    });
    expect((await list('--org', 'org_none')).code).toBe(1);
    const two = 'one\nanother';
    expect((await persons('add', email, ...place, '--reason', two)).code).toBe(1);
  });

  it('app, codes and passkeys are reset with the sessions that were open, of this person alone [dashboard.second-factor]', async () => {
    const emails = ['lost@person.example', 'other@person.example'];
    for (const email of emails) {
      expect((await add(email, '--staff', 'operator')).code).toBe(0);
      await database.pool.query(
        `with someone as (
             update persons.person set two_factor_enabled = true where email = $1 returning id
           ), factor as (
             insert into persons.two_factor (person_id, secret, recovery_codes, verified)
             select id, 'secret', '{code}', true from someone
           ), passkey as (
             insert into persons.passkey (id, person_id, name, public_key, counter, transports, created_at)
             select id, id, 'Phone', '\\x00', 0, '{}', now() from someone
           )
           insert into persons.session (id, person_id, token, expires_at, created_at)
           select id, id, id, now() + interval '1 hour', now() from someone`,
        [email],
      );
    }
    const act = ['reset-second-factor', emails[0]!];
    const silent = await persons(...act);
    expect([silent.code, silent.stderr]).toEqual([1, expect.stringContaining('--reason')]);
    act.push('--reason', 'lost the phone; asked back by telephone');
    const reset = await persons(...act);
    expect(reset).toMatchObject({ code: 0, stderr: '' });
    const { rows } = await database.pool.query(
      `select p.email, p.two_factor_enabled as "isOn",
                exists (select from persons.two_factor f where f.person_id = p.id) as "hasSecret",
                exists (select from persons.passkey k where k.person_id = p.id) as "hasPasskey",
                exists (select from persons.session s where s.person_id = p.id) as "hasSession"
         from persons.person p where p.email = any ($1) order by p.email`,
      [emails],
    );
    expect(rows).toEqual([
      { email: emails[0], isOn: false, hasSecret: false, hasPasskey: false, hasSession: false },
      { email: emails[1], isOn: true, hasSecret: true, hasPasskey: true, hasSession: true },
    ]);
    expect((await persons(...act)).code).toBe(1);
  });
});
