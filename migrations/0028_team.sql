-- Organisations let people in and out by themselves. An invitation is for an address: who has confirmed it may take it, so that
-- no link has to be kept secret, and nobody becomes a member of what they did not agree to.
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

grant select, insert, update, delete on persons.invitation to docket_api;
grant update (role), delete on persons.membership to docket_api;
