import { BUDGET_MEASURES } from '#shared/kernel/budget-measures.ts';
import type { Pool, PoolClient } from 'pg';
import { holdAccount } from '#shared/accounts/postgres/accounts.ts';
import { onceEach, queueLetter } from '#shared/accounts/postgres/mail.ts';
import { recordEvent } from '#shared/accounts/postgres/events.ts';
import { ownersOf, readersAmong } from '#shared/accounts/postgres/readers.ts';
import type { WebhookFact } from '#shared/accounts/webhook-events.ts';
import { queriesOn } from '#shared/kernel/postgres/queries.ts';
import { queryRows, type Row, statement } from '#shared/kernel/postgres/statement.ts';
import { inTransaction } from '#shared/kernel/postgres/transaction.ts';
import type { Surroundings } from '#shared/kernel/surroundings.ts';
import { DAY_MS, timeText } from '#shared/kernel/time.ts';
import { BUDGET_MODES, BUDGET_PERIODS, BUDGET_SCOPES, spanOf, unitOf } from '../budget.ts';
import { draftOfReached } from '../letters.ts';
import { isOfPeriod, isSumOf, measured, sumsOf } from './sums.ts';

/** Organisations with budgets whose ledger has grown in the last `$1` seconds. */
const GROWN = statement(
  { org_id: 'text' },
  `select h.org_id from ledger_head h
   where h.integrated_at >= now() - make_interval(secs => $1)
     and exists (select from budget b where b.org_id = h.org_id)`,
);

/**
 * Shares that are reached in the day since `$1` or the month since `$2` and were not told, with the budgets that they are of;
 * of organisations that have used anything since `$3` and are among `$5`, where that is not null. The first of each organisation
 * come first, so that one whose e-mails are full for this hour, and that goes on reaching shares, keeps none from being told.
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
    currency: 'text?',
  },
  `with o as materialized (
     select a.id from account a
     where a.state in ('active', 'suspended') and exists (select from budget b where b.org_id = a.id)
       and ($5::text[] is null or a.id = any ($5))
       and exists (select from usage_day d where d.org_id = a.id and d.at >= $3)),
   c as materialized (
     select o.id as org_id, c.* from o cross join lateral (${sumsOf({ org: 'o.id', day: '$1', month: '$2' })}) c),
   u as (
     select b.id, sum(${measured('c')}) as used
     from c join budget b on b.org_id = c.org_id and ${isOfPeriod('c')} and ${isSumOf('c')}
     group by b.id)
   select b.id, b.org_id, b.name, b.scope, b.target, b.measure, b.period, b.limit_amount, b.mode, p.since,
     u.used, s.share, k.name as key_name, (select code from currency) as currency
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
 * one go. Of several that are reached at once the highest is told. Returns whether there is a message for webhooks.
 * @param grownWithinS of organisations alone whose ledger has grown in so many seconds; of all when it is null
 */
export async function tellReached(
  pool: Pool,
  surroundings: Surroundings,
  { limit, grownWithinS }: { limit: number; grownWithinS: number | null },
): Promise<boolean> {
  const among =
    grownWithinS === null
      ? null
      : (await queryRows(pool, GROWN, [grownWithinS])).map(({ org_id }) => org_id);
  if (among?.length === 0) return false;
  const now = surroundings.now();
  const [day, month] = [spanOf('day', now).start, spanOf('month', now).start];
  // Receipts of yesterday may have come late.
  const times = [day, month, day - DAY_MS].map((at) => new Date(at));
  const reached = await queryRows(pool, REACHED, [...times, limit, among]);
  let messages = 0;
  for (const shares of Map.groupBy(reached, ({ id }) => id).values()) {
    messages += await inTransaction(pool, (client) => tell(client, surroundings, shares));
  }
  return messages > 0;
}

/**
 * A round looks at what has grown since some rounds before it: an integration that began before a round may be committed after
 * it.
 */
const GROWN_WITHIN_S = 15;
/** How often all organisations are looked at: a budget that is made or changed reaches a share without any growth. */
const ALL_EVERY_MS = 30_000;

/** Rounds in which shares are told. The first of a process looks at all organisations. */
export function createBudgetRounds(pool: Pool, surroundings: Surroundings) {
  let allAt = -Infinity;
  /** Tells at most `limit` shares. Returns whether there is a message for webhooks. */
  return async (limit: number): Promise<boolean> => {
    const now = surroundings.now();
    const isOfAll = now - allAt >= ALL_EVERY_MS;
    const grownWithinS = isOfAll ? null : GROWN_WITHIN_S;
    const told = await tellReached(pool, surroundings, { limit, grownWithinS });
    if (isOfAll) allAt = now;
    return told;
  };
}

/** Returns for how many webhooks there is a message. Where its organisation has sent as many e-mails as an hour takes, a later round tells. */
async function tell(
  client: PoolClient,
  surroundings: Surroundings,
  shares: readonly Reached[],
): Promise<number> {
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
  if (highest === undefined) return 0;
  const budget = { ...highest, limit: Number(highest.limit_amount), keyName: highest.key_name };
  const used = Number(highest.used);
  const draft = draftOfReached({ ...budget, used }, highest.share, surroundings.now());
  // Where e-mails are full for this hour webhooks are told all the same, once.
  const fact = factOf({ ...budget, used }, highest.share, since, surroundings.now());
  const once = `${id} ${since.getTime()} ${highest.share}`;
  const messages = await recordEvent(client, surroundings, fact, { once });
  const owners = await ownersOf(client, orgId);
  const contacts = await readersAmong(client, orgId, [account.technical.email]);
  const readers = [...onceEach([...owners, ...contacts])];
  let letters = 0;
  for (const to of readers) {
    if (await queueLetter(client, surroundings, { to, ...draft }, { orgId })) letters += 1;
  }
  if (letters === 0 && readers.length > 0) return messages;
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
  return messages;
}

function factOf(
  reached: Omit<Reached, 'used'> & { limit: number; used: number },
  share: number,
  since: Date,
  now: number,
): WebhookFact<'budget.reached'> {
  const { id, org_id: orgId, name, scope, target, measure, period, limit, mode, used } = reached;
  const unit = unitOf(measure, reached.currency);
  return {
    orgId,
    type: 'budget.reached',
    data: {
      budget: { id, name, scope, target, measure, unit, period, limit, mode },
      share,
      used,
      period_start: timeText(since.getTime()),
      period_end: timeText(spanOf(period, now).end),
    },
  };
}
