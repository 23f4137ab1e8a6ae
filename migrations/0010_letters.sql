-- The letters that wait to be sent, and the contacts that have agreed to get them.

-- Letters are written in the transaction of the act they tell of, and sent afterwards: an act that is
-- rolled back tells no reader, and a mail server that is away delays a letter but loses none.
create table mail_outbox (
  id              bigint generated always as identity primary key,
  org_id          text references account (id),
  recipient       text not null,
  subject         text not null,
  body            text not null,
  -- Set where a letter must not be written twice (a warning that a job repeats).
  once            text unique,
  created_at      timestamptz(3) not null,
  attempts        integer not null default 0,
  next_attempt_at timestamptz(3) not null,
  sent_at         timestamptz(3),
  failed_at       timestamptz(3),
  -- Why the last attempt failed, on one line and without secrets. Of a letter that the mail server refused while it was
  -- there, `refused` is true: others may be taken.
  failure         text check (length(failure) <= 500),
  refused         boolean not null default false,
  -- Where the reader goes on, below the address of the service, which the process that sends knows.
  link_path       text
);
create index mail_outbox_due on mail_outbox (next_attempt_at) where sent_at is null and failed_at is null;
create index mail_outbox_sent on mail_outbox (sent_at) where sent_at is not null;
create index mail_outbox_failed on mail_outbox (failed_at) where failed_at is not null;
-- Letters are counted by reader and by organisation before one more is queued.
create index mail_outbox_by_recipient on mail_outbox (lower(recipient), created_at);
create index mail_outbox_by_organisation on mail_outbox (org_id, created_at) where org_id is not null;

-- A contact is an address in the words of others: it gets one letter that asks, and no other before it has confirmed.
create table contact_address (
  org_id       text not null references account (id),
  -- In lower case, so that one address is asked once however it is written.
  email        text not null check (email = lower(email)),
  -- SHA-256 of what the link of the letter carries; null where an operator vouches for the address.
  token_hash   bytea unique check (length(token_hash) = 32),
  asked_at     timestamptz(3) not null,
  confirmed_at timestamptz(3),
  primary key (org_id, email)
);

-- Grants: each role only what it does.
grant insert on mail_outbox to docket_api, docket_operator, docket_housekeeping, docket_purge, docket_exports;
grant select, update, delete on mail_outbox to docket_housekeeping;
-- `on conflict (once) do nothing` reads the column it compares.
grant select (once) on mail_outbox to docket_api, docket_operator, docket_purge, docket_exports;
grant select (recipient, org_id, created_at) on mail_outbox to docket_api, docket_operator;
-- Pages say which letters wait for their mail server: to whom and since when, and never what they say, since links of
-- letters open doors.
grant select (id, subject, attempts, next_attempt_at, sent_at, failed_at, failure, refused) on mail_outbox to docket_api;
-- Operators have a letter that was given up tried again. The api sets when, and nothing else: what it says and to whom stays
-- as it was written.
grant update (attempts, next_attempt_at, failed_at) on mail_outbox to docket_api;
-- What was sent or given up is forgotten after a while.
grant delete, select (id, sent_at, failed_at) on mail_outbox to docket_purge;
grant select, insert on contact_address to docket_api, docket_operator, docket_housekeeping;
grant update (confirmed_at) on contact_address to docket_api, docket_operator;
