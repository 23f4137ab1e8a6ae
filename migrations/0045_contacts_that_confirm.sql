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
grant select, insert on contact_address to docket_api, docket_operator, docket_housekeeping;
grant update (confirmed_at) on contact_address to docket_api, docket_operator;

-- Contacts that have had letters of an approved account, and those that an operator has entered, go on as before.
insert into contact_address (org_id, email, asked_at, confirmed_at)
select distinct id, lower(email), now(), now()
from account, unnest(array[billing_email, technical_email]) as email
where state in ('approved', 'contracted', 'active', 'suspended', 'closed')
   or not exists (select from persons.membership m where m.org_id = account.id and m.role = 'owner');

-- Where the reader of a letter goes on, below the address of the service, which the process that sends knows.
alter table mail_outbox add column link_path text;

-- Letters are counted by reader and by organisation before one more is queued.
grant select (recipient, org_id, created_at) on mail_outbox to docket_api, docket_operator;
create index mail_outbox_by_recipient on mail_outbox (lower(recipient), created_at);
create index mail_outbox_by_organisation on mail_outbox (org_id, created_at) where org_id is not null;
