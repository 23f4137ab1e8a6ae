/** Everything that an examination of the ledger can find. */
export type FindingKind =
  | 'behind'
  | 'grown_otherwise'
  | 'not_compared'
  | 'memory_behind'
  | 'witness_unasked'
  | 'body_altered'
  | 'body_missing'
  | 'bodies_expired'
  | 'usage_wrong'
  | 'leaf_altered'
  | 'entry_missing'
  | 'entry_beyond_head'
  | 'receipt_lost'
  | 'tile_altered'
  | 'tile_missing'
  | 'tile_beyond_head'
  | 'head_wrong'
  | 'head_missing'
  | 'checkpoint_wrong'
  | 'loss_wrong'
  | 'loss_declared'
  | 'anchor_wrong'
  | 'attestation_wrong'
  | 'key_unfit'
  | 'key_ended'
  | 'signatures_unchecked'
  | 'log_halted'
  | 'pending_late'
  | 'quarantined';

/**
 * damage: the stored ledger is not what it was · loss: it is less, or other, than what was published · attention: something waits for a person ·
 * note: as it should be, but worth knowing.
 */
export type Severity = 'damage' | 'loss' | 'attention' | 'note';

const SEVERITIES: Readonly<Record<FindingKind, Severity>> = {
  behind: 'loss',
  grown_otherwise: 'loss',
  not_compared: 'attention',
  // A log that does not grow is not remembered again, so a person could do nothing about it.
  memory_behind: 'note',
  // A witness is another party's, and may be away.
  witness_unasked: 'note',
  body_altered: 'damage',
  body_missing: 'damage',
  bodies_expired: 'note',
  usage_wrong: 'damage',
  leaf_altered: 'damage',
  entry_missing: 'damage',
  entry_beyond_head: 'damage',
  receipt_lost: 'damage',
  tile_altered: 'damage',
  tile_missing: 'damage',
  tile_beyond_head: 'damage',
  head_wrong: 'damage',
  head_missing: 'damage',
  checkpoint_wrong: 'damage',
  loss_wrong: 'damage',
  // What was lost was said, and the log goes on.
  loss_declared: 'note',
  anchor_wrong: 'damage',
  attestation_wrong: 'damage',
  // Signed by a key that never was one for it: nothing that the service does.
  key_unfit: 'damage',
  // What a key signed when it was in other hands is there, and those who hold it must be told.
  key_ended: 'attention',
  signatures_unchecked: 'note',
  log_halted: 'attention',
  pending_late: 'attention',
  quarantined: 'attention',
};

export interface Finding {
  kind: FindingKind;
  severity: Severity;
  orgId: string;
  /** The thing that is wrong: `entry 17 (rcpt_…)`, `tile 0/000`, `checkpoint of 512`. */
  subject: string;
  /** One sentence for a person. */
  detail: string;
}

export function finding(
  kind: FindingKind,
  orgId: string,
  subject: string,
  detail: string,
): Finding {
  return { kind, severity: SEVERITIES[kind], orgId, subject, detail };
}
