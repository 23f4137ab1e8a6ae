-- Energy that is metered: what meters said, who ran meanwhile, and what of it was attributed to whom.

-- Readings that are not settled yet. An interval lies between one and the next; the earlier is deleted when it is settled.
create table meter_reading (
  endpoint     text collate "C" not null,
  read_at      timestamptz(3) not null,
  accelerators jsonb not null,
  primary key (endpoint, read_at)
);

-- Requests that ran on an endpoint with a meter, written by the statement that commits their receipts.
create table metered_request (
  receipt_id   text collate "C" primary key,
  org_id       text collate "C" not null,
  endpoint     text collate "C" not null,
  -- The call that was answered, and the last byte of its answer.
  began_at     timestamptz(3) not null,
  ended_at     timestamptz(3) not null,
  weight       bigint not null check (weight >= 0),
  -- waiting: intervals that it ran in are not settled yet. attributed: all are, and a revision is owed.
  -- measured: there is one. unmeasured: the meter did not cover it whole, and the estimate stands.
  state        text not null default 'waiting' check (state in ('waiting', 'attributed', 'measured', 'unmeasured')),
  -- The start of the first interval of which it has a share.
  metered_from timestamptz(3),
  energy_uj    numeric not null default 0 check (energy_uj >= 0),
  revision_id  text collate "C",
  check ((state = 'measured') = (revision_id is not null))
) with (fillfactor = 80);
create index metered_request_waiting on metered_request (endpoint, began_at);
create index metered_request_attributed on metered_request (receipt_id) where state = 'attributed';

-- What receipts name by digest: intervals, and spans of several. For operators and their auditors alone.
create table metered_record (
  digest    text collate "C" primary key
    check (digest = 'u' || rtrim(translate(encode('\x1220'::bytea || sha256(body), 'base64'), '+/', '-_'), '=')),
  endpoint  text collate "C" not null,
  from_at   timestamptz(3) not null,
  to_at     timestamptz(3) not null check (to_at > from_at),
  -- Of an interval; null of a span.
  energy_uj numeric,
  idle_uj   numeric,
  body      bytea not null check (length(body) >= 2),
  check (num_nulls(energy_uj, idle_uj) in (0, 2)),
  check (idle_uj between 0 and energy_uj)
);
-- An interval is settled once, whoever else tries.
create unique index metered_record_interval on metered_record (endpoint, from_at) where energy_uj is not null;
create trigger metered_record_no_change before update or delete on metered_record
  for each row execute function ledger_refuse();
create trigger metered_record_no_truncate before truncate on metered_record
  for each statement execute function ledger_refuse();

grant insert on metered_request to docket_receipts;
grant select, insert, delete on meter_reading to docket_recalculation;
grant select, update on metered_request to docket_recalculation;
grant select, insert on metered_record to docket_recalculation;
grant select on meter_reading, metered_request, metered_record to docket_operator;
