import type { Pool, PoolClient } from 'pg';
import { queriesOn } from '#shared/kernel/postgres/queries.ts';
import { inTransaction } from '#shared/kernel/postgres/transaction.ts';
import type { Surroundings } from '#shared/kernel/surroundings.ts';
import { takeErrand } from './errands.ts';

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
    find: (email: string) => personWith('p.email', email.trim().toLowerCase()),

    /** The same by the id. */
    of: (personId: string) => personWith('p.id', personId),

    change: (personId: string, passwordHash: string): Promise<void> =>
      inTransaction(pool, (client) => writePassword(client, surroundings, personId, passwordHash)),

    /** Sets the password of the one who was sent for it, once; false when they have come before, or too late. */
    reset: (errand: string, passwordHash: string): Promise<boolean> =>
      inTransaction(pool, async (client) => {
        const personId = await takeErrand(client, surroundings, errand);
        if (personId === undefined) return false;
        await writePassword(client, surroundings, personId, passwordHash);
        return true;
      }),
  };
}

/** Sets a password that was hashed before, ends every session of the person, and takes the address as confirmed. */
export async function writePassword(
  client: PoolClient,
  surroundings: Surroundings,
  person_id: string,
  password: string,
): Promise<void> {
  const on = queriesOn(client);
  const updated_at = new Date(surroundings.now());
  await on.deleteFrom('persons.session').where('person_id', '=', person_id).execute();
  await on
    .insertInto('persons.login')
    .values({ person_id, password, updated_at })
    .onConflict((conflict) => conflict.column('person_id').doUpdateSet({ password, updated_at }))
    .execute();
  await on
    .updateTable('persons.person')
    .set({ email_verified: true, updated_at })
    .where('id', '=', person_id)
    .execute();
}
