import type { Pool } from 'pg';
import { type Actor, SERVICE_CHAIN } from '#shared/accounts/audit/entry.ts';
import { appendAudit } from '#shared/accounts/postgres/audit.ts';
import { queueLetter } from '#shared/accounts/postgres/mail.ts';
import { invalidParam } from '#shared/kernel/errors.ts';
import { isPrintable, printable } from '#shared/kernel/plain-text.ts';
import { queriesOn } from '#shared/kernel/postgres/queries.ts';
import { inTransaction } from '#shared/kernel/postgres/transaction.ts';
import type { Surroundings } from '#shared/kernel/surroundings.ts';
import { passkeyLetter } from '../letters.ts';
import type { SignedIn } from '../sessions.ts';
import { addProof, holdSession } from './sessions.ts';

/** Devices that one person has. */
const PASSKEYS_MAX = 20;
const NAME_LENGTH_MAX = 100;

/** A passkey as its person sees it. */
export interface Passkey {
  id: string;
  name: string;
  /** Epoch milliseconds. */
  createdAt: number;
  lastUsedAt: number | null;
}

/** What a signature is checked with. */
export interface PasskeyKey {
  id: string;
  publicKey: Uint8Array<ArrayBuffer>;
  counter: number;
  transports: readonly string[];
}

export type Passkeys = ReturnType<typeof createPasskeys>;

/** Passkeys of persons, in PostgreSQL. */
export function createPasskeys(pool: Pool, surroundings: Surroundings) {
  const db = queriesOn(pool);
  return {
    async of(personId: string): Promise<Passkey[]> {
      const rows = await db
        .selectFrom('persons.passkey')
        .select(['id', 'name', 'created_at', 'last_used_at'])
        .where('person_id', '=', personId)
        .orderBy('created_at')
        .execute();
      return rows.map((row) => ({
        id: row.id,
        name: row.name,
        createdAt: row.created_at.getTime(),
        lastUsedAt: row.last_used_at?.getTime() ?? null,
      }));
    },

    /** A passkey, and whose it is. Of who has not confirmed the address there is none. */
    async find(id: string): Promise<(PasskeyKey & { personId: string }) | undefined> {
      const row = await db
        .selectFrom('persons.passkey as k')
        .innerJoin('persons.person as p', 'p.id', 'k.person_id')
        .select(['k.id', 'k.person_id', 'k.public_key', 'k.counter', 'k.transports'])
        .where('k.id', '=', id)
        .where('p.email_verified', '=', true)
        .executeTakeFirst();
      if (row === undefined) return undefined;
      return {
        id: row.id,
        personId: row.person_id,
        publicKey: new Uint8Array(row.public_key),
        counter: Number(row.counter),
        transports: row.transports,
      };
    },

    /** Notes a use; false when a device that counts has counted as far already: two of them do not pass with one signature. */
    async use(id: string, counter: number): Promise<boolean> {
      const used = await db
        .updateTable('persons.passkey')
        .set({ counter: String(counter), last_used_at: new Date(surroundings.now()) })
        .where('id', '=', id)
        .where((eb) =>
          counter === 0 ? eb('counter', '=', '0') : eb('counter', '<', String(counter)),
        )
        .returning('id')
        .executeTakeFirst();
      return used !== undefined;
    },

    /** Adds one under a name, by a session of the person, who gets an e-mail, in case it was not they. */
    add: (signedIn: SignedIn, typed: string, key: PasskeyKey, actor: Actor): Promise<boolean> =>
      addProof(pool, signedIn, async (client) => {
        const { person } = signedIn;
        const name = printable(typed);
        if (!isPrintable(name, NAME_LENGTH_MAX)) {
          throw invalidParam(
            'name',
            `A passkey needs a name of 1 to ${NAME_LENGTH_MAX} characters.`,
          );
        }
        const on = queriesOn(client);
        const { count } = await on
          .selectFrom('persons.passkey')
          .select((eb) => eb.fn.countAll<string>().as('count'))
          .where('person_id', '=', person.id)
          .executeTakeFirstOrThrow();
        if (Number(count) >= PASSKEYS_MAX) {
          throw invalidParam(
            'name',
            `There are ${PASSKEYS_MAX} passkeys already: remove one first.`,
          );
        }
        const added = await on
          .insertInto('persons.passkey')
          .values({
            id: key.id,
            person_id: person.id,
            name,
            public_key: Buffer.from(key.publicKey),
            counter: String(key.counter),
            transports: [...key.transports],
            created_at: new Date(surroundings.now()),
          })
          .onConflict((conflict) => conflict.column('id').doNothing())
          .returning('id')
          .executeTakeFirst();
        if (added === undefined) throw invalidParam('name', 'This passkey is known already.');
        await queueLetter(client, surroundings, passkeyLetter(person, name, true));
        await appendAudit(client, surroundings, {
          orgId: SERVICE_CHAIN,
          action: 'passkey.added',
          actor,
          subject: person.id,
          details: { name },
        });
        return true;
      }),

    /**
     * Removes one of this person's, by a session of theirs. Another's is as none.
     * @throws SessionEnded
     */
    remove: (signedIn: SignedIn, id: string, actor: Actor): Promise<void> =>
      inTransaction(pool, async (client) => {
        const { person } = signedIn;
        await holdSession(client, signedIn);
        const removed = await queriesOn(client)
          .deleteFrom('persons.passkey')
          .where('id', '=', id)
          .where('person_id', '=', person.id)
          .returning('name')
          .executeTakeFirst();
        if (removed === undefined) throw invalidParam('name', 'There is no such passkey.');
        const { name } = removed;
        await queueLetter(client, surroundings, passkeyLetter(person, name, false));
        await appendAudit(client, surroundings, {
          orgId: SERVICE_CHAIN,
          action: 'passkey.removed',
          actor,
          subject: person.id,
          details: { name },
        });
      }),
  };
}
