import type { AccountState } from '#shared/accounts/account.ts';

/** The part that a person has in an organisation. */
export const ORGANISATION_ROLES = ['owner', 'admin', 'member', 'auditor'] as const;
export type OrganisationRole = (typeof ORGANISATION_ROLES)[number];

/** Those who work for the service itself. */
export const STAFF_ROLES = ['operator', 'reviewer'] as const;
export type StaffRole = (typeof STAFF_ROLES)[number];

/** What some members of an organisation may do and others may not. All of them see keys, usage and receipts. */
export type Act =
  | 'issue keys'
  | 'revoke keys'
  | 'flag receipts'
  | 'make exports'
  | 'read the audit log'
  | 'apply for the organisation'
  | 'manage the team'
  | 'change settings'
  | 'set budgets'
  | 'set up webhooks'
  | 'set up single sign-on'
  | 'have responses kept'
  | 'ask for closing';

const WHO_MAY: Readonly<Record<Act, readonly OrganisationRole[]>> = {
  'issue keys': ['owner', 'admin'],
  'revoke keys': ['owner', 'admin'],
  'flag receipts': ['owner', 'admin', 'member'],
  'make exports': ['owner', 'admin', 'member'],
  'read the audit log': ['owner', 'admin', 'auditor'],
  'apply for the organisation': ['owner', 'admin'],
  'manage the team': ['owner', 'admin'],
  'change settings': ['owner', 'admin'],
  'set budgets': ['owner', 'admin'],
  'set up webhooks': ['owner', 'admin'],
  // The one who names the issuer can come in by it as any member, owners included.
  'set up single sign-on': ['owner'],
  'have responses kept': ['owner'],
  'ask for closing': ['owner'],
};

/** What a closed organisation's own is still good for: to prove what was. */
const AFTER_CLOSING: readonly Act[] = ['make exports', 'read the audit log'];

/** Whether a member may do this now: keys are issued, and restored, by active organisations alone. */
export function may({ role, orgState }: Pick<Membership, 'role' | 'orgState'>, act: Act): boolean {
  if (act === 'issue keys' && orgState !== 'active') return false;
  if (orgState === 'closed' && !AFTER_CLOSING.includes(act)) return false;
  return WHO_MAY[act].includes(role);
}

/** Whether a member in the role `by` lets people into this role, and out of it. */
export function mayAssign(by: OrganisationRole, role: OrganisationRole): boolean {
  return by === 'owner' || (by === 'admin' && role !== 'owner');
}

/** Someone with an e-mail address who can sign in to the dashboard. */
export interface Person {
  /** `usr_…`, as the audit log names who acted. */
  id: string;
  name: string;
  email: string;
}

/** An organisation, and the part that a person has in it. */
export interface Membership {
  orgId: string;
  orgName: string;
  orgState: AccountState;
  /** Since when it is in this state, in epoch milliseconds. */
  orgStateSince: number;
  /** Until when an owner reads what is left of a closed one; null for all others. */
  readableUntil: number | null;
  role: OrganisationRole;
  /** Whether they get in by the issuer of the organisation alone. */
  asksSingleSignOn: boolean;
}
