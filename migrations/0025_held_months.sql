-- As before, but that a legal hold which begins waits until the month is gone, as it does for one that is being copied: one that
-- was committed between the look and the drop had lost the month, though its operator had been told that it stands.
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
  -- A legal hold that begins waits until the month is gone: who sets one is told so when it keeps all that is left.
  perform pg_advisory_xact_lock(hashtext('rewrite_ledger_month'));
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
