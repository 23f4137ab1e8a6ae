-- Persons who sign in to the dashboard, apart from everything else: of the processes only the api can see them, and the
-- operator's command line adds them.
create schema persons;

create table persons.person (
  id                 text primary key check (id like 'usr\_%'),
  name               text not null check (length(name) between 1 and 200),
  -- In lower case, as it is looked up.
  email              text not null unique check (email = lower(email) and length(email) <= 254),
  -- False until the person has shown that they get the letters of this address; before that they do not sign in.
  email_verified     boolean not null default false,
  created_at         timestamptz(3) not null default now(),
  updated_at         timestamptz(3) not null default now(),
  two_factor_enabled boolean not null default false
);
create index person_unconfirmed on persons.person (created_at) where not email_verified;

create table persons.session (
  id           text primary key,
  person_id    text not null references persons.person (id) on delete cascade,
  -- The SHA-256 of the cookie's token, which cannot be made from it. The cookie carries a mark beside the token, made with a
  -- secret that is not in the database.
  token        text not null unique,
  expires_at   timestamptz(3) not null,
  address      text,
  user_agent   text,
  created_at   timestamptz(3) not null,
  -- The organisation whose issuer let the person in: the session is good for that one alone.
  sso_org_id   text references account (id),
  -- When the person last showed the strongest proof that they have. A fact of its own: sessions are also opened by less, and
  -- anew by acts that show less.
  confirmed_at timestamptz(3)
);
create index session_by_sso_organisation on persons.session (sso_org_id) where sso_org_id is not null;
create index session_by_person on persons.session (person_id);
create index session_by_expiry on persons.session (expires_at);

-- The password of a person who has chosen one, as a salted scrypt hash that says how it was made.
create table persons.login (
  person_id  text primary key references persons.person (id) on delete cascade,
  password   text not null,
  updated_at timestamptz(3) not null
);

-- Why a person was sent somewhere, by a letter's link or to a page, until they come back with it. The identifier is a hash.
create table persons.verification (
  identifier text primary key,
  value      text not null,
  expires_at timestamptz(3) not null
);

-- The part that a person has in an organisation.
create table persons.membership (
  person_id  text not null references persons.person (id) on delete cascade,
  org_id     text not null references account (id),
  role       text not null check (role in ('owner', 'admin', 'member', 'auditor')),
  created_at timestamptz(3) not null,
  primary key (person_id, org_id)
);
create index membership_by_organisation on persons.membership (org_id);

-- Organisations let people in and out by themselves. An invitation is for an address: a person who has confirmed it may take
-- it, so that no link has to be kept secret, and no person becomes a member of what they did not agree to.
create table persons.invitation (
  org_id     text not null references account (id),
  email      text not null check (email = lower(email) and length(email) <= 254),
  role       text not null check (role in ('owner', 'admin', 'member', 'auditor')),
  created_at timestamptz(3) not null,
  expires_at timestamptz(3) not null,
  primary key (org_id, email)
);
create index invitation_by_email on persons.invitation (email);
create index invitation_by_expiry on persons.invitation (expires_at);

-- Those who work for the service itself. They are members of no organisation by that.
create table persons.staff (
  person_id  text not null references persons.person (id) on delete cascade,
  role       text not null check (role in ('operator', 'reviewer')),
  created_at timestamptz(3) not null,
  primary key (person_id, role)
);

-- A second factor of persons who sign in: the secret of an authenticator app, sealed with the secret of the sessions, and the
-- recovery codes that are left, each as a mark that was made with that secret.
create table persons.two_factor (
  person_id      text primary key references persons.person (id) on delete cascade,
  secret         text not null,
  recovery_codes text[] not null,
  -- It asks for nothing until one code of the app was right.
  verified       boolean not null default false,
  -- A code of an app opens one door once (RFC 6238, 5.2): the time step of the last code that was taken. Only codes of later
  -- ones are taken.
  last_step      integer
);

-- Command lines that act in the name of a person who works for the service. A command line asks for it, with a code that the
-- person types on a page: by its rights in this table it cannot name the person itself.
create table persons.command_line (
  -- The SHA-256 of what the command line keeps.
  token      text primary key check (length(token) = 64),
  code       text not null unique check (code ~ '^[B-Z]{8}$'),
  -- The user and the machine that it runs as: os:<user>@<host>.
  place      text not null check (length(place) between 1 and 400),
  asked_at   timestamptz(3) not null,
  expires_at timestamptz(3) not null,
  -- Who has allowed it; null while it waits.
  person_id  text references persons.person (id) on delete cascade,
  allowed_at timestamptz(3),
  check ((person_id is null) = (allowed_at is null))
);
create index command_line_by_person on persons.command_line (person_id) where person_id is not null;
create index command_line_by_expiry on persons.command_line (expires_at);

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

-- Members of an organisation sign in at its own OpenID Connect issuer. The operator of that issuer can be any of its members,
-- so it opens this one organisation and nothing else, and only to addresses of domains that are the organisation's.
create table persons.single_sign_on (
  org_id        text primary key references account (id),
  issuer        text not null check (length(issuer) <= 500),
  client_id     text not null check (length(client_id) between 1 and 500),
  -- Encrypted with the secret of the sessions, which is not in the database.
  client_secret text not null,
  -- Of a person who comes for the first time.
  role          text not null check (role in ('member', 'auditor')),
  -- Members other than owners get in by no other way.
  required      boolean not null default false,
  -- When a person first came in by it, as it is set up now.
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

-- Who a person is at an issuer. What another issuer, or the same one for another organisation, calls by that name is another
-- person.
create table persons.issuer_login (
  org_id     text not null references account (id),
  issuer     text not null,
  subject    text not null check (length(subject) between 1 and 255),
  person_id  text not null references persons.person (id) on delete cascade,
  created_at timestamptz(3) not null,
  primary key (org_id, issuer, subject)
);
create index issuer_login_by_person on persons.issuer_login (person_id);

-- Attempts at passwords and codes, and letters asked for, over all api processes: when the next arrival of a name is due. Unlogged: an
-- attempt is no reason to wait for a disk, nor to have receipts wait for it. After a crash of PostgreSQL attempts are
-- counted anew.
create unlogged table persons.rate (
  name   text primary key,
  due_at timestamptz not null
);
create index rate_by_due on persons.rate (due_at);

grant usage on schema persons to docket_api, docket_operator, docket_housekeeping;
grant select, insert, update, delete on persons.session, persons.rate, persons.invitation, persons.two_factor,
  persons.single_sign_on, persons.sign_in_domain to docket_api;
grant select, insert, delete on persons.verification to docket_api;
grant select, insert, update on persons.login to docket_api;
grant select, insert, delete on persons.person, persons.membership, persons.passkey, persons.issuer_login to docket_api;
grant select on persons.staff to docket_api;
grant select, delete, update (person_id, allowed_at, expires_at) on persons.command_line to docket_api;
grant select, delete, insert (token, code, place, asked_at, expires_at) on persons.command_line to docket_operator;
grant update (email_verified, updated_at, two_factor_enabled) on persons.person to docket_api, docket_operator;
grant update (role) on persons.membership to docket_api;
grant update (counter, last_used_at) on persons.passkey to docket_api;
-- Of a login the command line writes a password and reads none.
grant select, insert on persons.person to docket_operator;
grant select (person_id), insert, update (password, updated_at) on persons.login to docket_operator;
grant select, insert, update, delete on persons.membership, persons.staff to docket_operator;
grant delete, select (id, person_id) on persons.session to docket_operator;
-- A new password ends what is on its way to the person, of which only whose it is is read.
grant delete, select (value) on persons.verification to docket_operator;
-- A person who has lost every device gets in by the password alone again. The command line reads no secret for that.
grant delete, select (person_id) on persons.two_factor, persons.passkey to docket_operator;
-- A person whom an operator takes out is forgotten at the issuer too.
grant delete, select (org_id, person_id) on persons.issuer_login to docket_operator;
-- Housekeeping removes what is over of persons: sessions, links, invitations, and persons who never followed the first
-- letter. It reads when something ends and who has a part, and nothing that opens anything.
grant delete on persons.session, persons.command_line, persons.verification, persons.invitation, persons.person
  to docket_housekeeping;
grant select (expires_at) on persons.session, persons.command_line, persons.verification, persons.invitation
  to docket_housekeeping;
grant select (person_id, role) on persons.staff to docket_housekeeping;
-- Screening, which tells most outcomes, runs there too, and owners hear of their account beside its contacts: who has
-- applied need not be one.
grant select (id, email, email_verified, created_at) on persons.person to docket_housekeeping;
grant select (person_id, org_id, role) on persons.membership to docket_housekeeping;
