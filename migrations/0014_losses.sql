-- Losses that operators have declared: a database was put back to an older state, and entries of a log that were published
-- are gone. Each closes one tree of a log and opens its successor, whose heads have another name.
create table ledger_loss (
  -- The organisation, `audit/…` for its audit log, or `anchor`.
  log_id       text collate "C" not null,
  -- The tree that is opened; the first of each log has the number 1 and no row.
  generation   integer not null check (generation between 2 and 999999),
  -- Entries of the last signed head that this database has. Larger heads are of the successor.
  kept_size    bigint not null check (kept_size >= 0),
  -- The signed statement, as it is handed out, which says the rest.
  note         text not null,
  declared_at  timestamptz(3) not null default now(),
  primary key (log_id, generation)
);
create function ledger_loss_check() returns trigger language plpgsql as $$
begin
  if exists (select from ledger_loss l where l.log_id = new.log_id
             and (l.generation >= new.generation or l.kept_size > new.kept_size)) then
    raise exception 'a loss comes after those before it' using errcode = 'check_violation';
  end if;
  return new;
end $$;
create trigger ledger_loss_check before insert on ledger_loss
  for each row execute function ledger_loss_check();
create trigger ledger_loss_no_change before update or delete on ledger_loss
  for each row execute function ledger_refuse();
create trigger ledger_loss_no_truncate before truncate on ledger_loss
  for each statement execute function ledger_refuse();

-- Which tree of a log a head of so many entries is of.
create function ledger_generation_at(log text, head_size bigint) returns integer language sql stable
  set search_path = public, pg_temp
  return coalesce((select max(l.generation) from ledger_loss l where l.log_id = log and l.kept_size < head_size), 1);

-- An operator declares; a ledger worker signs by it, and the others show it.
grant select, insert on ledger_loss to docket_operator;
grant select on ledger_loss to docket_ledger, docket_api, docket_exports;
