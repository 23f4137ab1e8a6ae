-- The column that says whose a row is has one name: org_id. The tables of accounts, keys and the audit log called it
-- organisation_id. Indexes, foreign keys, rights and the columns that triggers watch follow a renamed column; the names
-- of constraints and the text of functions do not.

do $$
declare
  owned regclass;
  named record;
  body oid;
begin
  for owned in
    select attrelid::regclass from pg_attribute join pg_class c on c.oid = attrelid
    where attname = 'organisation_id' and c.relnamespace = 'public'::regnamespace and c.relkind in ('r', 'p')
    order by attrelid
  loop
    execute format('alter table %s rename column organisation_id to org_id', owned);
  end loop;
  for named in
    select conrelid::regclass as owned, conname as name from pg_constraint
    where connamespace = 'public'::regnamespace and conname like '%organisation_id%'
    order by conname
  loop
    execute format('alter table %s rename constraint %I to %I',
      named.owned, named.name, replace(named.name, 'organisation_id', 'org_id'));
  end loop;
  for body in
    select oid from pg_proc where pronamespace = 'public'::regnamespace and prosrc like '%organisation_id%'
  loop
    execute replace(pg_get_functiondef(body), 'organisation_id', 'org_id');
  end loop;
end $$;
