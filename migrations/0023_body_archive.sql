-- Bodies of receipts that are older than a policy move to an object store (docs/ledger.md). Rows stay append-only: a past
-- month is copied without the bodies that the archive has, and the copy takes its place.
alter table ledger_body alter column body drop not null;

-- While it is set, nothing more of the organisation moves, also where the archive has it already, and no month is dropped in
-- which it has receipts.
alter table account add column legal_hold boolean not null default false;

-- An object of the archive: receipts of one organisation and month, in the order of their ids. It is recorded once it was
-- read back and every body in it compared with its leaf hash.
create table ledger_archive (
  org_id      text collate "C" not null,
  first_id    text collate "C" not null,
  last_id     text collate "C" not null check (last_id >= first_id),
  receipts    integer not null check (receipts > 0),
  -- SHA-256 of its bytes, which is its name.
  object      text not null check (object ~ '^[0-9a-f]{64}$'),
  bytes       bigint not null check (bytes > 0),
  archived_at timestamptz(3) not null default now(),
  -- When its bodies were removed from `ledger_body`.
  removed_at  timestamptz(3),
  -- When its month was dropped: it is not read any more, and may be deleted.
  dropped_at  timestamptz(3),
  primary key (org_id, first_id)
);
create index ledger_archive_unremoved on ledger_archive (first_id) where removed_at is null;

-- Where in an object the bodies of a range of ids lie: each block is compressed by itself.
create table ledger_archive_block (
  org_id   text collate "C" not null,
  first_id text collate "C" not null,
  last_id  text collate "C" not null check (last_id >= first_id),
  receipts integer not null check (receipts > 0),
  object   text not null,
  start    bigint not null check (start >= 0),
  bytes    integer not null check (bytes > 0),
  primary key (org_id, first_id)
);

-- Months that are being copied, and how far.
create table ledger_rewrite (
  partition text primary key,
  copied_to text collate "C" not null default ''
);

-- A receipt that is added to a month while that is copied makes the copy worthless: it begins anew.
create function ledger_late() returns trigger language plpgsql
  security definer set search_path = public, pg_temp as $$
begin
  delete from ledger_rewrite where partition = tg_table_name;
  return null;
end $$;
revoke all on function ledger_late() from public;

-- So does a hold that begins or ends meanwhile: the copy would be half of the one and half of the other.
create function account_hold_changed() returns trigger language plpgsql
  security definer set search_path = public, pg_temp as $$
begin
  -- After a step that is under way, which knows nothing of it.
  perform pg_advisory_xact_lock(hashtext('rewrite_ledger_month'));
  delete from ledger_rewrite;
  return null;
end $$;
revoke all on function account_hold_changed() from public;
create trigger account_hold_changed after update of legal_hold on account
  for each row when (new.legal_hold <> old.legal_hold) execute function account_hold_changed();

-- Goes on copying a past month without the bodies that the archive has, by so many rows; once all are there, the copy takes
-- the month's place. Returns whether that is done. A body stays under a legal hold, where its block is of other receipts than
-- are here, and where another block begins in its own: those behind that would be looked for in the other.
create function rewrite_ledger_month(month timestamptz, rows_max integer) returns boolean
  language plpgsql security definer set search_path = public, pg_temp set lock_timeout = '2s' as $$
declare
  first_day constant timestamp := date_trunc('month', month at time zone 'utc');
  name constant text := to_char(first_day, '"ledger_body_"YYYY_MM');
  copy constant text := name || '_copy';
  from_id constant text := receipt_id_at(first_day at time zone 'utc');
  to_id constant text := receipt_id_at((first_day + interval '1 month') at time zone 'utc');
  columns text;
  after_id text;
  copied_to_id text;
begin
  if first_day >= date_trunc('month', now() at time zone 'utc') then
    raise exception 'the month is not over' using errcode = 'check_violation';
  end if;
  if to_regclass('public.' || name) is null then
    raise exception 'there is no partition %', name using errcode = 'undefined_table';
  end if;
  -- Two callers take turns.
  perform pg_advisory_xact_lock(hashtext('rewrite_ledger_month'));
  select copied_to into after_id from ledger_rewrite where partition = name;
  if after_id is null then
    execute format('drop table if exists %I', copy);
    execute format('create table %I (like ledger_body including all) with (toast_tuple_target = 4080)', copy);
    -- By it the copy need not be read when it is attached.
    execute format('alter table %I add constraint of_month check (entry_id >= %L and entry_id < %L)', copy, from_id, to_id);
    perform ledger_sample_less(copy::regclass);
    execute format('create or replace trigger ledger_body_late after insert on %I
      for each row execute function ledger_late()', name);
    insert into ledger_rewrite (partition) values (name);
    after_id := '';
  end if;
  select string_agg(
      case attname when 'body' then 'case when k.org_id is null then b.body end' else format('b.%I', attname) end,
      ', ' order by attnum)
    into columns from pg_attribute
    where attrelid = 'ledger_body'::regclass and attnum > 0 and not attisdropped;
  execute format(
    'with page as materialized (
       select * from %1$I where entry_id > $1 order by entry_id limit $2
     ), block as materialized (
       select k.org_id, k.first_id, k.last_id
       from (select org_id, min(entry_id) as first_id, max(entry_id) as last_id from page group by org_id) p
       -- The first block of the page, so that those of all pages before it are not looked at again.
       cross join lateral (
         select coalesce(max(b.first_id), $3) as first_id from ledger_archive_block b
         where b.org_id = p.org_id and b.first_id >= $3 and b.first_id <= p.first_id) s
       join ledger_archive_block k
         on k.org_id = p.org_id and k.first_id >= s.first_id and k.first_id <= p.last_id and k.last_id >= p.first_id
       where k.receipts = (
         select count(*) from %1$I o where o.org_id = k.org_id and o.entry_id >= k.first_id and o.entry_id <= k.last_id)
         and not exists (
           select from ledger_archive_block o
           where o.org_id = k.org_id and o.first_id > k.first_id and o.first_id <= k.last_id)
         and not exists (select from account a where a.id = k.org_id and a.legal_hold)
     ), copied as (
       insert into %2$I
       select %3$s from page b
       left join block k on k.org_id = b.org_id and b.entry_id >= k.first_id and b.entry_id <= k.last_id
       returning entry_id)
     select max(entry_id) from copied', name, copy, columns)
    into copied_to_id using after_id, rows_max, from_id;
  if copied_to_id is not null then
    update ledger_rewrite set copied_to = copied_to_id where partition = name;
    return false;
  end if;
  -- From here on nothing is added to the month; those who read it go on until it is replaced. What vacuums it or the copy gives
  -- way after a second.
  execute format('lock table %I in access exclusive mode', copy);
  execute format('lock table %I in share row exclusive mode', name);
  delete from ledger_rewrite where partition = name;
  if not found then
    return false;
  end if;
  -- All that reads or adds receipts waits behind the lock that is asked for now: it is given up soon, and asked for again later.
  perform set_config('lock_timeout', '500ms', true);
  execute format('drop table %I', name);
  execute format('alter table %I rename to %I', copy, name);
  execute format('alter table ledger_body attach partition %I for values from (%L) to (%L)', name, from_id, to_id);
  execute format('alter table %I drop constraint of_month', name);
  execute format('create trigger ledger_body_no_truncate before truncate on %I
    for each statement execute function ledger_refuse()', name);
  update ledger_archive r set removed_at = now()
    where first_id >= from_id and first_id < to_id and removed_at is null
      and not exists (select from account a where a.id = r.org_id and a.legal_hold);
  return true;
end $$;
revoke all on function rewrite_ledger_month(timestamptz, integer) from public;

create or replace function drop_ledger_bodies(month timestamptz) returns void
  language plpgsql set search_path = public, pg_temp set lock_timeout = '2s' as $$
declare
  first_day constant timestamp := date_trunc('month', month at time zone 'utc');
  name constant text := to_char(first_day, '"ledger_body_"YYYY_MM');
  from_id constant text := receipt_id_at(first_day at time zone 'utc');
  to_id constant text := receipt_id_at((first_day + interval '1 month') at time zone 'utc');
  held text;
begin
  if first_day >= date_trunc('month', now() at time zone 'utc') then
    raise exception 'the month is not over' using errcode = 'check_violation';
  end if;
  if to_regclass('public.' || name) is null then
    raise exception 'there is no partition %', name using errcode = 'undefined_table';
  end if;
  -- From here on nothing is added to the month, so what was looked at stays true until the drop.
  execute format('lock table %I in access exclusive mode', name);
  if exists (select from receipt_pending p where p.entry_id >= from_id and p.entry_id < to_id)
    or exists (select from ledger_quarantine q where q.entry_id >= from_id and q.entry_id < to_id) then
    raise exception 'receipts of that month are not integrated' using errcode = 'check_violation';
  end if;
  select a.id into held from account a where a.legal_hold
    and exists (select from ledger_body b where b.org_id = a.id and b.entry_id >= from_id and b.entry_id < to_id) limit 1;
  if held is not null then
    raise exception '% has receipts of that month and is under a legal hold', held using errcode = 'check_violation';
  end if;
  execute format('drop table %I', name);
  execute format('drop table if exists %I', name || '_copy');
  delete from ledger_rewrite where partition = name;
  insert into ledger_retention (first_id, end_id) values (from_id, to_id);
  delete from ledger_archive_block where first_id >= from_id and first_id < to_id;
  update ledger_archive set dropped_at = now() where first_id >= from_id and first_id < to_id;
end $$;

grant select on ledger_archive, ledger_archive_block
  to docket_api, docket_exports, docket_housekeeping, docket_operator, docket_recalculation;
grant insert on ledger_archive, ledger_archive_block to docket_housekeeping;
-- What is recorded while a month is copied has that begin anew.
grant select, delete on ledger_rewrite to docket_housekeeping;
grant execute on function rewrite_ledger_month(timestamptz, integer) to docket_housekeeping;
