-- Organisations that ask for a second factor, beside a password, of each member who comes to their pages.
create table persons.second_factor_rule (
  org_id      text primary key references account (id),
  required_at timestamptz(3) not null
);

-- When a page was last opened by a session; its beginning where it is null. Noted every few minutes, not with each page.
alter table persons.session add column last_used_at timestamptz(3);

grant select, insert, delete on persons.second_factor_rule to docket_api;
