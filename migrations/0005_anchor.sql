-- The anchor log: one more log beside those of the organisations, under the name `anchor`. Its entries are the roots of
-- trees over the newest checkpoint of every ledger and the newest signed head of every audit log, and what happened to
-- signing keys. `org_id` is what such a log is called here, which for a ledger is the organisation's id. Entries, tiles, head
-- and checkpoints stand in the ledger's own tables; here is what only the anchor has.

-- The exact text of every entry; kept for ever.
create table anchor_entry (
  index     bigint primary key check (index >= 0),
  leaf_hash bytea not null check (length(leaf_hash) = 32),
  body      bytea not null check (length(body) between 1 and 65535)
);
create trigger anchor_entry_no_change before update or delete on anchor_entry
  for each row execute function ledger_refuse();
create trigger anchor_entry_no_truncate before truncate on anchor_entry
  for each statement execute function ledger_refuse();

-- A log's place in the heads tree: drawn at random once, never changed, never given to another.
create table anchor_slot (
  org_id      text collate "C" primary key,
  slot        integer not null unique check (slot between 0 and 1048575),
  assigned_at timestamptz(3) not null default now()
);
create trigger anchor_slot_no_change before update or delete on anchor_slot
  for each row execute function ledger_refuse();
create trigger anchor_slot_no_truncate before truncate on anchor_slot
  for each statement execute function ledger_refuse();

-- Each heads entry has a secret, from which the salts of all slots and the padding of its tree are
-- derived. With it, one log's proof can be made at any time; without it, the tree tells nothing.
create table anchor_epoch (
  index  bigint primary key,
  secret bytea not null check (length(secret) = 32),
  at     timestamptz(3) not null
);
create trigger anchor_epoch_no_change before update or delete on anchor_epoch
  for each row execute function ledger_refuse();
create trigger anchor_epoch_no_truncate before truncate on anchor_epoch
  for each statement execute function ledger_refuse();

-- Which checkpoint of a log is in the heads tree of entry `index`, and of all that follow until
-- the next row: only what has changed is written.
create table anchor_head (
  org_id text collate "C" not null,
  index  bigint not null,
  size   bigint not null check (size > 0),
  primary key (org_id, index)
);
create index anchor_head_by_index on anchor_head (index);
create function anchor_head_check() returns trigger language plpgsql as $$
begin
  if exists (select from anchor_head a where a.org_id = new.org_id and (a.index >= new.index or a.size >= new.size)) then
    raise exception 'an anchored head is larger than those before it' using errcode = 'check_violation';
  end if;
  return new;
end $$;
create trigger anchor_head_check before insert on anchor_head
  for each row execute function anchor_head_check();
create trigger anchor_head_no_change before update or delete on anchor_head
  for each row execute function ledger_refuse();
create trigger anchor_head_no_truncate before truncate on anchor_head
  for each statement execute function ledger_refuse();

-- What operators say of keys, until a ledger worker has written it into the log.
create table anchor_pending (
  id           bigint generated always as identity primary key,
  key_id       text not null,
  purpose      text not null,
  -- The first index of the anchor log that is not vouched for; null stands for the place where it is written.
  from_index   bigint check (from_index >= 0),
  requested_at timestamptz(3) not null default now()
);

-- RFC 3161: the clock of another party, for a checkpoint of the anchor log.
create table anchor_timestamp (
  size      bigint not null,
  authority text not null,
  time      timestamptz(3) not null,
  response  bytea not null check (length(response) between 1 and 131072),
  stored_at timestamptz(3) not null default now(),
  primary key (size, authority)
);
create trigger anchor_timestamp_no_change before update or delete on anchor_timestamp
  for each row execute function ledger_refuse();
create trigger anchor_timestamp_no_truncate before truncate on anchor_timestamp
  for each statement execute function ledger_refuse();

-- C2SP tlog-cosignature: another party that saw that checkpoint, and that it continues the one before.
create table anchor_cosignature (
  size      bigint not null,
  witness   text not null,
  time      timestamptz(3) not null,
  -- The signature line, as it is added to the note.
  line      text not null,
  stored_at timestamptz(3) not null default now(),
  primary key (size, witness)
);
create trigger anchor_cosignature_no_change before update or delete on anchor_cosignature
  for each row execute function ledger_refuse();
create trigger anchor_cosignature_no_truncate before truncate on anchor_cosignature
  for each statement execute function ledger_refuse();

-- When each time-stamping authority and witness is asked next, over all workers.
create table anchor_source (
  source     text primary key,
  next_at    timestamptz(3) not null default now(),
  failures   integer not null default 0,
  last_error text
);

grant select, insert on anchor_entry, anchor_slot, anchor_epoch, anchor_head, anchor_timestamp, anchor_cosignature
  to docket_ledger;
grant select, delete on anchor_pending to docket_ledger;
grant select, insert, update on anchor_source to docket_ledger;
grant select on anchor_entry, anchor_slot, anchor_epoch, anchor_head, anchor_timestamp, anchor_cosignature
  to docket_api, docket_exports, docket_operator;
grant select, insert on anchor_pending to docket_operator;
grant select on anchor_source to docket_operator, docket_housekeeping;
