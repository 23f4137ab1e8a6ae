-- How many requests there were in an hour and a day, how they ended and how long they took: kept for longer than the requests
-- themselves, and read by charts, which could not read a month of rows.

-- What is not counted yet, of rows that were written together and are alike: written with them, in their transaction, so that each
-- is counted once however often its batch is tried, and counted elsewhere, so that no two processes wait for each other at one sum.
create table request_uncounted (
  org_id    text collate "C" not null,
  -- The hour of the request.
  at        timestamptz not null,
  key_id    text collate "C" not null,
  model     text collate "C",
  region    text collate "C",
  code      text collate "C",
  tags      text[],
  outcome   text not null check (outcome in ('answered', 'refused', 'failed', 'gone')),
  requests  bigint not null,
  -- Milliseconds of each single answer of a model that was not given before.
  total_ms  integer[],
  first_ms  integer[],
  queued_ms integer[]
);

-- How a request ended: an answer that broke off after its beginning has failed, whatever its status was.
create function request_outcome(status integer, code text) returns text language sql immutable parallel safe
  return case when status = 499 then 'gone' when status >= 500 or (status < 400 and code is not null) then 'failed'
    when status >= 400 then 'refused' else 'answered' end;

create function note_uncounted_requests() returns trigger
  language plpgsql security definer set search_path = public, pg_temp as $$
begin
  insert into request_uncounted
  select w.org_id, receipt_hour('rcpt_' || substr(w.id, 5)), w.key_id, w.model, w.region, w.code, w.tags,
    request_outcome(w.status, w.code), sum(w.requests), array_agg(w.total_ms) filter (where t.is_timed),
    array_agg(w.first_ms) filter (where t.is_timed and w.first_ms is not null),
    array_agg(w.queued_ms) filter (where t.is_timed and w.queued_ms is not null)
  from written w
  cross join lateral (
    select w.requests = 1 and w.model is not null and w.replay_of is null
      and request_outcome(w.status, w.code) = 'answered' as is_timed) t
  group by 1, 2, 3, 4, 5, 6, 7, 8;
  return null;
end $$;
revoke all on function note_uncounted_requests() from public;
create trigger request_counts after insert on request
  referencing new table as written for each statement execute function note_uncounted_requests();

-- Sums over one name of one thing, each request in one for each of its names: requests of all organisations are under the
-- organisation that has no id.
create table request_count (
  org_id       text collate "C" not null,
  by           text collate "C" not null check (by in ('all', 'model', 'region', 'key', 'tag', 'code')),
  step         text collate "C" not null check (step in ('hour', 'day')),
  -- The start of the hour or the day (UTC) of the requests.
  at           timestamptz not null,
  -- Of a tag as `key=value`; empty for all.
  name         text collate "C" not null,
  requests     bigint not null,
  refused      bigint not null,
  failed       bigint not null,
  gone         bigint not null,
  -- How many took how long, by `time_bucket`, as far as the longest; null for none.
  total_times  integer[],
  first_times  integer[],
  queued_times integer[],
  primary key (org_id, by, step, at, name)
) with (fillfactor = 50); -- the current hour changes with every round: room to do so in place
create index request_count_by_time on request_count (step, at);

-- The number of the bucket of a time: the first is of what takes no millisecond, each of the others reaches to the fourth root of
-- two, 1.19, times where it begins, and the last is of more than two days.
create function time_bucket(ms integer) returns integer language sql immutable strict parallel safe
  return case when ms < 1 then 1 else least(2 + floor(4 * ln(ms::float8) / ln(2::float8) + 1e-9)::integer, 112) end;

create function add_counts(counts integer[], more integer[]) returns integer[] language plpgsql immutable parallel safe as $$
declare
  longer integer[] := counts;
  shorter integer[] := more;
begin
  if counts is null or more is null then return coalesce(counts, more); end if;
  if cardinality(more) > cardinality(counts) then
    longer := more;
    shorter := counts;
  end if;
  for i in 1..cardinality(shorter) loop
    if shorter[i] > 0 then longer[i] := longer[i] + shorter[i]; end if;
  end loop;
  return longer;
end $$;
create aggregate sum_of_counts(integer[]) (sfunc = add_counts, stype = integer[]);

create function count_times(counts integer[], times integer[]) returns integer[] language plpgsql immutable parallel safe as $$
declare
  ms integer;
  bucket integer;
begin
  if times is null then return counts; end if;
  counts := coalesce(counts, '{}');
  foreach ms in array times loop
    bucket := time_bucket(ms);
    if cardinality(counts) < bucket then counts := counts || array_fill(0, array[bucket - cardinality(counts)]); end if;
    counts[bucket] := counts[bucket] + 1;
  end loop;
  return counts;
end $$;
create aggregate time_counts(integer[]) (sfunc = count_times, stype = integer[]);

-- What is here already is counted too.
insert into request_uncounted
select w.org_id, receipt_hour('rcpt_' || substr(w.id, 5)), w.key_id, w.model, w.region, w.code, w.tags,
  request_outcome(w.status, w.code), sum(w.requests), array_agg(w.total_ms) filter (where t.is_timed),
  array_agg(w.first_ms) filter (where t.is_timed and w.first_ms is not null),
  array_agg(w.queued_ms) filter (where t.is_timed and w.queued_ms is not null)
from request w
cross join lateral (
  select w.requests = 1 and w.model is not null and w.replay_of is null
    and request_outcome(w.status, w.code) = 'answered' as is_timed) t
group by 1, 2, 3, 4, 5, 6, 7, 8;

-- Of each organisation, when errors were last too frequent, and since when: that is told once.
create table request_failing (
  org_id   text collate "C" primary key,
  since    timestamptz(3) not null,
  until    timestamptz(3) not null
);

-- How the newest requests of an organisation ended, at most so many rows of them: whether errors are frequent is seen there, by a
-- role that reads no row.
create function newest_outcomes(of_org text, since timestamptz, most integer)
  returns table (status smallint, code text, requests bigint)
  language sql stable security definer set search_path = public, pg_temp as $$
    select n.status, n.code, sum(n.requests)::bigint from (
      select r.status, r.code, r.requests from request r
      where r.org_id = of_org and r.id >= request_id_at(since) order by r.id desc limit most) n
    group by n.status, n.code
  $$;
revoke all on function newest_outcomes(text, timestamptz, integer) from public;

-- Grants: each role only what it does. The api adds nothing here but by its rows.
grant select on request_count to docket_api, docket_operator;
grant select, delete on request_uncounted to docket_housekeeping;
grant select, insert, update, delete on request_count to docket_housekeeping;
grant select, insert, update, delete on request_failing to docket_housekeeping;
grant execute on function newest_outcomes(text, timestamptz, integer) to docket_housekeeping;
