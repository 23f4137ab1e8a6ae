import { execute, statement } from '#shared/kernel/postgres/statement.ts';
import type { Queryable } from '#shared/kernel/postgres/transaction.ts';
import { figureOf, USAGE_DIMENSIONS, USAGE_FIGURES, type UsageFigure } from '../usage-columns.ts';

/** Entries of a log, `end` excluded. */
export interface UsageRange {
  orgId: string;
  first: number;
  end: number;
}

const DIMENSIONS = USAGE_DIMENSIONS.join(', ');
const FIGURES = USAGE_FIGURES.join(', ');
const list = (of: (name: string) => string, names: readonly string[]): string =>
  names.map(of).join(', ');

/**
 * What entries change about figures: a first receipt is added; a revision takes away what it revises, and is added, where
 * the first receipt of its chain lies. `entry` must have rows of `ledger_entry`.
 */
export const USAGE_MOVED = `moved as (
    select org_id, index as first_index, entry_id as first_id, entry_id, 1 as sign from entry where supersedes is null
    union all
    select e.org_id, f.index, f.entry_id, x.entry_id, x.sign
    from entry e
    join receipt_revision v on v.revision_id = e.entry_id
    join ledger_entry f on f.entry_id = v.first_id and f.org_id = e.org_id
    cross join lateral (values (e.entry_id, 1), (e.supersedes, -1)) as x (entry_id, sign)
    where e.supersedes is not null
  )`;

/** A figure with the sign of its row. Multiplied by it, each would be a product of two `numeric`. */
const signed = (figure: string): string =>
  `case when m.sign = 1 then ${figure} else -(${figure}) end`;

/** Adds rows to a table of sums, in the order of its key. */
const add = (table: string, rows: string): string =>
  `insert into ${table} as u (org_id, at, ${DIMENSIONS}, first_index, last_index, ${FIGURES})
   ${rows} order by org_id, at, ${DIMENSIONS}
   on conflict (org_id, at, ${DIMENSIONS}) do update set
     first_index = least(u.first_index, excluded.first_index),
     last_index = greatest(u.last_index, excluded.last_index),
     ${list((name) => `${name} = u.${name} + excluded.${name}`, USAGE_FIGURES)}`;

const SUM_UP = statement(
  {},
  `with entry as (
     select e.org_id, e.index, e.entry_id, e.supersedes
     from unnest($1::text[], $2::bigint[], $3::bigint[]) as g (org_id, first, "end")
     join ledger_entry e on e.org_id = g.org_id and e.index >= g.first and e.index < g."end"
   ), ${USAGE_MOVED}, delta as (
     select m.org_id, receipt_hour(m.first_id) as at, ${list((name) => `r.${name}`, USAGE_DIMENSIONS)},
       min(m.first_index) as first_index, max(m.first_index) as last_index,
       ${list((name) => `sum(${signed(figureOf(name as UsageFigure))}) as ${name}`, USAGE_FIGURES)}
     from moved m join receipt_figure r on r.entry_id = m.entry_id and r.org_id = m.org_id
     group by m.org_id, receipt_hour(m.first_id), ${list((name) => `r.${name}`, USAGE_DIMENSIONS)}
   ), hours as (
     ${add('usage_hour', `select org_id, at, ${DIMENSIONS}, first_index, last_index, ${FIGURES} from delta`)}
   )
   ${add(
     'usage_day',
     `select org_id, date_trunc('day', at, 'UTC') as at, ${DIMENSIONS}, min(first_index), max(last_index),
        ${list((name) => `sum(${name})`, USAGE_FIGURES)}
      from delta group by org_id, date_trunc('day', at, 'UTC'), ${DIMENSIONS}`,
   )}`,
  { name: 'sum-up-usage' },
);

/** Adds the usage of these entries to the sums. The heads of their logs must be locked, so that each is added once. */
export async function sumUp(client: Queryable, ranges: readonly UsageRange[]): Promise<void> {
  if (ranges.length === 0) return;
  await execute(client, SUM_UP, [
    ranges.map(({ orgId }) => orgId),
    ranges.map(({ first }) => first),
    ranges.map(({ end }) => end),
  ]);
}
