import type { Updateable } from 'kysely';
import type { Pool, PoolClient } from 'pg';
import type { Account } from '../account.ts';
import {
  checkContact,
  checkContract,
  checkDeclaration,
  checkLabel,
  checkLimits,
} from '../checks.ts';
import type { AccountAct } from '../machine.ts';
import type { Actor, AuditDetails } from '../audit/entry.ts';
import { Fault } from '#shared/kernel/errors.ts';
import type { AccountRegistry, NewAccount } from '../port-accounts.ts';
import type { Surroundings } from '#shared/kernel/surroundings.ts';
import { act, holdAccount, type ActDescription, type HeldAccount } from './act.ts';
import {
  ACCOUNT_COLUMNS,
  accountOf,
  findAccount,
  findApplicant,
  findReview,
  findScreening,
  listAccounts,
  listReviews,
  listScreeningDue,
} from './read.ts';
import { decideReview, recordScreening } from './screening.ts';
import type { Database } from '#shared/kernel/postgres/database.ts';
import { queriesOn } from '#shared/kernel/postgres/queries.ts';
import type { Limits } from '#shared/kernel/plan.ts';
import { inTransaction } from '#shared/kernel/postgres/transaction.ts';
import { queueAccountMail } from './mail-events.ts';
import { appendAudit } from './audit-append.ts';
import type { AccountRow } from './schema.ts';

/** Accounts in PostgreSQL: evidence, state and audit entry of an act are one transaction. */
export function createAccountRegistry(pool: Pool, surroundings: Surroundings): AccountRegistry {
  const hold = <T>(id: string, work: (held: HeldAccount) => Promise<T>): Promise<T> =>
    inTransaction(pool, async (client) => work(await holdAccount(client, surroundings, id)));
  const simple = (id: string, name: AccountAct, how: ActDescription): Promise<Account> =>
    hold(id, async (held) => (await act(held, name, how)).account);

  return {
    create: (account, actor) =>
      inTransaction(pool, (client) => createAccount(client, surroundings, account, actor)),
    get: (id) => findAccount(pool, id),
    list: (request) => listAccounts(pool, request),
    declare: (id, declaration, actor) =>
      hold(id, (held) => declare(held, checkDeclaration(declaration), actor)),
    recordScreening: (id, screening) =>
      inTransaction(pool, (client) => recordScreening(client, surroundings, id, screening)),
    decide: (orgId, verdict, actor, note) =>
      inTransaction(pool, (client) =>
        decideReview(client, surroundings, { orgId, verdict, actor, note }),
      ),
    sign: (id, contract, actor) =>
      hold(id, (held) => sign(held, checkContract(contract, surroundings.now()), actor)),
    activate: (id, actor) => simple(id, 'activate', { actor }),
    suspend: (id, actor, reason) => simple(id, 'suspend', { actor, reason }),
    reinstate: (id, actor, reason) => simple(id, 'reinstate', { actor, reason }),
    close: (id, actor, reason) => hold(id, (held) => closeAccount(held, actor, reason)),
    setPlan: (id, plan, actor) =>
      hold(id, (held) =>
        change(held, actor, {
          set: { plan },
          action: 'account.plan_set',
          details: { from: held.account.plan, to: plan },
        }),
      ),
    setLimits: (id, limits, actor) =>
      hold(id, (held) => {
        const set = limitColumns(limits === null ? null : checkLimits(limits, held.account.plan));
        return change(held, actor, { set, action: 'account.limits_set', details: set });
      }),
    applicant: (id) => findApplicant(pool, id),
    screeningDue: (limit) => listScreeningDue(pool, limit),
    reviews: (request) => listReviews(pool, request),
    review: (id) => findReview(pool, id),
    screening: (id, screeningId) => findScreening(pool, id, screeningId),
  };
}

/** The four columns of negotiated limits, empty for the plan's own. */
function limitColumns(limits: Limits | null) {
  return {
    requests_per_second: limits?.requestsPerSecond ?? null,
    burst: limits?.burst ?? null,
    requests_per_day: limits?.requestsPerDay ?? null,
    concurrent_streams: limits?.concurrentStreams ?? null,
  };
}

async function createAccount(
  client: PoolClient,
  surroundings: Surroundings,
  account: NewAccount,
  actor: Actor,
): Promise<Account> {
  const name = checkLabel(account.name, 'name');
  const billing = checkContact(account.billing, 'billing');
  const technical = checkContact(account.technical, 'technical');
  const now = new Date(surroundings.now());
  const { rows } = await client.query<AccountRow>(
    `insert into account (id, name, plan, billing_name, billing_email, technical_name, technical_email,
       created_at, state_changed_at)
     values ($1, $2, $3, $4, $5, $6, $7, $8, $8) returning ${ACCOUNT_COLUMNS}`,
    [
      surroundings.newId('org'),
      name,
      account.plan,
      billing.name,
      billing.email,
      technical.name,
      technical.email,
      now,
    ],
  );
  const created = accountOf(rows[0]!);
  await appendAudit(client, surroundings, {
    orgId: created.id,
    action: 'account.created',
    actor,
    details: { name, plan: created.plan },
  });
  await queueAccountMail(client, surroundings, created, 'account.created');
  return created;
}

async function declare(
  held: HeldAccount,
  declaration: ReturnType<typeof checkDeclaration>,
  actor: Actor,
): Promise<Account> {
  await held.client.query(
    `insert into declaration (org_id, version, statements, country, industry, trading_names,
       declared_by, declared_at)
     values ($1, $2, $3, $4, $5, $6, $7, $8)`,
    [
      held.account.id,
      declaration.version,
      JSON.stringify(declaration.statements),
      declaration.country,
      declaration.industry,
      declaration.tradingNames,
      declaration.declaredBy,
      new Date(held.surroundings.now()),
    ],
  );
  const details = { version: declaration.version, declared_by: declaration.declaredBy };
  return (await act(held, 'declare', { actor, details })).account;
}

async function sign(
  held: HeldAccount,
  contract: ReturnType<typeof checkContract>,
  actor: Actor,
): Promise<Account> {
  const now = new Date(held.surroundings.now());
  await held.client.query(
    `insert into service_contract (org_id, kind, document_sha256, signatory, signed_at,
       recorded_by, recorded_at)
     values ($1, $2, decode($3, 'hex'), $4, $5, $6, $7)`,
    [
      held.account.id,
      contract.kind,
      contract.documentSha256,
      contract.signatory,
      new Date(contract.signedAt),
      actor.id,
      now,
    ],
  );
  const details = { kind: contract.kind, document_sha256: contract.documentSha256 };
  return (await act(held, 'sign', { actor, details })).account;
}

/** A closed account has no keys: its active ones are revoked with it, each with its own audit entry. */
async function closeAccount(held: HeldAccount, actor: Actor, reason: string): Promise<Account> {
  const { client, surroundings, account } = held;
  // Keys are locked before the audit chain, as everywhere else.
  await client.query(
    `select from api_key where org_id = $1 and state = 'active' order by id for update`,
    [account.id],
  );
  const closed = await act(held, 'close', { actor, reason });
  const { rows } = await client.query<{ id: string }>(
    `update api_key set state = 'revoked', revoked_at = $2
     where org_id = $1 and state = 'active' returning id`,
    [account.id, new Date(surroundings.now())],
  );
  for (const { id } of rows) {
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

interface Change {
  set: Updateable<Database['account']>;
  action: string;
  details: AuditDetails;
}

/** Changes what an account may do, not where it stands. */
async function change(held: HeldAccount, actor: Actor, what: Change): Promise<Account> {
  const { client, surroundings, account } = held;
  if (account.state === 'closed' || account.state === 'rejected') {
    throw new Fault('invalid_account_state', { message: `The account is ${account.state}.` });
  }
  if (actor.kind !== 'operator') {
    throw new Fault('invalid_actor', {
      message: 'Plans and limits are set by operators.',
      param: 'actor',
    });
  }
  const row = await queriesOn(client)
    .updateTable('account')
    .set(what.set)
    .where('id', '=', account.id)
    .returningAll()
    .executeTakeFirstOrThrow();
  await appendAudit(client, surroundings, {
    orgId: account.id,
    action: what.action,
    actor,
    details: what.details,
  });
  return accountOf(row);
}
