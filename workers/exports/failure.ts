import { Fault } from '#shared/kernel/errors.ts';
import { isStoreAway } from '#shared/kernel/store-away.ts';
import type { Away } from '#shared/packs/export-record.ts';
import { SigningKeyProblem } from '#shared/receipts/signing/problem.ts';

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
  | 'context_unknown'
  | 'given_up';

/** The export was deleted, or another process has taken it over: the work stops, and nothing is to be said. */
export class ExportLost extends Error {
  constructor() {
    super('the export is not this run’s any more');
    this.name = 'ExportLost';
  }
}

/** The store of packs took or gave nothing. */
class PacksNotStored extends Error {
  constructor(cause: unknown) {
    super('the store of packs failed', { cause });
    this.name = 'PacksNotStored';
  }
}

/** What an act on the store of packs comes to; what it throws is told from faults of ours. */
export async function ofStore<T>(act: Promise<T>): Promise<T> {
  try {
    return await act;
  } catch (error) {
    throw new PacksNotStored(error);
  }
}

/** What a run has ended for want of; null where the run itself is at fault. */
export function awayFor(error: unknown): Away | null {
  if (error instanceof SigningKeyProblem) return 'key';
  const isUnavailable = error instanceof Fault && error.code === 'store_unavailable';
  return error instanceof PacksNotStored || isUnavailable || isStoreAway(error) ? 'store' : null;
}
