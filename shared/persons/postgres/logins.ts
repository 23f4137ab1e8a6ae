import type { Pool, PoolClient } from 'pg';
import { queueLetter } from '#shared/accounts/postgres/mail.ts';
import { queriesOn } from '#shared/kernel/postgres/queries.ts';
import { inTransaction } from '#shared/kernel/postgres/transaction.ts';
import type { Surroundings } from '#shared/kernel/surroundings.ts';
import { emailTyped } from '../checks.ts';
import { passwordLetter } from '../letters.ts';
import type { SignedIn } from '../sessions.ts';
import { lookErrand, takeErrand } from './errands.ts';
import { holdPerson, holdSession } from './sessions.ts';

export type Logins = ReturnType<typeof createLogins>;

/** Passwords of persons, in PostgreSQL. */
export function createLogins(pool: Pool, surroundings: Surroundings) {
  const personWith = (column: 'p.id' | 'p.email', value: string) =>
    queriesOn(pool)
      .selectFrom('persons.person as p')
      .leftJoin('persons.login as l', 'l.person_id', 'p.id')
      .select(['p.id', 'p.name', 'p.email', 'p.email_verified as isConfirmed', 'l.password'])
      .select('p.two_factor_enabled as hasSecondFactor')
      .where(column, '=', value)
      .executeTakeFirst();
  return {
    /** A person by the e-mail address, and the password as it is kept; null before they have chosen one. */
    find: (email: string) => personWith('p.email', emailTyped(email)),

    /** The same by the id. */
    of: (personId: string) => personWith('p.id', personId),

    /**
     * Changes a password by a session of its person, who gets an e-mail, while it is the one that was compared; false when another
     * was set meanwhile.
     * @throws SessionEnded
     */
    change: (signedIn: SignedIn, { from, to }: { from: string; to: string }): Promise<boolean> =>
      inTransaction(pool, async (client) => {
        const { id: personId } = signedIn.person;
        await holdSession(client, signedIn);
        const kept = await queriesOn(client)
          .selectFrom('persons.login')
          .select('password')
          .where('person_id', '=', personId)
          .executeTakeFirst();
        if (kept?.password !== from) return false;
        await writePassword(client, surroundings, personId, to);
        await queueLetter(client, surroundings, passwordLetter(signedIn.person));
        return true;
      }),

    /**
     * Sets the password of the one who was sent for it, once; false when they have come before, or too late. They get an e-mail,
     * unless it confirms their address.
     */
    reset: (errand: string, passwordHash: string): Promise<boolean> =>
      inTransaction(pool, async (client) => {
        const personId = await lookErrand(client, surroundings, errand);
        if (personId === undefined) return false;
        // Of two links of one person that come at once each would wait for the other's row.
        const person = await holdPerson(client, personId);
        if (person === undefined) return false;
        if ((await takeErrand(client, surroundings, errand)) === undefined) return false;
        await writePassword(client, surroundings, personId, passwordHash);
        if (person.email_verified) await queueLetter(client, surroundings, passwordLetter(person));
        return true;
      }),
  };
}

/**
 * Sets a password that was hashed before, takes the address as confirmed, and ends every session and command line of the person and all that
 * is on its way to one: links of e-mails, and passwords that wait for a code. Those that the password before opens are
 * written under a lock on it, so that each is either ended here or not written.
 */
export async function writePassword(
  client: PoolClient,
  surroundings: Surroundings,
  person_id: string,
  password: string,
): Promise<void> {
  const on = queriesOn(client);
  const updated_at = new Date(surroundings.now());
  await on
    .updateTable('persons.person')
    .set({ email_verified: true, updated_at })
    .where('id', '=', person_id)
    .execute();
  await on
    .insertInto('persons.login')
    .values({ person_id, password, updated_at })
    .onConflict((conflict) => conflict.column('person_id').doUpdateSet({ password, updated_at }))
    .execute();
  await on.deleteFrom('persons.session').where('person_id', '=', person_id).execute();
  await on.deleteFrom('persons.command_line').where('person_id', '=', person_id).execute();
  await on.deleteFrom('persons.verification').where('value', '=', person_id).execute();
}
