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

-- Whether the heads tree of an epoch holds heads of audit logs. A worker of an earlier release writes trees without them.
alter table anchor_epoch add column with_audit boolean not null default false;

-- A ledger worker sees how entries follow each other, and nothing of what they say.
grant select on audit_head to docket_ledger;
grant select (org_id, sequence, previous_hash, hash) on audit_log to docket_ledger;
grant select, insert on audit_checkpoint to docket_ledger;
grant select on audit_checkpoint to docket_api, docket_exports, docket_operator;
