-- Nobody becomes active who was not compared, as the declaration and the contract name them, with the lists that are
-- current. Who has to be vetted again is asked with the same words.

create function account_vetting_is_current(account_id text) returns boolean
  language sql stable set search_path = public, pg_temp as $$
  select exists (
    select from (
      select s.lists, s.declaration_id, s.contract_id from screening s
      where s.org_id = account_id order by s.sequence desc limit 1) latest
    where latest.lists = (
        -- What was compared is kept with each vetting, in the form that this makes of the current lists.
        select coalesce(jsonb_agg(jsonb_build_object('source', l.source, 'version', l.version) order by l.source), '[]')
        from sanctions_list l where l.current)
      -- Not before a corrected declaration, or a contract that names a signatory.
      and not exists (
        select from declaration d where d.org_id = account_id and d.id > coalesce(latest.declaration_id, 0))
      and not exists (
        select from service_contract c where c.org_id = account_id and c.id > coalesce(latest.contract_id, 0)))
$$;

create function account_check_vetting() returns trigger language plpgsql set search_path = public, pg_temp as $$
begin
  if not account_vetting_is_current(new.id) then
    raise exception 'the account was not screened against the current lists' using errcode = 'check_violation';
  end if;
  return new;
end $$;
-- After `account_check_state`, by its name, which says first what else is wrong.
create trigger account_check_vetting before update of state on account
  for each row when (new.state = 'active' and old.state <> 'active') execute function account_check_vetting();
