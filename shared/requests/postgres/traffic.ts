import type { Pool } from 'pg';
import { firstRequestIdAt } from '#shared/kernel/ids.ts';
import { queryRows, statement } from '#shared/kernel/postgres/statement.ts';
import { OF_ORGANISATION_MAX, TRAFFIC_ROWS_MAX, type TrafficRow } from '../traffic.ts';

/** The requests since a moment: of all organisations, for those who run the service, or of one. */
export async function readTraffic(
  pool: Pool,
  { since, orgId }: { since: number; orgId?: string },
  max: { ofOrganisation: number; rows: number } = {
    ofOrganisation: OF_ORGANISATION_MAX,
    rows: TRAFFIC_ROWS_MAX,
  },
): Promise<{ rows: TrafficRow[]; isWhole: boolean }> {
  const found = await queryRows(pool, TRAFFIC, [
    firstRequestIdAt(since),
    max.ofOrganisation,
    max.rows,
    orgId ?? null,
  ]);
  const rows = found.map((row): TrafficRow => ({
    by: row.by,
    name: row.name ?? '',
    title: row.title,
    requests: Number(row.requests),
    refused: Number(row.refused),
    failed: Number(row.failed),
    p50: row.p50,
    p95: row.p95,
    p99: row.p99,
  }));
  const cut = found.some(({ cut_short }) => cut_short);
  return { rows, isWhole: !cut };
}

/** A row may stand for several refusals; their times are not known one by one, and are in no percentile. */
const TRAFFIC = statement(
  {
    by: ['all', 'hour', 'code', 'region', 'model', 'organisation'],
    name: 'text?',
    title: 'text?',
    requests: 'int8',
    refused: 'int8',
    failed: 'int8',
    p50: 'float8?',
    p95: 'float8?',
    p99: 'float8?',
    cut_short: 'bool',
  },
  // The rows are counted apart from where they are read: counted there, all of them would be read before the limit counts.
  `with looked as materialized (
     select r.* from account a cross join lateral (
       select org_id, id, status, code, region, model, total_ms, requests from request
       where org_id = a.id and id >= $1 order by id desc limit $2) r
     where $4::text is null or a.id = $4
     limit $3
   ), cut as (
     select coalesce(sum(n), 0) = $3 or coalesce(max(n), 0) = $2 as short
     from (select count(*) as n from looked group by org_id) of_one
   ), named as (
     select *, to_char(receipt_hour('rcpt_' || substr(id, 5)) at time zone 'utc', 'YYYY-MM-DD HH24:00') as hour
     from looked
   )
   select case when grouping(hour) = 0 then 'hour' when grouping(code) = 0 then 'code' when grouping(region) = 0 then 'region'
       when grouping(model) = 0 then 'model' when grouping(org_id) = 0 then 'organisation' else 'all' end as by,
     coalesce(hour, code, region, model, org_id) as name,
     (select account.name from account where account.id = named.org_id) as title,
     coalesce(sum(requests), 0)::int8 as requests,
     coalesce(sum(requests) filter (where status between 400 and 499), 0)::int8 as refused,
     coalesce(sum(requests) filter (where status >= 500), 0)::int8 as failed,
     percentile_cont(0.5) within group (order by total_ms) filter (where status < 400) as p50,
     percentile_cont(0.95) within group (order by total_ms) filter (where status < 400) as p95,
     percentile_cont(0.99) within group (order by total_ms) filter (where status < 400) as p99,
     bool_or((select short from cut)) is true as cut_short
   from named
   group by grouping sets ((), (hour), (code), (region), (model), (org_id))
   order by by, requests desc, name`,
);
