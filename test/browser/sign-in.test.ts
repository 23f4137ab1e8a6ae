/** The ways in beside the password: passkeys, made and shown by Chromium's virtual authenticator as a device does it, and issuers. */
import type { CDPSession, Page } from 'playwright-core';
import { afterAll, expect, it } from 'vitest';
import { activeAccount, createRegistries, OPERATOR } from '#test/support/accounts.ts';
import {
  openBrowser,
  listenLocally,
  problemsHere,
  problemsOf,
  signInWith,
  STILL,
} from '#test/support/browser.ts';
import { newPerson, openDashboardEdge } from '#test/support/dashboard.ts';
import { createTestDatabase } from '#test/support/database.ts';
import { startForgedIssuer } from '#test/support/issuers.ts';

const database = await createTestDatabase();
const issuer = await startForgedIssuer();
afterAll(() => issuer.close());
const { app, errors, dashboard } = await openDashboardEdge(database, 'http://localhost', {
  insideIssuers: [issuer.issuer],
});
const root = (await listenLocally(app)).replace('127.0.0.1', 'localhost');
const browser = await openBrowser();
const registries = createRegistries(database.pool);
const { id: orgId } = await activeAccount(registries);
// With a key the way in leads to the overview.
await registries.keys.issue(orgId, { name: 'a key' }, OPERATOR);
const newOwner = () => newPerson(database.pool, [{ kind: 'organisation', orgId, role: 'owner' }]);
/** As if every person had signed in a while ago: acts that give something ask again. */
const ageSessions = () => database.pool.query('update persons.session set confirmed_at = null');

/** A browser of a person, with a device that knows them. */
async function newDevice(): Promise<{ page: Page; device: CDPSession; authenticator: string }> {
  const context = await browser.newContext({ ...STILL, baseURL: root });
  const page = await context.newPage();
  page.on('console', (message) => {
    if (/Content.Security/.test(message.text())) errors.push(message.text());
  });
  const device = await context.newCDPSession(page);
  await device.send('WebAuthn.enable');
  const { authenticatorId } = await device.send('WebAuthn.addVirtualAuthenticator', {
    options: {
      protocol: 'ctap2',
      transport: 'internal',
      hasResidentKey: true,
      hasUserVerification: true,
      isUserVerified: true,
      automaticPresenceSimulation: true,
    },
  });
  return { page, device, authenticator: authenticatorId };
}

async function addPasskey(page: Page, name: string): Promise<void> {
  await page.goto('/dashboard/account');
  await page.getByLabel('Name of the device').fill(name);
  await page.getByRole('button', { name: 'Add a passkey' }).click();
  await page.waitForURL('**/dashboard/account?done=passkey');
}

async function signInByPasskey(page: Page): Promise<void> {
  await page.goto('/dashboard/sign-in');
  await page.getByRole('button', { name: 'Use a passkey' }).click();
}

/** Of each session, in order, whether its person has shown who they are. */
const confirmedOf = async (personId: string): Promise<boolean[]> => {
  const { rows } = await database.pool.query<{ confirmed: boolean }>(
    'select confirmed_at is not null as confirmed from persons.session where person_id = $1 order by created_at',
    [personId],
  );
  return rows.map(({ confirmed }) => confirmed);
};

const actionsOf = async (personId: string): Promise<string[]> => {
  const { rows } = await database.pool.query<{ action: string }>(
    "select action from audit_log where org_id = 'service' and subject = $1 order by sequence",
    [personId],
  );
  return rows.map(({ action }) => action);
};

it('a person adds a passkey under a name, signs in by it without a password, and removes it: then it opens nothing [dashboard.passkeys, dashboard.browser]', async () => {
  const owner = await newOwner();
  const { page, device, authenticator } = await newDevice();
  await signInWith((await newDevice()).page, owner);
  await signInWith(page, owner);
  expect(await confirmedOf(owner.id)).toEqual([true, true]);
  await addPasskey(page, 'Laptop <b>');
  // The other session has shown less than there is to show now.
  expect(await confirmedOf(owner.id)).toEqual([false, true]);
  expect(await page.getByRole('rowheader', { name: 'Laptop <b>' }).count()).toBe(1);
  expect(await problemsOf(page, ['/dashboard/account'])).toEqual([]);
  // The window is left as wide as a phone, where a menu comes before what is clicked on.
  await page.setViewportSize({ width: 1280, height: 800 });
  await page.goto('/dashboard/account');
  await page.getByRole('button', { name: 'Sign out' }).click();
  const sent: string[] = [];
  page.on('request', (request) => {
    if (request.method() === 'POST') sent.push(request.postData() ?? '');
  });
  await signInByPasskey(page);
  await page.waitForURL('**/overview');
  // What was sent opens nothing a second time, though the form is the visitor's own.
  const again = await page.evaluate(
    async (body) => {
      const reply = await fetch('/dashboard/sign-in/passkey', {
        method: 'POST',
        body,
        headers: { 'content-type': 'application/x-www-form-urlencoded' },
      });
      return reply.status;
    },
    sent.find((body) => body.includes('clientDataJSON'))!,
  );
  expect(again).toBe(401);
  // A device that does not make sure who it is lets no person in.
  await page.goto('/dashboard/account');
  await page.getByRole('button', { name: 'Sign out' }).click();
  await device.send('WebAuthn.setUserVerified', {
    authenticatorId: authenticator,
    isUserVerified: false,
  });
  await signInByPasskey(page);
  await page.getByText('Nothing was shown').waitFor();
  await device.send('WebAuthn.setUserVerified', {
    authenticatorId: authenticator,
    isUserVerified: true,
  });
  await page.getByRole('button', { name: 'Use a passkey' }).click();
  await page.waitForURL('**/overview');
  await page.goto('/dashboard/account');
  await page.getByRole('button', { name: 'Remove Laptop <b>' }).click();
  await page.getByText('no longer signs you in').waitFor();
  await page.getByRole('button', { name: 'Sign out' }).click();
  await signInByPasskey(page);
  await page.getByText('The passkey was not accepted').waitFor();
  expect(await actionsOf(owner.id)).toEqual(['passkey.added', 'passkey.removed']);
  const { rows } = await database.pool.query(
    'select subject from mail_outbox where recipient = $1',
    [owner.email],
  );
  expect(rows.map(({ subject }) => subject)).toEqual([
    'A passkey was added to your Docket account',
    'A passkey was removed from your Docket account',
  ]);
});

it('a passkey confirms an act in place of the password, for its own person alone, and also where a code is asked for [dashboard.passkeys, dashboard.step-up, dashboard.second-factor]', async () => {
  const [owner, other] = [await newOwner(), await newOwner()];
  const { page } = await newDevice();
  await signInWith(page, owner);
  await addPasskey(page, 'Phone');
  // With a second factor the passkey alone lets in: the device has asked for something too.
  await database.pool.query('update persons.person set two_factor_enabled = true where id = $1', [
    owner.id,
  ]);
  await page.getByRole('button', { name: 'Sign out' }).click();
  await signInByPasskey(page);
  await page.waitForURL('**/overview');
  await database.pool.query('update persons.session set confirmed_at = null where person_id = $1', [
    owner.id,
  ]);
  await page.goto(`/dashboard/${orgId}/team`);
  await page.getByLabel('E-mail').fill('someone@person.example');
  await page.getByRole('button', { name: 'Send the invitation' }).click();
  await page.getByRole('heading', { name: 'Confirm that it is you' }).waitFor();
  await page.getByRole('button', { name: 'Use a passkey' }).click();
  await page.getByText('Invitation sent').waitFor();
  // Another person's, in a session of one who has a passkey too, confirms nothing.
  await page.getByRole('button', { name: 'Sign out' }).click();
  await signInWith(page, other);
  await database.pool.query(
    `insert into persons.passkey (id, person_id, name, public_key, counter, transports, created_at)
       values ('elsewhere', $1, 'elsewhere', '\\x00', 0, '{}', now())`,
    [other.id],
  );
  await database.pool.query('update persons.session set confirmed_at = null where person_id = $1', [
    other.id,
  ]);
  await page.goto(`/dashboard/${orgId}/team`);
  await page.getByLabel('E-mail').fill('nobody@person.example');
  await page.getByRole('button', { name: 'Send the invitation' }).click();
  await page.getByRole('button', { name: 'Use a passkey' }).click();
  await page.getByText('This passkey does not belong to your account').waitFor();
  // Nor does one person remove another's.
  const { rows } = await database.pool.query<{ id: string }>(
    'select id from persons.passkey where person_id = $1',
    [owner.id],
  );
  await database.pool.query(
    'update persons.session set confirmed_at = now() where person_id = $1',
    [other.id],
  );
  await page.goto('/dashboard/account');
  await page.locator('input[name=passkey][value=elsewhere]').evaluate((input, id) => {
    (input as unknown as { value: string }).value = id;
  }, rows[0]!.id);
  await page.getByRole('button', { name: 'Remove elsewhere' }).click();
  await page.getByText('There is no such passkey').waitFor();
  expect(errors).toEqual([]);
});

it(
  'axe finds nothing on the pages of passkeys and single sign-on, of those who set it up, who come in by it and who do not, in light and dark [dashboard.browser, dashboard.single-sign-on, dashboard.budget]',
  // Each page is looked at in three views.
  {
    timeout: 240_000,
  },
  async () => {
    const found: string[] = [];
    const walk = async (page: Page, ...addresses: string[]): Promise<void> =>
      void found.push(...(await problemsOf(page, addresses)));
    const look = async (page: Page, name: string): Promise<void> =>
      void found.push(...(await problemsHere(page, `/dashboard (${name})`)));

    const { page } = await newDevice();
    await walk(page, '/dashboard/sign-in', '/dashboard/sign-in/code');
    await page.goto('/dashboard/sign-in/organisation');
    await page.getByLabel('E-mail at work').fill('ada@nobodys.example');
    await page.getByRole('button', { name: 'Find my organisation' }).click();
    await page.getByText('No organisation has single sign-on').waitFor();
    await look(page, 'no organisation found');

    // An owner sets it up.
    await signInWith(page, await newOwner());
    const settings = `/dashboard/${orgId}/single-sign-on`;
    await walk(page, settings);
    await page.getByLabel('Issuer').fill('http://issuer.example');
    await page.getByLabel('Client id').fill(issuer.client.id);
    await page.getByLabel('Client secret').fill(issuer.client.secret);
    await page.getByRole('button', { name: 'Save the issuer' }).click();
    await page.getByText('Nothing was changed').waitFor();
    await look(page, 'issuer refused');
    await page.getByLabel('Issuer').fill(issuer.issuer);
    await page.getByLabel('Client secret').fill(issuer.client.secret);
    await page.getByRole('button', { name: 'Save the issuer' }).click();
    await page.getByText('Issuer saved').waitFor();
    await page.getByLabel('Domain of e-mail addresses').fill('walked.example');
    await page.getByRole('button', { name: 'Add domain' }).click();
    await page.getByText('Domain added').waitFor();
    await walk(page, `${settings}?done=claimed`);
    await addPasskey(page, 'Laptop');
    await ageSessions();
    await page.goto(settings);
    await page.getByLabel('Domain of e-mail addresses').fill('more.example');
    await page.getByRole('button', { name: 'Add domain' }).click();
    await page.getByRole('button', { name: 'Use a passkey' }).waitFor();
    await look(page, 'confirmed by password or passkey');
    await page.getByRole('button', { name: 'Use a passkey' }).click();
    await page.getByText('Domain added').waitFor();
    await dashboard.singleSignOn.confirmDomain({ orgId, actor: OPERATOR }, 'walked.example');

    // A member comes in by it.
    const { page: theirs } = await newDevice();
    const claims = { sub: 'walker', email: 'walker@walked.example', name: 'Wanda Walker' };
    issuer.say({ claims });
    const begin = `/dashboard/sso/${orgId}/start`;
    const comeBack = async (address: string): Promise<string> => {
      const begun = await theirs.context().request.get(address, { maxRedirects: 0 });
      const { pathname, search } = issuer.sendBack(begun.headers()['location']!);
      await theirs.goto(pathname + search);
      return pathname + search;
    };
    await theirs.goto('/dashboard/sign-in/organisation');
    await theirs.getByLabel('E-mail at work').fill('walker@walked.example');
    await theirs.getByRole('button', { name: 'Find my organisation' }).click();
    await theirs.getByText('signs its members in at').waitFor();
    await look(theirs, 'organisation found');
    const used = await comeBack(begin);
    expect(new URL(theirs.url()).pathname).toBe(`/dashboard/${orgId}/overview`);
    await walk(theirs, '/dashboard/account', '/dashboard/invitations', used);
    await database.pool.query(
      `update persons.membership set role = 'admin'
       where person_id = (select id from persons.person where email = 'walker@walked.example')`,
    );
    await walk(theirs, settings);
    await theirs.goto(`/dashboard/${orgId}/team`);
    await theirs.getByLabel('E-mail').fill('someone@person.example');
    await theirs.getByRole('button', { name: 'Send the invitation' }).click();
    await theirs.getByText('Confirm at your organisation').waitFor();
    await look(theirs, 'confirmed at the issuer');
    issuer.say({ claims: { ...claims, auth_time: Math.floor(Date.now() / 1_000) } });
    await comeBack(`${begin}?again=1`);
    await theirs.getByRole('heading', { name: 'Confirmed' }).waitFor();
    await look(theirs, 'confirmed');
    await theirs.goto('/dashboard/account');
    // The window is left as wide as a phone.
    await theirs.getByRole('button', { name: 'Menu', exact: true }).click();
    await theirs.getByRole('button', { name: 'Sign out' }).click();
    await theirs.getByText('You are signed out here').waitFor();
    await look(theirs, 'signed out');

    // It has worked, so it can be required.
    await walk(page, settings);
    await page.getByRole('button', { name: 'Require single sign-on' }).click();
    await page.getByText('must use single sign-on').first().waitFor();
    await look(page, 'required');
    expect(found).toEqual([]);
    expect(errors).toEqual([]);
  },
);
