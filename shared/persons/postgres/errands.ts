import { randomUUID } from 'node:crypto';
import type { Pool } from 'pg';
import { queriesOn } from '#shared/kernel/postgres/queries.ts';
import type { Surroundings } from '#shared/kernel/surroundings.ts';

export type Errands = ReturnType<typeof createErrands>;

/**
 * What is kept of a person who has been sent for something, until they come back with it, once. Names are hashes and texts are
 * sealed by the keeper; what is not come back for, housekeeping removes.
 */
export function createErrands(pool: Pool, surroundings: Surroundings) {
  const db = queriesOn(pool);
  return {
    async keep(name: string, text: string, until: number): Promise<void> {
      const now = new Date(surroundings.now());
      await db
        .insertInto('persons.verification')
        .values({
          id: randomUUID(),
          identifier: `errand ${name}`,
          value: text,
          expires_at: new Date(until),
          created_at: now,
          updated_at: now,
        })
        .execute();
    },

    /** Gives it to the first who asks, if its time is not over. */
    async take(name: string): Promise<string | undefined> {
      const taken = await db
        .deleteFrom('persons.verification')
        .where('identifier', '=', `errand ${name}`)
        .where('expires_at', '>', new Date(surroundings.now()))
        .returning('value')
        .executeTakeFirst();
      return taken?.value;
    },
  };
}
