-- Receipts and the ledger: one append-only RFC 6962 tree per organisation.
-- A receipt's bytes are written once, into `ledger_body`, by the statement that also promises their
-- integration (`receipt_pending`); the ledger worker turns promises into entries. Nothing that was
-- written here is ever changed: triggers refuse it even to the owner, and `docket ledger fsck` finds
-- what was changed with the triggers off.

create function ledger_refuse() returns trigger language plpgsql as $$
begin
  raise exception '% is append-only', tg_table_name using errcode = 'insufficient_privilege';
end $$;

-- The exact bytes of every receipt, and what lists and totals filter by.
-- ULIDs sort by time, so a month is a range of ids, and the primary key holds across all months.
create table ledger_body (
  entry_id            text collate "C" not null check (length(entry_id) = 31),
  org_id              text collate "C" not null,
  kind                text not null check (kind in ('inference', 'degraded', 'failed', 'refused', 'recalculated', 'restated')),
  -- The receipt that this one revises.
  supersedes          text collate "C",
  key_id              text,
  -- Bounded, so that a row of the index below always fits.
  model               text check (length(model) <= 300),
  region              text,
  tier                text,
  route               text,
  outcome             text,
  issued_at           timestamptz(3) not null,
  input_tokens        bigint,
  cached_input_tokens bigint,
  output_tokens       bigint,
  energy_kwh          double precision,
  gwp_kgco2e          double precision,
  water_l             double precision,
  adpe_kgsbe          double precision,
  adpf_mj             double precision,
  leaf_hash           bytea not null check (length(leaf_hash) = 32),
  -- C2SP entry bundles give an entry's length in 16 bits.
  body                bytea not null check (length(body) between 1 and 65535),
  -- The rule that blocked a refused request. It is on no receipt and in no answer: a caller who knows the rule tries words
  -- until none is found. Support looks it up here.
  refusal_rule        text,
  -- The lower and upper bounds of energy, greenhouse gas, water, abiotic depletion and fossil energy, two by two in this
  -- order, and the tier of the estimate's data.
  bounds              float8[],
  data_quality        text,
  primary key (entry_id)
) partition by range (entry_id);

-- Signatures and digests do not compress, and a receipt fits a page beside one other: stored plain and
-- in line it is written in 18 µs, out of line in 27, compressed in 45 (3.4 KB bodies, PostgreSQL 18). Two rows share a
-- page when each is at most 4,080 bytes; the body of a larger one, which would take a page alone, goes out of line.
alter table ledger_body alter column body set storage external;

-- One index serves lists, filters and totals of an organisation without reading the wide rows themselves.
create index ledger_body_by_org on ledger_body (org_id, entry_id) include (
  kind, model, region, tier, outcome, key_id, issued_at, input_tokens, cached_input_tokens, output_tokens,
  energy_kwh, gwp_kgco2e, water_l, adpe_kgsbe, adpf_mj);
-- What screening has blocked, over all organisations and newest first: a few among millions of receipts.
create index ledger_body_refused on ledger_body (entry_id) include (refusal_rule, org_id) where kind = 'refused';

create trigger ledger_body_no_change before update or delete on ledger_body
  for each row execute function ledger_refuse();
create trigger ledger_body_no_truncate before truncate on ledger_body
  for each statement execute function ledger_refuse();

-- The smallest receipt id of a moment: the first ten digits of a ULID are its milliseconds in base 32.
create function receipt_id_at(at timestamptz) returns text language plpgsql immutable strict as $$
declare
  digits constant text := '0123456789ABCDEFGHJKMNPQRSTVWXYZ';
  rest bigint := floor(extract(epoch from at) * 1000);
  id text := '';
begin
  for i in 1..10 loop
    id := substr(digits, (rest % 32)::int + 1, 1) || id;
    rest := rest / 32;
  end loop;
  return 'rcpt_' || id;
end $$;

-- Bodies and entries are found by their keys alone, whatever statistics say of their columns; but a sample for the
-- default precision reads 30,000 rows, most of them on pages of their own. While a month is young and grows fast, samples
-- at every tenth of growth were a third of the database's work. A tenth of that precision is plenty.
create function ledger_sample_less(of_table regclass) returns void
  language plpgsql set search_path = public, pg_temp as $$
begin
  execute (
    select format('alter table %s %s', of_table, string_agg(format('alter %I set statistics 10', attname), ', '))
    from pg_attribute where attrelid = of_table and attnum > 0 and not attisdropped);
end $$;
revoke all on function ledger_sample_less(regclass) from public;

-- Makes the partitions of last month, this month and the next ones, those that are missing.
-- Returns the names of the new ones. Ids of other times go to the default partition: nothing is ever
-- refused. A month that has rows there already stays there.
create function ensure_ledger_partitions(months_ahead integer default 3) returns setof text
  language plpgsql security definer set search_path = public, pg_temp set lock_timeout = '2s' as $$
declare
  this_month constant timestamp := date_trunc('month', now() at time zone 'utc');
  month timestamp;
  name text;
  first_id text;
  end_id text;
begin
  if months_ahead not between 0 and 24 then
    raise exception 'at most 24 months ahead' using errcode = 'invalid_parameter_value';
  end if;
  -- Two callers take turns, and the second finds nothing left to do.
  perform pg_advisory_xact_lock(hashtext('ensure_ledger_partitions'));
  for i in -1..months_ahead loop
    month := this_month + make_interval(months => i);
    name := to_char(month, '"ledger_body_"YYYY_MM');
    first_id := receipt_id_at(month at time zone 'utc');
    end_id := receipt_id_at((month + interval '1 month') at time zone 'utc');
    continue when to_regclass('public.' || name) is not null;
    continue when exists (select from ledger_body_default where entry_id >= first_id and entry_id < end_id);
    -- Made apart and then attached: that leaves writers of the other months alone.
    execute format('create table %I (like ledger_body including all) with (toast_tuple_target = 4080)', name);
    perform ledger_sample_less(name::regclass);
    execute format('alter table ledger_body attach partition %I for values from (%L) to (%L)', name, first_id, end_id);
    execute format('create trigger ledger_body_no_truncate before truncate on %I
      for each statement execute function ledger_refuse()', name);
    return next name;
  end loop;
end $$;
revoke all on function ensure_ledger_partitions(integer) from public;

create table ledger_body_default partition of ledger_body default with (toast_tuple_target = 4080);
select ledger_sample_less('ledger_body_default');
create trigger ledger_body_no_truncate before truncate on ledger_body_default
  for each statement execute function ledger_refuse();
select ensure_ledger_partitions();

-- The durable promise: written by the statement that writes the body, before the caller gets the receipt.
-- Small rows that live for a fraction of a second; the oldest id comes first.
create table receipt_pending (
  entry_id     text collate "C" primary key,
  org_id       text collate "C" not null,
  kind         text not null,
  supersedes   text collate "C",
  leaf_hash    bytea not null check (length(leaf_hash) = 32),
  submitted_at timestamptz(3) not null default now()
) with (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 20000, autovacuum_vacuum_cost_delay = 0);

-- One successor per receipt, of the same organisation: settled when the revision is submitted, because
-- a conflict found only by the ledger worker would hold up the ledger.
create table receipt_revision (
  original_id text collate "C" primary key,
  revision_id text collate "C" not null unique,
  org_id      text collate "C" not null,
  created_at  timestamptz(3) not null default now(),
  -- The first receipt of its chain, so that the newest one of a request is found at once, however long the chain has become.
  first_id    text collate "C" not null,
  check (original_id <> revision_id)
);
create index receipt_revision_by_first on receipt_revision (org_id, first_id);
create function receipt_revision_check() returns trigger language plpgsql as $$
begin
  if not exists (select from ledger_body b where b.entry_id = new.original_id and b.org_id = new.org_id) then
    raise exception 'a revision belongs to a receipt of the same organisation' using errcode = 'foreign_key_violation';
  end if;
  new.first_id := coalesce(
    (select r.first_id from receipt_revision r where r.revision_id = new.original_id), new.original_id);
  return new;
end $$;
create trigger receipt_revision_check before insert on receipt_revision
  for each row execute function receipt_revision_check();
create trigger receipt_revision_no_change before update or delete on receipt_revision
  for each row execute function ledger_refuse();
create trigger receipt_revision_no_truncate before truncate on receipt_revision
  for each statement execute function ledger_refuse();

-- Where each log stands. The row's lock is what makes integrators of one log take turns.
create table ledger_head (
  org_id          text collate "C" primary key,
  size            bigint not null check (size >= 0),
  root            bytea not null check (length(root) = 32),
  -- Roots of the perfect subtrees, largest first: all that is needed to append.
  frontier        bytea not null,
  integrated_at   timestamptz(3) not null,
  checkpoint_size bigint not null default 0,
  checkpoint_at   timestamptz(3),
  -- Set when something does not add up: nothing more is integrated or signed until a person has looked.
  halted_at       timestamptz(3),
  halt_reason     text,
  -- Entries whose usage is summed up: all, but while sums are made anew, which a ledger worker does a few thousand entries
  -- at a time.
  usage_size      bigint not null default 0 check (usage_size >= 0),
  check (checkpoint_size between 0 and size),
  check (num_nulls(halted_at, halt_reason) in (0, 2))
) with (fillfactor = 50); -- changes with every batch: room to do so in place
create index ledger_head_halted on ledger_head (org_id) where halted_at is not null;
create function ledger_head_check() returns trigger language plpgsql as $$
begin
  if new.size < old.size or new.checkpoint_size < old.checkpoint_size or new.org_id <> old.org_id then
    raise exception 'a log never shrinks' using errcode = 'check_violation';
  end if;
  return new;
end $$;
create trigger ledger_head_check before update on ledger_head
  for each row execute function ledger_head_check();
create trigger ledger_head_no_removal before delete on ledger_head
  for each row execute function ledger_refuse();
create trigger ledger_head_no_truncate before truncate on ledger_head
  for each statement execute function ledger_refuse();

-- What the tree is made of; kept for ever, also after retention has dropped the bodies.
create table ledger_entry (
  org_id        text collate "C" not null,
  index         bigint not null check (index >= 0),
  entry_id      text collate "C" not null unique,
  kind          text not null,
  leaf_hash     bytea not null check (length(leaf_hash) = 32),
  supersedes    text collate "C",
  integrated_at timestamptz(3) not null,
  primary key (org_id, index)
);
select ledger_sample_less('ledger_entry');
-- Lists by kind look for the rare ones; the common one needs no index of its own.
create index ledger_entry_rare on ledger_entry (org_id, kind, index) where kind <> 'inference';
create trigger ledger_entry_no_change before update or delete on ledger_entry
  for each row execute function ledger_refuse();
create trigger ledger_entry_no_truncate before truncate on ledger_entry
  for each statement execute function ledger_refuse();

-- The first entry of a log that was integrated at this moment or later; its size when there is none.
-- Times never go down along a log, so halving finds it without an index on them.
create function ledger_index_at(log text, moment timestamptz) returns bigint language plpgsql stable as $$
declare
  low bigint := 0;
  high bigint := coalesce((select size from ledger_head where org_id = log), 0);
  middle bigint;
begin
  while low < high loop
    middle := (low + high) / 2;
    if (select e.integrated_at < moment from ledger_entry e where e.org_id = log and e.index = middle) then
      low := middle + 1;
    else
      high := middle;
    end if;
  end loop;
  return low;
end $$;

-- Full tiles of C2SP tlog-tiles: 256 hashes, and the root of the subtree that they span, which is one
-- hash of the tile above.
create table ledger_tile (
  org_id text collate "C" not null,
  level  smallint not null check (level between 0 and 6),
  index  bigint not null check (index >= 0),
  root   bytea not null check (length(root) = 32),
  hashes bytea not null check (length(hashes) = 8192),
  primary key (org_id, level, index)
);
alter table ledger_tile alter column hashes set storage external;
create trigger ledger_tile_no_change before update or delete on ledger_tile
  for each row execute function ledger_refuse();
create trigger ledger_tile_no_truncate before truncate on ledger_tile
  for each statement execute function ledger_refuse();

-- Every tree head that was ever signed.
create table ledger_checkpoint (
  org_id    text collate "C" not null,
  size      bigint not null check (size >= 0),
  root      bytea not null check (length(root) = 32),
  -- The signed note, as it is handed out.
  note      text not null,
  signed_at timestamptz(3) not null,
  -- The same root as COSE receipts of inclusion sign it (RFC 9942): their protected header and their signature.
  -- The anchor log has none.
  cose_protected bytea,
  cose_signature bytea check (length(cose_signature) = 64),
  check ((cose_protected is null) = (cose_signature is null)),
  primary key (org_id, size)
);
create function ledger_checkpoint_check() returns trigger language plpgsql as $$
begin
  if exists (select from ledger_checkpoint c where c.org_id = new.org_id and c.size >= new.size) then
    raise exception 'a checkpoint is larger than those before it' using errcode = 'check_violation';
  end if;
  return new;
end $$;
create trigger ledger_checkpoint_check before insert on ledger_checkpoint
  for each row execute function ledger_checkpoint_check();
create trigger ledger_checkpoint_no_change before update or delete on ledger_checkpoint
  for each row execute function ledger_refuse();
create trigger ledger_checkpoint_no_truncate before truncate on ledger_checkpoint
  for each statement execute function ledger_refuse();

-- Promises that could not be kept, out of the way of the others until a person has looked.
create table ledger_quarantine (
  entry_id       text collate "C" primary key,
  org_id         text collate "C" not null,
  kind           text not null,
  supersedes     text collate "C",
  leaf_hash      bytea not null,
  submitted_at   timestamptz(3) not null,
  quarantined_at timestamptz(3) not null default now(),
  -- body_missing · body_altered · already_integrated · refused (with the database's reason in `detail`)
  reason         text not null,
  detail         text
);
create index ledger_quarantine_by_org on ledger_quarantine (org_id, entry_id);

-- What receipts name by its digest, and is the same for every request of a deployment: written once, by the
-- statement that commits the first receipt that names it, and never changed. Its name is the multihash of its bytes.
create table derivation (
  digest text collate "C" primary key
    check (digest = 'u' || rtrim(translate(encode('\x1220'::bytea || sha256(body), 'base64'), '+/', '-_'), '=')),
  body bytea not null check (length(body) between 2 and 65535)
);
create trigger derivation_no_change before update or delete on derivation
  for each row execute function ledger_refuse();
create trigger derivation_no_truncate before truncate on derivation
  for each statement execute function ledger_refuse();

-- Retention: the bodies of a whole month go, the hashes stay. Only the owner of the schema can do it,
-- and it is written down, so that a body that is gone otherwise is told from one whose time was over.
create table ledger_retention (
  first_id   text collate "C" primary key,
  end_id     text collate "C" not null,
  dropped_at timestamptz(3) not null default now(),
  check (first_id < end_id)
);
create trigger ledger_retention_no_change before update or delete on ledger_retention
  for each row execute function ledger_refuse();
create trigger ledger_retention_no_truncate before truncate on ledger_retention
  for each statement execute function ledger_refuse();

-- Drops the bodies of one month (any moment in it, UTC). Refuses while one of them waits for integration
-- or lies in quarantine. Rights: the owner's, none other's.
create function drop_ledger_bodies(month timestamptz) returns void
  language plpgsql set search_path = public, pg_temp set lock_timeout = '2s' as $$
declare
  first_day constant timestamp := date_trunc('month', month at time zone 'utc');
  name constant text := to_char(first_day, '"ledger_body_"YYYY_MM');
  from_id constant text := receipt_id_at(first_day at time zone 'utc');
  to_id constant text := receipt_id_at((first_day + interval '1 month') at time zone 'utc');
begin
  if first_day >= date_trunc('month', now() at time zone 'utc') then
    raise exception 'the month is not over' using errcode = 'check_violation';
  end if;
  if to_regclass('public.' || name) is null then
    raise exception 'there is no partition %', name using errcode = 'undefined_table';
  end if;
  -- From here on nothing is added to the month, so what was looked at stays true until the drop.
  execute format('lock table %I in access exclusive mode', name);
  if exists (select from receipt_pending p where p.entry_id >= from_id and p.entry_id < to_id)
    or exists (select from ledger_quarantine q where q.entry_id >= from_id and q.entry_id < to_id) then
    raise exception 'receipts of that month are not integrated' using errcode = 'check_violation';
  end if;
  execute format('drop table %I', name);
  insert into ledger_retention (first_id, end_id) values (from_id, to_id);
end $$;
revoke all on function drop_ledger_bodies(timestamptz) from public;

-- Grants: each role only what it does.
grant select, insert on ledger_body, receipt_pending, receipt_revision to docket_receipts, docket_recalculation;
grant select on ledger_body, receipt_pending, ledger_entry, ledger_tile, ledger_checkpoint, receipt_revision to docket_ledger;
grant insert on ledger_entry, ledger_tile, ledger_checkpoint, ledger_quarantine to docket_ledger;
-- `update` is what a row lock needs; no column of a promise is ever changed.
grant delete, update (submitted_at) on receipt_pending to docket_ledger;
grant select, insert, update on ledger_head to docket_ledger;
grant select on ledger_body, receipt_pending, receipt_revision, ledger_head, ledger_entry, ledger_tile, ledger_checkpoint
  to docket_api, docket_exports, docket_recalculation, docket_housekeeping;
grant select on ledger_entry, ledger_head to docket_receipts;
grant select on ledger_body, receipt_pending, receipt_revision, ledger_head, ledger_entry, ledger_tile, ledger_checkpoint,
  ledger_quarantine to docket_operator;
grant select on ledger_quarantine to docket_ledger, docket_api, docket_housekeeping;
grant execute on function ensure_ledger_partitions(integer) to docket_housekeeping;
grant select, insert on derivation to docket_receipts, docket_recalculation;
grant select on derivation, ledger_retention to docket_api, docket_exports, docket_operator;
-- What a person may do after looking: let a halted log go on, and give a receipt in quarantine another try.
-- Both are acts of an operator and stand in the audit log.
grant update (halted_at, halt_reason) on ledger_head to docket_operator;
grant delete on ledger_quarantine to docket_operator;
grant insert on receipt_pending to docket_operator;
