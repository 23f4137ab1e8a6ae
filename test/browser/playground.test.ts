/** The playground as a person meets it: two models beside each other, each with its receipt checked in the page. */
import { beforeAll, expect, inject, it } from 'vitest';
import type { Person } from '#shared/persons/roles.ts';
import { openBrowser, openPages, problemsHere, signInWith } from '#test/support/browser.ts';
import { newPerson } from '#test/support/dashboard.ts';
import { joinProduct } from '#test/support/product.ts';

const product = await joinProduct();
const { pagesUrl: root } = inject('product');
const { orgId, database } = product;
const browser = await openBrowser();
let person: Person;
beforeAll(async () => {
  person = await newPerson(
    database.pool,
    [{ kind: 'organisation', orgId, role: 'member' }],
    'Ada Lovelace',
  );
});

const { open, problems } = openPages(browser, root);
const address = `/dashboard/${orgId}/playground`;

it('two models run beside each other by the keyboard; each receipt is checked in the page, and the code is that of the call [dashboard.playground, dashboard.browser]', async () => {
  const page = await open();
  await signInWith(page, person);
  await page.goto(address);
  await page.getByLabel('Model', { exact: true }).fill('llama-3.1-8b');
  await page.getByLabel('Beside it').fill('mixtral-8x7b');
  await page.getByText('Parameters and tools').click();
  await page.getByLabel('Tokens at most').fill('12');
  await page.getByLabel('Message', { exact: true }).fill('Say it in `ticks` and "quotes"');
  const code = page.locator('#code-Python');
  await page.getByText('Python').click();
  await code.filter({ hasText: '"max_tokens": 12' }).waitFor();
  expect(await code.textContent()).toContain(String.raw`in ${'`ticks`'} and \"quotes\"`);
  await page.getByLabel('Message', { exact: true }).press('Control+Enter');
  const columns = page.locator('#outcomes > section');
  await columns.nth(1).waitFor();
  for (const column of [columns.nth(0), columns.nth(1)]) {
    // The issuer of this product is another than its pages: its key is not theirs, while both texts are the receipt's.
    const checks = column.locator('[data-checks]', { hasText: 'unknown_key' });
    await checks.waitFor({ state: 'attached' });
    for (const text of ['answer', 'request'])
      expect(await checks.textContent()).toMatch(
        new RegExp(`^${text} +the one that the receipt is of$`, 'm'),
      );
    expect(await column.locator('[data-answer]').textContent()).not.toBe('');
    for (const figure of ['To first token', 'In all', 'Tokens in', 'Tokens out', 'Energy'])
      expect(await column.getByText(figure, { exact: true }).count(), figure).toBe(1);
  }
  // An answer that grows, and the verifier that is loaded for it, are no part of the page as it opens.
  const found = await problemsHere(page, address);
  expect(found.filter((one) => !/: (?:layout shift|\d+ requests|\d+ bytes)/.test(one))).toEqual([]);
  await columns.nth(1).getByRole('link', { name: 'The receipt’s page' }).click();
  await page.getByText('Playground of Ada Lovelace').waitFor();
  expect(problems).toEqual([]);
});

it('an error names its code, what to do and its request; Stop ends a run; and nothing of what is answered is taken for markup [dashboard.playground, dashboard.browser]', async () => {
  const page = await open();
  await signInWith(page, person);
  await page.goto(address);
  const message = page.getByLabel('Message', { exact: true });
  await message.fill('Hello');
  await page.getByLabel('Model', { exact: true }).fill('no-such-model');
  await message.press('Control+Enter');
  await page.getByRole('link', { name: 'invalid_model' }).waitFor();
  expect(await page.locator('[data-problem-advice]').textContent()).not.toBe('');
  expect(await page.locator('[data-request]').textContent()).toMatch(/^req_/);
  const waits = Promise.withResolvers<void>();
  await page.route('**/playground/run', () => waits.resolve());
  await message.press('Control+Enter');
  await waits.promise;
  await page.getByRole('button', { name: 'Stop' }).click();
  await page.getByText('Stopped', { exact: true }).waitFor();
  const hostile = `<img src=x onerror="document.title='ran'">\u202eevil\u0000`;
  const chunk = { choices: [{ delta: { content: hostile + 'x'.repeat(300_000) } }] };
  const error = { code: 'javascript:alert(1)', message: hostile };
  await page.unroute('**/playground/run');
  await page.route('**/playground/run', (route) =>
    route.fulfill({
      contentType: 'text/event-stream',
      headers: { 'x-request-id': '"><script>' },
      body: `data: ${JSON.stringify(chunk)}\n\ndata: ${JSON.stringify({ error })}\n\n`,
    }),
  );
  await message.press('Control+Enter');
  await page.getByText('Broken off').waitFor();
  expect(await page.locator('#outcomes img, #outcomes script').count()).toBe(0);
  expect(await page.title()).not.toBe('ran');
  expect((await page.locator('[data-answer]').textContent())!.length).toBe(200_000);
  expect(await page.locator('[data-problem-code]').getAttribute('href')).toBeNull();
  // Pieces end anywhere: within a line, and within a character.
  await page.evaluate(() => {
    const said = { choices: [{ delta: { content: 'wörd ' } }] };
    const bytes = new TextEncoder().encode(`data: ${JSON.stringify(said)}\n\n`.repeat(50));
    const stream = new ReadableStream({
      start(pieces) {
        for (let at = 0; at < bytes.length; at += 7) pieces.enqueue(bytes.slice(at, at + 7));
        pieces.close();
      },
    });
    const headers = { 'content-type': 'text/event-stream' };
    globalThis.fetch = async () => new Response(stream, { headers });
  });
  await message.press('Control+Enter');
  await page.getByText('answered', { exact: true }).waitFor();
  expect(await page.locator('[data-answer]').textContent()).toBe('wörd '.repeat(50));
  expect(problems).toEqual([]);
});

it('without JavaScript a form gives the whole answer [dashboard.playground, dashboard.browser]', async () => {
  const page = await open({ javaScriptEnabled: false });
  await signInWith(page, person);
  await page.goto(address);
  await page.getByLabel('Model', { exact: true }).fill('llama-3.1-8b');
  await page.getByLabel('Message', { exact: true }).fill('Hello');
  expect(await page.getByLabel('Beside it').isVisible()).toBe(false);
  await page.getByRole('button', { name: 'Run' }).click();
  await page.getByText('answered', { exact: true }).waitFor();
  expect(await page.getByLabel('Answer', { exact: true }).textContent()).not.toBe('');
  await page.getByRole('link', { name: 'Its receipt' }).click();
  await page.getByText('Playground of Ada Lovelace').waitFor();
});
