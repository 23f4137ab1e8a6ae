import { createHash } from 'node:crypto';
import { isDeepStrictEqual } from 'node:util';
import { sql, type ExpressionBuilder, type Selectable, type Updateable } from 'kysely';
import type { Pool, PoolClient } from 'pg';
import { Fault, invalidParam } from '#shared/kernel/errors.ts';
import { isId } from '#shared/kernel/ids.ts';
import type { Page, PageRequest } from '#shared/kernel/page.ts';
import { planCovers, type Limits, type Plan } from '#shared/kernel/plan.ts';
import type { Database } from '#shared/kernel/postgres/database.ts';
import { keyset, pageOf } from '#shared/kernel/postgres/page.ts';
import { queriesOn } from '#shared/kernel/postgres/queries.ts';
import { inTransaction, type Queryable } from '#shared/kernel/postgres/transaction.ts';
import { checkTagKeys, tagOf } from '#shared/kernel/tags.ts';
import type { Surroundings } from '#shared/kernel/surroundings.ts';
import { timeText } from '#shared/kernel/time.ts';
import type {
  Account,
  AccountState,
  Allowed,
  Declaration,
  NewAccount,
  ServiceContract,
} from '../account.ts';
import type { Actor, AuditAction, AuditDetails } from '../audit/entry.ts';
import {
  checkAllowed,
  checkContact,
  checkContract,
  checkDeclaration,
  checkLabel,
  checkLimits,
} from '../checks.ts';
import {
  checkCorrection,
  checkSettingsChange,
  checkTermsChange,
  transition,
  type AccountAct,
  type AccountFacts,
} from '../machine.ts';
import { appendAudit } from './audit.ts';
import { draftOfClosingAsked, draftOfEndedExpiries } from '../letters.ts';
import { askContacts, confirmContact, vouchForContacts } from './contacts.ts';
import { queueAccountMail, queueLetter } from './mail.ts';
import { endPlaygrounds } from './playground-keys.ts';
import { confirmedAmong, readersAmong } from './readers.ts';
import { recordEvent } from './events.ts';

type AccountRow = Selectable<Database['account']>;

/** To whom e-mails about an account go. */
type Contacts = Pick<Account, 'billing' | 'technical'>;

export type AccountRegistry = ReturnType<typeof createAccountRegistry>;

interface AccountPageRequest extends PageRequest {
  state?: AccountState | undefined;
  search?: string | undefined;
}

/**
 * Organisations and their way to an active account, in PostgreSQL. Each act is one transaction: its evidence,
 * the account's state, the audit entry and the e-mails. Refusals are Faults.
 */
export function createAccountRegistry(pool: Pool, surroundings: Surroundings) {
  const hold = <T>(id: string, work: (held: HeldAccount) => Promise<T>): Promise<T> =>
    inTransaction(pool, async (client) => work(await holdAccount(client, surroundings, id)));
  const simple = (id: string, name: AccountAct, how: ActDescription): Promise<Account> =>
    hold(id, async (held) => (await act(held, name, how)).account);

  return {
    create: (account: NewAccount, actor: Actor): Promise<Account> =>
      inTransaction(pool, (client) => createAccount(client, surroundings, account, actor)),

    /**
     * The same for a program, which may not know whether its request has come: what it calls the request opens one account,
     * and the same request is answered with it ever after. Throws `idempotency_key_reused` when it was another one.
     */
    createOnce: (account: NewAccount, actor: Actor, name: string): Promise<Account> =>
      inTransaction(pool, (client) => openOnce(client, surroundings, { account, actor, name })),

    async get(orgId: string): Promise<Account> {
      const row = await queriesOn(pool)
        .selectFrom('account')
        .selectAll()
        .where('id', '=', orgId)
        .executeTakeFirst();
      if (row === undefined) throw new Fault('organisation_not_found');
      return accountOf(row);
    },

    /** `search` finds accounts by id, name, contact, or the first characters of one of their keys. */
    list: (request: AccountPageRequest): Promise<Page<Account>> => listAccounts(pool, request),

    declare: (orgId: string, declaration: Declaration, actor: Actor): Promise<Account> =>
      hold(orgId, (held) => declare(held, checkDeclaration(declaration), actor)),

    sign: (orgId: string, contract: ServiceContract, actor: Actor): Promise<Account> =>
      hold(orgId, (held) => sign(held, checkContract(contract, surroundings.now()), actor)),

    activate: (orgId: string, actor: Actor): Promise<Account> =>
      simple(orgId, 'activate', { actor }),

    suspend: (orgId: string, actor: Actor, reason: string): Promise<Account> =>
      simple(orgId, 'suspend', { actor, reason }),

    reinstate: (orgId: string, actor: Actor, reason: string): Promise<Account> =>
      simple(orgId, 'reinstate', { actor, reason }),

    /** Closes the account and revokes its keys. */
    close: (orgId: string, actor: Actor, reason: string): Promise<Account> =>
      hold(orgId, (held) => closeAccount(held, actor, reason)),

    /** An owner asks support to close the account: in the audit log, and by e-mail. Throws `invalid_account_state` or `invalid_reason`. */
    askToClose: (
      orgId: string,
      { actor, reason, to, link }: { actor: Actor; reason: string; to: string; link: string },
    ): Promise<void> =>
      hold(orgId, async ({ client, account }) => {
        checkSettingsChange(account.state, actor);
        if (reason === '') throw new Fault('invalid_reason', { message: 'Say why.' });
        await appendAudit(client, surroundings, {
          orgId,
          action: 'account.closing_asked',
          actor,
          reason,
        });
        const draft = draftOfClosingAsked(account, { who: actor.name ?? actor.id, reason, link });
        // How often one organisation asks is bounded where it does; another's asking takes nothing from it.
        await queueLetter(client, surroundings, { to, ...draft }, { owed: true });
      }),

    /** Contacts whose letters the owners get meanwhile, because their addresses are not confirmed. */
    async unconfirmedContacts({ id, billing, technical }: Account): Promise<string[]> {
      const emails = [billing.email, technical.email];
      const confirmed = new Set(await confirmedAmong(pool, id, emails));
      return emails.filter((email) => !confirmed.has(email));
    },

    /** Takes the link of the e-mail that asked a contact; false for one that was never sent. */
    confirmContact: (token: string): Promise<boolean> => confirmContact(pool, surroundings, token),

    /** Sets the plan. Keys of the plan audit do not expire, so going there ends the expiries that lie ahead. */
    setPlan: (orgId: string, plan: Plan, actor: Actor): Promise<Account> =>
      hold(orgId, async (held) => {
        // Of a request that is sent again, nothing is left to do.
        if (held.account.plan === plan) return held.account;
        const ending = planCovers(plan, 'audit_plus') ? [] : await lockExpiring(held);
        const account = await changeTerms(held, actor, {
          set: { plan },
          action: 'account.plan_set',
          details: { from: held.account.plan, to: plan },
        });
        await endExpiries(held, ending, actor);
        return account;
      }),

    /** The contract that was signed last, as it is on record; null before there is one. */
    async contract(orgId: string): Promise<ServiceContract | null> {
      const row = await queriesOn(pool)
        .selectFrom('service_contract')
        .select(['kind', 'document_sha256', 'signatory', 'signed_at'])
        .where('org_id', '=', orgId)
        .orderBy('id', 'desc')
        .limit(1)
        .executeTakeFirst();
      if (row === undefined) return null;
      return {
        kind: row.kind,
        documentSha256: row.document_sha256.toString('hex'),
        signatory: row.signatory,
        signedAt: row.signed_at.getTime(),
      };
    },

    /** Sets how reports name the organisation beside its name; null takes that away. Throws `invalid_identifier`. */
    identify: (orgId: string, identifier: string | null, actor: Actor): Promise<Account> =>
      hold(orgId, (held) => {
        const { name } = held.account;
        return setNames(held, { name, identifier }, actor);
      }),

    /**
     * Sets the legal name and the identifier, both or none. A new name is screened like the first one. Throws
     * `invalid_name` or `invalid_identifier`.
     */
    setNames: (
      orgId: string,
      names: Pick<Account, 'name' | 'identifier'>,
      actor: Actor,
    ): Promise<Account> => hold(orgId, (held) => setNames(held, names, actor)),

    /** Sets to whom e-mails go. Their names are screened like the first ones. Throws `invalid_billing` or `invalid_technical`. */
    setContacts: (orgId: string, contacts: Contacts, actor: Actor): Promise<Account> =>
      hold(orgId, async (held) => {
        const { account } = held;
        const named = {
          billing: checkContact(contacts.billing, 'billing'),
          technical: checkContact(contacts.technical, 'technical'),
        };
        const set = contactColumns(named);
        if (isDeepStrictEqual(set, contactColumns(account))) return account;
        if (isOfService(actor)) {
          await vouchForContacts(held.client, surroundings, { id: orgId, ...named });
        }
        return changeSettings(held, actor, { set, action: 'account.contacts_set', details: set });
      }),

    /**
     * Sets which regions and models the organisation uses of those that are offered. Throws `invalid_regions`, `invalid_models` and,
     * where they are not any more those that were `seen`, `invalid_account_state`: what was narrowed since it was decided that no
     * proof is needed would be widened without one.
     */
    setAllowed: (orgId: string, allowed: Allowed, actor: Actor, seen?: Allowed): Promise<Account> =>
      hold(orgId, async (held) => {
        const { allowedRegions, allowedModels } = held.account;
        const isSeen =
          seen === undefined ||
          isDeepStrictEqual(
            [allowedRegions, allowedModels],
            [seen.allowedRegions, seen.allowedModels],
          );
        if (!isSeen) {
          throw new Fault('invalid_account_state', {
            message: 'Regions or models were changed meanwhile. Look at them again.',
          });
        }
        const set = {
          allowed_regions: checkAllowed(allowed.allowedRegions, 'regions'),
          allowed_models: checkAllowed(allowed.allowedModels, 'models'),
        };
        const before = { allowed_regions: allowedRegions, allowed_models: allowedModels };
        if (isDeepStrictEqual(set, before)) return held.account;
        return changeSettings(held, actor, { set, action: 'account.allowed_set', details: set });
      }),

    /** Sets whether responses are kept. What was kept is deleted by the same statement that switches it off. */
    setKeepResponses: (orgId: string, keepResponses: boolean, actor: Actor): Promise<Account> =>
      hold(orgId, async (held) => {
        if (held.account.keepResponses === keepResponses) return held.account;
        const set = { keep_responses: keepResponses };
        const action = 'account.keep_responses_set';
        return changeSettings(held, actor, { set, action, details: set });
      }),

    /** Sets whether there is a playground. Without it, the keys by which it counted are revoked. */
    setPlayground: (orgId: string, playground: boolean, actor: Actor): Promise<Account> =>
      hold(orgId, async (held) => {
        if (held.account.playground === playground) return held.account;
        const reason = 'The playground was switched off.';
        if (!playground)
          await endPlaygrounds(held.client, held.surroundings, { orgId, actor, reason });
        const set = { playground };
        return changeSettings(held, actor, { set, action: 'account.playground_set', details: set });
      }),

    /** Sets or ends a legal hold, in every state: while there is one, no body of its receipts moves, and none is dropped. */
    setLegalHold: (orgId: string, legalHold: boolean, actor: Actor): Promise<Account> =>
      hold(orgId, async (held) => {
        if (held.account.legalHold === legalHold) return held.account;
        const set = { legal_hold: legalHold };
        const action = 'account.legal_hold_set';
        return changeAccount(held, actor, { set, action, details: set });
      }),

    /** Declares which members of `metadata` are tags. What was counted by one that goes stays. Throws `invalid_tags`. */
    setTags: (orgId: string, asked: readonly string[], actor: Actor): Promise<Account> =>
      hold(orgId, async (held) => {
        const set = { tags: checkTagKeys(asked) };
        if (isDeepStrictEqual(set.tags, held.account.tags)) return held.account;
        await demandUnneeded(held, set.tags);
        return changeSettings(held, actor, { set, action: 'account.tags_set', details: set });
      }),

    /** Sets negotiated limits, which only enterprise has (`invalid_plan`). Null goes back to the plan's numbers. */
    setLimits: (orgId: string, limits: Limits | null, actor: Actor): Promise<Account> =>
      hold(orgId, async (held) => {
        const { plan, negotiatedLimits } = held.account;
        const set = limitColumns(limits === null ? null : checkLimits(limits, plan));
        if (isDeepStrictEqual(set, limitColumns(negotiatedLimits))) return held.account;
        return changeTerms(held, actor, { set, action: 'account.limits_set', details: set });
      }),
  };
}

/** A budget of a tag that goes would count nothing from then on, and refuse nothing. @throws Fault `invalid_tags` */
async function demandUnneeded(
  { client, account }: HeldAccount,
  left: readonly string[],
): Promise<void> {
  const budgets = await queriesOn(client)
    .selectFrom('budget')
    .select('target')
    .where('org_id', '=', account.id)
    .where('scope', '=', 'tag')
    .execute();
  const of = budgets.map(({ target }) => target!).find((tag) => !left.includes(tagOf(tag)!.key));
  if (of !== undefined)
    throw invalidParam('tags', `A budget is of ${of}. End it before the tag goes.`);
}

/**
 * A transaction that holds an account's row: acts happen one after the other, never side by side.
 * `no key`: rows that only refer to the account (an e-mail, a key) are not held up by it.
 */
export interface HeldAccount {
  client: PoolClient;
  surroundings: Surroundings;
  account: Account;
}

/** Locks an account until the transaction ends. Throws `organisation_not_found`. */
export async function holdAccount(
  client: PoolClient,
  surroundings: Surroundings,
  orgId: string,
): Promise<HeldAccount> {
  const row = await queriesOn(client)
    .selectFrom('account')
    .selectAll()
    .where('id', '=', orgId)
    .forNoKeyUpdate()
    .executeTakeFirst();
  if (row === undefined) throw new Fault('organisation_not_found');
  return { client, surroundings, account: accountOf(row) };
}

export interface ActDescription {
  actor: Actor;
  reason?: string;
  subject?: string;
  details?: AuditDetails;
}

/** Takes one arrow of the machine: checks it, writes the state, the audit entry and the e-mails that go with it. */
export async function act(
  held: HeldAccount,
  name: AccountAct,
  { details, ...description }: ActDescription,
): Promise<HeldAccount> {
  const { client, surroundings, account } = held;
  const facts = await readFacts(client, account);
  const next = transition(facts, name, description.actor, description.reason);
  const row = await queriesOn(client)
    .updateTable('account')
    .set({ state: next.to, state_changed_at: new Date(surroundings.now()) })
    .where('id', '=', account.id)
    .returningAll()
    .executeTakeFirstOrThrow();
  const changed = accountOf(row);
  await appendAudit(client, surroundings, {
    orgId: account.id,
    action: next.action,
    ...description,
    details: { ...details, from: account.state, to: next.to },
  });
  await queueAccountMail(client, surroundings, changed, next.action);
  if (next.action === 'account.suspended') {
    const data = { suspended_at: timeText(row.state_changed_at.getTime()) };
    const suspended = { orgId: account.id, type: 'organisation.suspended', data } as const;
    await recordEvent(client, surroundings, suspended);
  }
  await askContacts(client, surroundings, changed);
  return { ...held, account: changed };
}

/** The evidence that the machine's gates look at. */
async function readFacts(client: Queryable, { id, state }: Account): Promise<AccountFacts> {
  const evidence = await queriesOn(client)
    .selectNoFrom((eb) => [
      eb.exists(eb.selectFrom('declaration').select('id').where('org_id', '=', id)).as('declared'),
      eb
        .selectFrom('screening')
        .select('outcome')
        .where('org_id', '=', id)
        .orderBy('sequence', 'desc')
        .limit(1)
        .as('vetting'),
      eb
        .selectFrom('review')
        .select(({ fn }) => fn.coalesce('decision', sql.lit<'open'>('open')).as('decision'))
        .where('org_id', '=', id)
        .orderBy('sequence', 'desc')
        .limit(1)
        .as('review'),
      eb
        .exists(eb.selectFrom('service_contract').select('id').where('org_id', '=', id))
        .as('contracted'),
      eb.fn<boolean>('account_vetting_is_current', [eb.val(id)]).as('vettingIsCurrent'),
    ])
    .executeTakeFirstOrThrow();
  const { declared, contracted } = evidence;
  return { ...evidence, state, declared: declared === true, contracted: contracted === true };
}

/** Two requests under one name wait for each other, and the second finds what the first has opened. */
async function openOnce(
  client: PoolClient,
  surroundings: Surroundings,
  { account, actor, name }: { account: NewAccount; actor: Actor; name: string },
): Promise<Account> {
  const digest = createHash('sha256').update(name).digest();
  const { name: called, plan, billing, technical } = account;
  const request = createHash('sha256')
    .update(JSON.stringify({ called, plan, ...contactColumns({ billing, technical }) }))
    .digest();
  const db = queriesOn(client);
  const lock = `account_opening ${actor.id} ${digest.toString('hex')}`;
  await sql`select pg_advisory_xact_lock(hashtextextended(${lock}, 0))`.execute(db);
  const opened = await db
    .selectFrom('account_opening')
    .select(['request', 'org_id'])
    .where('person_id', '=', actor.id)
    .where('name', '=', digest)
    .executeTakeFirst();
  if (opened === undefined) {
    const created = await createAccount(client, surroundings, account, actor);
    await db
      .insertInto('account_opening')
      .values({ person_id: actor.id, name: digest, request, org_id: created.id })
      .execute();
    return created;
  }
  if (!opened.request.equals(request))
    throw new Fault('idempotency_key_reused', {
      message: 'This Idempotency-Key has opened an account by another request.',
    });
  return (await holdAccount(client, surroundings, opened.org_id)).account;
}

/** Opens an account within the caller's transaction, with its audit entry and e-mails. */
export async function createAccount(
  client: PoolClient,
  surroundings: Surroundings,
  account: NewAccount,
  actor: Actor,
): Promise<Account> {
  const name = checkLabel(account.name, 'name');
  const billing = checkContact(account.billing, 'billing');
  const technical = checkContact(account.technical, 'technical');
  const now = new Date(surroundings.now());
  const row = await queriesOn(client)
    .insertInto('account')
    .values({
      id: surroundings.newId('org'),
      name,
      plan: account.plan,
      ...contactColumns({ billing, technical }),
      created_at: now,
      state_changed_at: now,
    })
    .returningAll()
    .executeTakeFirstOrThrow();
  const created = accountOf(row);
  await appendAudit(client, surroundings, {
    orgId: created.id,
    action: 'account.created',
    actor,
    details: { name, plan: created.plan },
  });
  if (isOfService(actor)) {
    await vouchForContacts(client, surroundings, created);
    await queueAccountMail(client, surroundings, created, 'account.created');
  }
  return created;
}

async function declare(
  held: HeldAccount,
  declaration: Declaration,
  actor: Actor,
): Promise<Account> {
  await queriesOn(held.client)
    .insertInto('declaration')
    .values({
      org_id: held.account.id,
      version: declaration.version,
      statements: JSON.stringify(declaration.statements),
      country: declaration.country,
      industry: declaration.industry,
      trading_names: [...declaration.tradingNames],
      parties: JSON.stringify(declaration.parties),
      declared_by: declaration.declaredBy,
      declared_at: new Date(held.surroundings.now()),
    })
    .execute();
  await deleteDraft(held);
  const details = { version: declaration.version, declared_by: declaration.declaredBy };
  if (held.account.state !== 'in_review') {
    return (await act(held, 'declare', { actor, details })).account;
  }
  // A correction: the review stays open, and the reviewer who decides it sees what the new vetting finds.
  checkCorrection(actor);
  await appendAudit(held.client, held.surroundings, {
    orgId: held.account.id,
    action: 'account.declaration_corrected',
    actor,
    details,
  });
  return held.account;
}

/** What was filled in of a declaration is not kept beside it. */
async function deleteDraft({ client, account }: HeldAccount): Promise<void> {
  await queriesOn(client)
    .deleteFrom('declaration_draft')
    .where('org_id', '=', account.id)
    .execute();
}

async function sign(held: HeldAccount, contract: ServiceContract, actor: Actor): Promise<Account> {
  await queriesOn(held.client)
    .insertInto('service_contract')
    .values({
      org_id: held.account.id,
      kind: contract.kind,
      document_sha256: Buffer.from(contract.documentSha256, 'hex'),
      signatory: contract.signatory,
      signed_at: new Date(contract.signedAt),
      recorded_by: actor.id,
      recorded_at: new Date(held.surroundings.now()),
    })
    .execute();
  const details = { kind: contract.kind, document_sha256: contract.documentSha256 };
  return (await act(held, 'sign', { actor, details })).account;
}

/** A closed account has no keys: its active ones are revoked with it, each with its own audit entry. */
async function closeAccount(held: HeldAccount, actor: Actor, reason: string): Promise<Account> {
  const { client, surroundings, account } = held;
  const db = queriesOn(client);
  // Keys are locked before the audit chain, as everywhere else.
  await db
    .selectFrom('api_key')
    .select('id')
    .where('org_id', '=', account.id)
    .where('state', '=', 'active')
    .orderBy('id')
    .forUpdate()
    .execute();
  await deleteDraft(held);
  const closed = await act(held, 'close', { actor, reason });
  const revoked = await db
    .updateTable('api_key')
    .set({ state: 'revoked', revoked_at: new Date(surroundings.now()) })
    .where('org_id', '=', account.id)
    .where('state', '=', 'active')
    .returning('id')
    .execute();
  for (const { id } of revoked) {
    await appendAudit(client, surroundings, {
      orgId: account.id,
      action: 'key.revoked',
      actor,
      subject: id,
      reason: 'The account was closed.',
    });
  }
  return closed.account;
}

type ExpiringKey = Pick<
  Selectable<Database['api_key']>,
  'id' | 'name' | 'head' | 'tail' | 'expires_at'
>;

/** Active keys whose expiry lies ahead, locked before the audit chain as everywhere else. */
function lockExpiring({ client, surroundings, account }: HeldAccount): Promise<ExpiringKey[]> {
  return queriesOn(client)
    .selectFrom('api_key')
    .select(['id', 'name', 'head', 'tail', 'expires_at'])
    .where('org_id', '=', account.id)
    .where('state', '=', 'active')
    .where('expires_at', '>', new Date(surroundings.now()))
    .orderBy('id')
    .forUpdate()
    .execute();
}

/** What is the same as before leaves no entry, and sends no letter. */
async function setNames(
  held: HeldAccount,
  names: Pick<Account, 'name' | 'identifier'>,
  actor: Actor,
): Promise<Account> {
  const name = checkLabel(names.name, 'name');
  const identifier = names.identifier === null ? null : checkLabel(names.identifier, 'identifier');
  let { account } = held;
  if (name !== account.name) {
    const details = { from: account.name, to: name };
    account = await changeSettings(held, actor, {
      set: { name },
      action: 'account.renamed',
      details,
    });
  }
  if (identifier !== account.identifier) {
    const set = { identifier };
    const change = { set, action: 'account.identified', details: set } as const;
    account = await changeSettings({ ...held, account }, actor, change);
  }
  return account;
}

/** Each ended expiry has its entry in the audit log; one e-mail names them all, so that keys which are not needed are revoked. */
async function endExpiries(
  { client, surroundings, account }: HeldAccount,
  keys: readonly ExpiringKey[],
  actor: Actor,
): Promise<void> {
  if (keys.length === 0) return;
  const ids = keys.map(({ id }) => id);
  const db = queriesOn(client);
  await db.updateTable('api_key').set({ expires_at: null }).where('id', 'in', ids).execute();
  for (const { id, expires_at } of keys) {
    await appendAudit(client, surroundings, {
      orgId: account.id,
      action: 'key.expiry_ended',
      actor,
      subject: id,
      reason: 'Keys of the plan audit do not expire.',
      details: { expires_at: expires_at!.toISOString() },
    });
  }
  const names = keys.map(({ name, head, tail }) => ({ name, display: `${head}…${tail}` }));
  const draft = draftOfEndedExpiries(account.name, names);
  for (const to of await readersAmong(client, account.id, [account.technical.email])) {
    await queueLetter(client, surroundings, { to, ...draft }, { orgId: account.id, owed: true });
  }
}

const isOfService = ({ kind }: Actor): boolean => kind === 'operator';

interface TermsChange {
  set: Updateable<Database['account']>;
  action: AuditAction;
  details: AuditDetails;
}

/** Changes what an account may do, not where it stands. */
function changeTerms(held: HeldAccount, actor: Actor, change: TermsChange): Promise<Account> {
  checkTermsChange(held.account.state, actor);
  return changeAccount(held, actor, change);
}

/** Changes what an organisation decides itself. Its contacts, and those that it had before, get an e-mail where names or addresses change. */
async function changeSettings(
  held: HeldAccount,
  actor: Actor,
  change: TermsChange,
): Promise<Account> {
  checkSettingsChange(held.account.state, actor);
  const changed = await changeAccount(held, actor, change);
  const { client, surroundings, account } = held;
  await queueAccountMail(client, surroundings, changed, change.action, [
    account.billing.email,
    account.technical.email,
  ]);
  await askContacts(client, surroundings, changed);
  return changed;
}

async function changeAccount(
  { client, surroundings, account }: HeldAccount,
  actor: Actor,
  { set, action, details }: TermsChange,
): Promise<Account> {
  const row = await queriesOn(client)
    .updateTable('account')
    .set(set)
    .where('id', '=', account.id)
    .returningAll()
    .executeTakeFirstOrThrow();
  await appendAudit(client, surroundings, { orgId: account.id, action, actor, details });
  return accountOf(row);
}

async function listAccounts(pool: Pool, request: AccountPageRequest): Promise<Page<Account>> {
  const { after, state, search } = request;
  if (after !== undefined && !isId('org', after)) throw new Fault('invalid_after');
  let query = queriesOn(pool).selectFrom('account').selectAll();
  if (state !== undefined) query = query.where('state', '=', state);
  if (search !== undefined) query = query.where(matches(search));
  return pageOf(await keyset(query, 'id', request).execute(), request, accountOf);
}

/** The first characters of a key as they are shown; more of a key is not kept. */
const KEY_HEAD_LENGTH = 8;

/** Whether an account's id, name, contacts or keys hold this text, in upper or lower case; a key's case counts. */
function matches(search: string) {
  const part = `%${search.replaceAll(/[\\%_]/g, '\\$&')}%`;
  return (eb: ExpressionBuilder<Database, 'account'>) =>
    eb.or([
      eb('account.id', '=', search),
      eb('name', 'ilike', part),
      eb('billing_name', 'ilike', part),
      eb('billing_email', 'ilike', part),
      eb('technical_name', 'ilike', part),
      eb('technical_email', 'ilike', part),
      eb.exists(
        eb
          .selectFrom('api_key as k')
          .select('k.id')
          .whereRef('k.org_id', '=', 'account.id')
          .where((key) =>
            key.or([
              key('k.id', '=', search),
              key('k.head', '=', search.slice(0, KEY_HEAD_LENGTH)),
            ]),
          ),
      ),
    ]);
}

function accountOf(row: AccountRow): Account {
  return {
    id: row.id,
    name: row.name,
    identifier: row.identifier,
    state: row.state,
    plan: row.plan,
    negotiatedLimits: negotiatedLimitsOf(row),
    allowedRegions: row.allowed_regions,
    allowedModels: row.allowed_models,
    keepResponses: row.keep_responses,
    playground: row.playground,
    legalHold: row.legal_hold,
    tags: row.tags,
    billing: { name: row.billing_name, email: row.billing_email },
    technical: { name: row.technical_name, email: row.technical_email },
    createdAt: row.created_at.getTime(),
    stateChangedAt: row.state_changed_at.getTime(),
  };
}

function contactColumns({ billing, technical }: Contacts) {
  return {
    billing_name: billing.name,
    billing_email: billing.email,
    technical_name: technical.name,
    technical_email: technical.email,
  };
}

/** The columns of an account that hold its negotiated limits: all four, or none. */
type LimitColumns = Pick<
  AccountRow,
  'requests_per_second' | 'burst' | 'requests_per_day' | 'concurrent_streams'
>;

export function negotiatedLimitsOf(row: LimitColumns): Limits | null {
  if (
    row.requests_per_second === null ||
    row.burst === null ||
    row.requests_per_day === null ||
    row.concurrent_streams === null
  ) {
    return null;
  }
  return {
    requestsPerSecond: row.requests_per_second,
    burst: row.burst,
    requestsPerDay: Number(row.requests_per_day),
    concurrentStreams: row.concurrent_streams,
  };
}

function limitColumns(limits: Limits | null) {
  return {
    requests_per_second: limits?.requestsPerSecond ?? null,
    burst: limits?.burst ?? null,
    requests_per_day: limits?.requestsPerDay ?? null,
    concurrent_streams: limits?.concurrentStreams ?? null,
  };
}
