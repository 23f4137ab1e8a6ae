import type { Credential, Scope } from './credential.ts';
import type { AccountState } from '#shared/accounts/account.ts';
import { Fault } from '#shared/kernel/errors.ts';
import { stateAt } from './lifecycle.ts';

/** The demand of a route: one scope, or any valid key. */
export type Demand = Scope | 'any';

/** Missing, malformed, mistyped and unknown keys are one answer, so that answers do not tell which keys exist. */
export function invalidApiKey(): Fault {
  return new Fault('invalid_api_key');
}

/**
 * Decides whether `credential` may use a route that demands `demand`, at `now` (epoch milliseconds).
 * The key's own state comes first, then the account's, then the scope. Throws the refusal; that of an account names
 * `supportEmail`.
 */
export function authorize(
  credential: Credential,
  demand: Demand,
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
  if (demand !== 'any' && !credential.scopes.includes(demand)) {
    throw new Fault('insufficient_scope', { values: { scope: demand } });
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
