import { execFile } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { promisify } from 'node:util';
import { AxeBuilder } from '@axe-core/playwright';
import OpenAI from 'openai';
import type { BrowserContextOptions, Page } from 'playwright-core';
import { beforeAll, describe, expect, it } from 'vitest';
import type { Person } from '#shared/persons/roles.ts';
import { createRegistries, OPERATOR } from '#test/support/accounts.ts';
import { launchBrowser, overBudget } from '#test/support/browser.ts';
import { newPerson, PASSWORD } from '#test/support/dashboard.ts';
import { startSystem } from '#test/support/system.ts';
import { until } from '#test/support/until.ts';

const system = await startSystem({
  env: {
    SESSION_SECRET: 'a secret of this test, and of no other place',
    PUBLIC_URL: 'http://127.0.0.1',
  },
});
const { orgId, root } = system;
const browser = await launchBrowser();
let owner: Person;

beforeAll(async () => {
  owner = await newPerson(
    system.database.pool,
    [{ kind: 'organisation', orgId, role: 'owner' }],
    'Ada Lovelace',
  );
});

async function open(options: BrowserContextOptions = {}): Promise<Page> {
  const context = await browser.newContext({ baseURL: root, ...options });
  const page = await context.newPage();
  page.setDefaultTimeout(10_000);
  page.on('console', (message) => {
    // What the policy of a page forbids is an error there.
    if (message.type() === 'error' && /Content.Security/.test(message.text())) {
      problems.push(`${page.url()}: ${message.text()}`);
    }
  });
  return page;
}
const problems: string[] = [];

async function signIn(page: Page): Promise<void> {
  await page.goto('/dashboard');
  await page.getByLabel('E-mail').fill(owner.email);
  await page.getByLabel('Password', { exact: true }).fill(PASSWORD);
  await page.getByRole('button', { name: 'Sign in' }).click();
  await page.getByRole('heading', { level: 1 }).waitFor();
}

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

/** The status that a call with a key gets. */
async function statusWith(key: string): Promise<number> {
  const reply = await fetch(`${root}/v1/models`, { headers: { authorization: `Bearer ${key}` } });
  await reply.arrayBuffer();
  return reply.status;
}

describe('the dashboard in a browser', () => {
  it(
    'a person signs in, creates a key that a client uses, rotates it, and revokes it: it is refused within a second',
    { tags: ['dashboard.browser', 'dashboard.keys'] },
    async () => {
      const page = await open();
      await signIn(page);
      const { secret, id } = await keyFlow(page, 'From the browser');
      const client = new OpenAI({ baseURL: `${root}/v1`, apiKey: secret, maxRetries: 0 });
      const [model] = (await client.models.list()).data;
      const answer = await client.chat.completions.create({
        model: 'llama-3.1-8b',
        messages: [{ role: 'user', content: 'Hello' }],
      });
      expect(model).toBeDefined();
      expect(answer).toHaveProperty('receipt.id');

      await page.getByText('Rotate…').click();
      await page.getByRole('button', { name: 'Issue the successor' }).click();
      const successor = (await page.locator('#secret').textContent())!;
      // The page of the rotation looks again by itself, here as if ten seconds had passed.
      await page.clock.install();
      await page.getByRole('link', { name: 'I have stored it' }).click();
      await page.locator('[aria-current=step]', { hasText: 'Deploy' }).waitFor();
      // Only now, or the page might have heard of it before it was looked at.
      expect(await Promise.all([secret, successor].map(statusWith))).toEqual([200, 200]);
      await system.database.pool.query(
        'update api_key set last_used_at = now() where org_id = $1 and (id = $2 or predecessor_id = $2)',
        [orgId, id],
      );
      await page.clock.fastForward(10_000);
      await page.locator('[aria-current=step]', { hasText: 'Confirm' }).waitFor();

      // From the list of keys it is two clicks.
      await page.getByRole('link', { name: 'Keys' }).first().click();
      await page.locator(`a[href$="${id}?do=revoke"]`).click();
      const revokedAt = performance.now();
      await page.getByRole('button', { name: 'Revoke key' }).click();
      await until(async () => (await statusWith(secret)) === 401);
      expect(performance.now() - revokedAt).toBeLessThan(2_000);
      await page.getByText('The key is revoked').waitFor();
      expect(await statusWith(successor)).toBe(200);

      await page.getByRole('link', { name: 'Audit log' }).click();
      const revoked = page.getByRole('row').filter({ hasText: 'key.revoked' });
      await revoked.getByText('Ada Lovelace').waitFor();
    },
  );

  it(
    'the commands beside a new key work when they are pasted',
    { tags: ['dashboard.browser', 'dashboard.keys'] },
    async () => {
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
    },
  );

  it('the same without JavaScript', { tags: ['dashboard.browser'] }, async () => {
    const page = await open({ javaScriptEnabled: false });
    await signIn(page);
    const { secret } = await keyFlow(page, 'Without JavaScript');
    expect(await statusWith(secret)).toBe(200);
    expect(await page.getByRole('button', { name: 'Copy' }).count()).toBe(0);
    await page.getByText('Revoke…').click();
    await page.getByRole('button', { name: 'Revoke key' }).click();
    await page.getByText('The key is revoked').waitFor();
    await page.getByRole('button', { name: 'Restore key' }).click();
    await page.getByText('The key is restored').waitFor();
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

  it('and by keyboard alone', { tags: ['dashboard.browser'] }, async () => {
    const page = await open();
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

  it(
    'a receipt is found by its answer, explained, and checked in the browser; so is a pack; one that was changed is not good',
    { tags: ['dashboard.browser', 'dashboard.verify', 'dashboard.receipts', 'dashboard.exports'] },
    async () => {
      await system.start('exports');
      const client = new OpenAI({ baseURL: `${root}/v1`, apiKey: system.key, maxRetries: 0 });
      const answer = await client.chat.completions.create({
        model: 'llama-3.1-8b',
        messages: [{ role: 'user', content: 'Hello' }],
      });
      const page = await open();
      const sent: string[] = [];
      await signIn(page);
      await page.getByRole('link', { name: 'Receipts' }).first().click();
      await page.getByLabel('Id').fill(answer.id);
      await page.getByRole('button', { name: 'Find' }).click();
      await page.getByText('signature holds', { exact: true }).waitFor();
      await page.getByText('Decode: writing the answer').waitFor();
      const download = async (name: string): Promise<string> => {
        const [file] = await Promise.all([
          page.waitForEvent('download'),
          page.getByRole('link', { name, exact: true }).first().click(),
        ]);
        return file.path();
      };
      const receipt = await readFile(await download('Download'), 'utf8');

      await page.getByRole('link', { name: 'Exports' }).first().click();
      await page.getByLabel('From, UTC').fill('');
      // The ledger's head is signed within seconds, and a pack needs one.
      await until(async () => {
        await page.getByRole('button', { name: 'Make pack' }).click();
        await page.getByRole('heading', { level: 1 }).waitFor();
        return page.url().includes('/exports/exp_');
      });
      const pack = await readFile(await download('Download'));

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
      expect(problems).toEqual([]);
    },
  );

  it(
    'axe finds nothing on any page, in light and in dark, wide and narrow, none is wider than its window, moves after it was drawn, or is over its budget of bytes and requests',
    // Each page is looked at from four sides.
    { tags: ['dashboard.browser', 'dashboard.budget'], timeout: 240_000 },
    async () => {
      await system.database.pool.query(
        `insert into persons.invitation values ($1, $2, 'member', now(), now() + interval '1 day'),
           ($1, 'grace@person.example', 'admin', now(), now() + interval '14 days')`,
        [orgId, owner.email],
      );
      for (const name of ['x'.repeat(120), 'محمد بن موسى الخوارزمي']) {
        await newPerson(
          system.database.pool,
          [{ kind: 'organisation', orgId, role: 'member' }],
          name,
        );
      }
      const { keys } = createRegistries(system.database.pool);
      const { key } = await keys.issue(orgId, { name: 'To be rotated' }, OPERATOR);
      await keys.rotate(orgId, key.id, {}, OPERATOR);
      const pages = [
        `/dashboard/${orgId}/keys/${key.id}/rotation`,
        '/dashboard/account',
        '/dashboard/invitations',
        ...PAGES.map((path) => `/dashboard/${orgId}/${path}`),
      ];
      const page = await open();
      await signIn(page);
      const found: string[] = [];
      const look = async (address: string): Promise<void> => {
        await page.goto(address);
        // The verifier is a program of its own, which the page loads when it is there.
        if (address !== '/verify') {
          found.push(...(await overBudget(page)).map((problem) => `${address}: ${problem}`));
        }
        await lookAt(address);
      };
      const lookAt = async (address: string): Promise<void> => {
        const { violations } = await new AxeBuilder({ page }).analyze();
        const scheme = await page.evaluate<boolean>(
          'matchMedia("(prefers-color-scheme: dark)").matches',
        );
        found.push(
          ...violations.map(
            ({ id, nodes }) => `${address} ${scheme ? 'dark' : 'light'} ${id}: ${nodes[0]!.html}`,
          ),
        );
        const [inner, outer] = await page.evaluate<number[]>(
          '[document.documentElement.scrollWidth, innerWidth]',
        );
        if (inner! > outer!) found.push(`${address}: ${inner} px in ${outer}`);
      };
      for (const [colorScheme, width] of [
        ['light', 1280],
        ['dark', 360],
      ] as const) {
        await page.emulateMedia({ colorScheme });
        await page.setViewportSize({ width, height: 800 });
        for (const address of pages) await look(address);
      }
      // Pages that only a form leads to, as they are on a phone in the dark.
      await page.goto('/dashboard/account');
      await page.locator('#factor-password').fill(PASSWORD);
      await page.getByRole('button', { name: 'Set up an app' }).click();
      await page.getByRole('heading', { name: 'Add the key to your app' }).waitFor();
      await lookAt('set-up of a second factor');
      await system.database.pool.query(
        `update persons.session set created_at = now() - interval '1 hour' where person_id = $1`,
        [owner.id],
      );
      await page.goto(`/dashboard/${orgId}/keys/new`);
      await page.getByLabel('Name').fill('To be confirmed');
      await page.getByRole('button', { name: 'Create key' }).click();
      await page.getByRole('heading', { name: 'Confirm that it is you' }).waitFor();
      await lookAt('the password again');
      await page.context().clearCookies();
      for (const colorScheme of ['light', 'dark'] as const) {
        await page.emulateMedia({ colorScheme });
        for (const address of [
          '/',
          '/status',
          '/verify',
          '/dashboard/sign-in',
          '/dashboard/sign-in/code',
          '/dashboard/password/forgot',
        ])
          await look(address);
      }
      expect(found).toEqual([]);
      expect(problems).toEqual([]);
    },
  );
});

/** Below an organisation's address. */
const PAGES = [
  'overview',
  'receipts',
  'usage',
  'exports',
  'ledger',
  'keys',
  'keys/new',
  'audit-log',
  'team',
  'settings',
];
