import { queryRows, type Row, statement } from '#shared/kernel/postgres/statement.ts';
import type { Queryable } from '#shared/kernel/postgres/transaction.ts';
import { OTHER_VALUES } from '#shared/kernel/tags.ts';
import { USAGE_MOVED } from '#shared/ledger/postgres/usage-sums.ts';
import { figureOf, USAGE_DIMENSIONS, USAGE_FIGURES } from '#shared/ledger/usage-columns.ts';
import { finding, type Finding } from './findings.ts';

/** Sums that are named one by one: where one is wrong, all those of a log may be. */
const NAMED_MAX = 100;

const VALUES = ['first_index', 'last_index', ...USAGE_FIGURES] as const;
const each = (names: readonly string[], of: (name: string) => string): string =>
  names.map(of).join(', ');
const COLUMNS = {
  at: 'timestamptz',
  tag: 'text',
  value: 'text',
  model: 'text',
  region: 'text',
  key_id: 'text',
  tier: 'text',
  quality: 'text',
  is_made: 'bool',
  is_kept: 'bool',
} as const;

/** Sums of all receipts, and sums of those with a tag. */
interface Sums {
  hours: string;
  days: string;
  /** What a row is of, beside its time. */
  dimensions: readonly string[];
  /** Joins what it is of, beside `receipt_figure` under the name `r`, to inferences `m`. */
  joined: string;
}

const OF_ALL: Sums = {
  hours: 'usage_hour',
  days: 'usage_day',
  dimensions: USAGE_DIMENSIONS,
  joined: '',
};
const OF_TAGS: Sums = {
  hours: 'usage_tag_hour',
  days: 'usage_tag_day',
  dimensions: ['tag', 'value', ...USAGE_DIMENSIONS],
  joined: `cross join lateral (
       select split_part(x.tag, '=', 1) as tag, coalesce(v.value, '${OTHER_VALUES}') as value
       from unnest(r.tags) as x (tag)
       left join usage_tag v on v.org_id = m.org_id and v.at = date_trunc('day', receipt_hour(m.first_id), 'UTC')
         and v.tag = split_part(x.tag, '=', 1) and v.value = split_part(x.tag, '=', 2)) t`,
};

/** Rows of `made` and `kept` under one key that are not the same. */
const differentOf = ({ dimensions }: Sums): string => {
  const key = `at, ${dimensions.join(', ')}`;
  const of = dimensions.includes('tag') ? 'tag, value' : `'' as tag, '' as value`;
  return `select at, ${of}, ${USAGE_DIMENSIONS.join(', ')}, m.one is not null as is_made, k.one is not null as is_kept
   from (select *, 1 as one from made) m full join (select *, 1 as one from kept) k using (${key})
   where (${each(VALUES, (name) => `m.${name}`)}) is distinct from (${each(VALUES, (name) => `k.${name}`)})
   order by ${key} limit ${NAMED_MAX}`;
};

/**
 * Sums of hours made again from receipts, as far as the log is summed up. Hours of which retention has dropped a body
 * cannot be made again. One statement sees one moment, so integration may go on.
 */
const wrongHours = (sums: Sums) =>
  statement(
    COLUMNS,
    `with entry as materialized (
     select e.org_id, e.index, e.entry_id, e.supersedes from ledger_head h
     join ledger_entry e on e.org_id = h.org_id and e.index < h.usage_size where h.org_id = $1
   ), ${USAGE_MOVED}, lost as (
     select distinct receipt_hour(m.first_id) as at from moved m
     where not exists (select from ledger_body b where b.entry_id = m.entry_id and b.org_id = m.org_id)
   ), made as (
     select receipt_hour(m.first_id) as at,
       ${each(sums.dimensions, (name) => `${name === 'tag' || name === 'value' ? 't' : 'r'}.${name} collate "C" as ${name}`)},
       min(m.first_index) as first_index, max(m.first_index) as last_index,
       ${USAGE_FIGURES.map((name) => `sum(m.sign * ${figureOf(name)}) as ${name}`).join(', ')}
     from moved m join receipt_figure r on r.entry_id = m.entry_id and r.org_id = m.org_id ${sums.joined}
     where receipt_hour(m.first_id) not in (select at from lost)
     group by 1, ${each(sums.dimensions, (name) => String(sums.dimensions.indexOf(name) + 2))}
   ), kept as (
     select * from ${sums.hours} u where u.org_id = $1 and u.at not in (select at from lost)
   ) ${differentOf(sums)}`,
  );

/** Sums of days that are not those of their hours. */
const wrongDays = (sums: Sums) =>
  statement(
    COLUMNS,
    `with made as (
     select date_trunc('day', at, 'UTC') as at, ${sums.dimensions.join(', ')}, min(first_index) as first_index, max(last_index) as last_index,
       ${each(USAGE_FIGURES, (name) => `sum(${name}) as ${name}`)}
     from ${sums.hours} where org_id = $1 group by 1, ${sums.dimensions.join(', ')}
   ), kept as (select * from ${sums.days} where org_id = $1) ${differentOf(sums)}`,
  );

const EXAMINED = [OF_ALL, OF_TAGS].map((sums) => ({
  hours: wrongHours(sums),
  days: wrongDays(sums),
}));

/** Compares what integration has summed up with the receipts that it summed up. */
export async function* examineUsage(db: Queryable, orgId: string): AsyncGenerator<Finding> {
  for (const { hours, days } of EXAMINED) {
    for (const row of await queryRows(db, hours, [orgId])) {
      yield wrong(orgId, 'hour', row, 'the receipts of that hour');
    }
    for (const row of await queryRows(db, days, [orgId])) {
      yield wrong(orgId, 'day', row, 'the sums of its hours');
    }
  }
}

function wrong(
  orgId: string,
  span: 'hour' | 'day',
  {
    at,
    tag,
    value,
    model,
    region,
    key_id: key,
    tier,
    quality,
    ...row
  }: Row<ReturnType<typeof wrongHours>>,
  source: string,
): Finding {
  const names = [model, region, key, tier, quality].map((name) => name || '-');
  const group = (tag === '' ? names : [`${tag}=${value}`, ...names]).join(' ');
  const detail = !row.is_kept
    ? `It is missing; ${source} give one.`
    : !row.is_made
      ? `There is nothing that it is the sum of in ${source}.`
      : `It is not what ${source} add up to.`;
  return finding('usage_wrong', orgId, `usage of the ${span} ${at.toISOString()} ${group}`, detail);
}
