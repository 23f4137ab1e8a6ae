-- Persons who come by themselves: they make themselves known, found an organisation, and fill in its declaration, which may
-- take them several days.
create table declaration_draft (
  org_id     text primary key references account (id),
  -- What was filled in and not declared yet; it goes with the declaration, and with the account.
  draft      jsonb not null,
  updated_at timestamptz(3) not null
);
grant select, insert, update, delete on declaration_draft to docket_api;
grant select, delete on declaration_draft to docket_operator;

grant insert, delete on persons.person to docket_api;
grant insert on persons.membership to docket_api;
create index person_unconfirmed on persons.person (created_at) where not email_verified;
