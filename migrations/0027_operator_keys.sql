-- A program acts in the name of a person by an operator key: it is asked for at a command line and allowed on a page, as a
-- command line itself is, and holds for days. Its digest is that of a command line; no command line acts by it.
alter table persons.command_line
  add column key_name text check (length(key_name) between 1 and 100),
  add column key_days integer check (key_days between 1 and 90),
  add constraint command_line_key check ((key_name is null) = (key_days is null));

grant insert (key_name, key_days) on persons.command_line to docket_operator;

-- Accounts that a program has opened, under what it calls its request: one that is sent twice opens one account.
create table account_opening (
  person_id text not null,
  -- The SHA-256 of that name, and of the request.
  name      bytea not null check (length(name) = 32),
  request   bytea not null check (length(request) = 32),
  org_id    text not null references account (id),
  primary key (person_id, name)
);
grant select, insert on account_opening to docket_api;
