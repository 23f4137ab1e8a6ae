/** What any person wrote is text on every page that shows it: every field of every form, and every value from outside. */
import type { BrowserContextOptions, Page } from 'playwright-core';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { indexCatalogue } from '#shared/catalogue/route-index.ts';
import { newId } from '#shared/kernel/system/new-id.ts';
import { inferenceLane } from '#shared/lanes/keys.ts';
import { writeRequests } from '#shared/requests/postgres/requests.ts';
import type { Place } from '#shared/persons/postgres/persons.ts';
import type { Person } from '#shared/persons/roles.ts';
import {
  activeAccount,
  createRegistries,
  newAccount,
  OPERATOR,
  referApplicant,
} from '#test/support/accounts.ts';
import { buildTestApp } from '#test/support/app.ts';
import { openBrowser, listenLocally, signInWith, STILL } from '#test/support/browser.ts';
import { newPerson, openDashboardEdge, PASSWORD, routesOf } from '#test/support/dashboard.ts';
import { createTestDatabase } from '#test/support/database.ts';
import { isDeep } from '#test/support/depth.ts';
import { startForgedIssuer } from '#test/support/issuers.ts';
import {
  inferenceRecord,
  issueReceipts,
  makeReceiptSigner,
  receiptPools,
} from '#test/support/issuing.ts';
import { refusedRow, requestRow } from '#test/support/requests.ts';
import { catalogue, endpoint, model, region } from '#test/unit/catalogue/routed-catalogue.ts';

/**
 * An address that runs something where it is followed, which leaves any attribute, and draws and runs something where it is
 * taken for HTML; then where it comes from.
 */
const ATTACK = `javascript:ran()//"'><img class=hostile src=x onerror=ran()><script>ran()</script>`;
const hostile = (source: string): string => `${ATTACK}{${source}}`;
/** A value that no visitor types into a form of ours, and some page shows. */
const outside = (source: string): string => {
  fromOutside.add(source);
  return hostile(source);
};
const fromOutside = new Set<string>();
/** What comes after it where a form takes anything: control characters, a change of direction, and far too much. */
const TAIL = `\u0001\u001b[2J\u0085\u2028\u202e${'and so on '.repeat(300)}`;

const database = await createTestDatabase();
const registries = createRegistries(database.pool);
const issuer = await startForgedIssuer();
afterAll(() => issuer.close());
const index = indexCatalogue(
  catalogue(
    [region('eu', { name: outside('region name') })],
    [endpoint('one', ['eu'])],
    [model(outside('model of the catalogue'), ['one'])],
  ),
);
const { app, dashboard, errors } = await openDashboardEdge(database, 'http://127.0.0.1', {
  index,
  insideIssuers: [issuer.issuer],
  operations: {
    laneDepths: async () => [
      {
        lane: inferenceLane(0, 'eu'),
        waiting: 1,
        running: 1,
        oldestAt: 0,
        waitingSince: null,
        setAside: 1,
      },
    ],
    queues: {
      counts: async () => ({ failed: 1 }),
      lastRounds: async () =>
        new Map([['mail', { at: Date.now(), failure: outside('round'), attempts: 2 }]]),
      failures: async (name) => [{ name, reason: outside('job'), at: 0, attempts: 1 }],
    },
  },
});
const root = await listenLocally(app);
const front = await listenLocally(
  await buildTestApp(database.pool, {
    front: {
      publicUrl: 'http://127.0.0.1',
      supportEmail: 'support@docket.example',
      exampleModel: () => outside('model of the landing page'),
      hasDashboard: true,
      status: {
        now: async () => ({
          at: 0,
          ledger: 'normal',
          regions: [
            {
              code: 'eu',
              name: outside('region of the status page'),
              word: 'impaired',
              note: { text: outside('public note'), at: 0 },
              available: 0,
              offered: 1,
            },
          ],
        }),
        history: async () => ({
          days: [],
          incidents: [
            {
              id: 'inc_1',
              title: outside('incident'),
              components: [outside('part of an incident')],
              beganAt: 0,
              endedAt: null,
              words: [{ at: 0, text: outside('word of an incident') }],
            },
          ],
        }),
      },
    },
  }),
);
const browser = await openBrowser();
const { get, post } = await routesOf(dashboard);

let orgId = '';
/** Of an organisation that has not declared yet. */
let applying = '';
let inviting = '';
let reviewed = '';
let receipts: string[] = [];
let requests: string[] = [];
const webhooks: string[] = [];
const staged: string[] = [];

/** Everything that a page may show and no visitor typed into it. */
beforeAll(async () => {
  const { pool } = database;
  orgId = (await activeAccount(registries, 'enterprise')).id;
  const contact = (of: string) => ({ name: outside(of), email: 'contact@hostile.example' });
  const version = 'ab'.repeat(32);
  await pool.query(
    `with list as (
       insert into sanctions_list (source, version, file_name, imported_at, imported_by, current, entities, names, published_on)
       values ('un', $1, 'un.xml', now(), $2, true, 1, 1, $3) returning id)
     insert into sanctions_name (list_id, entity_id, ordinal, name, kind, weak, programme, countries)
     select id, 'KPi.012', 1, $4, 'person', false, $5, '{}' from list`,
    [
      version,
      outside('importer'),
      outside('list date'),
      outside('listed name'),
      outside('programme'),
    ],
  );
  ({ orgId: inviting, reviewId: reviewed } = await referApplicant(registries, {
    account: {
      name: outside('applicant'),
      billing: contact('billing contact'),
      technical: contact('technical contact'),
    },
    declared: {
      tradingNames: [outside('trading name')],
      parties: [{ role: 'owner', name: outside('party'), country: 'FR' }],
      declaredBy: outside('declarant'),
    },
    found: {
      outcome: 'hit',
      lists: [{ source: 'un', version }],
      reasons: [
        {
          kind: 'list_match',
          score: 0.97,
          entity: 'un:KPi.012',
          name: outside('party'),
          text: outside('reason'),
        },
      ],
    },
  }));
  applying = (await registries.accounts.create(newAccount(), OPERATOR)).id;
  const [, revoked] = await Promise.all(
    ['key', 'revoked key'].map((of) =>
      registries.keys.issue(orgId, { name: outside(of).slice(0, 100) }, OPERATOR),
    ),
  );
  await registries.keys.revoke(orgId, revoked!.key.id, OPERATOR, {
    reason: outside('revocation'),
  });
  await pool.query('update account set name = $2 where id = $1', [orgId, outside('organisation')]);

  const pools = receiptPools(database);
  const record = { orgId, keyId: newId('key') };
  receipts = await issueReceipts(pools, makeReceiptSigner().signer, [
    inferenceRecord({
      ...record,
      requestId: newId('req'),
      upstreamModel: outside('upstream model'),
      // A receipt leaves it off: no page shows it.
      upstreamAnswerId: hostile('answer'),
    }),
    inferenceRecord({ ...record, requestId: newId('req'), model: outside('model') }),
    inferenceRecord({
      ...record,
      requestId: newId('req'),
      outcome: 'refused',
      policy: { version: '2026-11-01', rule: outside('rule') },
    }),
  ]);
  await pool.query(
    `update recalculation set state = 'parked', failed_at = now(), stage = $3, code = $4, basis = 'x'
     where receipt_id = $1 and org_id = $2`,
    [receipts[1], orgId, outside('stage'), outside('code')],
  );
  const display = outside('display of an event');
  const leaked = { key: { id: newId('key'), name: outside('name in an event'), display } };
  // Later than all that its reader has seen.
  await pool.query(
    `insert into event (id, org_id, type, data, at) values ($1, $2, 'key.leaked', $3, now()), ($4, $2, $5, '{}', now())`,
    [
      `evt_${'7'.repeat(26)}`,
      orgId,
      leaked,
      newId('evt'),
      outside('type of an event').slice(0, 100),
    ],
  );
  // One is made current, one discarded.
  for (const digit of ['a', 'b']) {
    const party = {
      id: outside('party'),
      name: outside('name of a party'),
      programme: outside('programme'),
    };
    const preview = {
      against: null,
      added: { count: 1, first: [party] },
      removed: { count: 0, first: [] },
      renamed: { count: 0, first: [] },
      accounts: 1,
      isWhole: true,
      matches: [{ orgId, isHit: true, words: [outside('why an account matches')] }],
    };
    const { rows } = await pool.query<{ id: string }>(
      `insert into sanctions_list (source, version, file_name, published_on, entities, names, imported_by, imported_at, staged_at, preview)
       values ('eu', $1, $2, $3, 1, 1, 'ada', now(), now(), $4) returning id`,
      [digit.repeat(64), outside('file of a list'), outside('day of a list'), preview],
    );
    staged.push(rows[0]!.id);
  }
  const hook = {
    address: 'https://hooks.example/',
    description: outside('webhook').slice(0, 100),
    events: ['key.leaked'],
  };
  // One with a message that was given up, and one that is paused: each has a form that the other has not.
  for (const columns of ['paused_at = null', `paused_at = now(), pause_reason = 'gone'`]) {
    const { id } = (await dashboard.webhooks.make(orgId, hook, OPERATOR)).endpoint;
    webhooks.push(id);
    await dashboard.webhooks.test(orgId, id);
    await pool.query(`update webhook_endpoint set address = $2, ${columns} where id = $1`, [
      id,
      `https://hooks.example/?${outside('address of a webhook')}`,
    ]);
  }
  await pool.query(
    'update webhook_delivery set next_attempt_at = null, failure = $2 where org_id = $1',
    [orgId, outside('receiver').slice(0, 200)],
  );
  await dashboard.budgets.make(
    orgId,
    {
      name: outside('budget').slice(0, 100),
      scope: 'organisation',
      target: null,
      measure: 'requests',
      period: 'day',
      mode: 'soft',
      limit: 1_000,
      shares: [80],
    },
    OPERATOR,
  );
  const keyId = newId('key');
  const rows = [
    requestRow({ ...record, route: outside('route').slice(0, 128) }),
    refusedRow({
      orgId,
      keyId,
      code: outside('code of an error').slice(0, 128),
      model: null,
      requestedModel: outside('model that was asked for').slice(0, 128),
    }),
  ];
  await writeRequests(pool, rows);
  requests = rows.map(({ id }) => id);
  await pool.query(
    `insert into ledger_quarantine (entry_id, org_id, kind, leaf_hash, submitted_at, reason)
     values ($1, $2, 'receipt', 'x', now(), $3)`,
    [newId('rcpt'), orgId, outside('quarantine')],
  );
  await pool.query(
    `insert into mail_outbox (recipient, subject, body, created_at, attempts, next_attempt_at, failure, failed_at)
     values ($1, $2, 'x', now(), 1, now(), $3, null), ($4, 'x', 'x', now(), 17, now(), 'x', now())`,
    [
      outside('addressee'),
      outside('subject of an e-mail'),
      outside('mail server'),
      outside('addressee of an e-mail that was given up'),
    ],
  );
  await pool.query('update ledger_head set halted_at = now(), halt_reason = $2 where org_id = $1', [
    orgId,
    outside('halted log'),
  ]);
  await pool.query(
    `insert into export (id, org_id, status, first_index, last_index, checkpoint_size, error_code, error_message, finished_at)
     values ($1, $2, 'failed', 0, 0, 1, 'x', $3, now())`,
    [newId('exp'), orgId, outside('failed export')],
  );
});

/** What of a person's sign-in others have named: devices, browsers, issuers, and those who invite. */
async function furnishSignIn({ id, email }: Person): Promise<void> {
  const { pool } = database;
  await pool.query(
    `insert into persons.passkey (id, person_id, name, public_key, counter, transports, created_at)
     values ('x', $1, $2, 'x', 0, '{}', now()), ('y', $1, 'that stays', 'x', 0, '{}', now())`,
    [id, outside('passkey')],
  );
  const signIn = await dashboard.signIn();
  await signIn.open(
    { personId: id, organisation: null, confirmedAt: null },
    {
      cookie: undefined,
      address: '192.0.2.7',
      userAgent: outside('other browser'),
    },
  );
  await pool.query(
    `insert into persons.invitation (org_id, email, role, created_at, expires_at)
     select unnest(array[$1, $2]), unnest(array[$3, 'invited@hostile.example']), 'member', now(), now() + interval '1 day'`,
    [inviting, orgId, email],
  );
  const act = { orgId, actor: OPERATOR };
  await dashboard.singleSignOn.save(act, {
    issuer: issuer.issuer,
    clientId: outside('client id'),
    sealedSecret: 'x',
    role: 'member',
  });
  await dashboard.singleSignOn.claimDomain(act, 'hostile.example');
  await dashboard.singleSignOn.confirmDomain(act, 'hostile.example');
  const claims = { subject: hostile('subject'), name: outside('claimed name') };
  await dashboard.singleSignOn.enter(
    {
      orgId,
      issuer: issuer.issuer,
      claims: { ...claims, email: 'claimed@hostile.example', emailVerified: true },
      address: '192.0.2.8',
    },
    () => Promise.resolve(),
  );
}

/** Command lines with names of their machines' making: one that waits under a code, and one that acts in a person's name. */
async function furnishCommandLines({ id }: Person): Promise<void> {
  await database.pool.query(
    `insert into persons.command_line (token, code, place, asked_at, expires_at, person_id, allowed_at)
     values (repeat('a', 64), $1, $2, now(), now() + interval '1 hour', null, null),
       (repeat('b', 64), 'ZZZZZZZZ', $3, now(), now() + interval '1 hour', $4, now())`,
    [WAITING_CODE, outside('machine that waits'), outside('machine that acts'), id],
  );
}
const WAITING_CODE = 'BCDFGHJK';

/** Has a browser tell what was run and refused; its name stands on the page of its person. */
async function open(options: BrowserContextOptions = {}): Promise<Page> {
  // What stands on a page is read and not looked at: little of it needs to be drawn.
  const viewport = { width: 320, height: 200 };
  const context = await browser.newContext({ ...STILL, viewport, baseURL: root, ...options });
  await context.exposeFunction('ran', () => problems.push('a script ran'));
  const page = await context.newPage();
  page.on('dialog', (dialog) => {
    problems.push(`${page.url()}: dialog`);
    void dialog.dismiss();
  });
  page.on('console', (message) => {
    if (/Content.Security/.test(message.text())) problems.push(`${page.url()}: ${message.text()}`);
  });
  return page;
}
const problems: string[] = [];
const pages = new Set<string>();
/** The newest of each browser: it is of the session, and some acts begin another. */
const tokens = new Map<Page, string>();
/** Where text was seen as text, by where it comes from. */
const seen = new Set<string>();

interface Look {
  /** What every form of the page brings back; nothing on a page without one. */
  token: string;
  drawn: number;
  texts: string[];
  links: string[];
  forms: Sendable[];
}

interface Sendable {
  /** The page that it stands on. */
  at: string;
  method: string;
  action: string;
  fields: [name: string, type: string, value: string][];
}

const LOOK = `(() => {
  const all = [...document.querySelectorAll('*')];
  const runs = (element) =>
    element.matches('.hostile, script:not([src])') ||
    [...element.attributes].some(({ name }) => name.startsWith('on')) ||
    /^javascript:/i.test(element.href || element.action || element.src || '');
  const texts = all.flatMap((element) => [
    ...[...element.childNodes].filter(({ nodeType }) => nodeType === 3).map(({ data }) => data),
    ...[...element.attributes].map(({ value }) => value),
    typeof element.value === 'string' ? element.value : '',
  ]);
  return {
    token: document.querySelector('[name=form]')?.value ?? '',
    drawn: all.filter(runs).length,
    texts: texts.filter((text) => text.includes('ran()')),
    links: [...document.querySelectorAll('a[href]:not([download])')].map(({ href }) => href),
    forms: [...document.forms].map((form) => ({
      at: location.href,
      method: form.method,
      action: form.getAttribute('action') ?? location.pathname,
      fields: [...form.elements]
        .filter(({ name }) => name)
        .map(({ name, type, value, options }) => [name, type, options?.item(options.length - 1)?.value ?? value]),
    })),
  };
})()`;

/** Notes what the open page does that no text may do, and which texts stand there. */
async function look(page: Page, name: string): Promise<Look> {
  const found = await page.evaluate<Look>(LOOK);
  if (found.token !== '') tokens.set(page, found.token);
  pages.add(routeOf(get, new URL(page.url()).pathname) ?? name);
  if (found.drawn > 0) problems.push(`${name}: ${found.drawn} elements come from text`);
  for (const text of found.texts) {
    for (const [, source] of text.matchAll(/<script>ran\(\)<\/script>\{([^}]+)\}/g)) {
      seen.add(source!);
    }
  }
  return found;
}

/** The route that an address is of: rather one that names it than one that takes any. */
const routeOf = (list: readonly string[], path: string): string | undefined =>
  list
    .toSorted((a, b) => a.split(':').length - b.split(':').length)
    .find((url) =>
      new RegExp(`^${url.replaceAll('.', '\\.').replaceAll(/:\w+/g, '[^/]+')}$`).test(path),
    );
/** Ids of one kind lead to pages of one kind. */
const shapeOf = (path: string): string => path.replaceAll(/[a-z]+_[0-9A-HJKMNP-TV-Z]{26}/g, ':id');

/** What leads out of the pages, is kept rather than shown, or answers to a script. */
const NO_PAGE =
  /\.(?:json|csv|txt|zip)$|\/sso\/[^/]+\/(?:start|sign-out|callback)$|\/passkeys?(?:\/new|\/shown)?$/;
/** What shows nothing itself and leads on. */
const LEADS_ON = new Set([
  '/dashboard',
  '/dashboard/:org',
  '/dashboard/receipts/:id',
  '/dashboard/*',
]);

/** Opens these pages, and one of each kind that links lead to from there; returns their forms. */
async function walk(page: Page, from: readonly string[]): Promise<Sendable[]> {
  const [waiting, opened, kinds] = [[...from], new Set<string>(), new Set<string>()];
  const forms: Sendable[] = [];
  for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) {
    const { pathname, searchParams } = new URL(next, root);
    const kind = `${shapeOf(pathname)}?${[...searchParams.keys()].join('&')}`;
    const isKnown = opened.has(next) || (kinds.has(kind) && !from.includes(next));
    if (isKnown || NO_PAGE.test(pathname)) continue;
    opened.add(next);
    kinds.add(kind);
    await page.goto(next);
    const found = await look(page, next);
    const { origin } = new URL(page.url());
    const ours = found.links.filter((href) => href.startsWith(`${origin}/dashboard`));
    waiting.push(...ours.map((href) => href.slice(origin.length).split('#')[0]!));
    forms.push(...found.forms);
  }
  return forms;
}
const sent = new Set<string>();

/** Fields that a person types freely. */
const FREE = new Set(['text', 'search', 'textarea']);
const VALID: Readonly<Record<string, string>> = {
  email: 'someone@hostile.example',
  url: 'https://issuer.example',
  password: PASSWORD,
};

/** Sends a form: with every field hostile, or with those alone that take any text, so that it is kept. */
async function send(page: Page, form: Sendable, isWhole: boolean): Promise<Sendable[]> {
  const { at, method, action } = form;
  const token = tokens.get(page) ?? '';
  const filled = isWhole ? form.fields : form.fields.filter(([, type]) => type !== 'submit');
  const fields = filled.map(([field, type, value]): [string, string] => {
    if (field === 'form') return [field, token];
    const text = hostile(field);
    if (isWhole) return [field, text + TAIL];
    if (field.startsWith('country')) return [field, 'France'];
    return [field, FREE.has(type) ? text : (VALID[type] ?? value)];
  });
  await Promise.all([
    page.waitForEvent('load'),
    page.evaluate(
      `(({ method, action, fields }) => {
        const form = document.body.appendChild(document.createElement('form'));
        Object.assign(form, { method, action });
        for (const [name, value] of fields) {
          const field = form.appendChild(document.createElement('textarea'));
          Object.assign(field, { name, value });
        }
        HTMLFormElement.prototype.submit.call(form);
      })(${JSON.stringify({ method, action, fields })})`,
    ),
  ]);
  const isOut = new URL(page.url()).pathname === '/dashboard/sign-in';
  if (isOut && !action.includes('/sign-') && !at.includes('/sign-in'))
    problems.push(`${action}: signed out`);
  if (method === 'post') sent.add(routeOf(post, action) ?? action);
  return (await look(page, `${method} ${shapeOf(action)}`)).forms;
}

const WHOLE_OF = 10;
/** What ends a session or an account comes when everything else was sent. */
const ENDS = ['/account/password', '/suspend', '/close', '/sign-out'];
const placeOf = ({ action }: Sendable): number => ENDS.findIndex((end) => action.endsWith(end));

/** Sends each form, and those that the answers hold, one of each kind: so that it is kept, and whole, in quick runs a few. */
async function sendAll(page: Page, forms: readonly Sendable[]): Promise<void> {
  const done = new Set<string>();
  await page.goto(forms[0]!.at);
  await look(page, forms[0]!.at);
  let waiting = [...forms];
  while (waiting.length > 0) {
    const [form, ...rest] = waiting.toSorted((a, b) => placeOf(a) - placeOf(b));
    waiting = rest;
    // A table has more rows of the same fields with each answer.
    const names = [...new Set(form!.fields.map(([name]) => name.replace(/-\d+$/, '')))];
    const kind = `${form!.method} ${shapeOf(form!.action)} ${names.join(' ')}`;
    // With the answer to a question about the person their own form comes again.
    if (done.has(kind) || names.some((name) => name.startsWith('confirming'))) continue;
    done.add(kind);
    const ways = isDeep || done.size % WHOLE_OF === 1 ? [true, false] : [false];
    for (const isWhole of ways) waiting.push(...(await send(page, form!, isWhole)));
  }
}

async function signedIn(...places: Place[]): Promise<{ page: Page; person: Person }> {
  const name = hostile(`person, ${places[0]!.role}`);
  const person = await newPerson(database.pool, places, name);
  const page = await open({ userAgent: hostile('browser') });
  await signInWith(page, person);
  return { page, person };
}

const confirmSessions = (at: Date | null) =>
  database.pool.query(`update persons.session set confirmed_at = $1`, [at]);

it(
  'no text that a person typed or that came from outside runs, leads anywhere or draws anything on any page, and each stands there as text [dashboard.escaped, dashboard.browser]',
  { timeout: 240_000 },
  async () => {
    const org = `/dashboard/${orgId}`;
    const service = '/dashboard/service';
    const { page: owner, person } = await signedIn(
      { kind: 'organisation', orgId, role: 'owner' },
      { kind: 'organisation', orgId: applying, role: 'owner' },
    );
    const { page: operator, person: otto } = await signedIn(
      { kind: 'staff', role: 'operator' },
      { kind: 'staff', role: 'reviewer' },
    );
    await furnishSignIn(person);
    await furnishCommandLines(otto);
    await database.pool.query('update persons.person set two_factor_enabled = true where id = $1', [
      otto.id,
    ]);
    const visitor = await open();

    // Every page as it is, with what came from outside.
    const asked = encodeURIComponent(hostile('asked for'));
    const signInForms = await walk(visitor, [
      '/dashboard/sign-in',
      `/dashboard/sign-in?to=${asked}&done=${asked}`,
      '/dashboard/sign-in/code',
      '/dashboard/sign-in/organisation',
      '/dashboard/sign-up',
      '/dashboard/password/forgot',
      `/dashboard/password/reset?token=${asked}`,
      `/dashboard/e-mail/confirm?token=${asked}`,
      `/dashboard/contacts/confirm?token=${asked}`,
      `/dashboard/sso/${orgId}?to=${asked}`,
      `/dashboard/${asked}`,
    ]);
    await visitor.goto(`/dashboard/sso/${orgId}/callback?state=${asked}&error=${asked}`);
    await look(visitor, 'callback');
    for (const page of ['/', '/status', '/verify', `/docs?search=${asked}`]) {
      await visitor.goto(front + page);
      await look(visitor, page);
    }
    const owners = [
      `${org}/overview?by=model`,
      ...receipts.map((id) => `${org}/receipts/${id}`),
      ...requests.map((id) => `${org}/requests/${id}`),
      ...webhooks.map((id) => `${org}/webhooks/${id}`),
      `/dashboard/${applying}/onboarding`,
      '/dashboard/account',
      '/dashboard/apply',
      '/dashboard/invitations',
    ];
    const ownersForms = await walk(owner, owners);
    const staffs = [
      `${service}/reviews/${reviewed}`,
      `${service}/health`,
      ...staged.map((id) => `${service}/sanctions/${id}`),
      `${service}/accounts/${orgId}`,
      `${service}/command-line?code=${WAITING_CODE}`,
    ];
    const staffsForms = await walk(operator, staffs);

    // Every form; what is asked to confirm comes with all that was filled in.
    await sendAll(visitor, signInForms);
    await confirmSessions(null);
    const create = ownersForms.find(({ action }) => action === `${org}/keys`)!;
    await owner.goto(create.at);
    await send(owner, create, true);
    await owner.getByRole('heading', { name: 'Confirm that it is you' }).waitFor();
    await owner.goto(`/dashboard/account/confirm?to=${asked}`);
    await send(owner, (await look(owner, 'confirm')).forms[0]!, true);
    await confirmSessions(new Date());
    await sendAll(owner, ownersForms);
    const { page: again } = await signedIn({ kind: 'organisation', orgId, role: 'owner' });
    await walk(again, [...owners.slice(0, 4), `/dashboard/account/second-factor?to=${asked}`]);
    await sendAll(operator, staffsForms);
    await walk((await signedIn({ kind: 'staff', role: 'operator' })).page, staffs);

    expect({
      problems,
      unseen: [...fromOutside].filter((source) => !seen.has(source)),
      notSent: post.filter((url) => !sent.has(url)),
      notOpened: get.filter((url) => !pages.has(url) && !NO_PAGE.test(url) && !LEADS_ON.has(url)),
    }).toEqual({ problems: [], unseen: [], notSent: [], notOpened: [] });
    expect(errors).toEqual([]);
  },
);
