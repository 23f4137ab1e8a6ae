import type { Furniture } from './furnish.ts';

/** Whose page it is: `nobody` has not signed in. */
export type Visitor = 'nobody' | 'owner' | 'operator' | 'reviewer';

/** Every page, by a name for its file, with who looks at it. */
export function pagesOf(of: Furniture): readonly (readonly [string, Visitor, string])[] {
  const org = `/dashboard/${of.orgId}`;
  const service = '/dashboard/service';
  return [
    ['landing', 'nobody', '/'],
    ['status', 'nobody', '/status'],
    ['verify', 'nobody', '/verify'],
    ['docs', 'nobody', '/docs'],
    ['sign-in', 'nobody', '/dashboard/sign-in'],
    ['sign-up', 'nobody', '/dashboard/sign-up'],
    ['password-forgot', 'nobody', '/dashboard/password/forgot'],
    ['overview', 'owner', `${org}/overview`],
    ['overview-by-key', 'owner', `${org}/overview?days=7&by=key`],
    ['receipts', 'owner', `${org}/receipts`],
    ['receipts-none', 'owner', `${org}/receipts?model=none`],
    ['receipt', 'owner', `${org}/receipts/${of.receiptId}`],
    ['usage', 'owner', `${org}/usage`],
    ['exports', 'owner', `${org}/exports`],
    ['export', 'owner', `${org}/exports/${of.exportId}`],
    ['ledger', 'owner', `${org}/ledger?from=10`],
    ['keys', 'owner', `${org}/keys`],
    ['keys-new', 'owner', `${org}/keys/new`],
    ['key', 'owner', `${org}/keys/${of.keyId}`],
    ['key-revoke', 'owner', `${org}/keys/${of.keyId}?do=revoke`],
    ['rotation', 'owner', `${org}/keys/${of.rotatedKeyId}/rotation`],
    ['audit-log', 'owner', `${org}/audit-log`],
    ['team', 'owner', `${org}/team`],
    ['settings', 'owner', `${org}/settings`],
    ['account', 'owner', '/dashboard/account'],
    ['invitations', 'owner', '/dashboard/invitations'],
    ['apply', 'owner', '/dashboard/apply'],
    ['not-found', 'owner', `${org}/nothing`],
    ['reviews', 'reviewer', `${service}/reviews`],
    ['review', 'reviewer', `${service}/reviews/${of.reviewId}`],
    ['accounts', 'operator', `${service}/accounts`],
    ['account-of-org', 'operator', `${service}/accounts/${of.orgId}`],
    ['look-up', 'operator', `${service}/look-up?q=${of.requestId}`],
    ['regions', 'operator', `${service}/regions`],
    ['queues', 'operator', `${service}/queues`],
    ['policy', 'operator', `${service}/policy`],
    ['health', 'operator', `${service}/health`],
  ];
}
