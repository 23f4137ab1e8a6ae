import type { Pool } from 'pg';
import { queriesOn } from '#shared/kernel/postgres/queries.ts';
import type { Queryable } from '#shared/kernel/postgres/transaction.ts';
import type { Surroundings } from '#shared/kernel/surroundings.ts';

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

    /** What is kept under a name, which stays. */
    async look(name: string): Promise<string | undefined> {
      const kept = await db
        .selectFrom('persons.verification')
        .select('value')
        .where('identifier', '=', name)
        .where('expires_at', '>', new Date(surroundings.now()))
        .executeTakeFirst();
      return kept?.value;
    },

    /** Gives it to the first who asks, if its time is not over. */
    take: (name: string): Promise<string | undefined> => takeErrand(pool, surroundings, name),
  };
}

/** The same, on the pool or within a transaction. */
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
