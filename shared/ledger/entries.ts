import type { Hash } from './hashing.ts';

/**
 * What an entry is about; `failed` and `refused` have no tokens, `degraded` no measurement, the last two revise another
 * entry.
 */
export const LEDGER_KINDS = [
  'inference',
  'degraded',
  'failed',
  'refused',
  'recalculated',
  'restated',
] as const;
export type LedgerKind = (typeof LEDGER_KINDS)[number];

/** A receipt's place in its organisation's log. */
export interface LedgerEntry {
  index: number;
  receiptId: string;
  kind: LedgerKind;
  leafHash: Hash;
  /** Epoch milliseconds; never goes down along a log. */
  integratedAt: number;
  supersedes: string | null;
}
