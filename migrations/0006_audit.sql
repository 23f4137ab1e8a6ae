-- The audit log: every act that changes something, with who did it, in chains whose heads are signed and anchored.

-- One hash chain per organisation (and one, `service`, for acts that concern all). The head is kept
-- apart, so that entries cut off at the end are missed.
create table audit_head (
  org_id text primary key,
  size   bigint not null,
  hash   bytea not null check (length(hash) = 32)
);

create table audit_log (
  org_id        text not null,
  sequence      bigint not null check (sequence >= 0),
  id            text not null unique check (id like 'aud\_%'),
  at            timestamptz(3) not null,
  action        text not null,
  actor_kind    text not null check (actor_kind in ('user', 'key', 'operator', 'system')),
  actor_id      text not null,
  address       text,
  subject       text,
  reason        text,
  -- Text, not jsonb: the chain's hash covers exactly these characters.
  details       text not null,
  previous_hash bytea not null check (length(previous_hash) = 32),
  hash          bytea not null check (length(hash) = 32),
  primary key (org_id, sequence)
);
create index audit_log_by_action on audit_log (org_id, action, sequence);
create index audit_log_by_actor on audit_log (org_id, actor_id, sequence);

-- Guarantees: an entry continues its chain, by whichever process it is written, and the head moves with it.
-- The head's row lock makes writers of one organisation take turns.
create function audit_log_link() returns trigger language plpgsql as $$
declare
  head audit_head;
begin
  select h.* into head from audit_head h where h.org_id = new.org_id for update;
  if not found or head.size <> new.sequence or head.hash <> new.previous_hash then
    raise exception 'the entry does not continue the chain' using errcode = 'check_violation';
  end if;
  update audit_head set size = new.sequence + 1, hash = new.hash where org_id = new.org_id;
  return new;
end $$;
create trigger audit_log_link before insert on audit_log
  for each row execute function audit_log_link();

create function audit_log_refuse() returns trigger language plpgsql as $$
begin
  raise exception 'the audit log is append-only' using errcode = 'insufficient_privilege';
end $$;
create trigger audit_log_no_change before update or delete on audit_log
  for each row execute function audit_log_refuse();
create trigger audit_log_no_truncate before truncate on audit_log
  for each statement execute function audit_log_refuse();
create trigger audit_head_no_removal before delete on audit_head
  for each row execute function audit_log_refuse();
create trigger audit_head_no_truncate before truncate on audit_head
  for each statement execute function audit_log_refuse();

-- Signed heads of audit logs: the length of a chain and the hash of its last entry, in the form of a checkpoint. They are
-- anchored beside the checkpoints of the ledger. `log_id` is `audit/` and whose chain it is.
create table audit_checkpoint (
  log_id    text collate "C" not null check (log_id like 'audit/%'),
  size      bigint not null check (size > 0),
  -- Of the last entry.
  hash      bytea not null check (length(hash) = 32),
  -- The signed note, as it is handed out.
  note      text not null,
  signed_at timestamptz(3) not null default now(),
  primary key (log_id, size)
);
create function audit_checkpoint_check() returns trigger language plpgsql as $$
begin
  if exists (select from audit_checkpoint c where c.log_id = new.log_id and c.size >= new.size) then
    raise exception 'a signed head is larger than those before it' using errcode = 'check_violation';
  end if;
  return new;
end $$;
create trigger audit_checkpoint_check before insert on audit_checkpoint
  for each row execute function audit_checkpoint_check();
create trigger audit_checkpoint_no_change before update or delete on audit_checkpoint
  for each row execute function ledger_refuse();
create trigger audit_checkpoint_no_truncate before truncate on audit_checkpoint
  for each statement execute function ledger_refuse();

-- Grants: each role only what it does.
grant select on audit_log, audit_head to docket_api, docket_operator, docket_housekeeping, docket_purge;
grant insert on audit_log to docket_api, docket_operator, docket_housekeeping, docket_purge, docket_exports,
  docket_recalculation;
grant select on audit_log to docket_exports, docket_recalculation;
grant select, insert, update on audit_head to docket_api, docket_operator, docket_housekeeping, docket_purge,
  docket_exports, docket_recalculation;
-- A ledger worker sees how entries follow each other, and nothing of what they say.
grant select on audit_head to docket_ledger;
grant select (org_id, sequence, previous_hash, hash) on audit_log to docket_ledger;
grant select, insert on audit_checkpoint to docket_ledger;
grant select on audit_checkpoint to docket_api, docket_exports, docket_operator;
