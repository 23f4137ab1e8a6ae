/** Passkeys, made and shown by Chromium's virtual authenticator as a device does it. */
import type { CDPSession, Page } from 'playwright-core';
import { expect, it } from 'vitest';
import { activeAccount, createRegistries } from '#test/support/accounts.ts';
import { launchBrowser, listenLocally, problemsOf, signInWith } from '#test/support/browser.ts';
import { newPerson, openDashboardEdge } from '#test/support/dashboard.ts';
import { createTestDatabase } from '#test/support/database.ts';

const database = await createTestDatabase();
const { app, errors } = await openDashboardEdge(database, 'http://localhost');
const root = (await listenLocally(app)).replace('127.0.0.1', 'localhost');
const browser = await launchBrowser();
const { id: orgId } = await activeAccount(createRegistries(database.pool));
const newOwner = () => newPerson(database.pool, [{ kind: 'organisation', orgId, role: 'owner' }]);

/** A browser of somebody, with a device that knows them. */
async function newDevice(): Promise<{ page: Page; device: CDPSession; authenticator: string }> {
  const context = await browser.newContext({ baseURL: root });
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

const actionsOf = async (personId: string): Promise<string[]> => {
  const { rows } = await database.pool.query<{ action: string }>(
    "select action from audit_log where org_id = 'service' and subject = $1 order by sequence",
    [personId],
  );
  return rows.map(({ action }) => action);
};

it(
  'a person adds a passkey under a name, signs in by it without a password, and removes it: then it opens nothing',
  { tags: ['dashboard.passkeys', 'dashboard.browser'] },
  async () => {
    const owner = await newOwner();
    const { page, device, authenticator } = await newDevice();
    await signInWith(page, owner);
    await addPasskey(page, 'Laptop <b>');
    expect(await page.getByRole('rowheader', { name: 'Laptop <b>' }).count()).toBe(1);
    expect(
      await problemsOf(page, ['/dashboard/account', '/dashboard/sign-in/organisation']),
    ).toEqual([]);
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
    // A device that does not make sure who it is gets nobody in.
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
    await page.getByText('opens nothing any more').waitFor();
    await page.getByRole('button', { name: 'Sign out' }).click();
    await signInByPasskey(page);
    await page.getByText('The passkey was not taken').waitFor();
    expect(await actionsOf(owner.id)).toEqual(['passkey.added', 'passkey.removed']);
    const { rows } = await database.pool.query(
      'select subject from mail_outbox where recipient = $1',
      [owner.email],
    );
    expect(rows.map(({ subject }) => subject)).toEqual([
      'A passkey was added to your Docket account',
      'A passkey was removed from your Docket account',
    ]);
  },
);

it(
  'a passkey confirms an act in place of the password, for its own person alone, and also where a code is asked for',
  { tags: ['dashboard.passkeys', 'dashboard.step-up', 'dashboard.second-factor'] },
  async () => {
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
    await database.pool.query(
      "update persons.session set created_at = created_at - interval '1 hour' where person_id = $1",
      [owner.id],
    );
    await page.goto(`/dashboard/${orgId}/team`);
    await page.getByLabel('E-mail').fill('somebody@person.example');
    await page.getByRole('button', { name: 'Send the invitation' }).click();
    await page.getByRole('heading', { name: 'Confirm that it is you' }).waitFor();
    await page.getByRole('button', { name: 'Use a passkey' }).click();
    await page.getByText('The invitation is on its way').waitFor();
    // Somebody else's, in a session of one who has a passkey too, confirms nothing.
    await page.getByRole('button', { name: 'Sign out' }).click();
    await signInWith(page, other);
    await database.pool.query(
      `insert into persons.passkey (id, person_id, name, public_key, counter, transports, created_at)
       values ('elsewhere', $1, 'elsewhere', '\\x00', 0, '{}', now())`,
      [other.id],
    );
    await database.pool.query(
      "update persons.session set created_at = created_at - interval '1 hour' where person_id = $1",
      [other.id],
    );
    await page.goto(`/dashboard/${orgId}/team`);
    await page.getByLabel('E-mail').fill('nobody@person.example');
    await page.getByRole('button', { name: 'Send the invitation' }).click();
    await page.getByRole('button', { name: 'Use a passkey' }).click();
    await page.getByText('The passkey is not yours here').waitFor();
    // Nor does one person remove another's.
    const { rows } = await database.pool.query<{ id: string }>(
      'select id from persons.passkey where person_id = $1',
      [owner.id],
    );
    await page.goto('/dashboard/account');
    await page.locator('input[name=passkey][value=elsewhere]').evaluate((input, id) => {
      (input as unknown as { value: string }).value = id;
    }, rows[0]!.id);
    await page.getByRole('button', { name: 'Remove elsewhere' }).click();
    await page.getByText('There is no such passkey').waitFor();
    expect(errors).toEqual([]);
  },
);
