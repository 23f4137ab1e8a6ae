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

grant select, insert on grid_hour to docket_operator;
grant select, insert, update on grid_hour_due to docket_operator;
grant select on grid_hour to docket_receipts, docket_recalculation;
grant select, delete on grid_hour_due to docket_recalculation;
