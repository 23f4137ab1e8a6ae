import { expect, it } from 'vitest';
import { createRegistries, OPERATOR, vetting, newAccount } from '#test/support/accounts.ts';
import { launchBrowser, listenLocally, problemsOf, signInWith } from '#test/support/browser.ts';
import { newPerson, openDashboardEdge } from '#test/support/dashboard.ts';
import { createTestDatabase } from '#test/support/database.ts';

const database = await createTestDatabase();
const { accounts, vettings } = createRegistries(database.pool);
const { app } = await openDashboardEdge(database, 'http://127.0.0.1');
const root = await listenLocally(app);
const browser = await launchBrowser();

it(
  'an owner fills in an application without JavaScript, and axe finds nothing on its pages in any view',
  // Each page is looked at from four sides.
  { tags: ['dashboard.browser', 'dashboard.sign-up'], timeout: 240_000 },
  async () => {
    const { id: orgId } = await accounts.create(newAccount({ name: 'Old Bakery' }), OPERATOR);
    const person = await newPerson(
      database.pool,
      [{ kind: 'organisation', orgId, role: 'owner' }],
      'Nora Newcomer',
    );
    const context = await browser.newContext({ baseURL: root, javaScriptEnabled: false });
    const page = await context.newPage();
    page.setDefaultTimeout(10_000);
    await signInWith(page, person);
    await page.goto('/dashboard/apply');
    await page.getByLabel('Legal name').fill('Bäckerei Newcomer und Töchter Gesellschaft mbH');
    await page.getByLabel('Audit Plus').check();
    await page.getByRole('button', { name: 'Save and go on to owners' }).click();
    await page.getByLabel('Country of establishment').fill('Germany (DE)');
    await page.getByLabel('Industry').selectOption('retail');
    await page.locator('#party-0').fill('Nora Newcomer');
    await page.locator('#country-0').fill('de');
    const address = new URL(page.url()).pathname;

    // With scripts, for axe, in another window of the same person.
    const other = await browser.newContext({ baseURL: root });
    const looking = await other.newPage();
    await signInWith(looking, person);
    const found = await problemsOf(looking, ['/dashboard/apply', address]);

    await page.getByRole('button', { name: 'Save and go on to the statements' }).click();
    const statements = page.locator('fieldset.statement');
    for (const statement of await statements.all()) await statement.getByLabel('Yes').check();
    found.push(...(await problemsOf(looking, [`${address}?`])));
    await page.getByRole('button', { name: 'Declare and apply' }).click();
    await page.getByText('Your application is being screened').waitFor();
    await vettings.record(address.split('/')[2]!, vetting());
    await page.getByRole('link', { name: 'Look again' }).click();
    await page.getByText('the contract comes next').waitFor();
    found.push(...(await problemsOf(looking, [`${address}?approved`])));
    await looking.context().clearCookies();
    found.push(...(await problemsOf(looking, ['/dashboard/sign-up', '/dashboard/sign-in'])));
    expect(found).toEqual([]);
  },
);
