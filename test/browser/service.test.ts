import { hash } from 'node:crypto';
import { expect, it } from 'vitest';
import {
  activeAccount,
  OPERATOR,
  createRegistries,
  declaration,
  newAccount,
  referApplicant,
  vetting,
} from '#test/support/accounts.ts';
import { indexCatalogue } from '#shared/catalogue/route-index.ts';
import { newId } from '#shared/kernel/system/new-id.ts';
import { inferenceLane } from '#shared/lanes/keys.ts';
import { catalogue, region } from '#test/unit/catalogue/routed-catalogue.ts';
import {
  openBrowser,
  listenLocally,
  problemsOf,
  signInWith,
  STILL,
} from '#test/support/browser.ts';
import { newPerson, openDashboardEdge } from '#test/support/dashboard.ts';
import { createTestDatabase } from '#test/support/database.ts';

const LONG =
  'Société Anonyme des Établissements Réunis de Distribution Internationale, de Transit et de Logistique du Grand Nord-Ouest';

const database = await createTestDatabase();
const registries = createRegistries(database.pool);
const { app } = await openDashboardEdge(database, 'http://127.0.0.1', {
  index: indexCatalogue(catalogue([region('eu'), region('us')], [], [])),
  operations: {
    laneDepths: async () => [
      {
        lane: inferenceLane(0, 'eu'),
        waiting: 123_456,
        running: 2_000,
        oldestAt: 0,
        waitingSince: null,
        setAside: 3,
      },
    ],
    queues: {
      counts: async (name) => ({ failed: name === 'export' ? 999 : 0 }),
      lastRounds: async () =>
        new Map([['mail', { at: Date.now(), failure: 'the server is away', attempts: 2 }]]),
      failures: async (name) => [{ name, reason: LONG, at: 0, attempts: 1 }],
    },
  },
});
const root = await listenLocally(app);
const browser = await openBrowser();

/** An applicant whose screening has found a good deal; returns its review. */
async function findings(name: string): Promise<string> {
  const version = 'ab'.repeat(32);
  await database.pool.query(
    `with list as (
       insert into sanctions_list
         (source, version, file_name, imported_at, imported_by, current, entities, names, published_on)
       values ('un', $1, 'un.xml', now() - interval '3 days', 'ada', true, 1, 2, '2026-11-01')
       on conflict do nothing returning id)
     insert into sanctions_name (list_id, entity_id, ordinal, name, kind, weak, programme, countries)
     select id, 'KPi.012', n, names[n], 'person', n = 3, 'DPRK', '{}'
     from list, (select array['ZORIN Miroslav', 'Міраслаў Зорын', 'Zorro'] as names) as party, generate_series(1, 3) as n`,
    [version],
  );
  const { reviewId } = await referApplicant(registries, {
    account: { name },
    declared: {
      industry: 'nuclear',
      tradingNames: [LONG, 'شركة المثال للتجارة'],
      parties: [
        { role: 'owner', name: 'Miroslav Zorin', country: 'BY' },
        { role: 'director', name: 'Dora Example', country: 'FR' },
      ],
      statements: { ...declaration().statements, dual_use: true },
    },
    found: {
      outcome: 'hit',
      lists: [{ source: 'un', version }],
      reasons: [
        {
          kind: 'list_match',
          score: 0.974,
          entity: 'un:KPi.012',
          name: 'Miroslav Zorin',
          text: '"Miroslav Zorin" resembles "ZORIN Miroslav" of un KPi.012 (DPRK), score 0.974.',
        },
        {
          kind: 'country',
          score: 1,
          text: 'The country BY is under an embargo or comprehensive restrictions.',
        },
        { kind: 'industry', score: 1, text: 'The industry nuclear is reviewed by a person.' },
        {
          kind: 'statement',
          score: 1,
          text: '"The organisation makes or trades goods, software or technology listed as dual-use." (dual_use) was answered with yes.',
        },
      ],
    },
  });
  return reviewId;
}

it(
  'reviewers approve by keyboard and without JavaScript, and axe finds nothing on their pages in any view [dashboard.browser, dashboard.reviews, dashboard.budget]',
  // Each page is looked at in three views.
  { timeout: 240_000 },
  async () => {
    const reviewers = await Promise.all(
      ['Rita Reviewer', 'Rob Reviewer'].map((name) =>
        newPerson(database.pool, [{ kind: 'staff', role: 'reviewer' }], name),
      ),
    );
    const context = await browser.newContext({ ...STILL, baseURL: root });
    const page = await context.newPage();
    await signInWith(page, reviewers[0]!);
    const found = await problemsOf(page, ['/dashboard/service/reviews?show=decided']);
    const id = await findings('Acme Enrichment Ltd');
    await findings(LONG);
    // By keyboard alone: the summary, the reason, the button.
    await page.goto(`/dashboard/service/reviews/${id}`);
    await page.getByText('Approve…').focus();
    await page.keyboard.press('Enter');
    await page.keyboard.press('Tab');
    await page.keyboard.type('The listed person was born in 1951.');
    await page.keyboard.press('Tab');
    await page.keyboard.press('Enter');
    await page.getByText('Approval recorded').waitFor();
    found.push(
      ...(await problemsOf(page, [
        '/dashboard/service/reviews',
        `/dashboard/service/reviews/${id}`,
      ])),
    );
    const plain = await browser.newContext({ ...STILL, baseURL: root, javaScriptEnabled: false });
    const other = await plain.newPage();
    await signInWith(other, reviewers[1]!);
    await other.getByRole('link', { name: 'Acme Enrichment Ltd' }).click();
    await other.getByText('Approve…').click();
    await other.locator('#approved-note').fill('I have compared the passports.');
    await other.getByRole('button', { name: 'Approve this screening' }).click();
    await other.getByText('Review approved.').waitFor();
    found.push(...(await problemsOf(page, [`/dashboard/service/reviews/${id}?done=approved`])));
    expect(found).toEqual([]);
  },
);

it(
  'an operator suspends an account by its forms, and axe finds nothing on the pages of operators in any view [dashboard.browser, dashboard.operators, dashboard.budget]',
  { timeout: 240_000 },
  async () => {
    const operator = await newPerson(
      database.pool,
      [{ kind: 'staff', role: 'operator' }],
      'Otto Operator',
    );
    const { id } = await activeAccount(registries, 'enterprise');
    const { key, plaintext } = await registries.keys.issue(
      id,
      { name: LONG.slice(0, 90) },
      OPERATOR,
    );
    const context = await browser.newContext({ ...STILL, baseURL: root, javaScriptEnabled: false });
    const page = await context.newPage();
    page.setDefaultTimeout(60_000);
    await signInWith(page, operator);
    await page.getByRole('link', { name: 'Look up' }).click();
    await page.getByLabel('Id of a request').fill(plaintext.slice(0, 8));
    await page.getByRole('button', { name: 'Look up' }).click();
    await page.getByRole('link', { name: 'Harmless Bakery' }).click();
    await page.getByText('Suspend…').click();
    await page.getByLabel('Reason').first().fill('Invoices of three months');
    await page.getByRole('button', { name: 'Suspend the account' }).click();
    await page.getByText('The account is suspended').waitFor();

    await page.getByRole('link', { name: 'Regions' }).click();
    await page.locator('summary', { hasText: 'eu' }).click();
    await page.getByLabel('State').first().selectOption('degraded');
    await page.getByLabel('Public note').first().fill(LONG.repeat(4));
    await page.getByLabel('Reason for the audit log').first().fill('A power cut');
    await page.getByRole('button', { name: /^Set / }).first().click();
    await page.getByText('Region set.').waitFor();
    await database.pool.query(
      `insert into ledger_body (entry_id, org_id, kind, issued_at, leaf_hash, body, refusal_rule, model)
       values ($1, $2, 'refused', now(), sha256('x'), 'x'::bytea, 'dual-use-cyber-intrusion-17', $3)`,
      [newId('rcpt'), id, 'x'.repeat(120)],
    );
    await database.pool.query(
      `insert into mail_outbox (org_id, recipient, subject, body, created_at, attempts, next_attempt_at, failed_at, failure)
       values ($1, $2, $3, '', now(), 3, now(), null, $3),
              (null, 'ada@bakery.example', 'Your password', '', now(), 17, now(), now(), '550 no such address')`,
      [id, `${'x'.repeat(60)}@${'y'.repeat(60)}.example`, LONG],
    );

    const other = await browser.newContext({ ...STILL, baseURL: root });
    const looking = await other.newPage();
    await signInWith(looking, operator);
    const found = await problemsOf(looking, [
      '/dashboard/service/accounts',
      '/dashboard/service/accounts?search=nothing',
      '/dashboard/service/health',
      '/dashboard/service/command-line?code=BCDF-GHJK',
      '/dashboard/service/regions?done=set',
      '/dashboard/service/queues',
      `/dashboard/service/policy?org=${id}`,
      '/dashboard/service/policy?rule=none',
      `/dashboard/service/accounts/${id}?done=suspend`,
      `/dashboard/service/keys/${key.id}`,
      `/dashboard/service/look-up?refused=key`,
    ]);
    expect(found).toEqual([]);
  },
);

it(
  'the page of a contract computes the digest of the chosen document in the browser and sends the digest alone; without JavaScript it is typed [dashboard.browser, dashboard.operators]',
  { timeout: 120_000 },
  async () => {
    const operator = await newPerson(database.pool, [{ kind: 'staff', role: 'operator' }]);
    const { id } = await registries.accounts.create(newAccount(), OPERATOR);
    await registries.accounts.declare(id, declaration(), OPERATOR);
    await registries.vettings.record(id, vetting());
    const open = async (javaScriptEnabled: boolean) => {
      const context = await browser.newContext({ ...STILL, baseURL: root, javaScriptEnabled });
      const page = await context.newPage();
      page.setDefaultTimeout(60_000);
      await signInWith(page, operator);
      await page.goto(`/dashboard/service/accounts/${id}`);
      await page.getByText('Record the contract…').click();
      return page;
    };
    const plain = await open(false);
    expect(await plain.getByLabel('Signed document').isVisible()).toBe(false);
    expect(await plain.getByLabel('SHA-256 of the document').isVisible()).toBe(true);

    const page = await open(true);
    const digest = page.getByLabel('SHA-256 of the document');
    const bytes = [Buffer.from('a draft'), Buffer.from([0, 0xff, 0x0a, 0x80])] as const;
    for (const buffer of bytes) {
      await page
        .getByLabel('Signed document')
        .setInputFiles({ name: 'contract.pdf', mimeType: 'application/pdf', buffer });
      await expect.poll(() => digest.inputValue()).toBe(hash('sha256', buffer));
    }
    await page.getByLabel('Signed document').setInputFiles([]);
    await expect.poll(() => digest.inputValue()).toBe('');
    await page
      .getByLabel('Signed document')
      .setInputFiles({ name: 'contract.pdf', mimeType: 'application/pdf', buffer: bytes[1] });
    await expect.poll(() => digest.inputValue()).toBe(hash('sha256', bytes[1]));
    await page.getByLabel('Signed for the organisation by').fill('Bill Example');
    await page.getByLabel('Signed on').fill('2026-01-02');
    const [sent] = await Promise.all([
      page.waitForRequest((request) => request.method() === 'POST'),
      page.getByRole('button', { name: 'Record the contract' }).click(),
    ]);
    expect([...new URLSearchParams(sent.postData() ?? '').keys()].toSorted()).toEqual([
      'digest',
      'form',
      'kind',
      'sign-reason',
      'sign-ticket',
      'signatory',
      'signed',
    ]);
    await page.getByText('The contract is on record.').waitFor();
    const { items } = await registries.audit.list({ orgId: id, limit: 1, order: 'desc' });
    expect(items[0]!.details).toContain(hash('sha256', bytes[1]));
  },
);
