-- Members of an organisation sign in at its own OpenID Connect issuer. Whoever runs that issuer can be any of its members, so
-- it opens this one organisation and nothing else, and only to addresses of domains that are the organisation's.
create table persons.single_sign_on (
  org_id        text primary key references account (id),
  issuer        text not null check (length(issuer) <= 500),
  client_id     text not null check (length(client_id) between 1 and 500),
  -- Encrypted with the secret of the sessions, which is not in the database.
  client_secret text not null,
  -- Of whoever comes for the first time.
  role          text not null check (role in ('member', 'auditor')),
  -- Members other than owners get in by no other way.
  required      boolean not null default false,
  -- When somebody first came in by it, as it is set up now.
  worked_at     timestamptz(3),
  changed_at    timestamptz(3) not null
);

-- Domains of e-mail addresses that an organisation says are its own; an operator has confirmed those that count.
create table persons.sign_in_domain (
  org_id       text not null references account (id),
  domain       text not null check (domain = lower(domain) and length(domain) <= 253),
  claimed_at   timestamptz(3) not null,
  confirmed_at timestamptz(3),
  primary key (org_id, domain)
);
create unique index sign_in_domain_confirmed on persons.sign_in_domain (domain) where confirmed_at is not null;

-- Who somebody is at an issuer. What another issuer, or the same one for another organisation, calls by that name is somebody else.
create table persons.issuer_login (
  org_id     text not null references account (id),
  issuer     text not null,
  subject    text not null check (length(subject) between 1 and 255),
  person_id  text not null references persons.person (id) on delete cascade,
  created_at timestamptz(3) not null,
  primary key (org_id, issuer, subject)
);
create index issuer_login_by_person on persons.issuer_login (person_id);

-- The organisation whose issuer let somebody in: the session is good for that one alone.
alter table persons.session add column sso_org_id text references account (id);
create index session_by_sso_organisation on persons.session (sso_org_id) where sso_org_id is not null;

grant select, insert, update, delete on persons.single_sign_on, persons.sign_in_domain to docket_api;
grant select, insert, delete on persons.issuer_login to docket_api;
-- Whom an operator takes out is forgotten there too, and does not read whose it was.
grant delete on persons.issuer_login to docket_operator;
grant select (org_id, person_id) on persons.issuer_login to docket_operator;
