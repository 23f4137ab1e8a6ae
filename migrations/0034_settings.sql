-- What members of an organisation set themselves: where its requests may go and to which models, and its names.

-- Regions by code and models by id; null for every one that is offered, also later on.
alter table account
  add column allowed_regions text[] check (cardinality(allowed_regions) between 1 and 1000),
  add column allowed_models text[] check (cardinality(allowed_models) between 1 and 1000);

-- Processes that have the organisation's keys in memory read them again.
drop trigger account_announce on account;
create trigger account_announce after update
  of state, plan, requests_per_second, burst, requests_per_day, concurrent_streams, allowed_regions, allowed_models on account
  for each row execute function announce_account();

-- Names are compared with sanctions lists: one that has changed since the latest vetting makes another one due. A vetting by
-- an earlier release does not say which names it compared; it compared the first ones at least.
alter table account add column names_revision integer not null default 0;
alter table screening add column names_revision integer;
create function account_names_changed() returns trigger language plpgsql as $$
begin
  new.names_revision := old.names_revision + 1;
  return new;
end $$;
create trigger account_names_changed before update of name, billing_name, technical_name on account
  for each row when (
    (new.name, new.billing_name, new.technical_name) is distinct from (old.name, old.billing_name, old.technical_name))
  execute function account_names_changed();

create or replace function account_vetting_is_current(account_id text) returns boolean
language sql stable set search_path = public, pg_temp as $$
  select exists (
    select from (
      select s.lists, s.declaration_id, s.contract_id, s.names_revision from screening s
      where s.org_id = account_id order by s.sequence desc limit 1) latest
    where latest.lists = (
        -- What was compared is kept with each vetting, in the form that this makes of the current lists.
        select coalesce(jsonb_agg(jsonb_build_object('source', l.source, 'version', l.version) order by l.source), '[]')
        from sanctions_list l where l.current)
      -- Not before a corrected declaration, or a contract that names a signatory.
      and not exists (
        select from declaration d where d.org_id = account_id and d.id > coalesce(latest.declaration_id, 0))
      and not exists (
        select from service_contract c where c.org_id = account_id and c.id > coalesce(latest.contract_id, 0))
      -- Nor before a change of a name.
      and not exists (
        select from account a where a.id = account_id and a.names_revision > coalesce(latest.names_revision, 0)))
$$;
