import { type AccountState, WRITING_STATES } from '#shared/accounts/account.ts';
import { Fault } from '#shared/kernel/errors.ts';

/** Said in place of the form, and of one that comes all the same. */
export const INVITES_LATER = 'People can be invited once the application is approved.';

/** Before that, the words of an organisation go to none but its members. */
export function mayInvite(state: AccountState): boolean {
  return WRITING_STATES.has(state);
}

/** @throws Fault `invalid_account_state` */
export function checkInviting(state: AccountState): void {
  if (!mayInvite(state)) throw new Fault('invalid_account_state', { message: INVITES_LATER });
}
