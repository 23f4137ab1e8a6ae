import { queryRows, type Row, statement } from '#shared/kernel/postgres/statement.ts';
import type { Queryable } from '#shared/kernel/postgres/transaction.ts';
import { USAGE_MOVED } from '#shared/ledger/postgres/usage-sums.ts';
import { figureOf, USAGE_DIMENSIONS, USAGE_FIGURES } from '#shared/ledger/usage-columns.ts';
import { finding, type Finding } from './findings.ts';

/** Sums that are named one by one: where one is wrong, all those of a log may be. */
const NAMED_MAX = 100;

const DIMENSIONS = USAGE_DIMENSIONS.join(', ');
const KEY = `at, ${DIMENSIONS}`;
const VALUES = ['first_index', 'last_index', ...USAGE_FIGURES] as const;
const each = (names: readonly string[], of: (name: string) => string): string =>
  names.map(of).join(', ');
const COLUMNS = {
  at: 'timestamptz',
  model: 'text',
  region: 'text',
  key_id: 'text',
  tier: 'text',
  quality: 'text',
  is_made: 'bool',
  is_kept: 'bool',
} as const;

/** Rows of `made` and `kept` under one key that are not the same. */
const DIFFERENT = `select ${KEY}, m.one is not null as is_made, k.one is not null as is_kept
   from (select *, 1 as one from made) m full join (select *, 1 as one from kept) k using (${KEY})
   where (${each(VALUES, (name) => `m.${name}`)}) is distinct from (${each(VALUES, (name) => `k.${name}`)})
   order by ${KEY} limit ${NAMED_MAX}`;

/**
 * Sums of hours made again from receipts, as far as the log is summed up. Hours of which retention has dropped a body
 * cannot be made again. One statement sees one moment, so integration may go on.
 */
const WRONG_HOURS = statement(
  COLUMNS,
  `with entry as materialized (
     select e.org_id, e.index, e.entry_id, e.supersedes from ledger_head h
     join ledger_entry e on e.org_id = h.org_id and e.index < h.usage_size where h.org_id = $1
   ), ${USAGE_MOVED}, lost as (
     select distinct receipt_hour(m.first_id) as at from moved m
     where not exists (select from ledger_body b where b.entry_id = m.entry_id and b.org_id = m.org_id)
   ), made as (
     select receipt_hour(m.first_id) as at, ${each(USAGE_DIMENSIONS, (name) => `r.${name} collate "C" as ${name}`)},
       min(m.first_index) as first_index, max(m.first_index) as last_index,
       ${USAGE_FIGURES.map((name) => `sum(m.sign * ${figureOf(name)}) as ${name}`).join(', ')}
     from moved m join receipt_figure r on r.entry_id = m.entry_id and r.org_id = m.org_id
     where receipt_hour(m.first_id) not in (select at from lost)
     group by 1, 2, 3, 4, 5, 6
   ), kept as (
     select * from usage_hour u where u.org_id = $1 and u.at not in (select at from lost)
   ) ${DIFFERENT}`,
);

/** Sums of days that are not those of their hours. */
const WRONG_DAYS = statement(
  COLUMNS,
  `with made as (
     select date_trunc('day', at, 'UTC') as at, ${DIMENSIONS}, min(first_index) as first_index, max(last_index) as last_index,
       ${each(USAGE_FIGURES, (name) => `sum(${name}) as ${name}`)}
     from usage_hour where org_id = $1 group by 1, ${DIMENSIONS}
   ), kept as (select * from usage_day where org_id = $1) ${DIFFERENT}`,
);

/** Compares what integration has summed up with the receipts that it summed up. */
export async function* examineUsage(db: Queryable, orgId: string): AsyncGenerator<Finding> {
  for (const row of await queryRows(db, WRONG_HOURS, [orgId])) {
    yield wrong(orgId, 'hour', row, 'the receipts of that hour');
  }
  for (const row of await queryRows(db, WRONG_DAYS, [orgId])) {
    yield wrong(orgId, 'day', row, 'the sums of its hours');
  }
}

function wrong(
  orgId: string,
  span: 'hour' | 'day',
  { at, model, region, key_id: key, tier, quality, ...row }: Row<typeof WRONG_HOURS>,
  source: string,
): Finding {
  const group = [model, region, key, tier, quality].map((name) => name || '-').join(' ');
  const detail = !row.is_kept
    ? `It is missing; ${source} give one.`
    : !row.is_made
      ? `There is nothing that it is the sum of in ${source}.`
      : `It is not what ${source} add up to.`;
  return finding('usage_wrong', orgId, `usage of the ${span} ${at.toISOString()} ${group}`, detail);
}
