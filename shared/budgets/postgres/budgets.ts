import type { Selectable } from 'kysely';
import type { Pool, PoolClient } from 'pg';
import type { Actor } from '#shared/accounts/audit/entry.ts';
import type { Account } from '#shared/accounts/account.ts';
import { checkSettingsChange } from '#shared/accounts/machine.ts';
import { holdAccount } from '#shared/accounts/postgres/accounts.ts';
import { appendAudit } from '#shared/accounts/postgres/audit.ts';
import { Fault, invalidParam } from '#shared/kernel/errors.ts';
import { firstReceiptIdAt } from '#shared/kernel/ids.ts';
import type { Database } from '#shared/kernel/postgres/database.ts';
import { queriesOn } from '#shared/kernel/postgres/queries.ts';
import { queryRows, statement } from '#shared/kernel/postgres/statement.ts';
import { inTransaction } from '#shared/kernel/postgres/transaction.ts';
import { tagOf } from '#shared/kernel/tags.ts';
import type { Surroundings } from '#shared/kernel/surroundings.ts';
import {
  type Budget,
  BUDGETS_MAX,
  type BudgetPeriod,
  type BudgetTerms,
  checkBudget,
  checkTerms,
  type NewBudget,
  spanOf,
} from '../budget.ts';
import { isOf, isOfPeriod, isOfTag, isSumOf, measured, sumsOf } from './sums.ts';

/** A share of a budget that is reached, since when (epoch milliseconds), and how many e-mails told of it. */
interface Told {
  share: number;
  at: number;
  letters: number;
}

/** A budget, and how much of it is used in the period that runs, as far as the ledger has it. */
export interface UsedBudget extends Budget {
  used: number;
  /** The shares that were told in this period, rising. */
  told: readonly Told[];
  /** The name of the key that it is of; null where it is of none, or of one that is deleted. */
  keyName: string | null;
  /** In which costs are counted; null where nothing had a price yet. */
  currency: string | null;
}

/**
 * What each budget of an organisation has had used since the day (`$2`) or the month (`$3`) began. Periods are whole days, so
 * that the sums of days are enough, which are read once for all of them.
 */
const USED = statement(
  { id: 'text', used: 'numeric', key_name: 'text?', currency: 'text?' },
  `with s as materialized (${sumsOf({ org: '$1', day: '$2', month: '$3' })})
   select b.id, coalesce(u.used, 0) as used, k.name as key_name,
     (select code from currency) as currency
   from budget b
   left join api_key k on b.scope = 'key' and k.id = b.target and k.org_id = b.org_id
   cross join lateral (
     select sum(${measured('s')}) as used from s where ${isOfPeriod('s')} and ${isSumOf('s')}) u
   where b.org_id = $1`,
);

/**
 * What of one budget is used in a period, receipts included that are promised to the ledger and not in it yet: what comes after
 * them is not in PostgreSQL.
 */
const USED_BY_NOW = statement(
  { used: 'numeric' },
  `select coalesce(sum(used), 0) as used from (
     select ${measured('d')} as used
     from budget b join usage_day d on d.org_id = b.org_id and d.at >= $3 and d.at < $4 and ${isOf('d')}
     where b.org_id = $1 and b.id = $2
     union all
     select ${measured('d')}
     from budget b join usage_tag_day d on d.org_id = b.org_id and d.at >= $3 and d.at < $4 and ${isOfTag('d')}
     where b.org_id = $1 and b.id = $2
     union all
     select ${measured('r')}
     from budget b
     join receipt_pending p on p.org_id = b.org_id and p.supersedes is null and p.entry_id >= $5 and p.entry_id < $6
     join receipt_figure r on r.org_id = p.org_id and r.entry_id = p.entry_id
       and case b.scope when 'tag' then b.target = any (r.tags) else ${isOf('r')} end
     where b.org_id = $1 and b.id = $2) u`,
);

/** Reads what of a hard budget is used in a period (epoch milliseconds), as counters of admission are made from. */
export async function usedByNow(
  pool: Pool,
  { orgId, budget, since, until }: { orgId: string; budget: string; since: number; until: number },
): Promise<number> {
  const [row] = await queryRows(pool, USED_BY_NOW, [
    orgId,
    budget,
    new Date(since),
    new Date(until),
    firstReceiptIdAt(since),
    firstReceiptIdAt(until),
  ]);
  return Number(row!.used);
}

/**
 * The budgets of organisations, in PostgreSQL. Each act is one transaction with its audit entry, and holds the account, so that
 * no two of them pass the bound side by side. Refusals are Faults.
 */
export function createBudgetRegistry(pool: Pool, surroundings: Surroundings) {
  const inAct = <T>(
    orgId: string,
    actor: Actor,
    work: (client: PoolClient, account: Account) => Promise<T>,
  ): Promise<T> =>
    inTransaction(pool, async (client) => {
      const { account } = await holdAccount(client, surroundings, orgId);
      checkSettingsChange(account.state, actor);
      return work(client, account);
    });
  return {
    /** All budgets of an organisation, the oldest first, with what is used of each. */
    async list(orgId: string): Promise<UsedBudget[]> {
      const now = surroundings.now();
      const [day, month] = [spanOf('day', now), spanOf('month', now)];
      const db = queriesOn(pool);
      const [rows, sums, told] = await Promise.all([
        db.selectFrom('budget').selectAll().where('org_id', '=', orgId).orderBy('id').execute(),
        queryRows(pool, USED, [orgId, new Date(day.start), new Date(month.start)]),
        db
          .selectFrom('budget_told as t')
          .innerJoin('budget as b', 'b.id', 't.budget_id')
          .select([
            't.budget_id',
            't.period_start',
            't.share',
            't.told_at',
            't.letters',
            'b.period',
          ])
          .where('b.org_id', '=', orgId)
          .where('t.period_start', 'in', [new Date(day.start), new Date(month.start)])
          .orderBy('t.share')
          .execute(),
      ]);
      const toldOf = (budget: string): Told[] =>
        told
          .filter((one) => one.budget_id === budget && isNow(one.period, one.period_start, now))
          .map(({ share, told_at: at, letters }) => ({ share, at: at.getTime(), letters }));
      const used = new Map(sums.map((sum) => [sum.id, sum]));
      return rows.map((row) => ({
        ...budgetOf(row),
        used: Number(used.get(row.id)?.used ?? 0),
        told: toldOf(row.id),
        keyName: used.get(row.id)?.key_name ?? null,
        currency: used.get(row.id)?.currency ?? null,
      }));
    },

    /**
     * `currency`: of the catalogue's prices. Throws `invalid_<param>`, `key_not_found` and, when there are as many as there may be,
     * `invalid_budget`.
     */
    make: (
      orgId: string,
      asked: NewBudget,
      actor: Actor,
      currency: string | null = null,
    ): Promise<Budget> => {
      const budget = checkBudget(asked);
      return inAct(orgId, actor, async (client, { tags }) => {
        await demandRoom(client, orgId);
        if (budget.scope === 'key') await demandKey(client, orgId, budget.target);
        if (budget.scope === 'tag') demandTag(tags, budget.target!);
        if (budget.measure === 'money') await demandPrices(client, currency);
        const row = await queriesOn(client)
          .insertInto('budget')
          .values({
            id: surroundings.newId('bgt'),
            org_id: orgId,
            scope: budget.scope,
            target: budget.target,
            measure: budget.measure,
            period: budget.period,
            ...termColumns(budget),
            created_at: new Date(surroundings.now()),
          })
          .returningAll()
          .executeTakeFirstOrThrow();
        const made = budgetOf(row);
        const { id: subject } = made;
        const details = detailsOf(made);
        await appendAudit(client, surroundings, {
          orgId,
          action: 'budget.made',
          actor,
          subject,
          details,
        });
        return made;
      });
    },

    /** Throws `budget_not_found`, `invalid_<param>` and, where it is not any more what was `seen`, `invalid_budget`. */
    change: (
      orgId: string,
      id: string,
      { seen, ...asked }: BudgetTerms & { seen?: Seen },
      actor: Actor,
    ): Promise<Budget> =>
      inAct(orgId, actor, async (client) => {
        const before = await find(client, orgId, id);
        demandSeen(before, seen);
        const terms = checkTerms(asked, before.measure);
        const row = await queriesOn(client)
          .updateTable('budget')
          .set(termColumns(terms))
          .where('id', '=', id)
          .returningAll()
          .executeTakeFirstOrThrow();
        const changed = budgetOf(row);
        const details = { ...detailsOf(changed), limit_before: before.limit };
        await appendAudit(client, surroundings, {
          orgId,
          action: 'budget.changed',
          actor,
          subject: id,
          details,
        });
        return changed;
      }),

    /** Throws `budget_not_found`, and `invalid_budget` as a change does. What it was stands in the audit log. */
    end: (orgId: string, id: string, actor: Actor, seen?: Seen): Promise<void> =>
      inAct(orgId, actor, async (client) => {
        const before = await find(client, orgId, id);
        demandSeen(before, seen);
        const details = detailsOf(before);
        await queriesOn(client).deleteFrom('budget').where('id', '=', id).execute();
        await appendAudit(client, surroundings, {
          orgId,
          action: 'budget.ended',
          actor,
          subject: id,
          details,
        });
      }),
  };
}

/** What of a budget decides whether to loosen or end it asks for a proof. */
type Seen = Pick<Budget, 'mode' | 'limit'>;

/** A budget that was tightened since it was decided that no proof is needed would be loosened without one. */
function demandSeen(budget: Seen, seen: Seen = budget): void {
  if (budget.mode === seen.mode && budget.limit === seen.limit) return;
  throw new Fault('invalid_budget', {
    message: 'The budget was changed meanwhile. Look at it again.',
  });
}

/** On the first of a month a day and a month begin at once. */
const isNow = (period: BudgetPeriod, since: Date, now: number): boolean =>
  spanOf(period, now).start === since.getTime();

async function demandRoom(client: PoolClient, orgId: string): Promise<void> {
  const ids = await queriesOn(client)
    .selectFrom('budget')
    .select('id')
    .where('org_id', '=', orgId)
    .limit(BUDGETS_MAX)
    .execute();
  if (ids.length < BUDGETS_MAX) return;
  throw new Fault('invalid_budget', {
    message: `An organisation has at most ${BUDGETS_MAX} budgets. End one that is not needed.`,
  });
}

async function demandKey(client: PoolClient, orgId: string, keyId: string | null): Promise<void> {
  const key = await queriesOn(client)
    .selectFrom('api_key')
    .select('id')
    .where('id', '=', keyId)
    .where('org_id', '=', orgId)
    .executeTakeFirst();
  if (key === undefined) throw new Fault('key_not_found');
}

/** A budget of a tag that is not declared would count nothing. */
function demandTag(declared: readonly string[], tag: string): void {
  const { key } = tagOf(tag)!;
  if (declared.includes(key)) return;
  throw invalidParam('target', `Declare the tag \`${key}\` under Settings first.`);
}

/** Costs are counted in one currency, which the first of those that count writes down. */
async function demandPrices(client: PoolClient, currency: string | null): Promise<void> {
  if (currency === null)
    throw invalidParam('measure', 'This gateway has no prices, so that nothing would be counted.');
  const db = queriesOn(client);
  const row = { code: currency };
  await db
    .insertInto('currency')
    .values(row)
    .onConflict((conflict) => conflict.doNothing())
    .execute();
  const { code } = await db.selectFrom('currency').select('code').executeTakeFirstOrThrow();
  if (code === currency) return;
  throw invalidParam('measure', `Costs are counted in ${code}, and prices are in ${currency}.`);
}

async function find(client: PoolClient, orgId: string, id: string): Promise<Budget> {
  const row = await queriesOn(client)
    .selectFrom('budget')
    .selectAll()
    .where('id', '=', id)
    .where('org_id', '=', orgId)
    .executeTakeFirst();
  if (row === undefined) throw new Fault('budget_not_found');
  return budgetOf(row);
}

const termColumns = ({ name, limit, mode, shares }: BudgetTerms) => ({
  name,
  mode,
  limit_amount: String(limit),
  shares: [...shares],
});

const detailsOf = ({ name, scope, target, measure, period, limit, mode, shares }: Budget) => ({
  name,
  scope,
  target,
  measure,
  period,
  limit,
  mode,
  shares: shares.map(String),
});

function budgetOf(row: Selectable<Database['budget']>): Budget {
  return {
    id: row.id,
    orgId: row.org_id,
    name: row.name,
    scope: row.scope,
    target: row.target,
    measure: row.measure,
    period: row.period,
    limit: Number(row.limit_amount),
    mode: row.mode,
    shares: row.shares,
    createdAt: row.created_at.getTime(),
  };
}
