/** The product as those meet it who come in by its pages: all processes, and a Chromium. */
import { readFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import OpenAI from 'openai';
import type { Page } from 'playwright-core';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { DECLARATION_VERSION, STATEMENTS } from '#shared/accounts/declaration.ts';
import { openSanctionsFile } from '#shared/accounts/sanctions/files/read-list.ts';
import { newId } from '#shared/kernel/system/new-id.ts';
import { createRegistries } from '#test/support/accounts.ts';
import { openBrowser, openPages, problemsOf, signInWith } from '#test/support/browser.ts';
import { statusWith } from '#test/support/calls.ts';
import { newPerson, PASSWORD } from '#test/support/dashboard.ts';
import { runDocket } from '#test/support/docket-cli.ts';
import { PAGES_ENV } from '#test/support/pages-env.ts';
import { decodeLetter, startSmtpServer } from '#test/support/smtp.ts';
import { startSystem } from '#test/support/system.ts';
import { until } from '#test/support/until.ts';

const mail = await startSmtpServer();
afterAll(() => mail.close());
const system = await startSystem({
  env: { ...PAGES_ENV, SMTP_URL: mail.url },
});
const { root } = system;
const registries = createRegistries(system.database.pool);
const browser = await openBrowser();

beforeAll(() => system.start('exports'));

const { open, problems } = openPages(browser, root);

const HELLO: OpenAI.ChatCompletionCreateParamsNonStreaming = {
  model: 'llama-3.1-8b',
  messages: [{ role: 'user', content: 'Hello' }],
};

const LEGAL_NAME = 'Bäckerei Newcomer und Töchter Gesellschaft mbH';

/** Imports a sanctions list, as an operator does: without any no account is clear. */
async function importList(fileName: string): Promise<void> {
  const file = await openSanctionsFile(
    join(import.meta.dirname, '../fixtures/sanctions', fileName),
  );
  await registries.sanctions.import(
    { ...file, entities: file.entities(), fileName },
    { kind: 'operator', id: 'ada' },
  );
}

/** Where the link of the e-mail leads that has come to this address. */
async function linkTo(email: string): Promise<string> {
  await until(() => mail.recipients.includes(email));
  return /http:\/\/127\.0\.0\.1(\/dashboard\/password\/reset\S+)/.exec(
    decodeLetter(mail.data),
  )![1]!;
}

/** Fills in an application; `look` is shown the addresses of its pages. Returns the address where it stands. */
async function apply(
  page: Page,
  look: (addresses: readonly string[]) => Promise<void>,
): Promise<string> {
  await page.goto('/dashboard');
  await page.getByLabel('Legal name').fill(LEGAL_NAME);
  await page.getByLabel('Audit Plus').check();
  await page.getByRole('button', { name: 'Save and continue to owners' }).click();
  await page.getByLabel('Country of establishment').fill('Germany (DE)');
  await page.getByLabel('Industry').selectOption('retail');
  // A weak alias of the list: a question for one person, and no more.
  await page.getByLabel('Trading names').fill('The Engineer');
  await page.locator('#party-0').fill('Nora Newcomer');
  await page.locator('#country-0').fill('de');
  const application = new URL(page.url()).pathname;
  await look(['/dashboard/apply', application]);
  await page.getByRole('button', { name: 'Save and continue to the statements' }).click();
  for (const { text, expected } of STATEMENTS[DECLARATION_VERSION]!) {
    const statement = page.getByRole('group', { name: text });
    await statement.getByLabel(expected ? 'Yes' : 'No').check();
  }
  await look([`${application}?`]);
  await page.getByRole('button', { name: 'Declare and apply' }).click();
  return application;
}

/** A person who works for the service, in a window of their own. */
async function openStaff(role: 'reviewer' | 'operator'): Promise<Page> {
  const page = await open();
  await signInWith(page, await newPerson(system.database.pool, [{ kind: 'staff', role }]));
  return page;
}

async function approve(organisation: string): Promise<void> {
  const page = await openStaff('reviewer');
  await page.getByRole('link', { name: organisation }).click();
  await page.getByText('ABD AL-RAHIM TARFAOUI').first().waitFor();
  await page.getByText('Approve…').click();
  await page.getByLabel('Reason').first().fill('A bakery has many engineers among its names.');
  await page.getByRole('button', { name: 'Approve this screening' }).click();
  await page.getByText('Review approved.').waitFor();
}

/** Records a contract and activates the account, when its signatory is screened. */
async function makeActive(applicant: string): Promise<void> {
  const page = await openStaff('operator');
  await page.goto(`/dashboard/service/accounts/${applicant}`);
  await page.getByText('Record the contract…').click();
  await page.getByLabel('SHA-256 of the document').fill('ab'.repeat(32));
  await page.getByLabel('Signed for the organisation by').fill('Nora Newcomer');
  await page.getByLabel('Signed on').fill(new Date().toISOString().slice(0, 10));
  await page.getByRole('button', { name: 'Record the contract' }).click();
  await page.getByText('The contract is on record.').waitFor();
  const isCurrent = 'select account_vetting_is_current($1) as holds';
  await until(async () => (await system.database.pool.query(isCurrent, [applicant])).rows[0].holds);
  await page.getByText('Activate…').click();
  await page.getByRole('button', { name: 'Activate' }).click();
  await page.getByText('The account is active').waitFor();
}

/** Goes on by the menu of a phone: where pages were looked at, the window is left as wide as one. */
async function goByMenu(page: Page, name: string): Promise<void> {
  await page.getByRole('button', { name: 'Menu', exact: true }).click();
  await page.locator('.menu').getByRole('link', { name, exact: true }).click();
}

/** Downloads what the page is about; returns where it lies. */
async function download(page: Page): Promise<string> {
  const [file] = await Promise.all([
    page.waitForEvent('download'),
    page.getByRole('link', { name: 'Download', exact: true }).first().click(),
  ]);
  const path = join(tmpdir(), `${newId('exp')}-${file.suggestedFilename()}`);
  await file.saveAs(path);
  return path;
}

/** Drops receipts and a pack into the verifier, which judges them and sends nothing. */
async function verifyInBrowser(page: Page, receipt: string, pack: Buffer): Promise<void> {
  // It is bundled for who asks first, which may take longer than a page waits on a busy machine.
  await fetch(`${root}/verify/docket-verify.js`);
  // While the verifier is still to come, the page says so and takes what is to be checked.
  const bundled = Promise.withResolvers<void>();
  await page.route('**/verify/docket-verify.js', async (route) => {
    await bundled.promise;
    await route.continue();
  });
  await page.goto('/verify');
  await page.getByText('Loading the verifier…').waitFor();
  await page.getByRole('button', { name: 'Check' }).waitFor();
  bundled.resolve();
  await page.locator('#progress:empty').waitFor({ state: 'attached' });
  const sent: string[] = [];
  page.on('request', (request) => {
    if (request.method() !== 'GET') sent.push(request.url());
  });
  const check = async (name: string, content: string | Buffer): Promise<string> => {
    await page.getByLabel(/A receipt/).setInputFiles({
      name,
      mimeType: 'application/octet-stream',
      buffer: Buffer.from(content),
    });
    await page.getByRole('button', { name: 'Check' }).click();
    await page.locator('#progress:empty').waitFor({ state: 'attached' });
    return (await page.locator('#verdict strong').textContent())!;
  };
  expect(await check('receipt.json', receipt)).toBe('Good.');
  expect(await check('pack.zip', pack)).toBe('Good.');
  const altered = receipt.replace(/"outputTokens":(\d)/, '"outputTokens":9$1');
  expect(altered).not.toBe(receipt);
  expect(await check('altered.json', altered)).toBe('Bad.');
  expect(await check('nothing.json', '{}')).not.toBe('Good.');
  expect(sent).toEqual([]);
}

/** Rotates a key by its pages and revokes the old one: the successor goes on, and the old one is refused within a second. */
async function rotate(
  page: Page,
  { orgId: whose, keyId, secret }: { orgId: string; keyId: string; secret: string },
): Promise<void> {
  await page.goto(`/dashboard/${whose}/keys/${keyId}`);
  await page.getByText('Rotate…').click();
  await page.getByRole('button', { name: 'Issue the successor' }).click();
  const successor = (await page.locator('#secret').textContent())!;
  // The page of the rotation looks again by itself, here as if ten seconds had passed.
  await page.clock.install();
  await page.getByRole('link', { name: 'I have stored it' }).click();
  await page.locator('[aria-current=step]', { hasText: 'Deploy' }).waitFor();
  // Only now, or the page might have heard of it before it was looked at.
  expect(await Promise.all([secret, successor].map((key) => statusWith(root, key)))).toEqual([
    200, 200,
  ]);
  await system.database.pool.query(
    'update api_key set last_used_at = now() where org_id = $1 and (id = $2 or predecessor_id = $2)',
    [whose, keyId],
  );
  const effect = page.locator('#effect', { hasText: 'Nothing uses the new key yet' });
  await page.getByText('Revoke the old key…').click();
  await page.getByLabel('For the audit log').fill('half a note');
  expect(await effect.count()).toBe(1);
  await page.clock.fastForward(10_000);
  await page.locator('[aria-current=step]', { hasText: 'Confirm' }).waitFor();
  // What the form says goes on with the rest, and what was typed stays.
  await page.locator('#effect', { hasText: 'It is still in use' }).waitFor();
  expect(await effect.count()).toBe(0);
  expect(await page.getByLabel('For the audit log').inputValue()).toBe('half a note');

  // From the list of keys it is two clicks.
  await goByMenu(page, 'Keys');
  await page.locator(`a[href$="${keyId}?do=revoke"]`).click();
  await page.getByRole('button', { name: 'Revoke key' }).click();
  await until(async () => (await statusWith(root, secret)) === 401);
  await page.getByText('Key revoked: requests').waitFor();
  expect(await statusWith(root, successor)).toBe(200);
}

it(
  'a person signs up, applies and is reviewed, has a contract and a key, calls with it, verifies the receipt and a pack, and rotates and revokes the key, which is refused [dashboard.browser, dashboard.sign-up, dashboard.reviews, dashboard.operators, dashboard.keys, dashboard.receipts, dashboard.exports, dashboard.verify, accounts.onboarding]',
  {
    timeout: 240_000,
  },
  async () => {
    const email = 'nora@newcomer.example';
    // Until there is a key nothing needs scripts or more than a phone; axe does, in another window of the same person.
    const phone = { width: 390, height: 844 };
    const [page, looking] = [
      await open({ javaScriptEnabled: false, viewport: phone }),
      await open(),
    ];
    await importList('un.xml');
    await page.goto('/dashboard/sign-up');
    await page.getByLabel('Your name').fill('Nora Newcomer');
    await page.getByLabel('E-mail at work').fill(email);
    await page.getByRole('button', { name: 'Send the link' }).click();
    await page.getByText('is on its way').waitFor();
    await system.start('housekeeping');
    const found = await problemsOf(looking, ['/dashboard/sign-up']);
    await page.goto(await linkTo(email));
    await page.getByLabel('Password').fill(PASSWORD);
    await page.getByRole('button', { name: 'Set the password' }).click();
    await signInWith(page, { email });

    await signInWith(looking, { email });
    const application = await apply(page, async (addresses) => {
      found.push(...(await problemsOf(looking, addresses)));
    });
    const applicant = application.split('/')[2]!;
    const accountIs = (state: string) =>
      until(async () => (await registries.accounts.get(applicant)).state === state);
    await accountIs('in_review');
    await page.getByRole('link', { name: 'Look again' }).click();
    await page.getByText('A person is reviewing your application').waitFor();
    await approve(LEGAL_NAME);
    await page.goto(application);
    await page.getByText('the contract is next').waitFor();
    found.push(...(await problemsOf(looking, [`${application}?approved`])));
    await makeActive(applicant);

    await page.goto(application);
    await page.getByRole('button', { name: 'Create the first key' }).click();
    const secret = (await page.locator('#secret').textContent())!;
    await page.getByRole('link', { name: 'I have stored it' }).click();
    const keyId = (await page.locator('#key-id').textContent())!;
    const client = new OpenAI({ baseURL: `${root}/v1`, apiKey: secret, maxRetries: 0 });
    const answer = await client.chat.completions.create(HELLO);

    await looking.goto(`/dashboard/${applicant}/receipts`);
    await looking.getByLabel('Id').fill(answer.id);
    await looking.getByRole('button', { name: 'Find' }).click();
    await looking.getByText('signature holds', { exact: true }).waitFor();
    await looking.getByText('Decode: writing the answer').waitFor();
    const receipt = await readFile(await download(looking), 'utf8');
    await goByMenu(looking, 'Exports');
    await looking.getByLabel('From, UTC').fill('');
    // The ledger's head is signed within seconds, and a pack needs one.
    await until(async () => {
      await looking.getByRole('button', { name: 'Make pack' }).click();
      await looking.getByRole('heading', { level: 1 }).waitFor();
      return looking.url().includes('/exports/exp_');
    });
    const pack = await download(looking);
    await verifyInBrowser(looking, receipt, await readFile(pack));
    const keys = await fetch(`${root}/.well-known/did.json`);
    const judged = await runDocket(['verify', pack, '--trust', '-'], {}, await keys.text());
    expect([judged.code, judged.stdout.split('  ')[0]]).toEqual([0, 'GOOD']);

    await rotate(looking, { orgId: applicant, keyId, secret });
    await goByMenu(looking, 'Audit log');
    for (const action of ['account.declared', 'key.issued', 'key.revoked']) {
      const row = looking.getByRole('row').filter({ hasText: action }).first();
      await row.getByText('Nora Newcomer').waitFor();
    }
    expect(found).toEqual([]);
    expect(problems).toEqual([]);
  },
);
