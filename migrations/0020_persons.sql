-- Persons who sign in to the dashboard, apart from everything else: of the processes only the api can see them, and the
-- operator's command line adds them. The first four tables have the shape that the sign-in library writes.
create schema persons;

create table persons.person (
  id             text primary key check (id like 'usr\_%'),
  name           text not null check (length(name) between 1 and 200),
  -- In lower case, as it is looked up.
  email          text not null unique check (email = lower(email) and length(email) <= 254),
  -- Nobody signs in before they have shown that they get the letters of this address.
  email_verified boolean not null default false,
  image          text,
  created_at     timestamptz(3) not null default now(),
  updated_at     timestamptz(3) not null default now()
);

create table persons.session (
  id         text primary key,
  person_id  text not null references persons.person (id) on delete cascade,
  -- Worth nothing alone: the cookie carries it signed with a secret that is not in the database.
  token      text not null unique,
  expires_at timestamptz(3) not null,
  address    text,
  user_agent text,
  created_at timestamptz(3) not null,
  updated_at timestamptz(3) not null
);
create index session_by_person on persons.session (person_id);
create index session_by_expiry on persons.session (expires_at);

-- A way in: with `credential` a password, as a salted scrypt hash.
create table persons.login (
  id                       text primary key,
  person_id                text not null references persons.person (id) on delete cascade,
  provider_id              text not null,
  account_id               text not null,
  password                 text,
  access_token             text,
  refresh_token            text,
  id_token                 text,
  access_token_expires_at  timestamptz(3),
  refresh_token_expires_at timestamptz(3),
  scope                    text,
  created_at               timestamptz(3) not null default now(),
  updated_at               timestamptz(3) not null default now(),
  unique (provider_id, account_id)
);
create index login_by_person on persons.login (person_id);

-- What a letter's link proves. The identifier is a hash.
create table persons.verification (
  id         text primary key,
  identifier text not null,
  value      text not null,
  expires_at timestamptz(3) not null,
  created_at timestamptz(3) not null,
  updated_at timestamptz(3) not null
);
create index verification_by_identifier on persons.verification (identifier);

-- The part that a person has in an organisation.
create table persons.membership (
  person_id  text not null references persons.person (id) on delete cascade,
  org_id     text not null references account (id),
  role       text not null check (role in ('owner', 'admin', 'member', 'auditor')),
  created_at timestamptz(3) not null,
  primary key (person_id, org_id)
);
create index membership_by_organisation on persons.membership (org_id);

-- Those who work for the service itself. They are members of no organisation by that.
create table persons.staff (
  person_id  text not null references persons.person (id) on delete cascade,
  role       text not null check (role in ('operator', 'reviewer')),
  created_at timestamptz(3) not null,
  primary key (person_id, role)
);

-- Attempts at passwords and letters asked for, over all api processes: when the next arrival of a name is due.
create table persons.rate (
  name   text primary key,
  due_at timestamptz not null
);
create index rate_by_due on persons.rate (due_at);

grant usage on schema persons to docket_api, docket_operator;
grant select, insert, update, delete on persons.session, persons.verification, persons.rate to docket_api;
grant select, insert, update on persons.login to docket_api;
grant select on persons.person, persons.membership, persons.staff to docket_api;
grant update (email_verified, updated_at) on persons.person to docket_api;
-- Of a login the command line writes a password and reads none.
grant select, insert on persons.person to docket_operator;
grant select (id, person_id, provider_id, account_id), insert, update (password, updated_at) on persons.login
  to docket_operator;
grant select, insert, update, delete on persons.membership, persons.staff to docket_operator;
grant update (email_verified, updated_at) on persons.person to docket_operator;
grant delete on persons.session to docket_operator;
grant select (id, person_id) on persons.session to docket_operator;
