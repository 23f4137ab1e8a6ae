-- Receipts take less room, and less is written ahead for them (docs/ledger.md).

-- The bytes of a receipt take six tenths by LZ4, so three rows share a page instead of two. Those that read a body notice
-- nothing. Where PostgreSQL was built without LZ4, as the one that comes with Docket, they stay plain: what it has instead
-- saves as much, and takes several times as long.
do $$
declare
  part regclass;
begin
  if exists (select from pg_settings where name = 'default_toast_compression' and 'lz4' = any (enumvals)) then
    for part in select relid from pg_partition_tree('ledger_body') loop
      execute format('alter table %s alter column body set storage extended, alter column body set compression lz4', part);
    end loop;
  end if;
end $$;

-- Called for each partition that is made. Besides, a row is compressed when it is too large for a third of a page; and a
-- page is vacuumed soon after it was filled, and for ever: what is done to a page that has been written out since costs
-- the whole page in the log, which is more than its rows did. Rows are only added, so nothing is left to do later.
create or replace function ledger_sample_less(of_table regclass) returns void
  language plpgsql set search_path = public, pg_temp as $$
begin
  execute (
    select format('alter table %s %s', of_table, string_agg(format('alter %I set statistics 10', attname), ', '))
    from pg_attribute where attrelid = of_table and attnum > 0 and not attisdropped);
  execute format(
    'alter table %s set (autovacuum_vacuum_insert_scale_factor = 0, autovacuum_vacuum_insert_threshold = 10000,
       autovacuum_freeze_min_age = 0)', of_table);
  if exists (select from pg_attribute where attrelid = of_table and attname = 'body' and attcompression = 'l') then
    execute format('alter table %s set (toast_tuple_target = 2712)', of_table);
  end if;
end $$;

select ledger_sample_less(relid) from pg_partition_tree('ledger_body') where isleaf;
select ledger_sample_less('ledger_entry');
