/** Everything that heads trees hold: checkpoints of organisations, and signed heads of audit logs under `auditLogOf` them. */
export const ANCHORED_CHECKPOINT = `(select org_id, size, note from ledger_checkpoint
   union all select log_id as org_id, size, note from audit_checkpoint)`;

/** Trees of earlier releases hold no audit logs. @param epoch the alias of `anchor_epoch`, @param org of whom is asked */
export const isInTree = (epoch: string, org: string): string =>
  `(${epoch}.with_audit or ${org} not like 'audit/%')`;
