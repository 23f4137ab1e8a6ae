import type { PoolClient } from 'pg';
import type { Account } from '../account.ts';
import { transition, type AccountAct, type AccountFacts } from '../machine.ts';
import type { Actor, AuditDetails } from '../audit/entry.ts';
import { Fault } from '#shared/kernel/errors.ts';
import type { Surroundings } from '#shared/kernel/surroundings.ts';
import { ACCOUNT_COLUMNS, accountOf } from './read.ts';
import { appendAudit } from './audit-append.ts';
import { queueAccountMail } from './mail-events.ts';
import type { AccountRow } from './schema.ts';

/**
 * A transaction that holds an account's row: acts happen one after the other, never side by side.
 * `no key`: rows that only refer to the account (a letter, a key) are not held up by it.
 */
export interface HeldAccount {
  client: PoolClient;
  surroundings: Surroundings;
  account: Account;
}

export async function holdAccount(
  client: PoolClient,
  surroundings: Surroundings,
  orgId: string,
): Promise<HeldAccount> {
  const { rows } = await client.query<AccountRow>(
    `select ${ACCOUNT_COLUMNS} from account where id = $1 for no key update`,
    [orgId],
  );
  if (rows[0] === undefined) throw new Fault('organisation_not_found');
  return { client, surroundings, account: accountOf(rows[0]) };
}

export interface ActDescription {
  actor: Actor;
  reason?: string | undefined;
  subject?: string;
  details?: AuditDetails;
}

/** Takes one arrow of the machine: checks it, writes the state, the audit entry and the mail that goes with it. */
export async function act(
  held: HeldAccount,
  name: AccountAct,
  description: ActDescription,
): Promise<HeldAccount> {
  const { client, surroundings, account } = held;
  const facts = await readFacts(held);
  const next = transition(facts, name, description.actor, description.reason);
  const { rows } = await client.query<AccountRow>(
    `update account set state = $2, state_changed_at = $3 where id = $1 returning ${ACCOUNT_COLUMNS}`,
    [account.id, next.to, new Date(surroundings.now())],
  );
  const changed = accountOf(rows[0]!);
  await appendAudit(client, surroundings, {
    orgId: account.id,
    action: next.action,
    actor: description.actor,
    ...(description.subject === undefined ? {} : { subject: description.subject }),
    ...(description.reason === undefined ? {} : { reason: description.reason }),
    details: { ...description.details, from: account.state, to: next.to },
  });
  await queueAccountMail(client, surroundings, changed, next.action);
  return { ...held, account: changed };
}

async function readFacts({ client, account }: HeldAccount): Promise<AccountFacts> {
  const { rows } = await client.query<{
    declared: boolean;
    screening: AccountFacts['screening'];
    review: 'approved' | 'rejected' | 'open' | null;
    contracted: boolean;
  }>(
    `select
       exists (select from declaration where org_id = $1) as declared,
       (select outcome from screening where org_id = $1 order by sequence desc limit 1) as screening,
       (select coalesce(decision, 'open') from review where org_id = $1
          order by sequence desc limit 1) as review,
       exists (select from service_contract where org_id = $1) as contracted`,
    [account.id],
  );
  return { state: account.state, ...rows[0]! };
}
