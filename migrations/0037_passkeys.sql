-- Passkeys of persons: a key that their device keeps signs for this site alone, after it has made sure who they are.
create table persons.passkey (
  -- As the device calls it.
  id           text primary key check (length(id) <= 1400),
  person_id    text not null references persons.person (id) on delete cascade,
  name         text not null check (length(name) between 1 and 100),
  public_key   bytea not null,
  -- Of its uses, where the device counts them; one that goes back shows a copy.
  counter      bigint not null,
  transports   text[] not null,
  created_at   timestamptz(3) not null,
  last_used_at timestamptz(3)
);
create index passkey_by_person on persons.passkey (person_id);

grant select, insert, delete on persons.passkey to docket_api;
grant update (counter, last_used_at) on persons.passkey to docket_api;
