import type { Pool } from 'pg';
import { queriesOn } from '#shared/kernel/postgres/queries.ts';
import type { Queryable } from '#shared/kernel/postgres/transaction.ts';
import type { Surroundings } from '#shared/kernel/surroundings.ts';
import { type ComparedLogin, whileCompared } from './compared-login.ts';

export type Errands = ReturnType<typeof createErrands>;

/**
 * What is kept of a person who has been sent for something, until they come back with it, once. Names are hashes and texts are
 * ids or sealed by the keeper; what is not come back for, housekeeping removes.
 */
export function createErrands(pool: Pool, surroundings: Surroundings) {
  const db = queriesOn(pool);
  return {
    async keep(name: string, text: string, until: number): Promise<void> {
      await db
        .insertInto('persons.verification')
        .values({ identifier: name, value: text, expires_at: new Date(until) })
        .execute();
    },

    /** Keeps the id of a person whose password was right, if it still is the one that was compared; false otherwise. */
    async keepFor(login: ComparedLogin, name: string, until: number): Promise<boolean> {
      const kept = await db
        .insertInto('persons.verification')
        .columns(['identifier', 'value', 'expires_at'])
        .expression(
          whileCompared(db, login).select((eb) => [
            eb.val(name).as('identifier'),
            'person_id',
            eb.val(new Date(until)).as('expires_at'),
          ]),
        )
        .returning('identifier')
        .executeTakeFirst();
      return kept !== undefined;
    },

    /** What is kept under a name, which stays. */
    look: (name: string): Promise<string | undefined> => lookErrand(pool, surroundings, name),

    /** Gives it to the first who asks, if its time is not over. */
    take: (name: string): Promise<string | undefined> => takeErrand(pool, surroundings, name),
  };
}

/** What is kept under a name, on the pool or within a transaction. */
export async function lookErrand(
  on: Queryable,
  surroundings: Surroundings,
  name: string,
): Promise<string | undefined> {
  const kept = await queriesOn(on)
    .selectFrom('persons.verification')
    .select('value')
    .where('identifier', '=', name)
    .where('expires_at', '>', new Date(surroundings.now()))
    .executeTakeFirst();
  return kept?.value;
}

/** The same, which is gone then. */
export async function takeErrand(
  on: Queryable,
  surroundings: Surroundings,
  name: string,
): Promise<string | undefined> {
  const taken = await queriesOn(on)
    .deleteFrom('persons.verification')
    .where('identifier', '=', name)
    .where('expires_at', '>', new Date(surroundings.now()))
    .returning('value')
    .executeTakeFirst();
  return taken?.value;
}
