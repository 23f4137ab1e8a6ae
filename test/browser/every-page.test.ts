/** Each page of an organisation and of who is not signed in, in light and wide and in dark and narrow. */
import OpenAI from 'openai';
import type { Page } from 'playwright-core';
import { beforeAll, expect, inject, it } from 'vitest';
import type { Person } from '#shared/persons/roles.ts';
import { DAY_MS } from '#shared/kernel/time.ts';
import { countRequests } from '#shared/requests/postgres/counts.ts';
import { writeRequests } from '#shared/requests/postgres/requests.ts';
import { systemSurroundings } from '#shared/kernel/system/surroundings.ts';
import { createWebhookRegistry } from '#shared/webhooks/postgres/endpoints.ts';
import { createSecretSeals } from '#shared/webhooks/secret-seals.ts';
import { createRegistries, OPERATOR } from '#test/support/accounts.ts';
import {
  openBrowser,
  openPages,
  overBudget,
  problemsHere,
  problemsOf,
  signInWith,
} from '#test/support/browser.ts';
import { joinProduct } from '#test/support/product.ts';
import { ageSessionsOf, newPerson, PASSWORD } from '#test/support/dashboard.ts';
import { requestRow } from '#test/support/requests.ts';
import { until } from '#test/support/until.ts';

const product = await joinProduct();
const { pagesUrl: root } = inject('product');
const { orgId, database } = product;
const registries = createRegistries(database.pool);
const browser = await openBrowser();
let owner: Person;
beforeAll(async () => {
  owner = await newPerson(
    database.pool,
    [{ kind: 'organisation', orgId, role: 'owner' }],
    'Ada Lovelace',
  );
  // So that charts have something to draw.
  await writeRequests(database.pool, [requestRow({ orgId, at: Date.now() - DAY_MS })]);
  await countRequests(database.pool);
});

const { open, problems } = openPages(browser, root);

const signIn = (page: Page): Promise<void> => signInWith(page, owner);

const HELLO: OpenAI.ChatCompletionCreateParamsNonStreaming = {
  model: 'llama-3.1-8b',
  messages: [{ role: 'user', content: 'Hello' }],
};

/** Below an organisation's address. */
const PAGES = [
  'overview',
  'playground',
  'receipts',
  'requests',
  'requests/times',
  'charts',
  'charts?of=requests&by=region&as=lines',
  'charts?of=times&by=model&days=1',
  'charts?of=energy&by=model&days=7',
  'usage',
  'budgets',
  'notifications',
  'webhooks',
  'exports',
  'ledger',
  'keys',
  'keys/new',
  'audit-log',
  'team',
  'team/sessions',
  'settings',
];

it(
  'axe finds nothing on any page, in light and in dark, wide and narrow, none is wider than its window, moves after it was drawn, or is over its budget of bytes and requests [dashboard.browser, dashboard.budget]',
  { timeout: 240_000 },
  async () => {
    await database.pool.query(
      `insert into persons.invitation values ($1, $2, 'member', now(), now() + interval '1 day'),
           ($1, 'grace@person.example', 'admin', now(), now() + interval '14 days')`,
      [orgId, owner.email],
    );
    for (const name of ['x'.repeat(120), 'محمد بن موسى الخوارزمي']) {
      await newPerson(database.pool, [{ kind: 'organisation', orgId, role: 'member' }], name);
    }
    const { keys } = registries;
    const { key } = await keys.issue(orgId, { name: 'To be rotated' }, OPERATOR);
    await keys.rotate(orgId, key.id, {}, OPERATOR);
    // So that there are a receipt and a pack, when the ledger's head is signed.
    const client = new OpenAI({ baseURL: `${root}/v1`, apiKey: product.key, maxRetries: 0 });
    await client.chat.completions.create(HELLO);
    await until(() =>
      client.post('/exports', { body: {} }).then(
        () => true,
        () => false,
      ),
    );
    let requestId = '';
    await until(async () => {
      const { rows } = await database.pool.query<{ id: string }>(
        'select id from request where org_id = $1 and has_receipt limit 1',
        [orgId],
      );
      requestId = rows[0]?.id ?? '';
      return requestId !== '';
    });
    const webhooks = createWebhookRegistry(database.pool, systemSurroundings, {
      seals: createSecretSeals('a secret of this test', systemSurroundings),
      inside: [],
    });
    const hook = {
      address: `https://hooks.example/${'x'.repeat(300)}`,
      description: 'On call',
      events: ['budget.reached', 'key.leaked'],
    };
    const { endpoint } = await webhooks.make(orgId, hook, OPERATOR);
    await webhooks.test(orgId, endpoint.id);
    const pages = [
      `/dashboard/${orgId}/webhooks/${endpoint.id}`,
      `/dashboard/${orgId}/requests/${requestId}`,
      `/dashboard/${orgId}/keys/${key.id}/rotation`,
      '/dashboard/account',
      '/dashboard/account/second-factor',
      '/dashboard/invitations',
      `/dashboard/search?q=e&in=${orgId}`,
      ...PAGES.map((path) => `/dashboard/${orgId}/${path}`),
    ];
    const page = await open();
    await signIn(page);
    const found: string[] = [];
    const look = async (address: string): Promise<void> => {
      // A page is drawn in a wide window as well as on a phone, where `problemsOf` opens it.
      await page.setViewportSize({ width: 1280, height: 800 });
      await page.goto(address);
      // The verifier is a program of its own, which the page loads when it is there.
      if (address !== '/verify') {
        found.push(...(await overBudget(page)).map((problem) => `${address}, wide: ${problem}`));
      }
      await page.setViewportSize({ width: 360, height: 800 });
      found.push(...(await problemsOf(page, [address])));
    };
    for (const address of pages) await look(address);
    // Pages that only a form leads to.
    await page.goto('/dashboard/account');
    await page.locator('#factor-password').fill(PASSWORD);
    await page.getByRole('button', { name: 'Set up an app' }).click();
    await page.getByRole('heading', { name: 'Add the key to your app' }).waitFor();
    found.push(...(await problemsHere(page, '/dashboard (set-up of a second factor)')));
    await ageSessionsOf(owner, database.pool);
    await page.goto(`/dashboard/${orgId}/keys/new`);
    await page.getByLabel('Name').fill('To be confirmed');
    await page.getByRole('button', { name: 'Create key' }).click();
    await page.getByRole('heading', { name: 'Confirm that it is you' }).waitFor();
    found.push(...(await problemsHere(page, '/dashboard (the password again)')));
    await page.context().clearCookies();
    const forAll = ['/', '/status', '/verify', '/docs/guides', '/docs/guides/receipts'];
    for (const address of [...forAll, '/dashboard/password/forgot']) {
      await look(address);
    }
    expect(found).toEqual([]);
    expect(problems).toEqual([]);
  },
);

it('a chart’s values are read by arrow keys alone, from its newest point to its oldest, as its table has them [dashboard.charts, dashboard.browser]', async () => {
  const page = await open();
  await signIn(page);
  await page.goto(`/dashboard/${orgId}/charts?days=7`);
  const chart = page.getByRole('slider');
  await chart.focus();
  const rows = await page
    .locator('[data-points] tbody tr')
    .evaluateAll((all) => all.map(({ cells }) => cells[0].textContent.trim()));
  const after = async (key: string) => {
    await page.keyboard.press(key);
    const [name, at] = await chart.evaluate((plot) => [
      plot.getAttribute('aria-valuetext').split(': ')[0],
      plot.getAttribute('aria-valuenow'),
    ]);
    // What is seen below the chart is what is read out.
    expect(await page.locator('.reading').first().textContent()).toMatch(`${name}: `);
    return [name, Number(at)];
  };
  const [last, points] = [rows.length - 1, rows.length];
  expect(points).toBe(7);
  expect(await after('End')).toEqual([rows[0], points]);
  expect(await after('ArrowRight')).toEqual([rows[0], points]);
  expect(await after('ArrowLeft')).toEqual([rows[1], points - 1]);
  expect(await after('ArrowDown')).toEqual([rows[2], points - 2]);
  expect(await after('ArrowUp')).toEqual([rows[1], points - 1]);
  expect(await after('Home')).toEqual([rows[last], 1]);
  expect(await after('ArrowLeft')).toEqual([rows[last], 1]);
  expect(await after('ArrowRight')).toEqual([rows[last - 1], 2]);
  await page.context().close();
});

it('a live page that another site has had opened is compressed neither then nor when it looks again [dashboard.compressed]', async () => {
  const page = await open();
  await signIn(page);
  const address = `${root}/dashboard/${orgId}/requests?live=yes`;
  const elsewhere = 'http://elsewhere.test/';
  await page.route(elsewhere, (route) =>
    route.fulfill({ contentType: 'text/html', body: `<a href="${address}">Look</a>` }),
  );
  const codings: (string | undefined)[] = [];
  page.on('response', (reply) => {
    if (reply.url() === address) codings.push(reply.headers()['content-encoding']);
  });
  await page.goto(address);
  await until(() => Promise.resolve(codings.length >= 2));
  // A page of ours, and what its script asks for.
  expect(codings.slice(0, 2)).toEqual(['gzip', undefined]);
  await page.goto(elsewhere);
  codings.length = 0;
  await page.getByRole('link').click();
  await until(() => Promise.resolve(codings.length >= 2));
  expect(codings.slice(0, 2)).toEqual([undefined, undefined]);
  await page.context().close();
});
