-- What revises receipts: an estimate that is owed, a newer methodology, energy that was metered, and the grid's hours.

-- What is owed to degraded receipts: an estimate, on a new receipt that revises the old one.
-- The statement that commits a degraded receipt also writes its row here, and the statement that commits
-- its revision deletes it: however often a process or the job queue dies between the two, nothing is lost.
create table recalculation (
  receipt_id   text collate "C" primary key,
  org_id       text collate "C" not null,
  -- parked: tried often enough in vain; a person has to look.
  state        text not null default 'pending' check (state in ('pending', 'parked')),
  attempts     integer not null default 0 check (attempts >= 0),
  created_at   timestamptz(3) not null default now(),
  -- Not rounded to the millisecond: half of those that are due at once would not be.
  due_at       timestamptz not null default now(),
  -- A caller or an operator asked for it, and it was not tried since.
  flagged_at   timestamptz(3),
  -- The last failure, and what it was made with: catalogue and methodology.
  failed_at    timestamptz(3),
  stage        text,
  code         text,
  basis        text,
  -- Who asked for it, and why: the revision carries the reason, the audit log both.
  requested_by text,
  reason       text,
  check (num_nulls(failed_at, stage, code, basis) in (0, 4))
) with (fillfactor = 70);
create index recalculation_due on recalculation (due_at) where state = 'pending';
create index recalculation_by_org on recalculation (org_id, receipt_id);

-- One run of restating an organisation's receipts with a newer methodology; a new request starts it again.
create table restatement (
  org_id       text collate "C" primary key,
  requested_by text not null,
  requested_at timestamptz(3) not null default now(),
  -- Receipts after the one and before the other; the first moves forward with every page.
  after_id     text collate "C" not null,
  end_id       text collate "C" not null,
  examined     bigint not null default 0,
  restated     bigint not null default 0,
  -- Not integrated yet, or no estimate under the newer methodology: they stay as they are.
  skipped      bigint not null default 0,
  finished_at  timestamptz(3),
  reason       text
) with (fillfactor = 50);
create index restatement_unfinished on restatement (requested_at) where finished_at is null;

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
-- Requests whose intervals are not settled are few, and looked for every ten seconds among all that ever ran on a meter.
create index metered_request_unsettled on metered_request (receipt_id) where state = 'waiting';
create index metered_request_attributed on metered_request (receipt_id) where state = 'attributed';
create index metered_request_settled on metered_request (ended_at) where state in ('measured', 'unmeasured');

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
-- An interval is settled once, however many try.
create unique index metered_record_interval on metered_record (endpoint, from_at) where energy_uj is not null;
create trigger metered_record_no_change before update or delete on metered_record
  for each row execute function ledger_refuse();
create trigger metered_record_no_truncate before truncate on metered_record
  for each statement execute function ledger_refuse();

-- Hourly carbon intensities of grid zones, as operators import them. Nothing is changed: a correction is a newer version.
create table grid_hour (
  zone        text collate "C" not null,
  hour        timestamptz not null check (hour = date_trunc('hour', hour, 'UTC')),
  -- The multihash of the file that it came with.
  version     text collate "C" not null,
  provider    text not null,
  signal      text not null,
  gwp         float8 not null check (gwp between 0 and 5),
  imported_at timestamptz not null default now(),
  primary key (zone, hour, version)
);
create trigger grid_hour_no_change before update or delete on grid_hour
  for each row execute function ledger_refuse();

-- Hours whose receipts may have been issued with another factor.
create table grid_hour_due (
  zone     text collate "C" not null,
  hour     timestamptz not null,
  due_from timestamptz(3) not null default now(),
  primary key (zone, hour)
);

-- Days of which hours came before the day was over its time: they are looked at then, and those that are not whole go back
-- to the annual factor.
create table grid_day_open (
  day  date not null,
  zone text collate "C" not null,
  primary key (day, zone)
);

-- Grants: each role only what it does.
grant insert on recalculation, metered_request to docket_receipts;
grant select, insert, update, delete on recalculation to docket_recalculation;
-- Callers and operators flag what is owed; they cannot make it go away.
grant select, insert, update (state, attempts, due_at, flagged_at, requested_by, reason) on recalculation
  to docket_api, docket_operator;
grant select, insert, update on restatement to docket_operator;
grant select, update on restatement to docket_recalculation;
grant select, insert, delete on meter_reading to docket_recalculation;
grant select, update on metered_request to docket_recalculation;
grant select, insert on metered_record to docket_recalculation;
grant select on meter_reading, metered_request, metered_record to docket_operator;
-- The purge forgets who ran on metered endpoints once their time is over. Which energy was whose stays in the intervals,
-- which receipts name by digest.
grant select (receipt_id, state, ended_at), update (weight), delete on metered_request to docket_purge;
grant select (endpoint, read_at), update (accelerators), delete on meter_reading to docket_purge;
grant select, insert on grid_hour to docket_operator;
grant select, insert, update on grid_hour_due to docket_operator;
grant select on grid_hour to docket_receipts, docket_recalculation;
grant select, insert on grid_day_open to docket_operator;
grant select, insert, update, delete on grid_hour_due to docket_recalculation;
-- Rows are locked while they are judged, so that two processes never judge one.
grant select, update (zone), delete on grid_day_open to docket_recalculation;
