import { expect, it } from 'vitest';
import { createLogins } from '#shared/persons/postgres/logins.ts';
import { createPasskeys } from '#shared/persons/postgres/passkeys.ts';
import { createSecondFactors } from '#shared/persons/postgres/second-factors.ts';
import { addProof, createSessions } from '#shared/persons/postgres/sessions.ts';
import { SessionEnded, type SignedIn } from '#shared/persons/sessions.ts';
import { activeAccount, createRegistries, movableClock, OPERATOR } from '#test/support/accounts.ts';
import { newPerson } from '#test/support/dashboard.ts';
import { createTestDatabase } from '#test/support/database.ts';

const database = await createTestDatabase();
const { pool } = database;
const clock = movableClock();
const sessions = createSessions(pool, clock, () => {});
const { id: orgId } = await activeAccount(createRegistries(database.pool));

/** Two sessions of a person who has a password alone, both confirmed by it. */
async function twice(): Promise<[SignedIn, SignedIn]> {
  const { id: personId } = await newPerson(pool, [{ kind: 'organisation', orgId, role: 'owner' }]);
  const open = async () => {
    const { token } = await sessions.open({
      personId,
      organisation: null,
      confirmedAt: clock.now(),
      address: null,
      userAgent: null,
    });
    return (await sessions.find(token))!;
  };
  return [await open(), await open()];
}
const confirmations = async ({ person }: SignedIn) =>
  (await sessions.of(person.id)).filter(({ confirmedAt }) => confirmedAt !== null).length;
const key = (id: string) => ({
  id,
  publicKey: Uint8Array.of(1),
  counter: 0,
  transports: [],
});

it('a passkey is not there where other sessions stay confirmed by less [dashboard.second-factor, dashboard.step-up]', async () => {
  const [adding, other] = await twice();
  await pool.query(
    `create function refuse() returns trigger language plpgsql as $$ begin raise 'away'; end $$;
       create trigger refuse before update on persons.session for each row execute function refuse()`,
  );
  await expect(passkeys.add(adding, 'Phone', key('a'), OPERATOR)).rejects.toThrow('away');
  await pool.query('drop trigger refuse on persons.session');
  expect(await passkeys.of(adding.person.id)).toEqual([]);
  await passkeys.add(adding, 'Phone', key('a'), OPERATOR);
  expect([await confirmations(other), (await sessions.of(other.person.id)).length]).toEqual([1, 2]);
});

it('a password that is shown while something stronger is added counts no more [dashboard.second-factor, dashboard.step-up]', async () => {
  const [adding, other] = await twice();
  let confirmed: Promise<boolean> | undefined;
  await addProof(pool, adding, async (client) => {
    confirmed = sessions.confirm(other, 'password');
    // Its transaction waits for this one before the passkey is there.
    await untilOneWaits();
    await client.query(
      `insert into persons.passkey (id, person_id, name, public_key, counter, transports, created_at)
         values ('b', $1, 'Phone', '\\x01', 0, '{}', now())`,
      [adding.person.id],
    );
    return true;
  });
  // Nor is the act done that it was shown for.
  expect(await confirmed).toBe(false);
  expect(await confirmations(other)).toBe(1);
});

const logins = createLogins(pool, clock);
const secondFactors = createSecondFactors(pool, clock);
const passkeys = createPasskeys(pool, clock);
const passwordOf = async ({ person }: SignedIn) => (await logins.of(person.id))!.password!;
const step = (number: number) => ({ secret: 'sealed', step: number });

/** What a person can sign in with: by a session, changed in each way that there is. */
const changes = (by: SignedIn) => [
  () => passkeys.add(by, 'Phone', key(by.session.id), OPERATOR),
  () => passkeys.remove(by, by.person.id, OPERATOR),
  () => secondFactors.takeFirstStep(by, step(1)),
  () => secondFactors.end(by),
  () => logins.change(by, { from: 'another', to: 'another still' }),
];
const ways = async (of: SignedIn) => ({
  passkeys: (await passkeys.of(of.person.id)).map(({ id }) => id),
  password: await passwordOf(of),
  hasSecondFactor: (await logins.of(of.person.id))!.hasSecondFactor,
});

it('an act of a session that has ended while it waited changes nothing that its person signs in with [dashboard.session, dashboard.second-factor]', async () => {
  const [late, other] = await twice();
  await passkeys.add(other, 'Laptop', key(other.person.id), OPERATOR);
  await secondFactors.begin(other.person.id, 'sealed', []);
  const before = await ways(other);
  await sessions.endOthers(other);
  for (const change of changes(late)) await expect(change()).rejects.toThrow(SessionEnded);
  expect(await ways(other)).toEqual(before);
  expect(await sessions.confirm(late, 'more than a password')).toBe(false);
});

it('a passkey that is removed once it was shown opens no session [dashboard.passkeys]', async () => {
  const [by] = await twice();
  const id = `shown ${by.person.id}`;
  const own = { ...by.session, personId: by.person.id };
  const count = async () => (await sessions.of(by.person.id)).length;
  await passkeys.add(by, 'Phone', key(id), OPERATOR);
  await sessions.openByPasskey(id, own);
  expect([await sessions.openByPasskey('another', own), await count()]).toEqual([null, 3]);
  const removing = await pool.connect();
  await removing.query('begin');
  await removing.query('delete from persons.passkey where id = $1', [id]);
  const opened = sessions.openByPasskey(id, own);
  await untilOneWaits();
  await removing.query('commit');
  removing.release();
  expect([await opened, await count()]).toEqual([null, 3]);
});

it('nothing that a person signs in with changes without its e-mail [dashboard.password, dashboard.second-factor]', async () => {
  const [by] = await twice();
  await secondFactors.begin(by.person.id, 'sealed', []);
  const errand = `errand ${by.person.id}`;
  await pool.query(
    `insert into persons.verification (identifier, value, expires_at) values ($1, $2, $3)`,
    [errand, by.person.id, new Date(clock.now() + 60_000)],
  );
  const from = await passwordOf(by);
  const all = [
    () => secondFactors.takeFirstStep(by, step(1)),
    () => secondFactors.end(by),
    () => logins.reset(errand, 'set by a link'),
    () => logins.change(by, { from, to: 'changed' }),
  ];
  const before = await ways(by);
  await pool.query(
    `create or replace function refuse() returns trigger language plpgsql as $$ begin raise 'away'; end $$;
       create trigger refuse before insert on mail_outbox for each row execute function refuse()`,
  );
  for (const change of all) await expect(change()).rejects.toThrow('away');
  await pool.query('drop trigger refuse on mail_outbox');
  expect(await ways(by)).toEqual(before);
  const letters = async () =>
    (await pool.query('select from mail_outbox where recipient = $1', [by.person.email])).rowCount;
  const [on, off, , changed] = all;
  for (const change of [on!, off!, changed!]) await change();
  expect(await letters()).toBe(3);
});

async function untilOneWaits(): Promise<void> {
  for (;;) {
    const { rowCount } = await pool.query(
      `select from pg_stat_activity where wait_event_type = 'Lock' and datname = current_database()`,
    );
    if (rowCount !== 0) return;
  }
}
