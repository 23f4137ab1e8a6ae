import type { Browser, Page } from 'playwright-core';
import type { DevFile } from '#embedded/launcher/dev-file.ts';
import { createPool } from '#shared/kernel/postgres/pool.ts';
import { signInAs } from '#test/support/sign-in.ts';
import type { Keycloak, KeycloakUser } from './keycloak.ts';

const DOMAIN = 'keycloak.example';
export const CLIENT = { id: 'docket', secret: 'a client secret of thirty-two characters' };
export const PASSWORD = 'correct horse battery staple';

const user = (
  username: string,
  domain: string,
  lastName: string,
  emailVerified = true,
): KeycloakUser => ({
  username,
  email: `${username}@${domain}`,
  emailVerified,
  firstName: username,
  lastName,
});

/** A person who gets in, and two who do not. */
export const USERS = {
  ada: user('ada', DOMAIN, 'Lovelace'),
  unverified: user('una', DOMAIN, 'Verified', false),
  foreign: user('fora', 'elsewhere.example', 'Reigner'),
} as const;

export interface Bench {
  browser: Browser;
  info: DevFile;
  keycloak: Keycloak;
}

/** What has to work with a real issuer, in this order: each builds on those before it. */
export const CHECKS: readonly (readonly [name: string, check: (bench: Bench) => Promise<void>])[] =
  [
    ['an owner names the issuer, and an operator confirms the domain', setUp],
    ['a secret that is wrong lets no person in, and is said to be wrong', wrongSecret],
    ['a member comes in by Keycloak’s own page, and stands in the team', comeIn],
    ['who is signed in at Keycloak comes in without being asked', comeAgain],
    ['an act that gives something is confirmed by signing in there again', confirmAct],
    ['leaving ends the session here, and at Keycloak when asked', leave],
    ['an address that Keycloak has not verified is not let in', refuseUnverified],
    ['an address of another domain is not let in', refuseForeign],
    ['Keycloak is away: that is said, and the owner gets in by the password', away],
  ];

const WAIT_MS = 60_000;

async function open({ browser, info }: Bench): Promise<Page> {
  const context = await browser.newContext({ baseURL: new URL(info.base_url).origin });
  const page = await context.newPage();
  // A machine that does other things, and a Java that has just begun.
  page.setDefaultTimeout(WAIT_MS);
  return page;
}

async function openAs(bench: Bench, who: 'owner' | 'operator'): Promise<Page> {
  const page = await open(bench);
  await signInAs(page, bench.info[who]);
  return page;
}

const settingsOf = ({ info }: Bench): string => `/dashboard/${info.org_id}/single-sign-on`;

/** Enters the issuer with this secret. */
async function nameIssuer(bench: Bench, page: Page, secret: string): Promise<void> {
  await page.goto(settingsOf(bench));
  await page.getByLabel('Issuer').fill(bench.keycloak.issuer);
  await page.getByLabel('Client id').fill(CLIENT.id);
  await page.getByLabel('Client secret').fill(secret);
  await page.getByRole('button', { name: 'Save the issuer' }).click();
  await page.getByText('Issuer saved').waitFor();
}

async function setUp(bench: Bench): Promise<void> {
  const owner = await openAs(bench, 'owner');
  await nameIssuer(bench, owner, `${CLIENT.secret}, or not`);
  await owner.getByLabel('Domain of e-mail addresses').fill(DOMAIN);
  await owner.getByRole('button', { name: 'Add domain' }).click();
  await owner.getByText('Domain added').waitFor();
  const operator = await openAs(bench, 'operator');
  await operator.goto(`/dashboard/service/accounts/${bench.info.org_id}`);
  await operator.getByRole('button', { name: `Confirm ${DOMAIN}` }).click();
  await operator.getByText('confirmed').first().waitFor();
}

async function wrongSecret(bench: Bench): Promise<void> {
  const page = await open(bench);
  await signInThere(bench, page, USERS.ada);
  await page.getByText('client id or secret that the organisation entered is wrong').waitFor();
  await nameIssuer(bench, await openAs(bench, 'owner'), CLIENT.secret);
}

/** Goes by the page of the organisation to Keycloak's, and signs in there. */
async function signInThere({ info }: Bench, page: Page, who: KeycloakUser): Promise<void> {
  await page.goto(`/dashboard/sso/${info.org_id}`);
  await page.getByRole('link', { name: 'Continue to' }).click();
  await fillIn(page, who);
}

async function fillIn(page: Page, { username }: KeycloakUser): Promise<void> {
  const name = page.locator('#username');
  // Asked for a sign-in anew, it knows the name already.
  await page.locator('#password').waitFor();
  if (await name.isVisible()) await name.fill(username);
  await page.locator('#password').fill(PASSWORD);
  await page.locator('#kc-login').click();
}

/** The browser that Ada has come in by. */
let adas: Page;

async function comeIn(bench: Bench): Promise<void> {
  adas = await open(bench);
  await signInThere(bench, adas, USERS.ada);
  await adas.waitForURL(`**/dashboard/${bench.info.org_id}/overview`);
  await adas.goto(`/dashboard/${bench.info.org_id}/team`);
  await adas.getByRole('rowheader', { name: 'ada Lovelace' }).waitFor();
}

async function comeAgain(bench: Bench): Promise<void> {
  await adas.context().clearCookies({ path: '/dashboard' });
  await adas.goto(`/dashboard/sso/${bench.info.org_id}`);
  await adas.getByRole('link', { name: 'Continue to' }).click();
  await adas.waitForURL(`**/dashboard/${bench.info.org_id}/overview`);
}

async function confirmAct(bench: Bench): Promise<void> {
  const { org_id: org } = bench.info;
  const owner = await openAs(bench, 'owner');
  await owner.goto(`/dashboard/${org}/team`);
  const row = owner.getByRole('row').filter({ hasText: USERS.ada.email });
  await row.getByRole('combobox').selectOption('admin');
  await row.getByRole('button', { name: 'Change' }).click();
  await owner.getByText('Role changed').waitFor();
  // Without the sign-in of a moment ago, which counts where Keycloak has asked for the password.
  const pool = createPool({ url: bench.info.database_url, max: 1, applicationName: 'sso' });
  await pool.query('update persons.session set confirmed_at = null where sso_org_id = $1', [org]);
  await pool.end();
  await adas.goto(`/dashboard/${org}/keys/new`);
  await adas.getByLabel('Name').fill('By single sign-on');
  await adas.getByRole('button', { name: 'Create key' }).click();
  const tab = adas.waitForEvent('popup');
  await adas.getByRole('link', { name: 'Confirm at your organisation' }).click();
  const there = await tab;
  there.setDefaultTimeout(WAIT_MS);
  await fillIn(there, USERS.ada);
  await there.getByRole('heading', { name: 'Confirmed' }).waitFor();
  await there.close();
  await adas.getByRole('button', { name: 'Go on' }).click();
  await adas.locator('#secret').waitFor();
}

async function leave(bench: Bench): Promise<void> {
  await adas.goto('/dashboard/account');
  await adas.getByRole('button', { name: 'Sign out' }).click();
  await adas.getByText('You are signed out here').waitFor();
  await adas.getByRole('link', { name: 'sign out there too' }).click();
  // Keycloak asks whether that is meant.
  await adas.locator('#kc-logout').click();
  await adas.waitForURL(`**/dashboard/sso/${bench.info.org_id}`);
  await adas.getByRole('link', { name: 'Continue to' }).click();
  await adas.locator('#username').waitFor();
}

async function refuseUnverified(bench: Bench): Promise<void> {
  const page = await open(bench);
  await signInThere(bench, page, USERS.unverified);
  await page.getByText('does not say that the e-mail address is verified').waitFor();
}

async function refuseForeign(bench: Bench): Promise<void> {
  const page = await open(bench);
  await signInThere(bench, page, USERS.foreign);
  await page.getByText('of no domain that is confirmed').waitFor();
}

async function away(bench: Bench): Promise<void> {
  await bench.keycloak.stop();
  const page = await open(bench);
  await page.goto(`/dashboard/sso/${bench.info.org_id}`);
  await page.getByRole('link', { name: 'Continue to' }).click();
  await page.getByText('cannot be reached').waitFor();
  await openAs(bench, 'owner');
}
