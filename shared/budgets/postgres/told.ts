import type { Pool, PoolClient } from 'pg';
import { holdAccount } from '#shared/accounts/postgres/accounts.ts';
import { onceEach, queueLetter } from '#shared/accounts/postgres/mail.ts';
import { ownersOf, readersAmong } from '#shared/accounts/postgres/readers.ts';
import { queriesOn } from '#shared/kernel/postgres/queries.ts';
import { queryRows, type Row, statement } from '#shared/kernel/postgres/statement.ts';
import { inTransaction } from '#shared/kernel/postgres/transaction.ts';
import type { Surroundings } from '#shared/kernel/surroundings.ts';
import { DAY_MS } from '#shared/kernel/time.ts';
import { BUDGET_MEASURES, BUDGET_MODES, BUDGET_PERIODS, BUDGET_SCOPES, spanOf } from '../budget.ts';
import { draftOfReached } from '../letters.ts';
import { isOfPeriod, isSumOf, measured, sumsOf } from './sums.ts';

/**
 * Shares that are reached in the day since `$1` or the month since `$2` and were not told, with the budgets that they are of;
 * of organisations that have used anything since `$3`. The first of each organisation come first, so that one whose e-mails are
 * full for this hour, and that goes on reaching shares, keeps none from being told.
 */
const REACHED = statement(
  {
    id: 'text',
    org_id: 'text',
    name: 'text',
    scope: BUDGET_SCOPES,
    target: 'text?',
    measure: BUDGET_MEASURES,
    period: BUDGET_PERIODS,
    limit_amount: 'numeric',
    mode: BUDGET_MODES,
    since: 'timestamptz',
    used: 'numeric',
    share: 'int2',
    key_name: 'text?',
  },
  `with o as materialized (
     select a.id from account a
     where a.state in ('active', 'suspended') and exists (select from budget b where b.org_id = a.id)
       and exists (select from usage_day d where d.org_id = a.id and d.at >= $3)),
   c as materialized (
     select o.id as org_id, c.* from o cross join lateral (${sumsOf({ org: 'o.id', day: '$1', month: '$2' })}) c),
   u as (
     select b.id, sum(${measured('c')}) as used
     from c join budget b on b.org_id = c.org_id and ${isOfPeriod('c')} and ${isSumOf('c')}
     group by b.id)
   select b.id, b.org_id, b.name, b.scope, b.target, b.measure, b.period, b.limit_amount, b.mode, p.since,
     u.used, s.share, k.name as key_name
   from u
   join budget b on b.id = u.id
   left join api_key k on b.scope = 'key' and k.id = b.target and k.org_id = b.org_id
   cross join lateral (select case b.period when 'day' then $1::timestamptz else $2::timestamptz end as since) p
   cross join lateral unnest(b.shares) as s (share)
   where u.used * 100 >= b.limit_amount * s.share
     and not exists (
       select from budget_told t where t.budget_id = b.id and t.period_start = p.since and t.share = s.share)
   order by dense_rank() over (partition by b.org_id order by b.id), b.id, s.share
   limit $4`,
);
type Reached = Row<typeof REACHED>;

/**
 * Tells owners and the technical contact which shares of budgets are reached, each once in a period, at most `limit` shares in
 * one go. Of several that are reached at once the highest is told.
 */
export async function tellReached(
  pool: Pool,
  surroundings: Surroundings,
  limit: number,
): Promise<void> {
  const now = surroundings.now();
  const [day, month] = [spanOf('day', now).start, spanOf('month', now).start];
  // Receipts of yesterday may have come late.
  const times = [day, month, day - DAY_MS].map((at) => new Date(at));
  const reached = await queryRows(pool, REACHED, [...times, limit]);
  for (const shares of Map.groupBy(reached, ({ id }) => id).values()) {
    await inTransaction(pool, (client) => tell(client, surroundings, shares));
  }
}

/** Where its organisation has sent as many e-mails as an hour takes, a later round tells. */
async function tell(
  client: PoolClient,
  surroundings: Surroundings,
  shares: readonly Reached[],
): Promise<void> {
  const { id, org_id: orgId, since } = shares[0]!;
  // Two rounds of one organisation come one after the other.
  const { account } = await holdAccount(client, surroundings, orgId);
  const told = await queriesOn(client)
    .selectFrom('budget_told')
    .select('share')
    .where('budget_id', '=', id)
    .where('period_start', '=', since)
    .execute();
  const left = shares.filter(({ share }) => !told.some((one) => one.share === share));
  const highest = left.at(-1);
  if (highest === undefined) return;
  const budget = { ...highest, limit: Number(highest.limit_amount), keyName: highest.key_name };
  const used = Number(highest.used);
  const draft = draftOfReached({ ...budget, used }, highest.share, surroundings.now());
  const owners = await ownersOf(client, orgId);
  const contacts = await readersAmong(client, orgId, [account.technical.email]);
  const readers = [...onceEach([...owners, ...contacts])];
  let letters = 0;
  for (const to of readers) {
    if (await queueLetter(client, surroundings, { to, ...draft }, { orgId })) letters += 1;
  }
  if (letters === 0 && readers.length > 0) return;
  const row = {
    budget_id: id,
    period_start: since,
    told_at: new Date(surroundings.now()),
    letters,
  };
  await queriesOn(client)
    .insertInto('budget_told')
    .values(left.map(({ share }) => ({ ...row, share })))
    .onConflict((conflict) => conflict.doNothing())
    .execute();
}
