import type { Credential, Scope } from './credential.ts';
import type { AccountState } from '#shared/accounts/account.ts';
import { Fault } from '#shared/kernel/errors.ts';
import { stateAt } from './lifecycle.ts';

/** What a route requires: one scope, or any valid key. */
export type RequiredScope = Scope | 'any';

/** Missing, malformed, mistyped and unknown keys are one answer, so that answers do not tell which keys exist. */
export function invalidApiKey(): Fault {
  return new Fault('invalid_api_key');
}

/**
 * Decides whether `credential` may use a route that requires `required`, at `now` (epoch milliseconds).
 * The key's own state comes first, then the account's, then the scope. Throws the refusal; that of an account names
 * `supportEmail`.
 */
export function authorize(
  credential: Credential,
  required: RequiredScope,
  { now, supportEmail }: { now: number; supportEmail: string },
): void {
  // A credential carries no revocation time; `stateAt` only needs one to decide on purging.
  const state = stateAt(
    { state: credential.keyState, expiresAt: credential.expiresAt, revokedAt: null },
    now,
  );
  if (state === 'revoked') throw revokedApiKey();
  if (state === 'expired') {
    throw new Fault('expired_api_key');
  }
  if (credential.accountState !== 'active') {
    throw refusalOfAccount(credential.accountState, supportEmail);
  }
  if (required !== 'any' && !credential.scopes.includes(required)) {
    throw new Fault('insufficient_scope', { values: { scope: required } });
  }
}

/** A closed account has no valid keys; one that is not (or no longer) approved is under review. */
function refusalOfAccount(state: AccountState, supportEmail: string): Fault {
  if (state === 'closed' || state === 'rejected') return revokedApiKey();
  return new Fault('customer_suspended', { values: { supportEmail } });
}

function revokedApiKey(): Fault {
  return new Fault('revoked_api_key');
}
