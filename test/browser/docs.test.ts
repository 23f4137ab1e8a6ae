/** The documentation in a browser, found by keyboard and tried with one's own key; and a receipt at its address. */
import type { Page } from 'playwright-core';
import { beforeAll, describe, expect, it } from 'vitest';
import { openBrowser, problemsHere, problemsOf } from '#test/support/browser.ts';
import { joinProduct } from '#test/support/product.ts';

const system = await joinProduct();
const browser = await openBrowser();
const violations: string[] = [];
/** What the page has asked for, of whomever. */
const asked: string[] = [];
/** The first operation of each group, and the first errors of each type, show all that the others have. */
const REPETITIONS = '.operation ~ .operation, .error-entry ~ .error-entry';
let page: Page;

beforeAll(async () => {
  // The verifier is bundled for who asks first, which may take longer than a page waits on a busy machine.
  await fetch(`${system.root}/verify/docket-verify.js`);
  const context = await browser.newContext({ baseURL: system.root });
  page = await context.newPage();
  page.setDefaultTimeout(60_000);
  page.on('request', (request) => asked.push(request.url()));
  page.on('console', (message) => {
    if (/Content.Security/.test(message.text())) violations.push(message.text());
  });
  await page.goto('/docs');
});

/** The console of an operation, unfolded. */
async function consoleOf(operationId: string) {
  const section = page.locator(`#${operationId}`);
  const trial = section.locator('details.try');
  if ((await trial.getAttribute('open')) === null) await trial.locator('> summary').click();
  return {
    trial,
    send: () => trial.getByRole('button', { name: /^Send/ }).click(),
    status: trial.locator('[data-status]'),
    answer: trial.locator('[data-answer]'),
    verdict: trial.locator('[data-verdict]'),
  };
}

describe('the search of the documentation', () => {
  it('finds errors, operations and fields by keyboard alone, and goes there [docs.search]', async () => {
    const field = page.getByRole('combobox', { name: 'Search these pages' });
    await page.keyboard.press('/');
    await page.keyboard.type('daily budg');
    const chosen = page.locator('[role=option][aria-selected=true]');
    await page.getByRole('option').first().waitFor();
    expect(await chosen.locator('strong').textContent()).toBe('daily_budget_exceeded');
    expect(await field.getAttribute('aria-activedescendant')).toBe(await chosen.getAttribute('id'));
    await page.keyboard.press('ArrowDown');
    await page.keyboard.press('ArrowUp');
    await page.keyboard.press('Enter');
    await page.waitForURL('**/docs#error-daily-budget-exceeded');
    expect(await page.evaluate('document.activeElement.id')).toBe('error-daily-budget-exceeded');
    // What helps and what to do stand there.
    expect(await page.locator('#error-daily-budget-exceeded').innerText()).toMatch(
      /429[^]*retry-after[^]*What to do:/,
    );
    for (const [question, anchor] of [
      ['POST /v1/keys', 'issueKey'],
      ['idempotency-key chat', 'createChatCompletion'],
      ['x-receipt-id', 'createChatCompletion'],
      ['regions and tiers', 'regions-and-tiers'],
    ] as const) {
      await field.fill(question);
      await page.locator(`[role=option][data-anchor="${anchor}"]`).first().waitFor();
      await field.press('Escape');
    }
    // What stands on another page is opened there.
    await field.fill('what survives what');
    await page.locator('[role=option][data-anchor^="/docs/guides/architecture#"]').click();
    await page.waitForURL('**/docs/guides/architecture#what-survives-what');
    await field.fill('sums of usage');
    await page.locator('[role=option][data-anchor$="#sums-of-usage"]').first().waitFor();
    await field.fill('nothing of this kind');
    await page.getByText('Nothing here has “nothing of this kind” in it.').waitFor();
    await field.press('Escape');
    expect(await field.getAttribute('aria-expanded')).toBe('false');
    await page.goto('/docs');
    // The table of errors shows those that fit what is typed; a link to another shows all again.
    const codes = page.locator('.error-entry:visible');
    const all = await codes.count();
    await page.getByLabel('Only those with').fill('429 budget');
    await page.getByText(`of ${all} codes`).waitFor();
    expect(await codes.locator('th').allTextContents()).toEqual(
      expect.arrayContaining([expect.stringContaining('budget_exceeded')]),
    );
    expect(await codes.count()).toBeLessThan(5);
    await page.evaluate(`location.hash = '#error-invalid-api-key'`);
    await page.locator('#error-invalid-api-key').waitFor();
    expect(await codes.count()).toBe(all);
  });
});

describe('the console of the documentation', () => {
  it('sends a request with the visitor’s key, shows answer and receipt, and verifies it; the key is stored nowhere and in no address [docs.console]', async () => {
    const chat = await consoleOf('createChatCompletion');
    await chat.trial.getByLabel('API key').fill(system.key);
    await chat.send();
    await chat.trial.getByText('Verified in this browser').waitFor();
    expect(await chat.status.textContent()).toMatch(/^200/);
    expect(await chat.answer.textContent()).toContain('"object": "chat.completion"');
    expect(await chat.trial.locator('[data-figures] dt').allTextContents()).toContain('Water');
    const checks = chat.trial.locator('[data-checks]');
    expect(await checks.textContent()).toContain('GOOD');
    // The record of its figures is asked for by the click alone.
    const records = (): string[] => asked.filter((url) => url.includes('/derivations/'));
    expect(await checks.textContent()).toContain('by the button below, and not before');
    expect(records()).toEqual([]);
    const digest = await chat.trial.locator('[data-record-digest]').textContent();
    await chat.trial.getByRole('button', { name: 'Fetch the record' }).click();
    await checks.filter({ hasText: /figures +computed again from what it names/ }).waitFor({
      state: 'attached',
    });
    expect(records()).toEqual([`${system.root}/derivations/${digest}`]);
    expect(await chat.trial.locator('[data-record]').isVisible()).toBe(false);

    await chat.trial.getByLabel('Body').fill(
      JSON.stringify({
        model: 'llama-3.1-8b',
        messages: [{ role: 'user', content: 'hi' }],
        max_tokens: 5,
        stream: true,
      }),
    );
    await chat.send();
    await chat.trial.getByText('Verified in this browser').waitFor();
    expect(await chat.answer.textContent()).toMatch(/^data: \{[^]*data: \[DONE\]\s*$/);

    // The same key is in every console; a query and a path of the visitor's.
    const list = await consoleOf('listReceipts');
    await list.trial.locator('[name="query:limit"]').fill('1');
    await list.send();
    await list.answer.filter({ hasText: '"object": "list"' }).waitFor();
    const { data } = JSON.parse((await list.answer.textContent())!) as {
      data: { id: string }[];
    };
    expect(data).toHaveLength(1);
    const one = await consoleOf('retrieveReceipt');
    await one.trial.locator('[name="path:id"]').fill(data[0]!.id);
    await one.send();
    await one.trial.getByText('Verified in this browser').waitFor();

    const bare = system.key.slice('dkt_'.length);
    expect(asked.filter((url) => url.includes(bare) || !url.startsWith(system.root))).toEqual([]);
    const kept = await page.evaluate(
      'JSON.stringify([{ ...localStorage }, { ...sessionStorage }, document.cookie, location.href])',
    );
    expect(kept).toBe(JSON.stringify([{}, {}, '', page.url()]));
    await page.reload();
    expect(await page.locator('input[name=key]').first().inputValue()).toBe('');
    expect(violations).toEqual([]);
  });

  it('leads with answer and request to the verifier’s page, which takes them out of where they were left', async () => {
    await page.goto('/docs');
    const chat = await consoleOf('createChatCompletion');
    await chat.trial.getByLabel('API key').fill(system.key);
    await chat.send();
    await chat.trial.getByText('Verified in this browser').waitFor();
    await chat.trial.getByRole('link', { name: /verifier’s page/ }).click();
    await page.waitForURL('**/verify');
    await page.getByRole('button', { name: 'Check' }).click();
    await page.getByText('The answer and the request are those that it is of.').waitFor();
    expect(await page.evaluate('sessionStorage.length')).toBe(0);
  });

  it('says what is wrong, with a body before it is sent, with a request as the service says it; axe finds nothing there and on the rest of the documentation, which fits every window [docs.console]', async () => {
    await page.goto('/docs');
    const chat = await consoleOf('createChatCompletion');
    await chat.trial.getByLabel('API key').fill(`dkt_${'a'.repeat(38)}`);
    await chat.trial.getByLabel('Body').fill('{"model": ');
    await chat.send();
    await chat.trial.getByText('The body is not JSON').waitFor();
    await chat.trial.getByLabel('Body').fill('{}');
    await chat.send();
    await chat.answer.filter({ hasText: 'invalid_api_key' }).waitFor();
    expect(await chat.status.textContent()).toMatch(/^401/);
    expect(await problemsHere(page, '/docs', REPETITIONS)).toEqual([]);
  });

  it('the address of a receipt shows it to a caller with a key, and to no other [receipts.address]', async () => {
    const list = await fetch(`${system.baseUrl}/receipts?limit=1`, {
      headers: { authorization: `Bearer ${system.key}` },
    });
    const { first_id: id } = (await list.json()) as { first_id: string };
    const reply = await page.goto(`/receipts/${id}`);
    expect(reply!.status()).toBe(401);
    await page.getByLabel('API key').fill(system.demo.keys.audit);
    await page.getByRole('button', { name: 'Open the receipt' }).click();
    await page.locator('[data-answer]', { hasText: 'receipt_not_found' }).waitFor();
    await page.getByLabel('API key').fill(system.key);
    await page.getByRole('button', { name: 'Open the receipt' }).click();
    await page.getByText('Verified in this browser').waitFor();
    expect(await page.locator('[data-receipt-id]').textContent()).toContain(id);
    expect(await problemsOf(page, [`/receipts/${id}`])).toEqual([]);
    expect(violations).toEqual([]);
  });

  it('is not there without JavaScript, and neither is the search', async () => {
    const context = await browser.newContext({ baseURL: system.root, javaScriptEnabled: false });
    const plain = await context.newPage();
    await plain.goto('/docs');
    expect(await plain.getByRole('heading', { level: 1 }).textContent()).toBe('Docket API');
    for (const hidden of ['details.try', '#search']) {
      expect(await plain.locator(hidden).first().isVisible()).toBe(false);
    }
    await context.close();
  });
});
