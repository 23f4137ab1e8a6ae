/** Ways through the dashboard: the menu of a phone, the search from everywhere, tables that are wider than their page. */
import type { Page } from 'playwright-core';
import { beforeAll, expect, inject, it } from 'vitest';
import type { Person } from '#shared/persons/roles.ts';
import { createRegistries, OPERATOR } from '#test/support/accounts.ts';
import { openBrowser, openPages, problemsHere, signInWith } from '#test/support/browser.ts';
import { newPerson } from '#test/support/dashboard.ts';
import { joinProduct } from '#test/support/product.ts';

const product = await joinProduct();
const { pagesUrl: root } = inject('product');
const { orgId, database } = product;
const browser = await openBrowser();
const { open, problems } = openPages(browser, root);
const PHONE = { width: 390, height: 844 };
let owner: Person;
let keyId = '';
beforeAll(async () => {
  const { pool } = database;
  owner = await newPerson(pool, [{ kind: 'organisation', orgId, role: 'owner' }], 'Ada Lovelace');
  const { keys } = createRegistries(pool);
  keyId = (await keys.issue(orgId, { name: 'Nightly batch' }, OPERATOR)).key.id;
});

const focused = (page: Page): Promise<string> =>
  page.evaluate<string>(
    'document.activeElement.getAttribute("aria-label") ?? document.activeElement.textContent.trim()',
  );

it('on a phone the menu is opened by its button, with and without JavaScript, is walked and closed by keyboard, and leads on [dashboard.browser]', async () => {
  for (const javaScriptEnabled of [false, true]) {
    const page = await open({ javaScriptEnabled, viewport: PHONE });
    await signInWith(page, owner);
    await page.goto(`/dashboard/${orgId}/keys`);
    const entry = page.getByRole('link', { name: 'Usage' });
    expect(await entry.isVisible()).toBe(false);
    await page.getByRole('button', { name: 'Menu', exact: true }).click();
    await entry.waitFor();
    await page.getByRole('button', { name: 'Close the menu' }).click();
    expect(await entry.isVisible()).toBe(false);
    const button = page.getByRole('button', { name: 'Menu', exact: true });
    await button.press('Enter');
    await entry.waitFor();
    await page.keyboard.press('Tab');
    if (javaScriptEnabled) {
      expect(await focused(page)).toBe('Close the menu');
    }
    await page.keyboard.press('Escape');
    expect(await entry.isVisible()).toBe(false);
    if (javaScriptEnabled) expect(await focused(page)).toBe('Menu');
    await button.press('Enter');
    await entry.click();
    await page.getByRole('heading', { name: 'Usage', level: 1 }).waitFor();
    expect(await page.getByRole('link', { name: 'Keys', exact: true }).isVisible()).toBe(false);
    if (!javaScriptEnabled) continue;
    await button.click();
    expect(await problemsHere(page, '/dashboard (menu)')).toEqual([]);
  }
});

it('a table that is wider than a phone keeps its first column in sight while the others are scrolled to [dashboard.browser]', async () => {
  const page = await open({ viewport: PHONE });
  await signInWith(page, owner);
  await page.goto(`/dashboard/${orgId}/team`);
  const places = await page.evaluate<number[]>(`(() => {
      const box = [...document.querySelectorAll('.table.scrolls')].find(({ scrollWidth, clientWidth }) => scrollWidth > clientWidth);
      const first = box.querySelector('tbody tr > :first-child');
      const at = () => Math.round(first.getBoundingClientRect().left);
      const before = at();
      box.scrollLeft = box.scrollWidth;
      return [before, at(), box.scrollLeft];
    })()`);
  expect(places[1]).toBe(places[0]);
  expect(places[2]).toBeGreaterThan(0);
});

it('Ctrl-K finds over the page that is open, by keyboard alone; without JavaScript the field of the menu does [dashboard.search, dashboard.browser]', async () => {
  const page = await open();
  await signInWith(page, owner);
  await page.goto(`/dashboard/${orgId}/ledger`);
  await page.keyboard.press('Control+K');
  const dialog = page.getByRole('dialog', { name: 'Search' });
  await dialog.waitFor();
  const found = dialog.getByRole('link', { name: 'Nightly batch' });
  await page.keyboard.type('nightly');
  await found.waitFor();
  expect(await problemsHere(page, '/dashboard (search)')).toEqual([]);
  await page.keyboard.press('ArrowDown');
  expect(await focused(page)).toBe('Nightly batch');
  await page.keyboard.press('ArrowUp');
  // A whole key is asked of no address.
  const asked: string[] = [];
  page.on('request', (request) => asked.push(request.url()));
  await page.keyboard.press('Control+A');
  await page.keyboard.insertText(`dkt_${'a'.repeat(38)}`);
  await dialog.getByText('a whole key is a secret').waitFor();
  await page.keyboard.press('Enter');
  expect(asked).toEqual([]);
  await page.keyboard.press('Control+A');
  await page.keyboard.insertText(keyId);
  await dialog.getByRole('link', { name: /^Open / }).waitFor();
  await page.keyboard.press('Enter');
  await page.waitForURL(`**/keys/${keyId}`);
  await page.keyboard.press('Control+K');
  await page.keyboard.press('Escape');
  expect(await dialog.isVisible()).toBe(false);

  const plain = await open({ javaScriptEnabled: false });
  await signInWith(plain, owner);
  await plain.goto(`/dashboard/${orgId}/ledger`);
  await plain.getByRole('searchbox', { name: 'Search' }).fill('nightly');
  await plain.keyboard.press('Enter');
  await plain.getByRole('link', { name: 'Nightly batch' }).click();
  await plain.waitForURL(`**/keys/${keyId}`);
  expect(problems).toEqual([]);
});
