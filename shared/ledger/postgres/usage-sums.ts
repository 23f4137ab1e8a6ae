import { execute, queryRows, statement } from '#shared/kernel/postgres/statement.ts';
import type { Queryable } from '#shared/kernel/postgres/transaction.ts';
import { OTHER_VALUES, TAG_VALUES_A_DAY_MAX } from '#shared/kernel/tags.ts';
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

const SUMS_OF_MOVED = list(
  (name) => `sum(${signed(figureOf(name as UsageFigure))}) as ${name}`,
  USAGE_FIGURES,
);

/** Adds rows to a table of sums, in the order of its key. */
const add = (table: string, key: string, rows: string): string =>
  `insert into ${table} as u (org_id, at, ${key}, first_index, last_index, ${FIGURES})
   ${rows} order by org_id, at, ${key}
   on conflict (org_id, at, ${key}) do update set
     first_index = least(u.first_index, excluded.first_index),
     last_index = greatest(u.last_index, excluded.last_index),
     ${list((name) => `${name} = u.${name} + excluded.${name}`, USAGE_FIGURES)}`;

/** Adds the rows of `delta`, which has hours, to those of hours and of days. */
const addBoth = ({ hour, day }: Record<'hour' | 'day', string>, key: string): string =>
  `hours as (
     ${add(hour, key, `select org_id, at, ${key}, first_index, last_index, ${FIGURES} from delta`)}
   ), days as (
     ${add(
       day,
       key,
       `select org_id, date_trunc('day', at, 'UTC') as at, ${key}, min(first_index), max(last_index),
        ${list((name) => `sum(${name})`, USAGE_FIGURES)}
      from delta group by org_id, date_trunc('day', at, 'UTC'), ${key}`,
     )}
   )`;

/** The entries of the ranges, and what they change. */
const MOVED = `entry as (
     select e.org_id, e.index, e.entry_id, e.supersedes
     from unnest($1::text[], $2::bigint[], $3::bigint[]) as g (org_id, first, "end")
     join ledger_entry e on e.org_id = g.org_id and e.index >= g.first and e.index < g."end"
   ), ${USAGE_MOVED}`;

/** Says whether any of it has tags: most have none, and of those nothing more is read. */
const SUM_UP = statement(
  { has_tags: 'bool' },
  `with ${MOVED}, delta as (
     select m.org_id, receipt_hour(m.first_id) as at, ${list((name) => `r.${name}`, USAGE_DIMENSIONS)},
       min(m.first_index) as first_index, max(m.first_index) as last_index,
       ${SUMS_OF_MOVED},
       bool_or(r.tags is not null) as has_tags
     from moved m join receipt_figure r on r.entry_id = m.entry_id and r.org_id = m.org_id
     group by m.org_id, receipt_hour(m.first_id), ${list((name) => `r.${name}`, USAGE_DIMENSIONS)}
   ), ${addBoth({ hour: 'usage_hour', day: 'usage_day' }, DIMENSIONS)}
   select coalesce(bool_or(has_tags), false) as has_tags from delta`,
  { name: 'sum-up-usage' },
);

/**
 * The same for each tag. A value that is new in its day is counted by itself while there is room for it, or where a budget was
 * of it when the day began; any other is counted with the others, and stays there: once it was refused, there is no room for
 * the rest of the day, and a younger budget makes none.
 */
const SUM_UP_TAGS = statement(
  {},
  `with ${MOVED}, tagged as materialized (
     select m.org_id, receipt_hour(m.first_id) as at, date_trunc('day', receipt_hour(m.first_id), 'UTC') as day,
       split_part(x.tag, '=', 1) collate "C" as tag, split_part(x.tag, '=', 2) collate "C" as value,
       m.entry_id, m.first_index, m.sign
     from moved m
     join receipt_figure r on r.entry_id = m.entry_id and r.org_id = m.org_id
     cross join lateral unnest(r.tags) as x (tag)
   ), asked as (
     select t.org_id, t.day, t.tag, t.value, min(t.first_index) as first_index,
       exists (select from budget b where b.org_id = t.org_id and b.scope = 'tag' and b.target = t.tag || '=' || t.value
         and b.created_at < t.day) as has_budget
     from tagged t
     where not exists (select from usage_tag v
       where v.org_id = t.org_id and v.at = t.day and v.tag = t.tag and v.value = t.value)
     group by t.org_id, t.day, t.tag, t.value
   ), added as (
     insert into usage_tag (org_id, at, tag, value)
     select org_id, day, tag, value
     from (select *, row_number() over (partition by org_id, day, tag order by has_budget, first_index, value) as place
       from asked) a
     where has_budget or place + (select count(*) from usage_tag v
       where v.org_id = a.org_id and v.at = a.day and v.tag = a.tag) <= ${TAG_VALUES_A_DAY_MAX}
     returning org_id, at, tag, value
   ), named as materialized (
     select org_id, at, tag, value from added
     union all
     select v.org_id, v.at, v.tag, v.value
     from (select distinct org_id, day, tag, value from tagged) t
     join usage_tag v on v.org_id = t.org_id and v.at = t.day and v.tag = t.tag and v.value = t.value
   ), delta as (
     select m.org_id, m.at, m.tag, coalesce(n.value, '${OTHER_VALUES}') as value,
       ${list((name) => `r.${name}`, USAGE_DIMENSIONS)},
       min(m.first_index) as first_index, max(m.first_index) as last_index,
       ${SUMS_OF_MOVED}
     from tagged m
     join receipt_figure r on r.entry_id = m.entry_id and r.org_id = m.org_id
     left join named n on n.org_id = m.org_id and n.at = m.day and n.tag = m.tag and n.value = m.value
     group by m.org_id, m.at, m.tag, coalesce(n.value, '${OTHER_VALUES}'), ${list((name) => `r.${name}`, USAGE_DIMENSIONS)}
   ), ${addBoth({ hour: 'usage_tag_hour', day: 'usage_tag_day' }, `tag, value, ${DIMENSIONS}`)}
   select from delta limit 0`,
  { name: 'sum-up-usage-of-tags' },
);

/** Adds the usage of these entries to the sums. The heads of their logs must be locked, so that each is added once. */
export async function sumUp(client: Queryable, ranges: readonly UsageRange[]): Promise<void> {
  if (ranges.length === 0) return;
  const values = [
    ranges.map(({ orgId }) => orgId),
    ranges.map(({ first }) => first),
    ranges.map(({ end }) => end),
  ];
  const [summed] = await queryRows(client, SUM_UP, values);
  if (summed?.has_tags === true) await execute(client, SUM_UP_TAGS, values);
}
