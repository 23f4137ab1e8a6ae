-- What is owed to degraded receipts: an estimate, on a new receipt that revises the old one.
-- The statement that commits a degraded receipt also writes its row here, and the statement that commits
-- its revision deletes it: however often a process or the job queue dies between the two, nothing is lost.

create table recalculation (
  receipt_id text collate "C" primary key,
  org_id     text collate "C" not null,
  -- parked: tried often enough in vain; a person has to look.
  state      text not null default 'pending' check (state in ('pending', 'parked')),
  attempts   integer not null default 0 check (attempts >= 0),
  created_at timestamptz(3) not null default now(),
  -- Not rounded to the millisecond: half of those that are due at once would not be.
  due_at     timestamptz not null default now(),
  -- A caller or an operator asked for it, and it was not tried since.
  flagged_at timestamptz(3),
  -- The last failure, and what it was made with: catalogue and methodology.
  failed_at  timestamptz(3),
  stage      text,
  code       text,
  basis      text,
  check (num_nulls(failed_at, stage, code, basis) in (0, 4))
) with (fillfactor = 70);
create index recalculation_due on recalculation (due_at) where state = 'pending';
create index recalculation_by_org on recalculation (org_id, receipt_id);

-- A revision names the first receipt of its chain, so that the newest one of a request is found at once,
-- however long the chain has become.
alter table receipt_revision add column first_id text collate "C";
alter table receipt_revision disable trigger receipt_revision_no_change;
with recursive chain as (
  select r.revision_id, r.original_id as first_id from receipt_revision r
  where not exists (select from receipt_revision e where e.revision_id = r.original_id)
  union all
  select r.revision_id, c.first_id from chain c join receipt_revision r on r.original_id = c.revision_id
)
update receipt_revision r set first_id = c.first_id from chain c where c.revision_id = r.revision_id;
alter table receipt_revision enable trigger receipt_revision_no_change;
alter table receipt_revision alter column first_id set not null;
create index receipt_revision_by_first on receipt_revision (org_id, first_id);

create or replace function receipt_revision_check() returns trigger language plpgsql as $$
begin
  if not exists (select from ledger_body b where b.entry_id = new.original_id and b.org_id = new.org_id) then
    raise exception 'a revision belongs to a receipt of the same organisation' using errcode = 'foreign_key_violation';
  end if;
  new.first_id := coalesce(
    (select r.first_id from receipt_revision r where r.revision_id = new.original_id), new.original_id);
  return new;
end $$;

-- What was degraded before this table was here.
insert into recalculation (receipt_id, org_id)
select b.entry_id, b.org_id from ledger_body b
where b.kind = 'degraded' and not exists (select from receipt_revision r where r.original_id = b.entry_id);

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
  finished_at  timestamptz(3)
) with (fillfactor = 50);
create index restatement_unfinished on restatement (requested_at) where finished_at is null;

grant insert on recalculation to docket_receipts;
grant select, insert, update, delete on recalculation to docket_recalculation;
-- Callers and operators flag what is owed; they cannot make it go away.
grant select, insert, update (state, attempts, due_at, flagged_at) on recalculation to docket_api, docket_operator;
grant select, insert, update on restatement to docket_operator;
grant select, update on restatement to docket_recalculation;
