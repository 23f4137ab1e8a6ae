-- Budgets: what an organisation, one of its keys or one model of its requests is to use at most in a day or a month (UTC),
-- and which shares of that were told. What is used is not kept here: it is in the sums of usage.

create table budget (
  id           text collate "C" primary key check (id like 'bgt\_%'),
  org_id       text not null references account (id),
  name         text not null check (length(name) between 1 and 100),
  scope        text not null check (scope in ('organisation', 'key', 'model')),
  -- The key's or the model's id. A key is deleted 90 days after it was revoked, and its budget may outlive it.
  target       text collate "C" check (length(target) between 1 and 300),
  measure      text not null check (measure in ('requests', 'tokens', 'energy', 'gwp')),
  period       text not null check (period in ('day', 'month')),
  -- Requests, tokens, kWh or kgCO2e.
  limit_amount numeric not null check (limit_amount > 0),
  mode         text not null check (mode in ('soft', 'hard')),
  -- In per cent, rising. Each is told once in a period.
  shares       smallint[] not null check (cardinality(shares) <= 5 and 1 <= all (shares) and 100 >= all (shares)),
  created_at   timestamptz(3) not null,
  check ((scope = 'organisation') = (target is null)),
  -- A hard one refuses what would exceed it. What is estimated after a request has run is known too late for that.
  check (mode = 'soft' or measure in ('requests', 'tokens'))
);
create index budget_by_organisation on budget (org_id, id);

-- Which shares were reached in a period, and how many e-mails told of it: each share once.
create table budget_told (
  budget_id    text collate "C" not null references budget (id) on delete cascade,
  period_start timestamptz(3) not null,
  share        smallint not null,
  told_at      timestamptz(3) not null,
  letters      smallint not null check (letters >= 0),
  primary key (budget_id, period_start, share)
);

-- Processes that hold keys in memory hold their hard budgets with them.
create function announce_budget() returns trigger language plpgsql as $$
declare
  changed budget := coalesce(new, old);
begin
  perform pg_notify('docket_credentials', json_build_object(
    'organisation', changed.org_id,
    'at', floor(extract(epoch from clock_timestamp()) * 1000))::text);
  return null;
end $$;
create trigger budget_announce after insert or update or delete on budget
  for each row execute function announce_budget();

-- Grants: each role only what it does.
grant select, insert, update (name, limit_amount, mode, shares), delete on budget to docket_api;
grant select on budget to docket_operator;
grant select on budget_told to docket_api, docket_operator;
-- Housekeeping looks which shares are reached, and tells.
grant select on budget, usage_day to docket_housekeeping;
grant select, insert on budget_told to docket_housekeeping;
