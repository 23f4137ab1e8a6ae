import type { AccountState } from '#shared/accounts/account.ts';

/** The part that a person has in an organisation. */
export const ORGANISATION_ROLES = ['owner', 'admin', 'member', 'auditor'] as const;
export type OrganisationRole = (typeof ORGANISATION_ROLES)[number];

/** Those who work for the service itself. */
export const STAFF_ROLES = ['operator', 'reviewer'] as const;
export type StaffRole = (typeof STAFF_ROLES)[number];

/**
 * What some members of an organisation may do and others may not, in words for them, and in which roles. Everything else in
 * it is read by all of them. Pages and documentation show this table.
 */
export const ACTS = {
  'flag receipts': {
    words: 'have a receipt estimated again',
    roles: ['owner', 'admin', 'member'],
  },
  // An auditor asks for the evidence; that none of it is deleted is for those who are audited to answer for.
  'make exports': { words: 'make packs', roles: ['owner', 'admin', 'member', 'auditor'] },
  'delete exports': { words: 'delete packs', roles: ['owner', 'admin', 'member'] },
  'issue keys': {
    words: 'create, rotate, rename and restore keys',
    roles: ['owner', 'admin'],
  },
  'revoke keys': { words: 'revoke keys', roles: ['owner', 'admin'] },
  'use the playground': {
    words: 'try models in the playground',
    roles: ['owner', 'admin', 'member'],
  },
  'switch the playground': { words: 'switch the playground on and off', roles: ['owner'] },
  'set budgets': { words: 'set budgets', roles: ['owner', 'admin'] },
  'set up webhooks': { words: 'set up webhooks', roles: ['owner', 'admin'] },
  'change settings': { words: 'change the settings', roles: ['owner', 'admin'] },
  'apply for the organisation': {
    words: 'apply for the organisation',
    roles: ['owner', 'admin'],
  },
  'manage the team': {
    words: 'invite and remove members, change roles, see who has a second factor',
    roles: ['owner', 'admin'],
  },
  'read the audit log': { words: 'read the audit log', roles: ['owner', 'admin', 'auditor'] },
  // The one who names the issuer can come in by it as any member, owners included.
  'set up single sign-on': { words: 'set up single sign-on', roles: ['owner'] },
  'require a second factor': { words: 'require a second factor', roles: ['owner'] },
  'end sessions of members': { words: 'see and end the sessions of members', roles: ['owner'] },
  'have responses kept': { words: 'have responses kept, or none', roles: ['owner'] },
  'ask for closing': { words: 'ask for the organisation to be closed', roles: ['owner'] },
} as const satisfies Readonly<
  Record<string, { words: string; roles: readonly OrganisationRole[] }>
>;
export type Act = keyof typeof ACTS;

/** Whether a role has an act at all, in an organisation that is active. */
export function isActOf(role: OrganisationRole, act: Act): boolean {
  const { roles }: { roles: readonly OrganisationRole[] } = ACTS[act];
  return roles.includes(role);
}

/** What a closed organisation's own is still good for: to prove what was. */
const AFTER_CLOSING: readonly Act[] = ['make exports', 'delete exports', 'read the audit log'];

/** Whether a member may do this now: keys are issued, and restored, by active organisations alone. */
export function may({ role, orgState }: Pick<Membership, 'role' | 'orgState'>, act: Act): boolean {
  if (act === 'issue keys' && orgState !== 'active') return false;
  if (orgState === 'closed' && !AFTER_CLOSING.includes(act)) return false;
  return isActOf(role, act);
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
  /** Whether its pages ask a password for more beside it: a code or a passkey. */
  asksSecondFactor: boolean;
}
