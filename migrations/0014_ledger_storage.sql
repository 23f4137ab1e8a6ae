-- How bodies lie on their pages, and how many of them statistics look at.
--
-- Two rows share a page when each is at most 4,080 bytes. Receipts have grown to about that, and one that is larger took
-- a page alone, 8.5 kB. Now its body goes out of line, uncompressed: 4.8 kB, at the same price to write.
--
-- Bodies and entries are found by their keys alone, whatever statistics say of their columns; but a sample for the
-- default precision reads 30,000 rows, most of them on pages of their own. While a month is young and grows fast, samples
-- at every tenth of growth were a third of the database's work. A tenth of that precision is plenty.

create function ledger_sample_less(of_table regclass) returns void
  language plpgsql set search_path = public, pg_temp as $$
begin
  execute (
    select format('alter table %s %s', of_table, string_agg(format('alter %I set statistics 10', attname), ', '))
    from pg_attribute where attrelid = of_table and attnum > 0 and not attisdropped);
end $$;
revoke all on function ledger_sample_less(regclass) from public;

create or replace function ensure_ledger_partitions(months_ahead integer default 3) returns setof text
  language plpgsql security definer set search_path = public, pg_temp set lock_timeout = '2s' as $$
declare
  this_month constant timestamp := date_trunc('month', now() at time zone 'utc');
  month timestamp;
  name text;
  first_id text;
  end_id text;
begin
  if months_ahead not between 0 and 24 then
    raise exception 'at most 24 months ahead' using errcode = 'invalid_parameter_value';
  end if;
  -- Two callers take turns, and the second finds nothing left to do.
  perform pg_advisory_xact_lock(hashtext('ensure_ledger_partitions'));
  for i in -1..months_ahead loop
    month := this_month + make_interval(months => i);
    name := to_char(month, '"ledger_body_"YYYY_MM');
    first_id := receipt_id_at(month at time zone 'utc');
    end_id := receipt_id_at((month + interval '1 month') at time zone 'utc');
    continue when to_regclass('public.' || name) is not null;
    continue when exists (select from ledger_body_default where entry_id >= first_id and entry_id < end_id);
    -- Made apart and then attached: that leaves writers of the other months alone.
    execute format('create table %I (like ledger_body including all) with (toast_tuple_target = 4080)', name);
    perform ledger_sample_less(name::regclass);
    execute format('alter table ledger_body attach partition %I for values from (%L) to (%L)', name, first_id, end_id);
    execute format('create trigger ledger_body_no_truncate before truncate on %I
      for each statement execute function ledger_refuse()', name);
    return next name;
  end loop;
end $$;

select ledger_sample_less('ledger_entry');
do $$
declare
  part regclass;
begin
  for part in select inhrelid from pg_inherits where inhparent = 'ledger_body'::regclass loop
    execute format('alter table %s set (toast_tuple_target = 4080)', part);
    perform ledger_sample_less(part);
  end loop;
end $$;
