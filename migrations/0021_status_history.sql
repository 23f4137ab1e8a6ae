-- How often a part of the service was found in which state, by day: a row for each that is open to the public, and nothing for
-- a day on which no process looked.
create table status_day (
  day       date not null,
  -- `ledger`, or `region:` and its code.
  component text not null check (length(component) between 1 and 200),
  -- State by state, how often it was found.
  found     jsonb not null check (length(found::text) <= 1000),
  -- Of all processes one looks every few minutes.
  looked_at timestamptz(3) not null,
  primary key (day, component)
);

-- What operators tell everyone of what went wrong, in the words of the time.
create table incident (
  id         text primary key check (length(id) = 30),
  title      text not null check (length(title) between 1 and 120),
  -- As in status_day.
  components text[] not null check (cardinality(components) <= 50),
  began_at   timestamptz(3) not null,
  ended_at   timestamptz(3) check (ended_at >= began_at)
);
create index incident_by_begin on incident (began_at);
create table incident_word (
  incident_id text not null references incident (id),
  at          timestamptz(3) not null,
  text        text not null check (length(text) between 1 and 2000),
  primary key (incident_id, at)
);

grant select on status_day, incident, incident_word to docket_api, docket_operator;
grant insert, update, delete on status_day to docket_api;
grant insert, update on incident to docket_api, docket_operator;
grant insert on incident_word to docket_api, docket_operator;
