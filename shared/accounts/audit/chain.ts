import { sha256Text } from '#primitives';
import type { AuditEntry } from './entry.ts';

/** The predecessor of the first entry of every chain. */
export const CHAIN_START = '0'.repeat(64);

/**
 * The hash of an entry: SHA-256 over a JSON array of its fields in this fixed order, the hash of the
 * entry before it among them. `details` takes part as the text that is stored, so nothing depends on
 * how a database formats JSON.
 */
export function hashEntry(entry: Omit<AuditEntry, 'hash'>): string {
  return sha256Text(
    JSON.stringify([
      1,
      entry.orgId,
      entry.sequence,
      entry.id,
      entry.at,
      entry.action,
      entry.actorKind,
      entry.actorId,
      entry.address,
      entry.subject,
      entry.reason,
      entry.details,
      entry.previousHash,
    ]),
    'hex',
  );
}

/** The length of a chain and the hash of its last entry: pins everything before it. */
export interface ChainHead {
  size: number;
  hash: string;
}

export const EMPTY_CHAIN: ChainHead = { size: 0, hash: CHAIN_START };

/** A fault of a chain, and the entry where it is. */
export interface ChainFault {
  sequence: number;
  problem:
    | 'gap'
    | 'broken_link'
    | 'altered'
    | 'truncated'
    | 'head_mismatch'
    | 'signed_head_mismatch';
}

/** The result of rebuilding one organisation's chain: its head, and the first fault if there is one. */
export interface AuditVerdict extends ChainHead {
  orgId: string;
  fault: ChainFault | null;
}

/** Checks that `entry` may follow `head`. Returns the fault, or null when the link is sound. */
export function checkLink(head: ChainHead, entry: AuditEntry): ChainFault | null {
  if (entry.sequence !== head.size) return { sequence: head.size, problem: 'gap' };
  if (entry.previousHash !== head.hash) return { sequence: entry.sequence, problem: 'broken_link' };
  if (hashEntry(entry) !== entry.hash) return { sequence: entry.sequence, problem: 'altered' };
  return null;
}

/** Compares the head that was rebuilt from the entries with the one that was kept apart. */
export function checkHead(rebuilt: ChainHead, kept: ChainHead): ChainFault | null {
  if (rebuilt.size < kept.size) return { sequence: rebuilt.size, problem: 'truncated' };
  if (rebuilt.size !== kept.size || rebuilt.hash !== kept.hash) {
    return { sequence: rebuilt.size, problem: 'head_mismatch' };
  }
  return null;
}
