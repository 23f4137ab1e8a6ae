import type { Furniture } from './furnish.ts';

/** Whose page it is: `nobody` has not signed in. */
export type Visitor = 'nobody' | 'owner' | 'operator' | 'reviewer';

/** Every page, by a name for its file, with who looks at it, and its address with the names of what the pictures are of. */
const PAGES = [
  ['landing', 'nobody', '/'],
  ['status', 'nobody', '/status'],
  ['verify', 'nobody', '/verify'],
  ['docs', 'nobody', '/docs'],
  ['sign-in', 'nobody', '/dashboard/sign-in'],
  ['sign-up', 'nobody', '/dashboard/sign-up'],
  ['password-forgot', 'nobody', '/dashboard/password/forgot'],
  ['overview', 'owner', '/dashboard/{orgId}/overview'],
  ['overview-by-key', 'owner', '/dashboard/{orgId}/overview?days=7&by=key'],
  ['receipts', 'owner', '/dashboard/{orgId}/receipts'],
  ['receipts-none', 'owner', '/dashboard/{orgId}/receipts?model=none'],
  ['receipt', 'owner', '/dashboard/{orgId}/receipts/{receiptId}'],
  ['usage', 'owner', '/dashboard/{orgId}/usage'],
  ['exports', 'owner', '/dashboard/{orgId}/exports'],
  ['export', 'owner', '/dashboard/{orgId}/exports/{exportId}'],
  ['ledger', 'owner', '/dashboard/{orgId}/ledger?from=10'],
  ['keys', 'owner', '/dashboard/{orgId}/keys'],
  ['keys-new', 'owner', '/dashboard/{orgId}/keys/new'],
  ['key', 'owner', '/dashboard/{orgId}/keys/{keyId}'],
  ['key-revoke', 'owner', '/dashboard/{orgId}/keys/{keyId}?do=revoke'],
  ['rotation', 'owner', '/dashboard/{orgId}/keys/{rotatedKeyId}/rotation'],
  ['audit-log', 'owner', '/dashboard/{orgId}/audit-log'],
  ['team', 'owner', '/dashboard/{orgId}/team'],
  ['settings', 'owner', '/dashboard/{orgId}/settings'],
  ['account', 'owner', '/dashboard/account'],
  ['invitations', 'owner', '/dashboard/invitations'],
  ['apply', 'owner', '/dashboard/apply'],
  ['not-found', 'owner', '/dashboard/{orgId}/nothing'],
  ['reviews', 'reviewer', '/dashboard/service/reviews'],
  ['review', 'reviewer', '/dashboard/service/reviews/{reviewId}'],
  ['accounts', 'operator', '/dashboard/service/accounts'],
  ['account-of-org', 'operator', '/dashboard/service/accounts/{orgId}'],
  ['look-up', 'operator', '/dashboard/service/look-up?q={requestId}'],
  ['regions', 'operator', '/dashboard/service/regions'],
  ['queues', 'operator', '/dashboard/service/queues'],
  ['policy', 'operator', '/dashboard/service/policy'],
  ['health', 'operator', '/dashboard/service/health'],
] as const satisfies readonly (readonly [string, Visitor, string])[];

export const PAGE_NAMES: ReadonlySet<string> = new Set(PAGES.map(([name]) => name));

/** The pages with the addresses that they have in this instance. */
export function pagesOf(of: Furniture): readonly (readonly [string, Visitor, string])[] {
  return PAGES.map(([name, visitor, address]) => [
    name,
    visitor,
    address.replaceAll(/\{(\w+)\}/g, (_, what: keyof Furniture) => of[what]),
  ]);
}
