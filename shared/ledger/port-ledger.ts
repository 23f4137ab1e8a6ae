import type { Hash } from './hashing.ts';
import type { TileRequest } from './tiles.ts';
import type { Page } from '#shared/kernel/page.ts';

/** What an entry is about; `refused` has no tokens, `degraded` no measurement, the last two revise another entry. */
export const LEDGER_KINDS = [
  'inference',
  'degraded',
  'refused',
  'recalculated',
  'restated',
] as const;
export type LedgerKind = (typeof LEDGER_KINDS)[number];

/** The key that signs tree heads. The name that goes with it is the log's origin, so the port needs none. */
export interface CheckpointSigner {
  /** 32 bytes, Ed25519. */
  readonly publicKey: Uint8Array;
  /** Ed25519 over these bytes: 64 bytes. */
  sign(bytes: Uint8Array): Uint8Array;
}

/** How far a log was published: size and root of a signed checkpoint. */
export interface PublishedHead {
  size: number;
  root: Hash;
}

/**
 * Remembers what was published outside the database, so that a database restored from an older
 * backup cannot publish a smaller tree: nothing inside it can tell.
 */
export interface CheckpointMemory {
  /** What is remembered of these logs; a log that was never published is missing. */
  recall(orgIds: readonly string[]): Promise<Map<string, PublishedHead>>;
  /** Called before a checkpoint can be seen by anyone. Never goes back to a smaller size. */
  remember(heads: ReadonlyMap<string, PublishedHead>): Promise<void>;
}

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

export interface LedgerPageRequest {
  orgId: string;
  /** Receipt id of the entry to continue after. */
  after?: string;
  /** 1..100 */
  limit: number;
  order: 'asc' | 'desc';
  /** Epoch milliseconds of integration, `from` included, `to` excluded. */
  from?: number;
  to?: number;
  kind?: LedgerKind;
}

export interface ReceiptPageRequest {
  orgId: string;
  /** Receipt id to continue after. */
  after?: string;
  /** 1..100 */
  limit: number;
  order: 'asc' | 'desc';
  model?: string;
  region?: string;
  /** A plan, or `degraded`. */
  tier?: string;
  /** Epoch milliseconds of the request (the time in its id), `from` included, `to` excluded. */
  from?: number;
  to?: number;
}

/** The exact bytes of a receipt under its id. */
export interface StoredReceipt {
  id: string;
  body: Uint8Array;
}

/** All that is read from the ledger. Every call names the organisation and sees nothing of others. */
export interface LedgerReader {
  /** Null when there is no such receipt here, or it is not integrated yet. */
  entry(orgId: string, receiptId: string): Promise<LedgerEntry | null>;
  /** Throws `invalid_after` for a receipt that has no entry here. */
  listEntries(request: LedgerPageRequest): Promise<Page<LedgerEntry>>;
  /** The newest signed checkpoint; null before the first. */
  checkpoint(orgId: string): Promise<string | null>;
  /** Bytes of a tile or entry bundle; null when the newest checkpoint does not cover it, or retention dropped a body. */
  tile(orgId: string, tile: TileRequest): Promise<Uint8Array | null>;
  /** C2SP tlog-proof with the newest checkpoint; null until one covers the receipt. */
  proof(orgId: string, receiptId: string): Promise<string | null>;
  /** Hashes that prove one published tree a prefix of another; null when the newest checkpoint is smaller. */
  consistency(orgId: string, oldSize: number, newSize: number): Promise<Hash[] | null>;
  /** Null when there is no such receipt here, or retention has dropped it. */
  receipt(orgId: string, receiptId: string): Promise<StoredReceipt | null>;
  /** Throws `invalid_after` for a receipt that is not here. */
  listReceipts(request: ReceiptPageRequest): Promise<Page<StoredReceipt>>;
  /** Ids of the receipt's whole chain, oldest first, whichever member was asked for; empty when it is not here. */
  revisions(orgId: string, receiptId: string): Promise<string[]>;
  /** The receipt that revises this one, or null. */
  successor(orgId: string, receiptId: string): Promise<string | null>;
}
