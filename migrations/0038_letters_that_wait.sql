-- Why the last attempt to send a letter failed, on one line and without secrets. Of one that the mail server refused while
-- it was there, `refused` is true: others may be taken.
alter table mail_outbox
  add column failure text check (length(failure) <= 500),
  add column refused boolean not null default false;

-- Pages say which letters wait for their mail server: to whom and since when, and never what they say, since links of
-- letters open doors.
grant select (id, org_id, recipient, subject, created_at, attempts, next_attempt_at, sent_at, failed_at, failure, refused)
  on mail_outbox to docket_api;

-- What was sent or given up is forgotten after a while.
grant delete, select (id, sent_at, failed_at) on mail_outbox to docket_purge;

create index mail_outbox_sent on mail_outbox (sent_at) where sent_at is not null;
create index mail_outbox_failed on mail_outbox (failed_at) where failed_at is not null;
