import type { Rate } from '#shared/kernel/plan.ts';
import type { KeyState, Scope } from './credential.ts';
import type { KeyDisplay } from './format.ts';

/** An API key as it is kept: everything but the key. */
export interface KeyRecord {
  id: string;
  orgId: string;
  name: string;
  display: KeyDisplay;
  state: KeyState;
  scopes: readonly Scope[];
  /** The person whose playground counts by it: a key without a secret. Null for keys that programs use. */
  playgroundOf: string | null;
  /** Of its own, within its organisation's limits. */
  limit: Rate | null;
  /** Shared by a key and all its rotation successors; the first key's id. */
  lineageId: string;
  /** The key this one succeeds, null for the first of a lineage. */
  predecessorId: string | null;
  /** Times in epoch milliseconds. */
  createdAt: number;
  expiresAt: number | null;
  revokedAt: number | null;
  /** Others have it, or may have: only support or an operator restores it. */
  leaked: boolean;
  lastUsedAt: number | null;
}
