-- Answers of idempotent requests that are too large for Redis. Redis keeps the claim, which says that the answer is
-- here; a caller who may see the claim may see the answer. Gone after the same 24 hours.
create table stored_answer (
  -- Name of the claim in Redis (organisation, route and key in it), the request that answered, and its delivery.
  claim      text collate "C" not null,
  request_id text collate "C" not null,
  attempt    integer not null,
  -- Compressed before it came here.
  packed     bytea not null,
  expires_at timestamptz(3) not null,
  primary key (claim, request_id, attempt)
);
alter table stored_answer alter column packed set storage external;
create index stored_answer_expiry on stored_answer (expires_at);

grant insert on stored_answer to docket_receipts;
-- `on conflict do nothing` reads the columns it compares.
grant select (claim, request_id, attempt) on stored_answer to docket_receipts;
grant select on stored_answer to docket_api;
grant select (claim, request_id, attempt, expires_at), delete on stored_answer to docket_housekeeping;
