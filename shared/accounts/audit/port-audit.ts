import type { Page, PageRequest } from '#shared/kernel/page.ts';
import type { AuditEntry, AuditEvent } from './entry.ts';
import type { ChainFault, ChainHead } from './chain.ts';

export interface AuditPageRequest extends PageRequest {
  orgId: string;
  action?: string;
  /** An actor's id. */
  actor?: string;
}

export interface AuditVerdict extends ChainHead {
  orgId: string;
  /** Null when every entry is in place and unaltered. */
  fault: ChainFault | null;
}

/** The append-only record of who did what. */
export interface AuditLog {
  /** Appends one entry in its own transaction. Acts that write rows append in theirs instead. */
  append(event: AuditEvent): Promise<AuditEntry>;
  /** Throws `invalid_after` when `after` names no entry of this organisation. */
  list(request: AuditPageRequest): Promise<Page<AuditEntry>>;
  /** Rebuilds the chains (all of them, or one) and compares them with their heads. */
  verify(orgId?: string): AsyncIterable<AuditVerdict>;
}
