-- What became of every request that had a valid key, refused and failed ones too, without anything that was said in it. Kept
-- for days, not for ever: receipts are the record of what was used, these rows are for who looks for an error.

-- The smallest request id of a moment: ids of requests and of their receipts are of one time.
create function request_id_at(at timestamptz) returns text language sql immutable strict
  set search_path = public, pg_temp
  return replace(receipt_id_at(at), 'rcpt_', 'req_');

-- ULIDs sort by time, so a day is a range of ids, and the time of a request is the one in its id.
create table request (
  -- `req_…`, as callers see it in `x-request-id`.
  id               text collate "C" not null check (length(id) = 30),
  org_id           text collate "C" not null,
  key_id           text collate "C" not null,
  -- Method and pattern of the route; null where it was refused before it was routed.
  route            text check (length(route) <= 128),
  status           smallint not null,
  code             text check (length(code) <= 128),
  -- The model's id in the catalogue, and the name that it was asked for by, where that is another.
  model            text check (length(model) <= 300),
  requested_model  text check (length(requested_model) <= 128),
  region           text check (length(region) <= 64),
  streamed         boolean,
  has_receipt      boolean not null,
  -- The request whose answer this one was given again: the receipt is of that one.
  replay_of        text collate "C" check (length(replay_of) = 30),
  input_tokens     integer,
  output_tokens    integer,
  queued_ms        integer,
  first_ms         integer,
  total_ms         integer not null,
  upstream_calls   smallint,
  -- A row of refusals stands for several, this many milliseconds from the first to the last.
  requests         integer not null default 1 check (requests > 0),
  last_ms          integer,
  -- Lists of an organisation and their filters are answered by the index alone. It is also what a second try of a statement
  -- whose outcome was not heard of is known by.
  primary key (org_id, id) include (key_id, model, region, status, code, total_ms)
) partition by range (id);

-- The few that failed, among many that did not; counted by code from the index alone.
create index request_failed on request (org_id, id) include (code, requests) where code is not null;

-- Makes the partitions of yesterday, today and the next days, those that are missing; ids of other times go to the default
-- partition, so that none is refused. A day that has rows there already stays there. Returns the names of the new ones.
create function ensure_request_partitions(days_ahead integer default 7) returns setof text
  language plpgsql security definer set search_path = public, pg_temp set lock_timeout = '2s' as $$
declare
  today constant timestamp := date_trunc('day', now() at time zone 'utc');
  day timestamp;
  name text;
  first_id text;
  end_id text;
begin
  if days_ahead not between 0 and 60 then
    raise exception 'at most 60 days ahead' using errcode = 'invalid_parameter_value';
  end if;
  -- Two callers take turns, and the second finds nothing left to do.
  perform pg_advisory_xact_lock(hashtext('ensure_request_partitions'));
  for i in -1..days_ahead loop
    day := today + make_interval(days => i);
    name := to_char(day, '"request_"YYYY_MM_DD');
    first_id := request_id_at(day at time zone 'utc');
    end_id := request_id_at((day + interval '1 day') at time zone 'utc');
    continue when to_regclass('public.' || name) is not null;
    continue when exists (select from request_default where id >= first_id and id < end_id);
    -- Made apart and then attached: that leaves writers of the other days alone.
    execute format('create table %I (like request including all)', name);
    execute format('alter table request attach partition %I for values from (%L) to (%L)', name, first_id, end_id);
    return next name;
  end loop;
end $$;
revoke all on function ensure_request_partitions(integer) from public;

-- Forgets the days that ended so many days ago, each with its partition, and what of their time is in the default one.
-- Returns the names of the partitions that are gone.
create function drop_request_partitions(kept_days integer) returns setof text
  language plpgsql security definer set search_path = public, pg_temp set lock_timeout = '2s' as $$
declare
  -- Days before this one are over their time.
  first_kept constant timestamp := date_trunc('day', now() at time zone 'utc') - make_interval(days => kept_days);
  name text;
begin
  if kept_days not between 1 and 3650 then
    raise exception 'between 1 and 3650 days are kept' using errcode = 'invalid_parameter_value';
  end if;
  for name in
    select c.relname from pg_inherits i join pg_class c on c.oid = i.inhrelid
    where i.inhparent = 'request'::regclass and c.relname ~ '^request_\d{4}_\d\d_\d\d$'
      and to_date(substr(c.relname, 9), 'YYYY_MM_DD') < first_kept
    order by 1
  loop
    execute format('drop table %I', name);
    return next name;
  end loop;
  delete from request_default where id < request_id_at(first_kept at time zone 'utc');
end $$;
revoke all on function drop_request_partitions(integer) from public;

create table request_default partition of request default;
select ensure_request_partitions();

-- The api writes rows and reads them; it changes and deletes none. What a statement that is tried again compares it may read.
grant insert, select on request to docket_api;
grant select on request to docket_operator;
grant execute on function ensure_request_partitions(integer), drop_request_partitions(integer) to docket_housekeeping;
-- What a closed organisation has left is deleted before its time.
grant select (id, org_id), delete on request to docket_housekeeping;
