import { hash, randomBytes, randomUUID } from 'node:crypto';
import { sql } from 'kysely';
import type { Pool } from 'pg';
import { queriesOn } from '#shared/kernel/postgres/queries.ts';
import { inTransaction, type Queryable } from '#shared/kernel/postgres/transaction.ts';
import type { Surroundings } from '#shared/kernel/surroundings.ts';
import {
  type Session,
  SESSION_MS,
  SessionEnded,
  type SignedIn,
  USE_NOTED_MS,
} from '../sessions.ts';
import { whileCompared } from './compared-login.ts';

/** An open session, and whose it is. */
export interface Confirmed {
  person: Pick<SignedIn['person'], 'id'>;
  session: Pick<Session, 'id'>;
}

type NewSession = Omit<Session, 'id' | 'since' | 'until' | 'usedAt'> & { personId: string };

export type Sessions = ReturnType<typeof createSessions>;

/**
 * Open sessions, in PostgreSQL, which has hashes of their tokens: what it holds opens nothing.
 * @param onError is told when it could not be noted that one was used
 */
export function createSessions(
  pool: Pool,
  surroundings: Surroundings,
  onError: (error: unknown) => void,
) {
  const db = queriesOn(pool);
  const now = () => new Date(surroundings.now());
  /** A token of 256 bits, and what is kept of a session that begins with it. */
  const begin = () => {
    const token = randomBytes(32).toString('base64url');
    const times = { created_at: now(), expires_at: new Date(surroundings.now() + SESSION_MS) };
    return [token, { id: randomUUID(), token: hash('sha256', token), ...times }] as const;
  };
  const select = () =>
    db
      .selectFrom('persons.session as s')
      .innerJoin('persons.person as p', 'p.id', 's.person_id')
      .select(['p.id as person_id', 'p.name', 'p.email', 'p.two_factor_enabled', 's.id'])
      .select(['s.created_at', 's.expires_at', 's.address', 's.user_agent'])
      .select(['s.sso_org_id', 's.confirmed_at', 's.last_used_at'])
      .where('s.expires_at', '>', now());
  const rowOf = ({ personId, organisation, confirmedAt, address, userAgent }: NewSession) => ({
    person_id: personId,
    address,
    user_agent: userAgent,
    sso_org_id: organisation,
    confirmed_at: confirmedAt === null ? null : new Date(confirmedAt),
  });
  /** Once for the requests of one page. A note that fails shuts no page: what the page reads next says whether the store is away. */
  const noteUse = async (id: string): Promise<void> => {
    const before = new Date(surroundings.now() - USE_NOTED_MS);
    try {
      await db
        .updateTable('persons.session')
        .set({ last_used_at: now() })
        .where('id', '=', id)
        .where((eb) => eb(eb.fn.coalesce('last_used_at', 'created_at'), '<=', before))
        .execute();
    } catch (error) {
      onError(error);
    }
  };
  const open = async (session: NewSession, client: Queryable = pool) => {
    const [token, begun] = begin();
    await queriesOn(client)
      .insertInto('persons.session')
      .values({ ...begun, ...rowOf(session) })
      .execute();
    return { id: begun.id, token };
  };
  return {
    /** Returns the id and the token. `client`: in whose transaction it is opened, for what is to end with it. */
    open,

    /**
     * The same by a passkey that its person has just shown; null when it was removed meanwhile: who removes it waits for this, and
     * ends the session too where they end all.
     */
    openByPasskey: (passkey: string, session: NewSession) =>
      inTransaction(pool, async (client) => {
        const held = await queriesOn(client)
          .selectFrom('persons.passkey')
          .select('id')
          .where('id', '=', passkey)
          .where('person_id', '=', session.personId)
          .forKeyShare()
          .executeTakeFirst();
        return held === undefined ? null : open(session, client);
      }),

    /** The same by a password, of which this is the hash, while it is the person's; null when it is no more. */
    async openBy(password: string, session: NewSession) {
      const [token, begun] = begin();
      const { person_id: personId, ...placed } = rowOf(session);
      const row = { ...begun, ...placed };
      const names = Object.keys(row) as (keyof typeof row)[];
      const opened = await db
        .insertInto('persons.session')
        .columns(['person_id', ...names])
        .expression(
          whileCompared(db, { personId, password }).select((eb) => [
            'person_id',
            ...names.map((name) => eb.val(row[name]).as(name)),
          ]),
        )
        .returning('id')
        .executeTakeFirst();
      return opened === undefined ? null : { id: row.id, token };
    },

    /**
     * Whose session has this token; null for none, one that ended, and a person whose address is not confirmed. Notes that it
     * is used.
     */
    async find(token: string): Promise<SignedIn | null> {
      const row = await select()
        .select((eb) =>
          eb
            .exists(
              eb
                .selectFrom('persons.passkey as k')
                .select('k.id')
                .whereRef('k.person_id', '=', 'p.id'),
            )
            .$castTo<boolean>()
            .as('hasPasskey'),
        )
        .where('s.token', '=', hash('sha256', token))
        .where('p.email_verified', '=', true)
        .executeTakeFirst();
      if (row === undefined) return null;
      const { person_id: id, name, email, two_factor_enabled: hasSecondFactor, hasPasskey } = row;
      const session = sessionOf(row);
      if (surroundings.now() - session.usedAt >= USE_NOTED_MS) await noteUse(session.id);
      return { person: { id, name, email }, session, hasSecondFactor, hasPasskey };
    },

    /** Of a person, the newest first. */
    async of(personId: string): Promise<Session[]> {
      const rows = select().where('s.person_id', '=', personId).orderBy('s.created_at', 'desc');
      return (await rows.execute()).map(sessionOf);
    },

    /** Has a session go on under another id and token, which it returns; the old ones open nothing. */
    async renew(id: string): Promise<string> {
      const [token, begun] = begin();
      const renewed = { ...begun, last_used_at: null };
      await db.updateTable('persons.session').set(renewed).where('id', '=', id).execute();
      return token;
    },

    /**
     * Notes that the person of a session has just shown that it is they. A password counts for those who have nothing
     * stronger: neither an app nor a passkey. One that is being added is waited for. False when it does not count, or the
     * session has ended.
     */
    async confirm(
      { person, session }: Confirmed,
      by: 'password' | 'more than a password',
    ): Promise<boolean> {
      const hasMore = sql<boolean>`
        exists (select from persons.person p where p.id = s.person_id and p.two_factor_enabled)
          or exists (select from persons.passkey k where k.person_id = s.person_id)`;
      return inTransaction(pool, async (client) => {
        const on = queriesOn(client);
        if (by === 'password') await holdPerson(client, person.id);
        const confirmed = await on
          .updateTable('persons.session as s')
          .set({ confirmed_at: now() })
          .where('s.id', '=', session.id)
          .$if(by === 'password', (shown) => shown.where((eb) => eb.not(eb.parens(hasMore))))
          .returning('s.id')
          .executeTakeFirst();
        return confirmed !== undefined;
      });
    },

    async end(id: string): Promise<void> {
      await db.deleteFrom('persons.session').where('id', '=', id).execute();
    },

    /** Ends every session of a person, but one, and every command line that acts in their name. */
    async endOthers({ person, session }: SignedIn): Promise<void> {
      await db
        .deleteFrom('persons.session')
        .where('person_id', '=', person.id)
        .where('id', '<>', session.id)
        .execute();
      // After the sessions: one that is ended here may have been allowing a command line.
      await db.deleteFrom('persons.command_line').where('person_id', '=', person.id).execute();
    },
  };
}

/**
 * Adds something that a person can show from now on. What their other sessions have shown is no longer the strongest that there
 * is, so they are asked anew. Both happen or neither does: one that stayed confirmed by a password would count as
 * confirmed by more.
 * @param add returns whether it was added
 * @throws SessionEnded
 */
export const addProof = (
  pool: Pool,
  { person, session }: Confirmed,
  add: (client: Queryable) => Promise<boolean>,
): Promise<boolean> =>
  inTransaction(pool, async (client) => {
    await holdSession(client, { person, session });
    if (!(await add(client))) return false;
    await queriesOn(client)
      .updateTable('persons.session')
      .set({ confirmed_at: null })
      .where('person_id', '=', person.id)
      .where('id', '<>', session.id)
      .execute();
    return true;
  });

/**
 * For acts that change what a person signs in with, one after the other: what ends their session waits for such an act, or has
 * come before it. One that waited for its turn would otherwise outlive the session, and leave a way in behind it.
 * @throws SessionEnded
 */
export async function holdSession(
  client: Queryable,
  { person, session }: Confirmed,
): Promise<void> {
  await holdPerson(client, person.id);
  const open = await queriesOn(client)
    .selectFrom('persons.session')
    .select('id')
    .where('id', '=', session.id)
    .where('person_id', '=', person.id)
    .forKeyShare()
    .executeTakeFirst();
  if (open === undefined) throw new SessionEnded();
}

/**
 * Until the transaction has ended, no other one sets a password of this person, adds a proof of theirs or counts a password as
 * their strongest. Sessions and links of theirs begin meanwhile.
 */
export function holdPerson(client: Queryable, personId: string) {
  return queriesOn(client)
    .selectFrom('persons.person')
    .select(['email', 'email_verified'])
    .where('id', '=', personId)
    .forNoKeyUpdate()
    .executeTakeFirst();
}

/** A session as its row has it. */
export function sessionOf(row: {
  id: string;
  created_at: Date;
  expires_at: Date;
  address: string | null;
  user_agent: string | null;
  sso_org_id: string | null;
  confirmed_at: Date | null;
  last_used_at: Date | null;
}): Session {
  return {
    id: row.id,
    since: row.created_at.getTime(),
    until: row.expires_at.getTime(),
    usedAt: (row.last_used_at ?? row.created_at).getTime(),
    address: row.address,
    userAgent: row.user_agent,
    organisation: row.sso_org_id,
    confirmedAt: row.confirmed_at?.getTime() ?? null,
  };
}
