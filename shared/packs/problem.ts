/** What can be wrong with an evidence pack. Stable; messages may change. */
export type PackProblemCode =
  /* the archive */
  | 'not_a_zip'
  | 'malformed_zip'
  | 'unsafe_path'
  | 'duplicate_name'
  | 'compressed_entry'
  | 'absurd_size'
  /* the bag */
  | 'missing_file'
  | 'extra_file'
  | 'malformed_manifest'
  | 'checksum_mismatch'
  /* the seal */
  | 'malformed_seal'
  | 'unknown_format'
  | 'seal_invalid'
  | 'seal_contradiction'
  | 'unknown_key'
  | 'key_revoked'
  | 'key_not_authorised'
  | 'key_outside_interval'
  | 'keys_mismatch'
  /* what receipts mean */
  | 'context_mismatch'
  | 'shapes_mismatch'
  | 'methodology_mismatch'
  | 'methodology_unreleased'
  | 'derivation_mismatch'
  | 'derivation_missing'
  /* the receipts */
  | 'malformed_line'
  | 'receipt_invalid'
  | 'wrong_log'
  | 'wrong_count'
  /* the ledger */
  | 'checkpoint_invalid'
  | 'loss_invalid'
  | 'anchor_invalid'
  | 'anchor_missing'
  | 'timestamp_invalid'
  | 'timestamp_missing'
  | 'cosignature_invalid'
  | 'witness_missing'
  | 'root_mismatch'
  /* revisions and totals */
  | 'revision_mismatch'
  | 'revision_missing'
  | 'totals_mismatch'
  | 'report_mismatch'
  | 'evidence_mismatch'
  | 'statement_invalid'
  /* where numbers come from */
  | 'lineage_mismatch'
  | 'lineage_missing';

/** Why a pack is not what it claims to be. */
export class PackProblem extends Error {
  readonly code: PackProblemCode;
  /** The file of the pack, or the entry, that shows it. */
  readonly place: string;

  constructor(code: PackProblemCode, place: string, message: string) {
    super(message);
    this.name = 'PackProblem';
    this.code = code;
    this.place = place;
  }
}
