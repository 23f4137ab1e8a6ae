/** Why a pack cannot be built, however often it is tried. The owner of the export sees code and message. */
export class PackFailure extends Error {
  readonly code: PackFailureCode;
  constructor(code: PackFailureCode, message: string) {
    super(message);
    this.name = 'PackFailure';
    this.code = code;
  }
}

export type PackFailureCode =
  | 'receipts_expired'
  | 'ledger_damaged'
  | 'checkpoint_missing'
  | 'methodology_unknown'
  | 'derivation_unknown'
  | 'lineage_contradiction'
  | 'context_unknown';

/** The export was deleted, or another process has taken it over: the work stops, and nothing is to be said. */
export class ExportLost extends Error {
  constructor() {
    super('the export is not this run’s any more');
    this.name = 'ExportLost';
  }
}
