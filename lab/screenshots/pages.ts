import type { Page } from 'playwright-core';
import { addLedgerTrouble, ageSessions, type Furniture } from './furnish.ts';

/** Whose page it is; the first is a visitor who has not signed in. */
export type Visitor = 'nobody' | 'owner' | 'operator' | 'reviewer';

/** Sends the page's form as it stands, which the browser itself would not. */
async function sendAsItIs(page: Page): Promise<void> {
  const answered = page.waitForResponse((reply) => reply.request().method() === 'POST');
  await page.evaluate(`(() => {
    const form = document.querySelector('main form[method=post]');
    form.noValidate = true;
    form.requestSubmit();
  })()`);
  await answered;
  await page.waitForLoadState('networkidle');
}

async function createKey(page: Page): Promise<void> {
  await page.getByLabel('Name').fill('Checkout, Stockholm');
  await page.getByRole('button', { name: 'Create key' }).click();
  await page.waitForURL('**/issued');
}

/** As if the person had signed in a while ago: what gives something asks for the password. */
async function createKeyLater(page: Page, of: Furniture): Promise<void> {
  await ageSessions(of);
  await page.getByLabel('Name').fill('Checkout, Stockholm');
  await page.getByRole('button', { name: 'Create key' }).click();
  await page.getByRole('heading', { name: 'Confirm that it is you' }).waitFor();
}

async function troubleTheLedger(page: Page, of: Furniture): Promise<void> {
  await addLedgerTrouble(of);
  await page.reload();
}

async function reportIncident(page: Page): Promise<void> {
  const region = page.locator('details', { hasText: 'eu-north' });
  await region.locator('summary').click();
  await region.getByLabel('State').selectOption('degraded');
  await region
    .getByLabel('Public note')
    .fill(
      'A power cut at one of two sites since 13:40 UTC. Requests go elsewhere, unless they are pinned. We expect it to end by 17:00 UTC.',
    );
  await region.getByLabel('Reason for the audit log').fill('Power cut at the site in Luleå');
  await region.getByRole('button', { name: /^Set / }).click();
  await page.getByText('Region set.').waitFor();
}

async function readOfIncident(page: Page): Promise<void> {
  await reportIncident(page);
  await page.goto('/status');
  await page.getByText('A power cut').waitFor();
}

/** Has the verifier judge a receipt, in which the first of these texts is the second. */
const verify =
  (from: string, to: string) =>
  async (page: Page, { receipt }: Furniture): Promise<void> => {
    await page.getByText('Or paste a receipt').click();
    await page.locator('#text').fill(receipt.replace(from, to));
    await page.getByRole('button', { name: 'Check' }).click();
    await page.locator('#result').waitFor();
  };

/** A page of the pictures, as a visitor finds it; or as it is when they have done something there. */
export interface Shown {
  name: string;
  visitor: Visitor;
  address: string;
  act?: ((page: Page, of: Furniture) => Promise<void>) | undefined;
}

/** Every page, by a name for its file, with who looks at it, and its address with the names of what the pictures are of. */
const PAGES = [
  ['landing', 'nobody', '/'],
  ['status', 'nobody', '/status'],
  ['verify', 'nobody', '/verify'],
  ['verify-good', 'nobody', '/verify', verify('', '')],
  ['verify-bad', 'nobody', '/verify', verify('"outputTokens":', '"outputTokens":9')],
  ['docs', 'nobody', '/docs'],
  ['guides', 'nobody', '/docs/guides'],
  ['guide', 'nobody', '/docs/guides/receipts'],
  ['sign-in', 'nobody', '/dashboard/sign-in'],
  ['sign-up', 'nobody', '/dashboard/sign-up'],
  ['password-forgot', 'nobody', '/dashboard/password/forgot'],
  ['overview', 'owner', '/dashboard/{orgId}/overview'],
  ['charts', 'owner', '/dashboard/{orgId}/charts?of=requests&by=model'],
  ['charts-lines', 'owner', '/dashboard/{orgId}/charts?of=times&by=region&days=90'],
  ['charts-energy', 'owner', '/dashboard/{orgId}/charts?of=energy&by=key'],
  ['playground', 'owner', '/dashboard/{orgId}/playground'],
  ['overview-by-key', 'owner', '/dashboard/{orgId}/overview?days=7&by=key'],
  ['receipts', 'owner', '/dashboard/{orgId}/receipts'],
  ['requests', 'owner', '/dashboard/{orgId}/requests'],
  ['request-times', 'owner', '/dashboard/{orgId}/requests/times'],
  ['receipts-none', 'owner', '/dashboard/{orgId}/receipts?model=none'],
  ['receipt', 'owner', '/dashboard/{orgId}/receipts/{receiptId}'],
  ['receipt-degraded', 'owner', '/dashboard/{orgId}/receipts/{degradedReceiptId}'],
  ['receipts-not-found', 'owner', '/dashboard/{orgId}/receipts?find=rcpt_nothing'],
  ['usage', 'owner', '/dashboard/{orgId}/usage'],
  ['budgets', 'owner', '/dashboard/{orgId}/budgets'],
  ['notifications', 'owner', '/dashboard/{orgId}/notifications'],
  ['webhooks', 'owner', '/dashboard/{orgId}/webhooks'],
  ['exports', 'owner', '/dashboard/{orgId}/exports'],
  ['export', 'owner', '/dashboard/{orgId}/exports/{exportId}'],
  ['export-failed', 'owner', '/dashboard/{orgId}/exports/{failedExportId}'],
  ['ledger', 'owner', '/dashboard/{orgId}/ledger?from=10'],
  ['keys', 'owner', '/dashboard/{orgId}/keys'],
  ['keys-new', 'owner', '/dashboard/{orgId}/keys/new'],
  ['key', 'owner', '/dashboard/{orgId}/keys/{keyId}'],
  ['key-revoke', 'owner', '/dashboard/{orgId}/keys/{keyId}?do=revoke'],
  ['key-leaked', 'owner', '/dashboard/{orgId}/keys/{leakedKeyId}'],
  ['rotation', 'owner', '/dashboard/{orgId}/keys/{rotatedKeyId}/rotation'],
  ['audit-log', 'owner', '/dashboard/{orgId}/audit-log'],
  ['team', 'owner', '/dashboard/{orgId}/team'],
  ['team-sessions', 'owner', '/dashboard/{orgId}/team/sessions'],
  ['second-factor', 'owner', '/dashboard/account/second-factor'],
  ['search', 'owner', '/dashboard/search?q=check&in={orgId}'],
  ['settings', 'owner', '/dashboard/{orgId}/settings'],
  ['account', 'owner', '/dashboard/account'],
  ['invitations', 'owner', '/dashboard/invitations'],
  ['apply', 'owner', '/dashboard/apply'],
  ['not-found', 'owner', '/dashboard/{orgId}/nothing'],
  ['single-sign-on', 'owner', '/dashboard/{orgId}/single-sign-on'],
  ['onboarding', 'reviewer', '/dashboard/{applyingOrgId}/onboarding'],
  ['empty-overview', 'reviewer', '/dashboard/{emptyOrgId}/overview'],
  ['empty-receipts', 'reviewer', '/dashboard/{emptyOrgId}/receipts'],
  ['empty-requests', 'reviewer', '/dashboard/{emptyOrgId}/requests'],
  ['empty-exports', 'reviewer', '/dashboard/{emptyOrgId}/exports'],
  ['empty-ledger', 'reviewer', '/dashboard/{emptyOrgId}/ledger'],
  ['empty-usage', 'reviewer', '/dashboard/{emptyOrgId}/usage'],
  ['empty-budgets', 'reviewer', '/dashboard/{emptyOrgId}/budgets'],
  ['empty-notifications', 'reviewer', '/dashboard/{emptyOrgId}/notifications'],
  ['large-overview', 'reviewer', '/dashboard/{largeOrgId}/overview?days=7&by=key'],
  ['large-usage', 'reviewer', '/dashboard/{largeOrgId}/usage?by=key&and=model'],
  ['large-receipts', 'reviewer', '/dashboard/{largeOrgId}/receipts'],
  ['large-keys', 'reviewer', '/dashboard/{largeOrgId}/keys'],
  ['large-key', 'reviewer', '/dashboard/{largeOrgId}/keys/{largeKeyId}'],
  ['receipt-door', 'nobody', '/receipts/{receiptId}'],
  ['sign-in-refused', 'nobody', '/dashboard/sign-in', sendAsItIs],
  ['sign-up-refused', 'nobody', '/dashboard/sign-up', sendAsItIs],
  ['sign-in-organisation', 'nobody', '/dashboard/sign-in/organisation'],
  ['keys-new-refused', 'owner', '/dashboard/{orgId}/keys/new', sendAsItIs],
  ['apply-refused', 'owner', '/dashboard/apply', sendAsItIs],
  ['key-issued', 'owner', '/dashboard/{orgId}/keys/new', createKey],
  ['reviews', 'reviewer', '/dashboard/service/reviews'],
  ['reviews-decided', 'reviewer', '/dashboard/service/reviews?show=decided'],
  ['review', 'reviewer', '/dashboard/service/reviews/{reviewId}'],
  ['accounts', 'operator', '/dashboard/service/accounts'],
  ['account-of-org', 'operator', '/dashboard/service/accounts/{orgId}'],
  ['look-up', 'operator', '/dashboard/service/look-up?q={requestId}'],
  ['look-up-whole-key', 'operator', '/dashboard/service/look-up?refused=key'],
  ['key-of-org', 'operator', '/dashboard/service/keys/{leakedKeyId}'],
  ['regions', 'operator', '/dashboard/service/regions'],
  ['incidents', 'operator', '/dashboard/service/incidents'],
  ['charts-service', 'operator', '/dashboard/service/charts?of=errors&by=code'],
  ['traffic', 'operator', '/dashboard/service/requests'],
  ['queues', 'operator', '/dashboard/service/queues'],
  ['policy', 'operator', '/dashboard/service/policy'],
  ['sanctions', 'operator', '/dashboard/service/sanctions'],
  ['health', 'operator', '/dashboard/service/health'],
  ['command-line', 'operator', '/dashboard/service/command-line'],
  // What lasts comes behind the pictures that it would change.
  ['health-halted', 'operator', '/dashboard/service/health', troubleTheLedger],
  ['regions-incident', 'operator', '/dashboard/service/regions', reportIncident],
  ['status-incident', 'operator', '/dashboard/service/regions', readOfIncident],
  ['confirm', 'owner', '/dashboard/{orgId}/keys/new', createKeyLater],
] as const satisfies readonly (readonly [string, Visitor, string, Shown['act']?])[];

export const PAGE_NAMES: ReadonlySet<string> = new Set(PAGES.map(([name]) => name));

/** The pages with the addresses that they have in this instance. */
export function pagesOf(of: Furniture): readonly Shown[] {
  return PAGES.map(([name, visitor, address, act]) => ({
    name,
    visitor,
    address: address.replaceAll(/\{(\w+)\}/g, (_, what: keyof Furniture) => of[what]),
    act,
  }));
}
