import type { Pool, PoolClient } from 'pg';
import type { Actor } from '#shared/accounts/audit/entry.ts';
import { holdAccount } from '#shared/accounts/postgres/accounts.ts';
import { appendAudit } from '#shared/accounts/postgres/audit.ts';
import { endPlaygrounds } from '#shared/accounts/postgres/playground-keys.ts';
import { queueLetter } from '#shared/accounts/postgres/mail.ts';
import type { Letter } from '#shared/accounts/letters.ts';
import { Fault, invalidParam } from '#shared/kernel/errors.ts';
import { queriesOn } from '#shared/kernel/postgres/queries.ts';
import { inTransaction } from '#shared/kernel/postgres/transaction.ts';
import type { Surroundings } from '#shared/kernel/surroundings.ts';
import { DAY_MS } from '#shared/kernel/time.ts';
import { checkEmail } from '../checks.ts';
import { checkInviting } from '../inviting.ts';
import { isActOf, mayAssign, type OrganisationRole, type Person } from '../roles.ts';
import { type Session, SESSIONS_MAX } from '../sessions.ts';
import { sessionOf } from './sessions.ts';

/** Long enough for a holiday; an invitation that was not taken is not left open for ever. */
const INVITATION_MS = 14 * DAY_MS;

/** An open session of a member, which opens the pages of the organisation. */
export interface MemberSession {
  member: Person;
  session: Session;
}

/** A part in an organisation that waits for a person to take it. */
export interface Invitation {
  orgId: string;
  orgName: string;
  email: string;
  role: OrganisationRole;
  /** Epoch milliseconds. */
  at: number;
  until: number;
}

/** An act on a team: whose it is, who does it, and in which role. */
interface Act {
  orgId: string;
  actor: Actor;
  by: OrganisationRole;
}

/** How an organisation lets people in and out by itself, in PostgreSQL. */
export function createTeams(pool: Pool, surroundings: Surroundings) {
  const open = () =>
    queriesOn(pool)
      .selectFrom('persons.invitation as i')
      .innerJoin('account as a', 'a.id', 'i.org_id')
      .select(['i.org_id', 'a.name', 'i.email', 'i.role', 'i.created_at', 'i.expires_at'])
      .where('i.expires_at', '>', new Date(surroundings.now()))
      .where('a.state', '<>', 'closed')
      .orderBy('i.created_at')
      .orderBy('i.email');
  const read = async (rows: ReturnType<typeof open>): Promise<Invitation[]> =>
    (await rows.execute()).map((row) => ({
      orgId: row.org_id,
      orgName: row.name,
      email: row.email,
      role: row.role,
      at: row.created_at.getTime(),
      until: row.expires_at.getTime(),
    }));

  /**
   * Sessions that are an organisation's business: those of its members, but for those that another's issuer has opened, and those
   * opened by a password of members who get in by its own issuer alone.
   */
  const sessionsOn = (client: Parameters<typeof queriesOn>[0], orgId: string) =>
    queriesOn(client)
      .selectFrom('persons.session as s')
      .innerJoin('persons.membership as m', 'm.person_id', 's.person_id')
      .innerJoin('persons.person as p', 'p.id', 's.person_id')
      .leftJoin('persons.single_sign_on as o', 'o.org_id', 'm.org_id')
      .select(['p.id as person_id', 'p.name', 'p.email', 's.id', 's.created_at', 's.expires_at'])
      .select(['s.address', 's.user_agent', 's.sso_org_id', 's.confirmed_at', 's.last_used_at'])
      .where('m.org_id', '=', orgId)
      .where('s.expires_at', '>', new Date(surroundings.now()))
      .where((eb) =>
        eb.or([
          eb('s.sso_org_id', '=', orgId),
          eb.and([
            eb('s.sso_org_id', 'is', null),
            eb.or([eb('m.role', '=', 'owner'), eb('o.required', 'is not', true)]),
          ]),
        ]),
      );
  type SessionRow = Awaited<ReturnType<ReturnType<typeof sessionsOn>['execute']>>[number];
  const memberSessionOf = (row: SessionRow): MemberSession => ({
    member: { id: row.person_id, name: row.name, email: row.email },
    session: sessionOf(row),
  });

  return {
    /** Open sessions of its members by their names, the newest of each first. */
    sessions: async (orgId: string): Promise<MemberSession[]> => {
      const rows = sessionsOn(pool, orgId)
        .orderBy('p.name')
        .orderBy('p.id')
        .orderBy('s.created_at', 'desc')
        .limit(SESSIONS_MAX);
      return (await rows.execute()).map(memberSessionOf);
    },

    /** Ends an open session of a member, who hears of it unless they have done it themselves. */
    endSession: (
      { orgId, actor }: Omit<Act, 'by'>,
      id: string,
      letterOf: (ended: MemberSession) => Letter,
    ): Promise<void> =>
      inTransaction(pool, async (client) => {
        const row = await sessionsOn(client, orgId).where('s.id', '=', id).executeTakeFirst();
        if (row === undefined) throw new Fault('member_not_found');
        const gone = queriesOn(client).deleteFrom('persons.session').where('id', '=', id);
        // Another owner, or its person, may have ended it meanwhile, and that has been told.
        if ((await gone.executeTakeFirst()).numDeletedRows === 0n)
          throw new Fault('member_not_found');
        const ended = memberSessionOf(row);
        const { id: subject, name, email } = ended.member;
        if (subject !== actor.id) await queueLetter(client, surroundings, letterOf(ended));
        await appendAudit(client, surroundings, {
          orgId,
          action: 'session.ended',
          actor,
          subject,
          details: { name, email, since: row.created_at.toISOString() },
        });
      }),

    /** Has the pages of an organisation ask its members for a second factor, or no longer. */
    requireSecondFactor: ({ orgId, actor }: Omit<Act, 'by'>, required: boolean): Promise<void> =>
      inTransaction(pool, async (client) => {
        const on = queriesOn(client);
        const required_at = new Date(surroundings.now());
        const changed = required
          ? await on
              .insertInto('persons.second_factor_rule')
              .values({ org_id: orgId, required_at })
              .onConflict((conflict) => conflict.column('org_id').doNothing())
              .returning('org_id')
              .executeTakeFirst()
          : await on
              .deleteFrom('persons.second_factor_rule')
              .where('org_id', '=', orgId)
              .returning('org_id')
              .executeTakeFirst();
        if (changed === undefined) return;
        await appendAudit(client, surroundings, {
          orgId,
          action: 'second_factor.required',
          actor,
          details: { required },
        });
      }),

    /** Those that an organisation has sent and that were not taken. */
    invitations: (orgId: string): Promise<Invitation[]> =>
      read(open().where('i.org_id', '=', orgId)),

    /** Those for a person, by the address that they have confirmed. */
    invitationsFor: ({ email }: Pick<Person, 'email'>): Promise<Invitation[]> =>
      read(open().where('i.email', '=', email)),

    /**
     * Invites an address, once the organisation may. Whether a person has it is not told. Doing it again changes the role.
     * @returns whether an e-mail says so: false where its reader or the organisation has had as many as an hour takes
     */
    invite: (
      { orgId, actor, by }: Act,
      typed: string,
      role: OrganisationRole,
      letterTo: (email: string) => Letter,
    ): Promise<boolean> =>
      inTransaction(pool, async (client) => {
        const email = checkEmail(typed);
        demandAssignable(by, role);
        const { account } = await holdAccount(client, surroundings, orgId);
        checkInviting(account.state);
        const on = queriesOn(client);
        const known = await on
          .selectFrom('persons.membership as m')
          .innerJoin('persons.person as p', 'p.id', 'm.person_id')
          .select('m.role')
          .where('m.org_id', '=', orgId)
          .where('p.email', '=', email)
          .executeTakeFirst();
        if (known !== undefined) throw invalidParam('email', 'They are in the team already.');
        const before = await on
          .selectFrom('persons.invitation')
          .select('role')
          .where('org_id', '=', orgId)
          .where('email', '=', email)
          .executeTakeFirst();
        // Not even a lesser invitation of an owner is an admin's to replace.
        if (before !== undefined) demandAssignable(by, before.role);
        const now = surroundings.now();
        const times = { created_at: new Date(now), expires_at: new Date(now + INVITATION_MS) };
        await on
          .insertInto('persons.invitation')
          .values({ org_id: orgId, email, role, ...times })
          .onConflict((conflict) =>
            conflict.columns(['org_id', 'email']).doUpdateSet({ role, ...times }),
          )
          .execute();
        await appendAudit(client, surroundings, {
          orgId,
          action: 'member.invited',
          actor,
          details: { email, role },
        });
        return queueLetter(client, surroundings, letterTo(email), { orgId });
      }),

    withdraw: ({ orgId, actor, by }: Act, email: string): Promise<void> =>
      inTransaction(pool, async (client) => {
        const role = await takeInvitation(client, orgId, email);
        demandAssignable(by, role);
        await appendAudit(client, surroundings, {
          orgId,
          action: 'invitation.withdrawn',
          actor,
          details: { email, role },
        });
      }),

    /** Takes the invitation of an organisation, which is for the address that this person has confirmed, or declines it. */
    answer: (orgId: string, person: Person, actor: Actor, isTaken: boolean): Promise<void> =>
      inTransaction(pool, async (client) => {
        const { id, name, email } = person;
        const role = await takeInvitation(client, orgId, email, new Date(surroundings.now()));
        if (isTaken) {
          await refuseClosed(client, orgId);
          await queriesOn(client)
            .insertInto('persons.membership')
            .values({
              person_id: id,
              org_id: orgId,
              role,
              created_at: new Date(surroundings.now()),
            })
            // A member who is in already, by an operator, stays as they are.
            .onConflict((conflict) => conflict.columns(['person_id', 'org_id']).doNothing())
            .execute();
        }
        await appendAudit(client, surroundings, {
          orgId,
          action: isTaken ? 'member.added' : 'invitation.declined',
          actor,
          subject: id,
          details: { name, email, role },
        });
      }),

    setRole: ({ orgId, actor, by }: Act, personId: string, role: OrganisationRole): Promise<void> =>
      inTransaction(pool, async (client) => {
        const member = await lockMember(client, orgId, personId);
        // Of their own role it is known here what it is by now.
        const as = personId === actor.id ? member.role : by;
        demandAssignable(as, member.role);
        demandAssignable(as, role);
        if (member.role === role) return;
        if (role !== 'owner') demandAnotherOwner(member);
        await queriesOn(client)
          .updateTable('persons.membership')
          .set({ role })
          .where('org_id', '=', orgId)
          .where('person_id', '=', personId)
          .execute();
        await endPlaygroundOf(client, surroundings, { orgId, personId, role, actor });
        await appendAudit(client, surroundings, {
          orgId,
          action: 'member.role_changed',
          actor,
          subject: personId,
          details: { name: member.name, email: member.email, from: member.role, to: role },
        });
      }),

    /** Takes a member out with their next request. Every member may go by themselves. */
    remove: ({ orgId, actor, by }: Act, personId: string): Promise<void> =>
      inTransaction(pool, async (client) => {
        const member = await lockMember(client, orgId, personId);
        if (personId !== actor.id) demandAssignable(by, member.role);
        demandAnotherOwner(member);
        await queriesOn(client)
          .deleteFrom('persons.membership')
          .where('org_id', '=', orgId)
          .where('person_id', '=', personId)
          .execute();
        await forgetIssuerLogin(client, orgId, personId);
        await endPlaygroundOf(client, surroundings, { orgId, personId, actor });
        await appendAudit(client, surroundings, {
          orgId,
          action: 'member.removed',
          actor,
          subject: personId,
          details: { name: member.name, email: member.email, role: member.role },
        });
      }),
  };
}

function demandAssignable(by: OrganisationRole, role: OrganisationRole): void {
  if (mayAssign(by, role)) return;
  throw invalidParam('role', 'Only owners add owners, change their role and remove them.');
}

interface LockedMember {
  name: string;
  email: string;
  role: OrganisationRole;
  owners: number;
}

function demandAnotherOwner({ role, owners }: Pick<LockedMember, 'role' | 'owners'>): void {
  if (role !== 'owner' || owners > 1) return;
  throw invalidParam('role', 'An organisation keeps one owner: make someone else one first.');
}

/** For an operator, who takes parts away from outside: locks as members do, and refuses for the last owner. */
export async function keepAnOwner(
  client: PoolClient,
  orgId: string,
  personId: string,
): Promise<void> {
  const locked = await lockOwnersAnd(client, orgId, personId);
  const role = locked.find(({ person_id: id }) => id === personId)?.role;
  if (role !== undefined) demandAnotherOwner({ role, owners: ownersAmong(locked) });
}

/** Who a member is at the issuer of an organisation that they leave: should they be invited again, it names them anew. */
export async function forgetIssuerLogin(
  client: PoolClient,
  orgId: string,
  personId: string,
): Promise<void> {
  await queriesOn(client)
    .deleteFrom('persons.issuer_login')
    .where('org_id', '=', orgId)
    .where('person_id', '=', personId)
    .execute();
}

/** Ends the playground of a person who has no part in an organisation any more, or one in which there is none. */
export async function endPlaygroundOf(
  client: PoolClient,
  surroundings: Surroundings,
  { role, ...whose }: { orgId: string; personId: string; role?: OrganisationRole; actor: Actor },
): Promise<void> {
  if (role !== undefined && isActOf(role, 'use the playground')) return;
  const reason =
    role === undefined ? 'Its person left the organisation.' : `Its person became ${role}.`;
  await endPlaygrounds(client, surroundings, { ...whose, reason });
}

/** Locks the owners as well, in one order: two of them cannot take each other’s part away at once. */
function lockOwnersAnd(client: PoolClient, orgId: string, personId: string) {
  return queriesOn(client)
    .selectFrom('persons.membership')
    .select(['person_id', 'role'])
    .where('org_id', '=', orgId)
    .where((eb) => eb.or([eb('role', '=', 'owner'), eb('person_id', '=', personId)]))
    .orderBy('person_id')
    .forUpdate()
    .execute();
}

const ownersAmong = (members: readonly { role: OrganisationRole }[]): number =>
  members.filter(({ role }) => role === 'owner').length;

async function lockMember(
  client: PoolClient,
  orgId: string,
  personId: string,
): Promise<LockedMember> {
  const locked = await lockOwnersAnd(client, orgId, personId);
  const member = locked.find(({ person_id: id }) => id === personId);
  if (member === undefined) throw new Fault('member_not_found');
  const person = await queriesOn(client)
    .selectFrom('persons.person')
    .select(['name', 'email'])
    .where('id', '=', personId)
    .executeTakeFirstOrThrow();
  return { ...person, role: member.role, owners: ownersAmong(locked) };
}

/** An organisation that has closed since takes no one in: its owners could not take that back. */
async function refuseClosed(client: PoolClient, orgId: string): Promise<void> {
  const open = await queriesOn(client)
    .selectFrom('account')
    .select('id')
    .where('id', '=', orgId)
    .where('state', '<>', 'closed')
    .executeTakeFirst();
  if (open === undefined) throw new Fault('invitation_not_found');
}

/** Removes an invitation and gives its role, once. With `now` it must not be over. */
async function takeInvitation(
  client: PoolClient,
  orgId: string,
  email: string,
  now = new Date(0),
): Promise<OrganisationRole> {
  const taken = await queriesOn(client)
    .deleteFrom('persons.invitation')
    .where('org_id', '=', orgId)
    .where('email', '=', email)
    .where('expires_at', '>', now)
    .returning('role')
    .executeTakeFirst();
  if (taken === undefined) throw new Fault('invitation_not_found');
  return taken.role;
}
