/** Keys from their creation to their end, as persons meet them in a browser. */
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import type { Page } from 'playwright-core';
import { beforeAll, expect, inject, it } from 'vitest';
import type { Person } from '#shared/persons/roles.ts';
import { openBrowser, openPages, signInWith } from '#test/support/browser.ts';
import { statusWith } from '#test/support/calls.ts';
import { joinProduct } from '#test/support/product.ts';
import { formTokenOf, newPerson, PASSWORD } from '#test/support/dashboard.ts';
import { newOrganisation } from '#test/support/organisations.ts';
import { until } from '#test/support/until.ts';

const product = await joinProduct();
const { pagesUrl: root } = inject('product');
const browser = await openBrowser();
let owner: Person;
beforeAll(async () => {
  owner = await newPerson(
    product.database.pool,
    [{ kind: 'organisation', orgId: product.orgId, role: 'owner' }],
    'Ada Lovelace',
  );
});

const { open, problems } = openPages(browser, root);

const signIn = (page: Page): Promise<void> => signInWith(page, owner);

const run = promisify(execFile);

async function keyFlowUntilShown(page: Page, name: string): Promise<string> {
  await page.getByRole('link', { name: 'Keys' }).first().click();
  await page.getByRole('link', { name: 'Create key' }).click();
  await page.getByLabel('Name').fill(name);
  await page.getByRole('button', { name: 'Create key' }).click();
  return (await page.locator('#secret').textContent())!;
}

/** The flow of a key, from its creation to its end. */
async function keyFlow(page: Page, name: string): Promise<{ secret: string; id: string }> {
  const secret = await keyFlowUntilShown(page, name);
  await page.getByRole('link', { name: 'I have stored it' }).click();
  const id = (await page.locator('#key-id').textContent())!;
  return { secret, id };
}

it('the commands beside a new key work when they are pasted [dashboard.browser, dashboard.keys]', async () => {
  const page = await open();
  await signIn(page);
  await keyFlowUntilShown(page, 'To be pasted');
  // The pages name the public address, which has no port in this test.
  const snippet = async (id: string): Promise<string> =>
    (await page.locator(`#${id}`).textContent())!.replace('http://127.0.0.1/v1', `${root}/v1`);
  const curl = await run('sh', ['-c', await snippet('curl')]);
  expect(JSON.parse(curl.stdout)).toHaveProperty('receipt.id');
  const typescript = await snippet('typescript');
  const node = await run(process.execPath, ['--input-type=module', '--eval', typescript]);
  expect(node.stdout).toMatch(/rcpt_\w+/);
});

it('a key is created, revoked, restored and rotated without JavaScript [dashboard.browser]', async () => {
  const page = await open({ javaScriptEnabled: false });
  await signIn(page);
  const { secret } = await keyFlow(page, 'Without JavaScript');
  expect(await statusWith(root, secret)).toBe(200);
  expect(await page.getByRole('button', { name: 'Copy' }).count()).toBe(0);
  await page.getByText('Revoke…').click();
  await page.getByRole('button', { name: 'Revoke key' }).click();
  await page.getByText('Key revoked: requests').waitFor();
  await page.getByRole('button', { name: 'Restore key' }).click();
  await page.getByText('Key restored. It works').waitFor();
  await page.getByRole('link', { name: 'Rotate…' }).click();
  await page.getByRole('button', { name: 'Issue the successor' }).click();
  await page.getByRole('link', { name: 'I have stored it' }).click();
  await page.getByRole('link', { name: 'Look again' }).click();
  await page.getByText('Revoke the old key…').click();
  await page.getByRole('button', { name: 'Revoke the old key' }).click();
  await page.getByText('The rotation is complete').waitFor();
  await page.getByRole('button', { name: 'Sign out' }).click();
  await page.getByText('You are signed out').waitFor();
});

it('a key is created by keyboard alone [dashboard.browser]', async () => {
  // And with pages that pass into each other, as most people have them.
  const page = await open({ reducedMotion: 'no-preference' });
  await page.goto('/dashboard/sign-in');
  const press = async (...keys: string[]): Promise<void> => {
    for (const key of keys) await page.keyboard.press(key);
  };
  /** Tabs until something with this name has the focus. */
  const reach = async (name: string): Promise<void> => {
    for (let i = 0; i < 60; i += 1) {
      await press('Tab');
      const focused = await page.evaluate<string>(
        '(document.activeElement.labels?.[0] ?? document.activeElement).textContent',
      );
      if (focused.trim().startsWith(name)) return;
    }
    throw new Error(`${name} cannot be reached`);
  };
  await reach('E-mail');
  await page.keyboard.type(owner.email);
  await reach('Password');
  await page.keyboard.type(PASSWORD);
  await press('Enter');
  await page.getByRole('heading', { level: 1 }).waitFor();
  await reach('Keys');
  await press('Enter');
  await page.getByRole('link', { name: 'Create key' }).waitFor();
  await reach('Create key');
  await press('Enter');
  await page.getByRole('heading', { name: 'Create a key' }).waitFor();
  await reach('Name');
  await page.keyboard.type('By keyboard');
  await press('Enter');
  expect(await page.locator('#secret').textContent()).toMatch(/^dkt_\w{38}$/);
});

it('pages have connections of their own to PostgreSQL: however many of their statements wait, those of programs do not [limits.pages]', async () => {
  const { pool } = product.database;
  const page = await fetch(`${root}/dashboard/sign-in`);
  const body = new URLSearchParams({
    form: formTokenOf(await page.text()),
    email: owner.email,
    password: PASSWORD,
  });
  const headers = { origin: root, cookie: page.headers.getSetCookie()[0]!.split(';')[0]! };
  const key = await (await newOrganisation(product)).newKey();
  const address = `${root}/dashboard/sign-in`;
  const waiting = () =>
    pool.query<{ by: string }>(
      `select distinct application_name as by from pg_stat_activity
         where datname = current_database() and wait_event_type = 'Lock' and query like '%"persons"."rate"%'`,
    );
  const holder = await pool.connect();
  let signingIn: Promise<Response>;
  try {
    await holder.query('begin');
    await holder.query('lock table persons.rate in access exclusive mode');
    signingIn = fetch(address, { method: 'POST', redirect: 'manual', headers, body });
    await until(async () => (await waiting()).rows.length > 0);
    expect((await waiting()).rows).toEqual([{ by: 'docket pages' }]);
    // A key that was not used yet is looked up.
    expect(await statusWith(root, key)).toBe(200);
  } finally {
    // Others sign in to the same product.
    await holder.query('rollback');
    holder.release();
  }
  expect((await signingIn).status).toBe(303);
});

it('nothing that these pages did is against their policy', () => {
  expect(problems).toEqual([]);
});
