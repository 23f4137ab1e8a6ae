import { sql } from 'kysely';
import type { Pool } from 'pg';
import { type Actor, SERVICE_CHAIN } from '#shared/accounts/audit/entry.ts';
import type { Account, NewAccount } from '#shared/accounts/account.ts';
import { createAccount } from '#shared/accounts/postgres/accounts.ts';
import { appendAudit } from '#shared/accounts/postgres/audit.ts';
import { queueLetter } from '#shared/accounts/postgres/mail.ts';
import type { Letter } from '#shared/accounts/letters.ts';
import { Fault, invalidParam } from '#shared/kernel/errors.ts';
import { queriesOn } from '#shared/kernel/postgres/queries.ts';
import { inTransaction } from '#shared/kernel/postgres/transaction.ts';
import type { Surroundings } from '#shared/kernel/surroundings.ts';
import { DAY_MS } from '#shared/kernel/time.ts';
import { checkPerson, emailTyped } from '../checks.ts';
import { factorsResetLetter } from '../letters.ts';
import { writePassword } from './logins.ts';
import { endPlaygroundOf, forgetIssuerLogin, keepAnOwner } from './team.ts';
import type { Membership, OrganisationRole, Person, StaffRole } from '../roles.ts';

/** How long a person who signed up may take to follow the link of the e-mail; they can ask for another. */
const UNCONFIRMED_MS = 7 * DAY_MS;
/** Members that a page lists. */
const MEMBERS_MAX = 1_000;

/** A member of an organisation, as its team page shows them. */
export interface Member extends Person {
  role: OrganisationRole;
  emailVerified: boolean;
  /** Epoch milliseconds. */
  since: number;
}

/** A member, and what they have beside a password; who has come by the organisation's issuer has that. */
export interface MemberWithFactors extends Member {
  factors: readonly ('app' | 'passkey' | 'single sign-on')[];
}

/** What a person is let in to: an organisation in a role, or the work of the service. */
export type Place =
  | { kind: 'organisation'; orgId: string; role: OrganisationRole }
  | { kind: 'staff'; role: StaffRole };

/** Persons and the parts they have, in PostgreSQL. */
export function createPersonRegistry(pool: Pool, surroundings: Surroundings) {
  const db = queriesOn(pool);
  const membersOf = (orgId: string) =>
    db
      .selectFrom('persons.membership as m')
      .innerJoin('persons.person as p', 'p.id', 'm.person_id')
      .select(['p.id', 'p.name', 'p.email', 'p.email_verified', 'm.role', 'm.created_at'])
      .where('m.org_id', '=', orgId)
      .orderBy('m.created_at')
      .orderBy('p.id')
      .limit(MEMBERS_MAX);
  const memberOf = (
    row: Awaited<ReturnType<ReturnType<typeof membersOf>['execute']>>[number],
  ): Member => ({
    id: row.id,
    name: row.name,
    email: row.email,
    emailVerified: row.email_verified,
    role: row.role,
    since: row.created_at.getTime(),
  });
  return {
    /** The organisations of a person, by name; behind them those of an owner that were closed within `closedReadMs`. */
    async memberships(personId: string, closedReadMs: number): Promise<Membership[]> {
      const rows = await db
        .selectFrom('persons.membership as m')
        .innerJoin('account as a', 'a.id', 'm.org_id')
        .leftJoin('persons.single_sign_on as s', 's.org_id', 'm.org_id')
        .leftJoin('persons.second_factor_rule as f', 'f.org_id', 'm.org_id')
        .select(['a.id', 'a.name', 'a.state', 'a.state_changed_at', 'm.role'])
        .select(['s.required', 'f.required_at'])
        .where('m.person_id', '=', personId)
        .where((eb) =>
          eb.or([
            eb('a.state', '<>', 'closed'),
            eb.and([
              eb('m.role', '=', 'owner'),
              eb('a.state_changed_at', '>', new Date(surroundings.now() - closedReadMs)),
            ]),
          ]),
        )
        .orderBy((eb) => eb('a.state', '=', 'closed'))
        .orderBy('a.name')
        .orderBy('a.id')
        .execute();
      return rows.map((row) => {
        const { id, name, state, role } = row;
        const since = row.state_changed_at.getTime();
        return {
          orgId: id,
          orgName: name,
          orgState: state,
          orgStateSince: since,
          readableUntil: state === 'closed' ? since + closedReadMs : null,
          role,
          // An owner keeps another way in: an issuer that is away, or set up wrong, shuts no owner out for good.
          asksSingleSignOn: row.required === true && role !== 'owner',
          asksSecondFactor: row.required_at !== null,
        };
      });
    },

    async staffRoles(personId: string): Promise<StaffRole[]> {
      const rows = await db
        .selectFrom('persons.staff')
        .select('role')
        .where('person_id', '=', personId)
        .orderBy('role')
        .execute();
      return rows.map(({ role }) => role);
    },

    /** A person by e-mail address, and whether they have a way in. */
    async find(email: string): Promise<(Person & { hasLogin: boolean }) | undefined> {
      return db
        .selectFrom('persons.person as p')
        .select((eb) => [
          'p.id',
          'p.name',
          'p.email',
          eb
            .exists(
              eb
                .selectFrom('persons.login as l')
                .select('l.person_id')
                .whereRef('l.person_id', '=', 'p.id'),
            )
            .$castTo<boolean>()
            .as('hasLogin'),
        ])
        .where('p.email', '=', emailTyped(email))
        .executeTakeFirst();
    },

    async members(orgId: string): Promise<Member[]> {
      return (await membersOf(orgId).execute()).map(memberOf);
    },

    /** The same with what each has beside a password, which operators at the command line may not read. */
    async membersWithFactors(orgId: string): Promise<MemberWithFactors[]> {
      const rows = await membersOf(orgId)
        .select((eb) => [
          'p.two_factor_enabled as hasApp',
          eb
            .exists(
              eb
                .selectFrom('persons.passkey as k')
                .select('k.id')
                .whereRef('k.person_id', '=', 'p.id'),
            )
            .$castTo<boolean>()
            .as('hasPasskey'),
          eb
            .exists(
              eb
                .selectFrom('persons.issuer_login as l')
                .innerJoin('persons.single_sign_on as s', (join) =>
                  join.onRef('s.org_id', '=', 'l.org_id').onRef('s.issuer', '=', 'l.issuer'),
                )
                .select('l.subject')
                .whereRef('l.org_id', '=', 'm.org_id')
                .whereRef('l.person_id', '=', 'p.id'),
            )
            .$castTo<boolean>()
            .as('hasIssuer'),
        ])
        .execute();
      return rows.map((row) => ({
        ...memberOf(row),
        factors: [
          ...(row.hasApp ? (['app'] as const) : []),
          ...(row.hasPasskey ? (['passkey'] as const) : []),
          ...(row.hasIssuer ? (['single sign-on'] as const) : []),
        ],
      }));
    },

    /** Members by a part of their name or e-mail address, in any case. */
    async searchMembers(
      orgId: string,
      part: string,
      limit: number,
    ): Promise<(Person & { role: OrganisationRole })[]> {
      const has = (text: 'p.name' | 'p.email') =>
        sql<boolean>`position(lower(${part}::text) in lower(${sql.ref(text)})) > 0`;
      return db
        .selectFrom('persons.membership as m')
        .innerJoin('persons.person as p', 'p.id', 'm.person_id')
        .select(['p.id', 'p.name', 'p.email', 'm.role'])
        .where('m.org_id', '=', orgId)
        .where((eb) => eb.or([has('p.name'), has('p.email'), eb('p.id', '=', part)]))
        .orderBy('p.name')
        .orderBy('p.id')
        .limit(limit)
        .execute();
    },

    /** Names by id, for those who stand in an audit log. */
    async names(ids: readonly string[]): Promise<Map<string, string>> {
      if (ids.length === 0) return new Map();
      const rows = await db
        .selectFrom('persons.person')
        .select(['id', 'name'])
        .where('id', 'in', [...new Set(ids)])
        .execute();
      return new Map(rows.map(({ id, name }) => [id, name]));
    },

    /** Who has followed the link of an e-mail has shown that the address is theirs. */
    async confirmEmail(personId: string): Promise<void> {
      await db
        .updateTable('persons.person')
        .set({ email_verified: true, updated_at: new Date(surroundings.now()) })
        .where('id', '=', personId)
        .execute();
    },

    async sendLetter(letter: Letter): Promise<void> {
      await queueLetter(pool, surroundings, letter);
    },

    /** Makes a person known who has come by themselves. One who has the address already stays as they are. */
    async signUp(who: Pick<Person, 'name' | 'email'>): Promise<void> {
      await ensurePerson(pool, surroundings, who);
    },

    /** Opens an account for an organisation, which this person owns. */
    found: (person: Person, account: NewAccount, actor: Actor): Promise<Account> =>
      inTransaction(pool, async (client) => {
        const founded = await createAccount(client, surroundings, account, actor);
        const created_at = new Date(surroundings.now());
        await queriesOn(client)
          .insertInto('persons.membership')
          .values({ person_id: person.id, org_id: founded.id, role: 'owner', created_at })
          .execute();
        const { name, email } = person;
        await appendAudit(client, surroundings, {
          orgId: founded.id,
          action: 'member.added',
          actor,
          subject: person.id,
          details: { name, email, role: 'owner' },
        });
        return founded;
      }),

    /** Removes sessions, command lines, links and invitations whose time is over, and who never followed theirs and has no part anywhere. */
    async removeExpired(): Promise<void> {
      const now = new Date(surroundings.now());
      await db.deleteFrom('persons.session').where('expires_at', '<', now).execute();
      await db.deleteFrom('persons.command_line').where('expires_at', '<', now).execute();
      await db.deleteFrom('persons.verification').where('expires_at', '<', now).execute();
      await db.deleteFrom('persons.invitation').where('expires_at', '<', now).execute();
      await db
        .deleteFrom('persons.person as p')
        .where('email_verified', '=', false)
        .where('created_at', '<', new Date(surroundings.now() - UNCONFIRMED_MS))
        .where((eb) => {
          const membership = eb
            .selectFrom('persons.membership as m')
            .select('m.org_id')
            .whereRef('m.person_id', '=', 'p.id');
          const staff = eb
            .selectFrom('persons.staff as s')
            .select('s.role')
            .whereRef('s.person_id', '=', 'p.id');
          return eb.not(eb.or([eb.exists(membership), eb.exists(staff)]));
        })
        .execute();
    },

    /**
     * Lets a person in: makes the person when the address is new, and gives them the part. Doing it again changes the
     * role. The e-mail, when there is one, leaves with the act.
     */
    add: (
      who: Pick<Person, 'name' | 'email'>,
      place: Place,
      actor: Actor,
      letterOf?: (person: Person) => Letter,
    ): Promise<Person> =>
      inTransaction(pool, async (client) => {
        const person = await ensurePerson(client, surroundings, who);
        const created_at = new Date(surroundings.now());
        const part = { person_id: person.id, created_at };
        const on = queriesOn(client);
        if (place.kind === 'staff') {
          await on
            .insertInto('persons.staff')
            .values({ ...part, role: place.role })
            .onConflict((conflict) => conflict.columns(['person_id', 'role']).doNothing())
            .execute();
        } else {
          const { orgId, role } = place;
          const known = await on
            .selectFrom('account')
            .select('id')
            .where('id', '=', orgId)
            .executeTakeFirst();
          if (known === undefined) throw new Fault('organisation_not_found');
          if (role !== 'owner') await keepAnOwner(client, orgId, person.id);
          await on
            .insertInto('persons.membership')
            .values({ ...part, org_id: orgId, role })
            .onConflict((conflict) =>
              conflict.columns(['person_id', 'org_id']).doUpdateSet({ role }),
            )
            .execute();
          await endPlaygroundOf(client, surroundings, { orgId, personId: person.id, role, actor });
        }
        if (letterOf !== undefined) await queueLetter(client, surroundings, letterOf(person));
        await appendAudit(client, surroundings, {
          orgId: place.kind === 'staff' ? SERVICE_CHAIN : place.orgId,
          action: place.kind === 'staff' ? 'staff.added' : 'member.added',
          actor,
          subject: person.id,
          details: { name: person.name, email: person.email, role: place.role },
        });
        return person;
      }),

    /** Takes a part away. The person stays, with their other parts; an organisation keeps an owner. */
    remove: (email: string, place: Place, actor: Actor): Promise<void> =>
      inTransaction(pool, async (client) => {
        const on = queriesOn(client);
        const person = await on
          .selectFrom('persons.person')
          .select(['id', 'name', 'email'])
          .where('email', '=', emailTyped(email))
          .executeTakeFirst();
        const id = person?.id ?? '';
        if (place.kind === 'organisation') await keepAnOwner(client, place.orgId, id);
        const removed =
          place.kind === 'staff'
            ? await on
                .deleteFrom('persons.staff')
                .where('person_id', '=', id)
                .where('role', '=', place.role)
                .returning('role')
                .executeTakeFirst()
            : await on
                .deleteFrom('persons.membership')
                .where('person_id', '=', id)
                .where('org_id', '=', place.orgId)
                .returning('role')
                .executeTakeFirst();
        if (person === undefined || removed === undefined) {
          throw invalidParam('email', 'There is no such person in this place.');
        }
        if (place.kind === 'organisation') {
          await forgetIssuerLogin(client, place.orgId, id);
          await endPlaygroundOf(client, surroundings, { orgId: place.orgId, personId: id, actor });
        }
        await appendAudit(client, surroundings, {
          orgId: place.kind === 'staff' ? SERVICE_CHAIN : place.orgId,
          action: place.kind === 'staff' ? 'staff.removed' : 'member.removed',
          actor,
          subject: id,
          details: { name: person.name, email: person.email, role: removed.role },
        });
      }),

    /**
     * For a person who has lost app, codes and passkeys: the password alone lets them in again and confirms what they do, and
     * every open session of theirs ends. Who they are, support has to find out.
     */
    removeSecondFactor: (email: string, actor: Actor): Promise<void> =>
      inTransaction(pool, async (client) => {
        const on = queriesOn(client);
        const person = await on
          .updateTable('persons.person as p')
          .set({ two_factor_enabled: false, updated_at: new Date(surroundings.now()) })
          .where('p.email', '=', emailTyped(email))
          .where((eb) =>
            eb.or([
              eb('p.two_factor_enabled', '=', true),
              eb.exists(
                eb
                  .selectFrom('persons.passkey as k')
                  .select('k.person_id')
                  .whereRef('k.person_id', '=', 'p.id'),
              ),
            ]),
          )
          .returning(['p.id', 'p.name', 'p.email'])
          .executeTakeFirst();
        if (person === undefined) {
          throw invalidParam('email', 'There is no person with a second factor of this address.');
        }
        await on.deleteFrom('persons.two_factor').where('person_id', '=', person.id).execute();
        await on.deleteFrom('persons.passkey').where('person_id', '=', person.id).execute();
        await on.deleteFrom('persons.session').where('person_id', '=', person.id).execute();
        await on.deleteFrom('persons.command_line').where('person_id', '=', person.id).execute();
        await queueLetter(client, surroundings, factorsResetLetter(person));
        await appendAudit(client, surroundings, {
          orgId: SERVICE_CHAIN,
          action: 'second_factor.reset',
          actor,
          subject: person.id,
          details: { name: person.name, email: person.email },
        });
      }),

    /**
     * Sets a password that was hashed before, ends every session of the person and what is on its way to one, and takes the
     * address as confirmed. For machines of one's own.
     */
    setPassword: (person: Pick<Person, 'id'>, passwordHash: string): Promise<void> =>
      inTransaction(pool, (client) => writePassword(client, surroundings, person.id, passwordHash)),
  };
}

/** A person by their address, made known when it is new. */
export async function ensurePerson(
  client: Parameters<typeof queriesOn>[0],
  surroundings: Surroundings,
  who: Pick<Person, 'name' | 'email'>,
): Promise<Person> {
  const on = queriesOn(client);
  const { name, email } = checkPerson(who);
  await on
    .insertInto('persons.person')
    .values({ id: surroundings.newId('usr'), name, email })
    .onConflict((conflict) => conflict.column('email').doNothing())
    .execute();
  return on
    .selectFrom('persons.person')
    .select(['id', 'name', 'email'])
    .where('email', '=', email)
    .executeTakeFirstOrThrow();
}

/** A rate over all processes: so many at once, then one each so often. */
export interface Attempts {
  burst: number;
  intervalMs: number;
}

/**
 * Counts an attempt under a name; returns in how many milliseconds there is one again, 0 when it is taken. It is taken by one
 * statement, so that attempts at once cannot pass together; one that has to wait is seen by a read, so that those who are
 * refused do not queue for the row. It stands in PostgreSQL, without which no person signs in anyhow.
 */
export async function takeAttempt(pool: Pool, name: string, rate: Attempts): Promise<number> {
  const waitMs = await waitOfAttempt(pool, name, rate);
  if (waitMs > 0 || (await isTaken(pool, name, rate))) return waitMs;
  // Others were faster.
  return Math.max(1, await waitOfAttempt(pool, name, rate));
}

/** How much later than now the newest of so many attempts at once may be due. */
const aheadOf = ({ burst, intervalMs }: Attempts) =>
  sql<Date>`make_interval(secs => ${((burst - 1) * intervalMs) / 1_000}::float8)`;

async function waitOfAttempt(pool: Pool, name: string, rate: Attempts): Promise<number> {
  const waiting = await queriesOn(pool)
    .selectFrom('persons.rate')
    .select(
      sql<number>`extract(epoch from (due_at - now() - ${aheadOf(rate)}))::float8 * 1000`.as(
        'waitMs',
      ),
    )
    .where('name', '=', name)
    .executeTakeFirst();
  return Math.max(0, Math.ceil(waiting?.waitMs ?? 0));
}

async function isTaken(pool: Pool, name: string, rate: Attempts): Promise<boolean> {
  const interval = sql<Date>`make_interval(secs => ${rate.intervalMs / 1_000}::float8)`;
  const taken = await queriesOn(pool)
    // A due time that has passed says nothing any more.
    .with('stale', (stale) =>
      stale.deleteFrom('persons.rate').where(
        'name',
        'in',
        stale
          .selectFrom('persons.rate')
          .select('name')
          .where('due_at', '<', sql<Date>`now() - interval '1 hour'`)
          .where('name', '<>', name)
          .limit(20)
          .forUpdate()
          .skipLocked(),
      ),
    )
    .insertInto('persons.rate')
    .values({ name, due_at: sql<Date>`now() + ${interval}` })
    .onConflict((conflict) =>
      conflict
        .column('name')
        .doUpdateSet({ due_at: sql<Date>`greatest(rate.due_at, now()) + ${interval}` })
        .where(sql<boolean>`rate.due_at <= now() + ${aheadOf(rate)}`),
    )
    .returning('due_at')
    .execute();
  return taken.length > 0;
}
