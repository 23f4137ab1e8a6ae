-- A sanctions list that an operator has uploaded waits beside the others, until a person has seen what it would change and makes
-- it current, or discards it. What waits for a day is deleted.

alter table sanctions_list
  add column staged_at timestamptz(3),
  -- What it would change, beside the list of its source that was current then; null until housekeeping has compared them.
  add column preview jsonb check (length(preview::text) <= 500000),
  add check (staged_at is null or not current);
create index sanctions_list_staged on sanctions_list (staged_at) where staged_at is not null;

-- Deletes a list that waits. One that was current once is what screenings were made with, and stays.
create function discard_sanctions_list(of_id bigint) returns boolean language plpgsql security definer
  set search_path = public, pg_temp as $$
begin
  perform from sanctions_list where id = of_id and staged_at is not null for update;
  if not found then
    return false;
  end if;
  delete from sanctions_name where list_id = of_id;
  delete from sanctions_list where id = of_id;
  return true;
end $$;
revoke all on function discard_sanctions_list(bigint) from public;

-- The api takes no name into a list that does not wait.
create function sanctions_name_of_api() returns trigger language plpgsql
  set search_path = public, pg_temp as $$
begin
  if current_user = 'docket_api' and exists (
    select from added a join sanctions_list l on l.id = a.list_id where l.staged_at is null) then
    raise exception 'names are added to lists that wait alone' using errcode = 'insufficient_privilege';
  end if;
  return null;
end $$;
create trigger sanctions_name_of_api after insert on sanctions_name
  referencing new table as added for each statement execute function sanctions_name_of_api();

grant execute on function discard_sanctions_list(bigint) to docket_api, docket_housekeeping;
grant insert, update (current, entities, names, published_on, staged_at, preview, imported_by, imported_at)
  on sanctions_list to docket_api;
grant insert on sanctions_name to docket_api;
grant update (preview) on sanctions_list to docket_housekeeping;
