-- A second factor of persons who sign in: the secret of an authenticator app and recovery codes, both encrypted with the
-- secret of the sessions. The shape is the one that the sign-in library writes.
alter table persons.person add column two_factor_enabled boolean not null default false;

create table persons.two_factor (
  id                        text primary key,
  person_id                 text not null unique references persons.person (id) on delete cascade,
  secret                    text not null,
  backup_codes              text not null,
  -- It asks for nothing until one code of the app was right.
  verified                  boolean not null default false,
  -- Wrong codes in a row, over all processes; at ten of them none is tried for a quarter of an hour.
  failed_verification_count integer not null default 0,
  locked_until              timestamptz(3)
);

grant select, insert, update, delete on persons.two_factor to docket_api;
grant update (two_factor_enabled) on persons.person to docket_api;
-- For somebody who has lost app and codes. It reads no secret.
grant delete on persons.two_factor to docket_operator;
grant select (person_id) on persons.two_factor to docket_operator;
grant update (two_factor_enabled) on persons.person to docket_operator;
