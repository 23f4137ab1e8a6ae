-- Webhooks: where an organisation is told by machines, and the messages to there. A message is written in the transaction of
-- what it tells, as letters are, and is delivered afterwards.

create table webhook_endpoint (
  id           text collate "C" primary key check (id like 'whe\_%'),
  org_id       text not null references account (id),
  address      text not null check (length(address) between 1 and 500),
  description  text not null check (length(description) <= 100),
  events       text[] not null check (cardinality(events) between 1 and 20),
  -- Sealed with WEBHOOKS_SECRET: neither this table nor a backup of it shows what messages are signed with.
  secret       text not null,
  -- After a rotation the one before signs beside it for a while.
  secret_before       text,
  secret_before_until timestamptz(3),
  created_at   timestamptz(3) not null,
  -- Since when every attempt has failed.
  failing_since timestamptz(3),
  paused_at    timestamptz(3),
  -- Its server said that it is gone (410), or failed for days.
  pause_reason text check (pause_reason in ('gone', 'failing')),
  check (num_nulls(secret_before, secret_before_until) in (0, 2)),
  check (num_nulls(paused_at, pause_reason) in (0, 2))
);
create index webhook_endpoint_by_organisation on webhook_endpoint (org_id, id);

-- A message to one endpoint. It does not refer to its endpoint by a foreign key: the end of an endpoint must undo no fact that
-- is written down meanwhile.
create table webhook_delivery (
  id              text collate "C" primary key check (id like 'msg\_%'),
  endpoint_id     text collate "C" not null,
  org_id          text not null,
  type            text not null,
  -- The bytes that are sent and signed, the same at each attempt.
  body            text not null check (length(body) <= 20000),
  -- Names a message that must not be written twice to one endpoint.
  once            text,
  created_at      timestamptz(3) not null,
  attempts        integer not null default 0,
  -- Null once it is delivered or given up.
  next_attempt_at timestamptz(3),
  delivered_at    timestamptz(3),
  -- What the last attempt was answered with; null where there was no answer.
  status          smallint,
  failure         text check (length(failure) <= 200),
  unique (endpoint_id, once),
  check (delivered_at is null or next_attempt_at is null)
);
create index webhook_delivery_due on webhook_delivery (next_attempt_at) where next_attempt_at is not null;
create index webhook_delivery_waiting on webhook_delivery (endpoint_id, next_attempt_at) where next_attempt_at is not null;
create index webhook_delivery_by_endpoint on webhook_delivery (endpoint_id, id);
create index webhook_delivery_by_time on webhook_delivery (created_at);

-- A closed organisation is told nothing more, and nothing is left to sign for it.
create function forget_webhooks() returns trigger language plpgsql security definer
  set search_path = public, pg_temp as $$
begin
  -- The endpoints first, as each act on one and each note of an attempt does: in the other order an organisation that closes
  -- while a message of it is noted waits for that in a circle, and is not closed.
  delete from webhook_endpoint where org_id = new.id;
  delete from webhook_delivery where org_id = new.id;
  return null;
end $$;
create index webhook_delivery_by_organisation on webhook_delivery (org_id);
create trigger account_forgets_webhooks after update of state on account
  for each row when (new.state = 'closed' and old.state <> 'closed')
  execute function forget_webhooks();

-- Grants: each role only what it does. Those that write down what is told find who is to be told, and no secret.
grant select (id, org_id, events, paused_at) on webhook_endpoint
  to docket_api, docket_operator, docket_housekeeping, docket_ledger, docket_exports, docket_recalculation;
grant insert, select (endpoint_id, once, next_attempt_at) on webhook_delivery
  to docket_api, docket_operator, docket_housekeeping, docket_ledger, docket_exports, docket_recalculation;
grant select, insert, delete, update (address, description, events, secret, secret_before, secret_before_until,
  failing_since, paused_at, pause_reason) on webhook_endpoint to docket_api;
grant select, delete, update (attempts, next_attempt_at, delivered_at) on webhook_delivery to docket_api;
-- Housekeeping delivers.
grant select, update (failing_since, paused_at, pause_reason) on webhook_endpoint to docket_housekeeping;
grant select, update (attempts, next_attempt_at, delivered_at, status, failure) on webhook_delivery
  to docket_housekeeping;
grant delete, select (id, created_at) on webhook_delivery to docket_purge;
