import type { Pool, PoolClient } from 'pg';
import type { Actor, AuditAction } from '#shared/accounts/audit/entry.ts';
import { appendAudit } from '#shared/accounts/postgres/audit.ts';
import { Fault, invalidParam } from '#shared/kernel/errors.ts';
import { printable } from '#shared/kernel/plain-text.ts';
import { queriesOn } from '#shared/kernel/postgres/queries.ts';
import { inTransaction } from '#shared/kernel/postgres/transaction.ts';
import type { Surroundings } from '#shared/kernel/surroundings.ts';
import { checkEmail } from '../checks.ts';
import type { OrganisationRole, Person } from '../roles.ts';
import {
  checkDomain,
  domainOf,
  EntryRefused,
  type IssuerClaims,
  type ProvisionedRole,
  type SignInDomain,
  type SingleSignOn,
} from '../single-sign-on.ts';
import { ensurePerson } from './persons.ts';

/** Domains of one organisation, claimed and confirmed. */
const DOMAINS_MAX = 20;
const NAME_LENGTH_MAX = 200;

interface Act {
  orgId: string;
  actor: Actor;
}

/** What an organisation decides about its issuer. Without a secret the one that is kept stays. */
interface NewSingleSignOn {
  issuer: string;
  clientId: string;
  sealedSecret: string | undefined;
  role: ProvisionedRole;
}

/** Whom an issuer names, to which organisation, and from where they come. */
interface Entering {
  orgId: string;
  issuer: string;
  claims: IssuerClaims;
  address: string;
}

/** How members of an organisation come in by its own issuer, in PostgreSQL. */
export function createSingleSignOns(pool: Pool, surroundings: Surroundings) {
  const db = queriesOn(pool);
  const at = () => new Date(surroundings.now());
  /** One act with its entry in the audit log. */
  const audited = (
    { orgId, actor }: Act,
    action: AuditAction,
    details: Record<string, string | boolean>,
    change: (client: PoolClient) => Promise<void>,
  ): Promise<void> =>
    inTransaction(pool, async (client) => {
      await change(client);
      await appendAudit(client, surroundings, { orgId, action, actor, details });
    });

  return {
    async of(orgId: string): Promise<SingleSignOn | undefined> {
      const row = await db
        .selectFrom('persons.single_sign_on as s')
        .innerJoin('account as a', 'a.id', 's.org_id')
        .selectAll('s')
        .where('s.org_id', '=', orgId)
        .where('a.state', '<>', 'closed')
        .executeTakeFirst();
      if (row === undefined) return undefined;
      return {
        issuer: row.issuer,
        clientId: row.client_id,
        sealedSecret: row.client_secret,
        role: row.role,
        required: row.required,
        workedAt: row.worked_at?.getTime() ?? null,
        changedAt: row.changed_at.getTime(),
      };
    },

    async domains(orgId: string): Promise<SignInDomain[]> {
      const rows = await db
        .selectFrom('persons.sign_in_domain')
        .select(['domain', 'confirmed_at'])
        .where('org_id', '=', orgId)
        .orderBy('domain')
        .execute();
      return rows.map(({ domain, confirmed_at }) => ({
        domain,
        confirmedAt: confirmed_at?.getTime() ?? null,
      }));
    },

    /** The organisation whose issuer lets addresses of this domain in. */
    async organisationOf(email: string): Promise<string | undefined> {
      const row = await db
        .selectFrom('persons.sign_in_domain as d')
        .innerJoin('persons.single_sign_on as s', 's.org_id', 'd.org_id')
        .innerJoin('account as a', 'a.id', 'd.org_id')
        .select('d.org_id')
        .where('d.domain', '=', domainOf(email))
        .where('d.confirmed_at', 'is not', null)
        .where('a.state', '<>', 'closed')
        .executeTakeFirst();
      return row?.org_id;
    },

    async nameOf(orgId: string): Promise<string | undefined> {
      const row = await db
        .selectFrom('account')
        .select('name')
        .where('id', '=', orgId)
        .executeTakeFirst();
      return row?.name;
    },

    /**
     * Names the issuer. Where it or our name there changes, single sign-on counts as not yet tried and is required of no
     * member, and sessions that the issuer before has opened are ended.
     */
    save: (act: Act, { issuer, clientId, sealedSecret, role }: NewSingleSignOn): Promise<void> =>
      audited(
        act,
        'single_sign_on.changed',
        { issuer, client_id: clientId, role },
        async (client) => {
          const { orgId: org_id } = act;
          const on = queriesOn(client);
          const before = await on
            .selectFrom('persons.single_sign_on')
            .select(['issuer', 'client_id', 'client_secret'])
            .where('org_id', '=', org_id)
            .forUpdate()
            .executeTakeFirst();
          const client_secret = sealedSecret ?? before?.client_secret;
          const isSame = before?.issuer === issuer && before.client_id === clientId;
          // A secret is shown to the issuer that it is of, and to no other.
          if (client_secret === undefined || (sealedSecret === undefined && !isSame)) {
            throw invalidParam('client_secret', 'Enter the client secret of this issuer too.');
          }
          const row = { issuer, client_id: clientId, client_secret, role, changed_at: at() };
          const anew = isSame ? {} : { required: false, worked_at: null };
          await on
            .insertInto('persons.single_sign_on')
            .values({ org_id, ...row })
            .onConflict((conflict) => conflict.column('org_id').doUpdateSet({ ...row, ...anew }))
            .execute();
          if (!isSame) await endSessions(client, org_id);
        },
      ),

    /** Keeps the same secret sealed anew, where it is still the one that was read. */
    async reseal(orgId: string, before: string, sealedSecret: string): Promise<void> {
      await db
        .updateTable('persons.single_sign_on')
        .set({ client_secret: sealedSecret })
        .where('org_id', '=', orgId)
        .where('client_secret', '=', before)
        .execute();
    },

    /** Asks it of every member but owners, once it has let a member in. */
    setRequired: (act: Act, required: boolean): Promise<void> =>
      audited(act, 'single_sign_on.required', { required }, async (client) => {
        const changed = await queriesOn(client)
          .updateTable('persons.single_sign_on')
          .set({ required })
          .where('org_id', '=', act.orgId)
          .where((eb) => (required ? eb('worked_at', 'is not', null) : eb.val(true)))
          .returning('org_id')
          .executeTakeFirst();
        if (changed === undefined) {
          throw invalidParam('required', 'Nobody has come in by it yet. Sign in by it once first.');
        }
      }),

    /** Forgets the issuer and who came from it; their sessions end. Persons and their parts stay. */
    remove: (act: Act): Promise<void> =>
      audited(act, 'single_sign_on.removed', {}, async (client) => {
        const on = queriesOn(client);
        const removed = await on
          .deleteFrom('persons.single_sign_on')
          .where('org_id', '=', act.orgId)
          .returning('org_id')
          .executeTakeFirst();
        if (removed === undefined) throw invalidParam('issuer', 'There is no issuer to remove.');
        await on.deleteFrom('persons.issuer_login').where('org_id', '=', act.orgId).execute();
        await endSessions(client, act.orgId);
      }),

    /** Says that a domain is the organisation's. It counts when an operator has confirmed that. */
    claimDomain(act: Act, typed: string): Promise<void> {
      const domain = checkDomain(typed);
      return audited(act, 'sign_in_domain.claimed', { domain }, async (client) => {
        const on = queriesOn(client);
        const { claimed } = await on
          .selectFrom('persons.sign_in_domain')
          .select((eb) => eb.fn.countAll<string>().as('claimed'))
          .where('org_id', '=', act.orgId)
          .executeTakeFirstOrThrow();
        if (Number(claimed) >= DOMAINS_MAX) {
          throw invalidParam('domain', `An organisation has at most ${DOMAINS_MAX} domains.`);
        }
        const added = await on
          .insertInto('persons.sign_in_domain')
          .values({ org_id: act.orgId, domain, claimed_at: at() })
          .onConflict((conflict) => conflict.columns(['org_id', 'domain']).doNothing())
          .returning('domain')
          .executeTakeFirst();
        if (added === undefined) throw invalidParam('domain', 'The domain is in the list already.');
      });
    },

    removeDomain: (act: Act, domain: string): Promise<void> =>
      audited(act, 'sign_in_domain.removed', { domain }, async (client) => {
        const removed = await queriesOn(client)
          .deleteFrom('persons.sign_in_domain')
          .where('org_id', '=', act.orgId)
          .where('domain', '=', domain)
          .returning('domain')
          .executeTakeFirst();
        if (removed === undefined) throw invalidParam('domain', 'There is no such domain.');
        await endSessions(client, act.orgId);
      }),

    /** By an operator who has found out that the domain is theirs. A domain is of one organisation. */
    confirmDomain: (act: Act, domain: string): Promise<void> =>
      audited(act, 'sign_in_domain.confirmed', { domain }, async (client) => {
        const on = queriesOn(client);
        const taken = await on
          .selectFrom('persons.sign_in_domain')
          .select('org_id')
          .where('domain', '=', domain)
          .where('confirmed_at', 'is not', null)
          .executeTakeFirst();
        if (taken !== undefined) {
          throw invalidParam(
            'domain',
            `The domain is confirmed already, for ${taken.org_id}. It has to be removed there first.`,
          );
        }
        const confirmed = await on
          .updateTable('persons.sign_in_domain')
          .set({ confirmed_at: at() })
          .where('org_id', '=', act.orgId)
          .where('domain', '=', domain)
          .returning('domain')
          .executeTakeFirst();
        if (confirmed === undefined)
          throw invalidParam('domain', 'They have not named this domain.');
      }),

    /**
     * Finds or makes the person whom the issuer of an organisation names, and gives them their part there. `comeIn` opens
     * what they came for in the same transaction: who takes the issuer or the domain away waits for it, and ends that too.
     * @throws EntryRefused
     */
    enter: <T>(
      { orgId, issuer, claims, address }: Entering,
      comeIn: (person: Person, client: PoolClient) => Promise<T>,
    ): Promise<T> =>
      inTransaction(pool, async (client) => {
        const on = queriesOn(client);
        // The settings do not change meanwhile, and of two first entries one goes first.
        const { role: usual } = await on
          .selectFrom('persons.single_sign_on')
          .select('role')
          .where('org_id', '=', orgId)
          .where('issuer', '=', issuer)
          .forUpdate()
          .executeTakeFirstOrThrow(() => new Fault('organisation_not_found'));
        const linked = await on
          .selectFrom('persons.issuer_login as l')
          .innerJoin('persons.person as p', 'p.id', 'l.person_id')
          .select(['p.id', 'p.name', 'p.email'])
          .where('l.org_id', '=', orgId)
          .where('l.issuer', '=', issuer)
          .where('l.subject', '=', claims.subject)
          .executeTakeFirst();
        const person = linked ?? (await whoIs(client, orgId, claims));
        if (!(await isOurs(client, orgId, person.email))) throw new EntryRefused('other_domain');
        const actor: Actor = { kind: 'user', id: person.id, address };
        if (linked === undefined) {
          const { id: person_id, name, email } = person;
          // A person who has been there under another name of the issuer is not taken over by this one.
          const other = await on
            .selectFrom('persons.issuer_login')
            .select('subject')
            .where('org_id', '=', orgId)
            .where('issuer', '=', issuer)
            .where('person_id', '=', person_id)
            .executeTakeFirst();
          if (other !== undefined) throw new EntryRefused('other_person');
          const row = { org_id: orgId, issuer, subject: claims.subject, person_id };
          await on
            .insertInto('persons.issuer_login')
            .values({ ...row, created_at: at() })
            .execute();
          await on
            .updateTable('persons.person')
            .set({ email_verified: true, updated_at: at() })
            .where('id', '=', person_id)
            .execute();
          await appendAudit(client, surroundings, {
            orgId,
            action: 'member.linked',
            actor,
            subject: person_id,
            details: { name, email, issuer },
          });
        }
        await ensureMember(client, { orgId, usual }, person, actor);
        await on
          .updateTable('persons.single_sign_on')
          .set({ worked_at: at() })
          .where('org_id', '=', orgId)
          .where('worked_at', 'is', null)
          .execute();
        return comeIn(person, client);
      }),
  };

  /** The person of the address that the issuer has verified, if the address is of the organisation's domains. */
  async function whoIs(client: PoolClient, orgId: string, claims: IssuerClaims): Promise<Person> {
    if (claims.email === undefined) throw new EntryRefused('no_email');
    if (!claims.emailVerified) throw new EntryRefused('unverified_email');
    const email = checkEmail(claims.email);
    if (!(await isOurs(client, orgId, email))) throw new EntryRefused('other_domain');
    const said = printable(claims.name ?? '').slice(0, NAME_LENGTH_MAX);
    const name = said === '' ? printable(email.slice(0, email.lastIndexOf('@'))) : said;
    return ensurePerson(client, surroundings, { name, email });
  }

  /** Gives a person their part, if they have none. Who was taken out needs an invitation. */
  async function ensureMember(
    client: PoolClient,
    { orgId, usual }: { orgId: string; usual: string },
    { id, name, email }: Person,
    actor: Actor,
  ): Promise<void> {
    const on = queriesOn(client);
    const member = await on
      .selectFrom('persons.membership')
      .select('role')
      .where('org_id', '=', orgId)
      .where('person_id', '=', id)
      .executeTakeFirst();
    if (member !== undefined) return;
    const invited = await on
      .deleteFrom('persons.invitation')
      .where('org_id', '=', orgId)
      .where('email', '=', email)
      .where('expires_at', '>', at())
      .returning('role')
      .executeTakeFirst();
    if (invited === undefined) {
      const removed = await on
        .selectFrom('audit_log')
        .select('id')
        .where('org_id', '=', orgId)
        .where('action', '=', 'member.removed')
        .where('subject', '=', id)
        .executeTakeFirst();
      if (removed !== undefined) throw new EntryRefused('removed');
    }
    const role = (invited?.role ?? usual) as OrganisationRole;
    await on
      .insertInto('persons.membership')
      .values({ person_id: id, org_id: orgId, role, created_at: at() })
      .execute();
    await appendAudit(client, surroundings, {
      orgId,
      action: 'member.added',
      actor,
      subject: id,
      details: { name, email, role },
    });
  }
}

/** Whether an address is of a domain that is confirmed for the organisation, until the transaction ends. */
async function isOurs(client: PoolClient, orgId: string, email: string): Promise<boolean> {
  const row = await queriesOn(client)
    .selectFrom('persons.sign_in_domain')
    .select('domain')
    .where('org_id', '=', orgId)
    .where('domain', '=', domainOf(email))
    .where('confirmed_at', 'is not', null)
    .forShare()
    .executeTakeFirst();
  return row !== undefined;
}

async function endSessions(client: PoolClient, orgId: string): Promise<void> {
  await queriesOn(client).deleteFrom('persons.session').where('sso_org_id', '=', orgId).execute();
}
