import type { Actor } from '#shared/accounts/audit/entry.ts';
import type { AnchorProof } from '#shared/ledger/anchor-proof.ts';
import type { Hash } from '#shared/ledger/hashing.ts';
import type { ExportRecord } from './export-record.ts';
import type { PackRange } from './layout.ts';
import type { Page } from '#shared/kernel/page.ts';

/** What a caller asks for: by index or by time of integration, everything when neither is named. */
export interface ExportRequest {
  firstIndex?: number;
  lastIndex?: number;
  /** Epoch milliseconds, `from` included, `to` excluded. */
  from?: number;
  to?: number;
  /** A signed checkpoint's size; the newest when absent. */
  checkpointSize?: number;
}

export interface ExportPageRequest {
  orgId: string;
  after?: string;
  /** 1..100 */
  limit: number;
  order: 'asc' | 'desc';
}

/** Exports as their owners see them. Every call names the organisation and sees nothing of others. */
export interface ExportRegistry {
  /**
   * Queues an export and writes it into the audit log.
   * @throws Fault `invalid_first_index` and the like for a range that is not in a signed checkpoint,
   * `concurrent_exports_exceeded` when the organisation has too many under way
   */
  create(orgId: string, request: ExportRequest, actor: Actor): Promise<ExportRecord>;
  /** Null when there is none here, or it was deleted. */
  get(orgId: string, id: string): Promise<ExportRecord | null>;
  /** Throws `invalid_after` when `after` names no export of the organisation. */
  list(request: ExportPageRequest): Promise<Page<ExportRecord>>;
  /** Cancels or deletes; the pack itself is removed by whoever calls, or by the next sweep. False when there is none. */
  delete(orgId: string, id: string, actor: Actor): Promise<boolean>;
  /** Writes into the audit log that somebody took the pack. */
  downloaded(record: ExportRecord, actor: Actor): Promise<void>;
}

/** A run of an export: one process, one attempt. Others may not write to the export while it lasts. */
export interface ExportRun {
  runId: string;
  record: ExportRecord;
}

/** Exports as the worker that builds them sees them. */
export interface ExportJobs {
  /** Takes an export that is queued, or whose run has fallen silent. Null when there is nothing to do. */
  claim(id: string, runId: string): Promise<ExportRun | null>;
  /** Says how far the run is. False when it is not this run's any more: it was cancelled, or taken for dead. */
  progress(run: ExportRun, done: number): Promise<boolean>;
  /** False as above. */
  finish(run: ExportRun, pack: { sizeBytes: number; sha256: string }): Promise<boolean>;
  fail(run: ExportRun, error: { code: string; message: string }): Promise<void>;
  /** Gives an export back: `now` when the process stops, `later` when something has to heal first. */
  release(run: ExportRun, again: 'now' | 'later'): Promise<void>;
  /** Ids of exports that wait, or whose run has fallen silent. */
  due(limit: number): Promise<string[]>;
  /** Marks packs whose time is over. Returns exports whose packs must not be in the store. */
  removable(limit: number): Promise<string[]>;
  /** The store holds nothing of these any more. */
  removed(ids: readonly string[]): Promise<void>;
}

/** An entry of the ledger with what a pack says of it. */
export interface PackEntry {
  index: number;
  receiptId: string;
  leafHash: Hash;
  /** The exact bytes, as text; null when they are gone. */
  body: string | null;
  /** Index of the entry that revises it, below the checkpoint's size. */
  supersededBy: number | null;
}

/** A signed tree head. */
export interface PackCheckpoint {
  size: number;
  root: Hash;
  note: string;
  /** Epoch milliseconds. */
  signedAt: number;
}

/** A head of the organisation's log that is anchored, with the way from it to the pack's checkpoint. */
export interface AnchoredHeadFile {
  proof: AnchorProof;
  /** RFC 6962 consistency proof. */
  consistency: readonly Hash[];
}

/** What the anchor log says, all of it as of one of its checkpoints. */
export interface PackAnchor {
  /** Everything that happened to signing keys, with the exact texts and proofs. */
  events: readonly { index: number; entry: string; proof: string }[];
  /** The newest anchored head that is not beyond the pack's checkpoint. */
  head: AnchoredHeadFile | null;
  /** For keys that may not sign any more: the newest head that was anchored while they might. */
  keys: ReadonlyMap<string, AnchoredHeadFile>;
}

/** All that a pack is made of. Each call is a short read: entries and checkpoints never change. */
export interface PackSource {
  checkpoint(orgId: string, size: number): Promise<PackCheckpoint | null>;
  /** Entries `from` to `to` (excluded), in order. */
  entries(orgId: string, from: number, to: number, size: number): Promise<PackEntry[]>;
  /** The entries with these indexes, in order. */
  entriesAt(orgId: string, indexes: readonly number[], size: number): Promise<PackEntry[]>;
  /** Revisions after index `after` and below `size`, with what they revise, in order. */
  revisionsAfter(
    orgId: string,
    after: number,
    size: number,
    limit: number,
  ): Promise<{ index: number; revises: number }[]>;
  /** Checkpoints of more than `above` and at most `size` entries, smallest first. */
  checkpoints(orgId: string, above: number, size: number, limit: number): Promise<PackCheckpoint[]>;
  /** Roots of the perfect subtrees of the first `size` entries, largest first. */
  frontier(orgId: string, size: number): Promise<Hash[]>;
  consistency(orgId: string, oldSize: number, newSize: number): Promise<Hash[]>;
  /** Null when nothing is anchored. The same for one checkpoint whenever it is asked for. */
  anchor(orgId: string, range: PackRange): Promise<PackAnchor | null>;
  /** RFC 6962 paths of these entries in the tree of `size`. */
  inclusion(orgId: string, indexes: readonly number[], size: number): Promise<Hash[][]>;
}
