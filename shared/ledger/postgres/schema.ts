import type { LedgerKind } from '../port-ledger.ts';

/** Rows of migration 0003 as the driver returns them: `bigint` as text, hashes as buffers, times as dates. */
export interface PendingRow {
  entry_id: string;
  org_id: string;
  kind: LedgerKind;
  supersedes: string | null;
  leaf_hash: Buffer;
  submitted_at: Date;
}

export interface HeadRow {
  org_id: string;
  size: string;
  root: Buffer;
  frontier: Buffer;
  integrated_at: Date;
  checkpoint_size: string;
  checkpoint_at: Date | null;
  halted_at: Date | null;
  halt_reason: string | null;
}

export interface EntryRow {
  org_id: string;
  index: string;
  entry_id: string;
  kind: LedgerKind;
  leaf_hash: Buffer;
  supersedes: string | null;
  integrated_at: Date;
}

export interface CheckpointRow {
  org_id: string;
  size: string;
  root: Buffer;
  note: string;
  signed_at: Date;
}

export interface QuarantineRow extends PendingRow {
  quarantined_at: Date;
  reason: QuarantineReason;
  detail: string | null;
}

/** Why a promise could not be kept. */
export type QuarantineReason = 'body_missing' | 'body_altered' | 'already_integrated' | 'refused';
