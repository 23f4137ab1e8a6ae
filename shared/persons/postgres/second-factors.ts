import { sql } from 'kysely';
import type { Pool } from 'pg';
import { queueLetter } from '#shared/accounts/postgres/mail.ts';
import { queriesOn } from '#shared/kernel/postgres/queries.ts';
import { inTransaction, type Queryable } from '#shared/kernel/postgres/transaction.ts';
import type { Surroundings } from '#shared/kernel/surroundings.ts';
import { secondFactorLetter } from '../letters.ts';
import type { SignedIn } from '../sessions.ts';
import { addProof, holdSession } from './sessions.ts';

/** A step of time at which the app with this sealed secret has a code. */
interface Step {
  secret: string;
  /** As it is to be kept from now on, where that is not as it is. */
  renewed?: string;
  step: number;
}

export type SecondFactors = ReturnType<typeof createSecondFactors>;

/** Apps and recovery codes of persons, in PostgreSQL: secrets come sealed and codes as marks. */
export function createSecondFactors(pool: Pool, surroundings: Surroundings) {
  const db = queriesOn(pool);
  const now = () => new Date(surroundings.now());
  const takeStep = async (client: Queryable, personId: string, of: Step) => {
    const { secret, renewed = secret, step } = of;
    const taken = await queriesOn(client)
      .with('taken', (codes) =>
        codes
          .updateTable('persons.two_factor')
          .set({ last_step: step, verified: true, secret: renewed })
          .where('person_id', '=', personId)
          .where('secret', '=', secret)
          .where((eb) => eb.or([eb('last_step', 'is', null), eb('last_step', '<', step)]))
          .returning('person_id'),
      )
      .updateTable('persons.person as p')
      .from('taken')
      .set({ two_factor_enabled: true, updated_at: now() })
      .whereRef('p.id', '=', 'taken.person_id')
      .returning('p.id')
      .executeTakeFirst();
    return taken !== undefined;
  };
  return {
    /** Keeps a secret, which counts when its first code has come; false when the person has one that counts. */
    async begin(personId: string, secret: string, recovery_codes: string[]): Promise<boolean> {
      const begun = { secret, recovery_codes, last_step: null };
      const kept = await db
        .insertInto('persons.two_factor')
        .values({ person_id: personId, ...begun })
        .onConflict((conflict) =>
          conflict
            .column('person_id')
            .doUpdateSet(begun)
            .where(sql<boolean>`not two_factor.verified`),
        )
        .returning('person_id')
        .executeTakeFirst();
      return kept !== undefined;
    },

    /** The secret of one that counts, or that has begun. */
    async secretOf(personId: string, state: 'counts' | 'begun'): Promise<string | undefined> {
      const kept = await db
        .selectFrom('persons.two_factor')
        .select('secret')
        .where('person_id', '=', personId)
        .where('verified', '=', state === 'counts')
        .executeTakeFirst();
      return kept?.secret;
    },

    /**
     * Takes the code of a time step, once: neither it nor one that was shown before it is taken again (RFC 6238, 5.2). One
     * statement, so that of several at once one passes.
     */
    takeStep: (personId: string, step: Step): Promise<boolean> => takeStep(pool, personId, step),

    /** The same of the first one, from which on the app counts, and of a session by which it was begun. Its person gets an e-mail. */
    takeFirstStep: (begunBy: SignedIn, step: Step): Promise<boolean> =>
      addProof(pool, begunBy, async (client) => {
        const { person } = begunBy;
        if (!(await takeStep(client, person.id, step))) return false;
        await queueLetter(client, surroundings, secondFactorLetter(person, true));
        return true;
      }),

    /** Takes a recovery code by one of the marks that count of it, once. One statement, for the same reason. */
    async takeRecoveryCode(personId: string, marks: readonly string[]): Promise<boolean> {
      const taken = await db
        .updateTable('persons.two_factor')
        .set({
          recovery_codes: sql<
            string[]
          >`array(select unnest(recovery_codes) except select unnest(${marks}::text[]))`,
        })
        .where('person_id', '=', personId)
        .where('verified', '=', true)
        .where(sql<boolean>`recovery_codes && ${marks}::text[]`)
        .returning('person_id')
        .executeTakeFirst();
      return taken !== undefined;
    },

    /**
     * Forgets app and codes, by a session of the person, who gets an e-mail.
     * @throws SessionEnded
     */
    end: (signedIn: SignedIn): Promise<void> =>
      inTransaction(pool, async (client) => {
        const { person } = signedIn;
        await holdSession(client, signedIn);
        await queriesOn(client)
          .with('ended', (codes) =>
            codes.deleteFrom('persons.two_factor').where('person_id', '=', person.id),
          )
          .updateTable('persons.person')
          .set({ two_factor_enabled: false, updated_at: now() })
          .where('id', '=', person.id)
          .execute();
        await queueLetter(client, surroundings, secondFactorLetter(person, false));
      }),
  };
}
