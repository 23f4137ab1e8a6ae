import type { Pool } from 'pg';
import { execute, queryRows, statement } from '#shared/kernel/postgres/statement.ts';
import { OTHER_VALUES } from '#shared/kernel/tags.ts';
import {
  COUNTED_NAMES_MAX,
  COUNTED_OF_SERVICE,
  type CountedBy,
  type CountedTime,
  type CountsRow,
  DAYS_KEPT_DAYS,
  HOURS_KEPT_DAYS,
} from '../counts.ts';

/** Rows of one round, of which each is of some requests: a second of work or two. */
const ROUND = 5_000;

/**
 * Takes rows that are not counted and adds them to the sums, in one transaction: each is in them once. Rows that are alike are
 * joined before they are counted by each of their names, and those of an hour and name before they are counted for the day and for
 * the service: adding times up is what costs. A name beyond those of its day is counted with the others.
 */
const COUNT = statement(
  { org_id: 'text', rows: 'int8', failing: 'int8' },
  `with taken as (
     delete from request_uncounted where ctid = any (array(select ctid from request_uncounted limit $1)) returning *
   ), alike as materialized (
     select org_id, at, key_id, model, region, code, tags, sum(requests) as requests,
       coalesce(sum(requests) filter (where outcome = 'refused'), 0) as refused,
       coalesce(sum(requests) filter (where outcome = 'failed'), 0) as failed,
       coalesce(sum(requests) filter (where outcome = 'gone'), 0) as gone,
       time_counts(total_ms) as total_times, time_counts(first_ms) as first_times, time_counts(queued_ms) as queued_times
     from taken group by org_id, at, key_id, model, region, code, tags
   ), hourly as materialized (
     select a.org_id, n.by, n.name, a.at as hour, sum(a.requests) as requests, sum(a.refused) as refused, sum(a.failed) as failed,
       sum(a.gone) as gone, sum_of_counts(a.total_times) as total_times, sum_of_counts(a.first_times) as first_times,
       sum_of_counts(a.queued_times) as queued_times
     from alike a
     cross join lateral (
       select 'all' as by, '' as name
       union all select 'key', a.key_id
       union all select 'model', a.model where a.model is not null
       union all select 'region', a.region where a.region is not null
       union all select 'code', a.code where a.code is not null
       union all select 'tag', tag from unnest(a.tags) as t (tag)) n
     group by 1, 2, 3, 4
   ), named as materialized (
     select o.org_id, h.by, h.name, date_trunc('day', h.hour, 'UTC') as day, h.hour, h.requests, h.refused, h.failed, h.gone,
       h.total_times, h.first_times, h.queued_times,
       case h.by when 'tag' then split_part(h.name, '=', 1) || '=' else '' end as beginning
     from hourly h
     cross join lateral (select h.org_id union all select '' where h.by = any ($2::text[])) o
   ), new as (
     select d.*, row_number() over (partition by d.org_id, d.by, d.day, d.beginning order by d.requests desc, d.name) as place
     from (select org_id, by, day, beginning, name, sum(requests) as requests from named group by 1, 2, 3, 4, 5) d
     where not exists (
       select from request_count c where c.org_id = d.org_id and c.by = d.by and c.step = 'day' and c.at = d.day and c.name = d.name)
   ), beyond as materialized (
     select n.org_id, n.by, n.day, n.name from new n
     where n.place + (
       select count(*) from request_count c
       where c.org_id = n.org_id and c.by = n.by and c.step = 'day' and c.at = n.day and starts_with(c.name, n.beginning)) > $3
   ), counted as (
     insert into request_count as c (org_id, by, step, at, name, requests, refused, failed, gone, total_times, first_times, queued_times)
     select n.org_id, n.by, s.step, s.at, case when b.name is null then n.name else n.beginning || $4 end,
       sum(n.requests), sum(n.refused), sum(n.failed), sum(n.gone),
       sum_of_counts(n.total_times), sum_of_counts(n.first_times), sum_of_counts(n.queued_times)
     from named n
     left join beyond b on b.org_id = n.org_id and b.by = n.by and b.day = n.day and b.name = n.name
     cross join lateral (values ('hour', n.hour), ('day', n.day)) as s (step, at)
     group by 1, 2, 3, 4, 5
     order by 1, 2, 3, 4, 5
     on conflict (org_id, by, step, at, name) do update set
       requests = c.requests + excluded.requests, refused = c.refused + excluded.refused,
       failed = c.failed + excluded.failed, gone = c.gone + excluded.gone,
       total_times = add_counts(c.total_times, excluded.total_times),
       first_times = add_counts(c.first_times, excluded.first_times),
       queued_times = add_counts(c.queued_times, excluded.queued_times)
   )
   select org_id, count(*) as rows, count(*) filter (where outcome in ('refused', 'failed')) as failing
   from taken group by org_id`,
);

/**
 * Counts what became of requests since the last round. For the role `docket_housekeeping`.
 * @returns the organisations of which requests failed or were refused, and whether there may be more to count
 */
export async function countRequests(
  pool: Pool,
  rows = ROUND,
): Promise<{ failing: string[]; isMore: boolean }> {
  const values = [rows, COUNTED_OF_SERVICE, COUNTED_NAMES_MAX, OTHER_VALUES];
  const counted = await queryRows(pool, COUNT, values);
  const all = counted.reduce((sum, each) => sum + Number(each.rows), 0);
  const failing = counted.filter((each) => Number(each.failing) > 0);
  return { failing: failing.map(({ org_id }) => org_id), isMore: all === rows };
}

const FORGET = statement(
  {},
  `delete from request_count where ctid = any (array(
     select ctid from request_count
     where (step = 'hour' and at < now() - make_interval(days => $1)) or (step = 'day' and at < now() - make_interval(days => $2))
     limit $3))`,
);

/** All counts of closed organisations; those of the service are of no account, and stay. */
const FORGET_CLOSED = statement(
  {},
  `delete from request_count where ctid = any (array(
     select c.ctid from account a cross join lateral (
       select ctid from request_count where org_id = a.id limit $1) c
     where a.state = 'closed' limit $1))`,
);

/** Deletes at most so many counts of each kind that are over their time, or of closed organisations; returns how many there were. */
export async function forgetCounts(pool: Pool, limit: number): Promise<number> {
  const old = await execute(pool, FORGET, [HOURS_KEPT_DAYS, DAYS_KEPT_DAYS, limit]);
  return Math.max(old, await execute(pool, FORGET_CLOSED, [limit]));
}

export interface CountsRequest {
  /** Or `ALL_ORGANISATIONS`, for those who run the service. */
  orgId: string;
  by: CountedBy;
  /** Of one tag alone. */
  tagKey?: string | undefined;
  step: 'hour' | 'day';
  /** Epoch milliseconds, whole hours or days (UTC); `to` is excluded. */
  from: number;
  to: number;
  /** By what the largest come first. */
  order: 'requests' | 'errors';
  /** At most so many names; those with the most. */
  limit: number;
  /** Which time is read beside the counts. */
  time?: CountedTime | undefined;
}

const COLUMNS = {
  at: 'timestamptz',
  name: 'text',
  requests: 'int8',
  refused: 'int8',
  failed: 'int8',
  gone: 'int8',
  times: '_int4?',
} as const;

const TIMES = { total: 'total_times', first: 'first_times', queued: 'queued_times' } as const;
const ORDERS = { requests: 'sum(requests)', errors: 'sum(refused + failed)' } as const;

const rowsBy = (order: keyof typeof ORDERS, time: CountedTime | undefined) =>
  statement(
    COLUMNS,
    `with largest as materialized (
       select name from request_count
       where org_id = $1 and by = $2 and step = $3 and at >= $4 and at < $5 and starts_with(name, $6)
       group by name order by ${ORDERS[order]} desc, name limit $7)
     select c.at, c.name, c.requests, c.refused, c.failed, c.gone,
       ${time === undefined ? 'null::integer[]' : `c.${TIMES[time]}`} as times
     from request_count c join largest l on l.name = c.name
     where c.org_id = $1 and c.by = $2 and c.step = $3 and c.at >= $4 and c.at < $5
     order by c.at, c.name`,
  );
const each = (order: keyof typeof ORDERS) => ({
  none: rowsBy(order, undefined),
  total: rowsBy(order, 'total'),
  first: rowsBy(order, 'first'),
  queued: rowsBy(order, 'queued'),
});
const ROWS = { requests: each('requests'), errors: each('errors') } as const;

/** How many requests there were, hour by hour or day by day, of the names that have the most. */
export async function readCounts(pool: Pool, asked: CountsRequest): Promise<CountsRow[]> {
  const { orgId, by, step, from, to, order, time, tagKey, limit } = asked;
  const beginning = tagKey === undefined ? '' : `${tagKey}=`;
  const values = [orgId, by, step, new Date(from), new Date(to), beginning, limit];
  const rows = await queryRows(pool, ROWS[order][time ?? 'none'], values);
  return rows.map((row) => ({
    at: row.at.getTime(),
    name: row.name,
    requests: Number(row.requests),
    refused: Number(row.refused),
    failed: Number(row.failed),
    gone: Number(row.gone),
    times: row.times ?? [],
  }));
}
