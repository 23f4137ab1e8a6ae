import { expect, it } from 'vitest';
import { createPasskeys } from '#shared/persons/postgres/passkeys.ts';
import { addProof, createSessions } from '#shared/persons/postgres/sessions.ts';
import type { SignedIn } from '#shared/persons/sessions.ts';
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

it(
  'a passkey is not there where other sessions stay confirmed by less',
  { tags: ['dashboard.second-factor', 'dashboard.step-up'] },
  async () => {
    const passkeys = createPasskeys(pool, clock);
    const [adding, other] = await twice();
    await pool.query(
      `create function refuse() returns trigger language plpgsql as $$ begin raise 'away'; end $$;
       create trigger refuse before update on persons.session for each row execute function refuse()`,
    );
    await expect(passkeys.add(adding, 'Phone', key('a'), OPERATOR)).rejects.toThrow('away');
    await pool.query('drop trigger refuse on persons.session');
    expect(await passkeys.of(adding.person.id)).toEqual([]);
    await passkeys.add(adding, 'Phone', key('a'), OPERATOR);
    expect([await confirmations(other), (await sessions.of(other.person.id)).length]).toEqual([
      1, 2,
    ]);
  },
);

it(
  'a password that is shown while something stronger is added counts no more',
  { tags: ['dashboard.second-factor', 'dashboard.step-up'] },
  async () => {
    const [adding, other] = await twice();
    let confirmed: Promise<void> | undefined;
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
    await confirmed;
    expect(await confirmations(other)).toBe(1);
  },
);

async function untilOneWaits(): Promise<void> {
  for (;;) {
    const { rowCount } = await pool.query(
      `select from pg_stat_activity where wait_event_type = 'Lock' and datname = current_database()`,
    );
    if (rowCount !== 0) return;
  }
}
