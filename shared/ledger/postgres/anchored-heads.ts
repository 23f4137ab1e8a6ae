/** Everything that heads trees hold: checkpoints of organisations, and signed heads of audit logs under `auditLogOf` them. */
export const ANCHORED_CHECKPOINT = `(select org_id, size, note from ledger_checkpoint
   union all select log_id as org_id, size, note from audit_checkpoint)`;
