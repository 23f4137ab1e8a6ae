-- Retention: the bodies of a whole month go, the hashes stay. Only the owner of the schema can do it,
-- and it is written down, so that a body that is gone otherwise is told from one whose time was over.

create table ledger_retention (
  first_id   text collate "C" primary key,
  end_id     text collate "C" not null,
  dropped_at timestamptz(3) not null default now(),
  check (first_id < end_id)
);
create trigger ledger_retention_no_change before update or delete on ledger_retention
  for each row execute function ledger_refuse();
create trigger ledger_retention_no_truncate before truncate on ledger_retention
  for each statement execute function ledger_refuse();
grant select on ledger_retention to docket_api, docket_exports, docket_operator;

-- Drops the bodies of one month (any moment in it, UTC). Refuses while one of them waits for integration
-- or lies in quarantine. Rights: the owner's, none other's.
create function drop_ledger_bodies(month timestamptz) returns void
  language plpgsql set search_path = public, pg_temp set lock_timeout = '2s' as $$
declare
  first_day constant timestamp := date_trunc('month', month at time zone 'utc');
  name constant text := to_char(first_day, '"ledger_body_"YYYY_MM');
  from_id constant text := receipt_id_at(first_day at time zone 'utc');
  to_id constant text := receipt_id_at((first_day + interval '1 month') at time zone 'utc');
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
  execute format('drop table %I', name);
  insert into ledger_retention (first_id, end_id) values (from_id, to_id);
end $$;
revoke all on function drop_ledger_bodies(timestamptz) from public;
