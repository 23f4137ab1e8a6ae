-- Responses that are kept for those who made them: to be read again, and to go on from. Sealed with the lane keys, so that
-- neither this table nor a backup of it shows a prompt or an answer.

-- Whether an organisation has them kept. Those that were there before are asked first; new ones have it.
alter table account add column keep_responses boolean not null default false;
alter table account alter column keep_responses set default true;

create table kept_response (
  org_id     text collate "C" not null references account (id),
  -- `resp_…`, as its caller has it.
  id         text collate "C" not null,
  -- The response that it goes on from.
  previous   text collate "C",
  -- The items of its own request and the response as it was sent, compressed before they were sealed.
  sealed     bytea not null,
  bytes      integer not null generated always as (octet_length(sealed)) stored,
  -- `<org_id>/<id>` of the items of its output that their server has named: the ids of others have the response's in them.
  items      text[],
  expires_at timestamptz(3) not null,
  primary key (org_id, id)
);
alter table kept_response alter column sealed set storage external;
-- What an organisation has is counted from the index alone.
create index kept_response_bytes on kept_response (org_id) include (bytes);
create index kept_response_items on kept_response using gin (items) where items is not null;
create index kept_response_expiry on kept_response (expires_at);

-- An organisation that has nothing kept any more, or is closed, has nothing left from the same moment on.
create function forget_kept_responses() returns trigger language plpgsql security definer
  set search_path = public, pg_temp as $$
begin
  delete from kept_response where org_id = new.id;
  return null;
end $$;
create trigger account_forgets after update of keep_responses, state on account
  for each row when (
    (old.keep_responses and not new.keep_responses) or (new.state = 'closed' and old.state <> 'closed'))
  execute function forget_kept_responses();

drop trigger account_announce on account;
create trigger account_announce after update
  of state, plan, requests_per_second, burst, requests_per_day, concurrent_streams, allowed_regions, allowed_models,
    keep_responses on account
  for each row execute function announce_account();

grant select, insert, delete, update (expires_at) on kept_response to docket_api;
grant select (org_id, id, expires_at), delete on kept_response to docket_housekeeping;
