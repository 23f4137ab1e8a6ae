import type { AuditDetails } from '#shared/accounts/audit/entry.ts';
import { restorableUntil, rotationDueAt, stateAt } from './lifecycle.ts';
import type { KeyDisplay } from './format.ts';
import type { KeyRecord } from './record.ts';

/** `dkt_AbCd…wxyz` */
export function displayText(display: KeyDisplay): string {
  return `${display.head}…${display.tail}`;
}

/** A key as the API and the command line show it: snake_case, times in RFC 3339, its state as it is at `now`. */
export interface KeyDescription {
  object: 'api_key';
  id: string;
  name: string;
  display: string;
  state: KeyRecord['state'];
  scopes: readonly string[];
  rate_limit: { requests_per_second: number; burst: number } | null;
  lineage_id: string;
  predecessor_id: string | null;
  created_at: string;
  expires_at: string | null;
  revoked_at: string | null;
  /** Others have it, or may have: only support or an operator can restore it. */
  leaked: boolean;
  /** Until when the revocation can be undone; null where it cannot. */
  restorable_until: string | null;
  last_used_at: string | null;
  /** A year after its creation: rotation is recommended by then. Null for a key that is not active. */
  rotation_due_at: string | null;
}

export function describeKey(key: KeyRecord, now: number): KeyDescription {
  const { limit, revokedAt } = key;
  return {
    object: 'api_key',
    id: key.id,
    name: key.name,
    display: displayText(key.display),
    state: stateAt(key, now),
    scopes: key.scopes,
    rate_limit:
      limit === null ? null : { requests_per_second: limit.requestsPerSecond, burst: limit.burst },
    lineage_id: key.lineageId,
    predecessor_id: key.predecessorId,
    created_at: timestamp(key.createdAt),
    expires_at: optionalTimestamp(key.expiresAt),
    revoked_at: optionalTimestamp(revokedAt),
    leaked: key.leaked,
    restorable_until: optionalTimestamp(restorableUntil(key, now)),
    last_used_at: optionalTimestamp(key.lastUsedAt),
    rotation_due_at: optionalTimestamp(rotationDueAt(key, now)),
  };
}

/**
 * What the audit log keeps of a key: what it was called and allowed, never its hash, so that the story can be
 * told after the purge.
 */
export function auditDetailsOf(key: KeyRecord): AuditDetails {
  return {
    name: key.name,
    ...(key.playgroundOf === null
      ? { display: displayText(key.display) }
      : { playground_of: key.playgroundOf }),
    scopes: key.scopes,
    lineage_id: key.lineageId,
    ...(key.predecessorId === null ? {} : { predecessor_id: key.predecessorId }),
    ...(key.expiresAt === null ? {} : { expires_at: timestamp(key.expiresAt) }),
    ...(key.leaked ? { leaked: true } : {}),
  };
}

function timestamp(epochMs: number): string {
  return new Date(epochMs).toISOString();
}

function optionalTimestamp(epochMs: number | null): string | null {
  return epochMs === null ? null : timestamp(epochMs);
}
