import type { Actor } from '#shared/accounts/audit/entry.ts';
import type { KeyRecord } from './record.ts';
import type { KeyRequest } from './rules.ts';
import type { Page, PageRequest } from '#shared/kernel/page.ts';

/** A key at the only moment its plaintext is known. */
export interface IssuedKey {
  key: KeyRecord;
  /** The bearer secret. Shown once, never stored. */
  plaintext: string;
}

export interface KeyPageRequest extends PageRequest {
  orgId: string;
}

/** The keys of organisations. Each act is one transaction with its audit entry; refusals are Faults. */
export interface KeyRegistry {
  issue(orgId: string, request: KeyRequest, actor: Actor): Promise<IssuedKey>;
  list(request: KeyPageRequest): Promise<Page<KeyRecord>>;
  get(orgId: string, keyId: string): Promise<KeyRecord>;
  /** A successor in the same lineage. The predecessor stays active until it is revoked. */
  rotate(
    orgId: string,
    keyId: string,
    request: Partial<KeyRequest>,
    actor: Actor,
  ): Promise<IssuedKey>;
  revoke(orgId: string, keyId: string, actor: Actor, reason?: string): Promise<KeyRecord>;
  restore(orgId: string, keyId: string, actor: Actor, reason?: string): Promise<KeyRecord>;
  /** Finds a key that has leaked by its hash (hex), for support. Null when there is none. */
  findByHash(hash: string): Promise<KeyRecord | null>;
  /** Writes down active keys whose time is over, at most `limit`. Returns how many there were. */
  expireDue(limit: number): Promise<number>;
  /** Writes to the technical contacts of keys that expire within 14 days, and within one. Once for each. */
  warnExpiring(limit: number): Promise<void>;
  /** Deletes the records of keys revoked 90 days ago or earlier, at most `limit`. Returns how many there were. */
  purgeDue(limit: number): Promise<number>;
}
