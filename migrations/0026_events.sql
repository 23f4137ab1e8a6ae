-- What an organisation is told: one row for each thing that happened, written in the transaction of what it tells. Its members
-- read it on their page of notifications; its webhooks have messages about it.

create table event (
  id     text collate "C" primary key check (id like 'evt\_%'),
  org_id text not null,
  type   text not null check (length(type) <= 100),
  data   jsonb not null check (length(data::text) <= 20000),
  -- Names a thing that must not be told twice.
  once   text,
  at     timestamptz(3) not null,
  unique (org_id, once)
);
create index event_by_organisation on event (org_id, id);
create index event_by_time on event (at);

-- The smallest id that an event of this moment can have.
create function event_id_at(at timestamptz) returns text language sql immutable strict
  return 'evt_' || substr(receipt_id_at(at), 6);

-- Up to which event a member has seen them. What came before a person was let in is not new to them.
alter table persons.membership
  add column seen_event text collate "C" not null default event_id_at(now()) check (length(seen_event) <= 40);

-- A closed organisation has no page of them any more.
create function forget_events() returns trigger language plpgsql security definer
  set search_path = public, pg_temp as $$
begin
  delete from event where org_id = new.id;
  return null;
end $$;
create trigger account_forgets_events after update of state on account
  for each row when (new.state = 'closed' and old.state <> 'closed')
  execute function forget_events();

-- Grants: those that decide what is told write it, and read of it no more than whether it was.
grant insert, select (org_id, once) on event
  to docket_api, docket_operator, docket_housekeeping, docket_ledger, docket_exports, docket_recalculation;
grant select on event to docket_api;
grant update (seen_event) on persons.membership to docket_api;
grant delete, select (id, at) on event to docket_purge;
