/**
 * Every page of the dashboard, those to come included, read in the states in which a sentence may be false: nothing there, one
 * thing, many, suspended, closed, leaked, expired, before activation, without sanctions lists, without mail.
 */
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { openSanctionsFile } from '#shared/accounts/sanctions/files/read-list.ts';
import { newId } from '#shared/kernel/system/new-id.ts';
import { count } from '#shared/methodology/readable.ts';
import type { Person } from '#shared/persons/roles.ts';
import type { Plan } from '#shared/kernel/plan.ts';
import { DAY_MS } from '#shared/kernel/time.ts';
import {
  activeAccount,
  contract,
  createRegistries,
  declaration,
  movableClock,
  newAccount,
  OPERATOR,
  referApplicant,
  vetting,
} from '#test/support/accounts.ts';
import { openEdge } from '#test/support/app.ts';
import { countRequests } from '#shared/requests/postgres/counts.ts';
import { writeRequests } from '#shared/requests/postgres/requests.ts';
import { createTestDatabase } from '#test/support/database.ts';
import { sample } from '#test/support/depth.ts';
import { refusedRow, requestRow } from '#test/support/requests.ts';
import {
  newPerson,
  openDashboardEdge,
  routesOf,
  type TestBrowser,
} from '#test/support/dashboard.ts';
import {
  inferenceRecord,
  issueReceipts,
  makeReceiptSigner,
  receiptPools,
  UNSIZED,
} from '#test/support/issuing.ts';
import { startForgedIssuer } from '#test/support/issuers.ts';
import { index } from '#test/unit/catalogue/offer.ts';
import { publishHeads } from '#test/support/ledger.ts';

const database = await createTestDatabase();
const now = createRegistries(database.pool);
const past = createRegistries(database.pool, movableClock());
past.clock.advance(-20 * DAY_MS);
const { signer } = makeReceiptSigner();
const issuer = await startForgedIssuer();
afterAll(() => issuer.close());
const { browser, dashboard, errors } = await openDashboardEdge(database, undefined, {
  index,
  insideIssuers: [issuer.issuer],
});
const api = await openEdge(database.pool);
const { get: routes } = await routesOf(dashboard);

/** Addresses that are read, by who opens them; files and what a script asks for are no pages. */
const PAGES = {
  nobody: [
    'sign-in',
    'sign-in/code',
    'sign-in/organisation',
    'sign-up',
    'password/forgot',
    'password/reset',
    'e-mail/confirm',
    'contacts/confirm',
    'sso/:org',
  ],
  owner: [
    ':org/onboarding',
    ':org/overview',
    ':org/charts',
    ':org/playground',
    ':org/keys',
    ':org/keys/new',
    ':org/keys/:id',
    ':org/keys/:id/rotation',
    ':org/receipts',
    ':org/receipts/:id',
    ':org/requests',
    ':org/requests/:id',
    ':org/requests/times',
    ':org/exports',
    ':org/exports/:id',
    ':org/ledger',
    ':org/usage',
    ':org/budgets',
    ':org/notifications',
    ':org/webhooks',
    ':org/webhooks/:id',
    ':org/audit-log',
    ':org/team',
    ':org/team/sessions',
    ':org/settings',
    ':org/single-sign-on',
    'account',
    'account/confirm',
    'account/second-factor',
    'search',
    'invitations',
    'apply',
  ],
  staff: [
    'service/accounts',
    'service/accounts/:id',
    'service/charts',
    'service/command-line',
    'service/health',
    'service/incidents',
    'service/keys/:id',
    'service/look-up',
    'service/policy',
    'service/queues',
    'service/regions',
    'service/requests',
    'service/reviews',
    'service/sanctions',
    'service/reviews/:id',
  ],
} as const;
const NO_PAGES = [
  '',
  '*',
  ':org',
  ':org/audit-log.csv',
  ':org/audit-log.json',
  ':org/audit-log/anchor.json',
  ':org/audit-log/checkpoint.txt',
  ':org/charts.csv',
  ':org/exports/:id/pack.zip',
  ':org/keys/:id/issued',
  ':org/ledger/checkpoint.txt',
  ':org/playground/errors/:code/advice.json',
  ':org/playground/receipts/:id/cost.json',
  ':org/receipts.csv',
  ':org/receipts/:id/lineage.json',
  ':org/receipts/:id/proof.json',
  ':org/receipts/:id/proof.txt',
  ':org/receipts/:id/receipt.json',
  ':org/usage.csv',
  ':org/webhooks/:id/secret',
  // In its states it is read by the test of its own.
  'service/charts.csv',
  'service/sanctions/:id',
  'account/passkeys/new',
  'account/passkeys/shown',
  'receipts/:id',
  'receipts/:id/receipt.json',
  'sign-in/passkey',
  'sso/:org/callback',
  'sso/:org/sign-out',
  'sso/:org/start',
];

/** What the public reads, outside the dashboard. */
const FRONT = ['/', '/status', '/verify'] as const;

/** An organisation in a state, with the ids of its things by the part of an address before them. */
interface Shown {
  org: string;
  ids: Readonly<
    Record<'keys' | 'receipts' | 'requests' | 'exports' | 'webhooks', readonly string[]>
  >;
}
const STATES = [
  'none',
  'one',
  'many',
  'suspended',
  'closed',
  'leaked',
  'expired',
  'onboarding',
  'declared',
  'in_review',
  'approved',
  'contracted',
  'rejected',
] as const;
type State = (typeof STATES)[number];
const shown = {} as Record<State, Shown>;
/** Members and auditors read what owners do, as far as they may. */
const READERS = ['nobody', 'owner', 'member', 'auditor', 'staff'] as const;
type Reader = (typeof READERS)[number];
const readsAsOwner = (who: Reader): who is 'member' | 'auditor' =>
  who === 'member' || who === 'auditor';
const pagesOf = (who: Reader): readonly string[] => PAGES[readsAsOwner(who) ? 'owner' : who];
/**
 * What members and auditors read, by reader, page and state: in quick runs each page once, where there is most, and a tenth of
 * the others. Owners read them in each state.
 */
const READ_BESIDE = new Set(
  sample(
    READERS.filter(readsAsOwner).flatMap((who) =>
      pagesOf(who).flatMap((page) =>
        STATES.toSorted((a, b) => Number(b === 'many') - Number(a === 'many')).map(
          (state) => [who, page, state] as const,
        ),
      ),
    ),
    ([who, page]) => `${who} ${page}`,
  ).map((row) => row.join(' ')),
);
const visitors = {} as Record<Reader, TestBrowser>;
let review = '';
const NOTHING = { keys: [], receipts: [], requests: [], exports: [], webhooks: [] } as const;

async function receiptsOf(orgId: string, keyId: string, ...days: readonly number[]) {
  const pools = receiptPools(database);
  const records = days.map((day, i) =>
    inferenceRecord({
      orgId,
      keyId,
      requestId: newId('req', Date.now() - day * DAY_MS),
      // Of the first nothing is known that could be estimated, where there are several.
      ...(i === 0 && days.length > 1 ? { model: UNSIZED } : {}),
    }),
  );
  const ids = await issueReceipts(pools, signer, records);
  await publishHeads(pools.ledger);
  return ids;
}

/** What became of requests of which some have a receipt, and one that was refused often. */
async function requestsOf(orgId: string, keyId: string, receipts: readonly string[]) {
  const answered = receipts.map((id) =>
    requestRow({ orgId, keyId, id: id.replace('rcpt_', 'req_'), streamed: true, firstMs: 120 }),
  );
  const refused = refusedRow({ orgId, keyId, requests: 381, lastMs: 40_000 });
  const rows = receipts.length === 1 ? answered : [...answered, refused];
  await writeRequests(database.pool, rows);
  await countRequests(database.pool);
  return rows.map(({ id }) => id);
}

async function webhookOf(org: string): Promise<string> {
  const asked = { address: 'https://hooks.example/x', description: '', events: ['key.leaked'] };
  const { endpoint } = await dashboard.webhooks.make(org, asked, OPERATOR);
  await dashboard.webhooks.test(org, endpoint.id);
  return endpoint.id;
}

/** Two webhooks: one that fails and has a secret of before, and one that is paused, with messages of every state. */
async function webhooksOf(org: string): Promise<string[]> {
  const ids = [await webhookOf(org), await webhookOf(org)];
  await dashboard.webhooks.rotate(org, ids[0]!, OPERATOR);
  await database.pool.query(
    `update webhook_endpoint set failing_since = now() - interval '4 days' where org_id = $1`,
    [org],
  );
  await database.pool.query(
    `update webhook_endpoint set paused_at = now(), pause_reason = 'failing' where id = $1`,
    [ids[1]],
  );
  await database.pool.query(
    `insert into webhook_delivery (id, endpoint_id, org_id, type, body, created_at, attempts, next_attempt_at, delivered_at, status, failure)
     select 'msg_' || i || e.id, e.id, e.org_id, 'key.leaked', '{}', now() - interval '2 hours', i,
       case i when 1 then now() + interval '1 hour' end, case i when 2 then now() end,
       case i when 2 then 204 else 500 end, case i when 2 then null else 'it answered 500' end
     from webhook_endpoint e, generate_series(1, 60) i where e.org_id = $1`,
    [org],
  );
  return ids;
}

/** One of everything. */
async function withOne(plan: Plan = 'audit_plus', keyName = 'only'): Promise<Shown> {
  const { id: org } = await activeAccount(now, plan);
  const { key } = await now.keys.issue(org, { name: keyName }, OPERATOR);
  const receipts = await receiptsOf(org, key.id, 0);
  const pack = await dashboard.exports.exports.create(org, {}, OPERATOR);
  const requests = await requestsOf(org, key.id, receipts);
  const webhooks = [await webhookOf(org)];
  return { org, ids: { keys: [key.id], receipts, requests, exports: [pack.id], webhooks } };
}

async function setExport(id: string, columns: string): Promise<void> {
  await database.pool.query(`update export set done = last_index + 1, ${columns} where id = $1`, [
    id,
  ]);
}

/** The name of two keys, of which one succeeds the other. */
const SHARED_NAME = 'Zanzibar';
/** That name where what its key begins with stands neither right before it nor behind. */
const BARE_NAME = new RegExp(`(?<!dkt_\\w+… )${SHARED_NAME}(?!.{0,160}dkt_\\w{4}…\\w{4}).{0,80}`);

async function withMany(): Promise<Shown> {
  const { org, ids } = await withOne('audit_plus', SHARED_NAME);
  const old = ids.keys[0]!;
  const { key: next } = await now.keys.rotate(org, old, {}, OPERATOR);
  await database.pool.query('update api_key set last_used_at = now() where id = $1', [next.id]);
  const receipts = await receiptsOf(org, next.id, ...Array.from({ length: 60 }, (_, i) => i % 9));
  const requests = await requestsOf(org, next.id, receipts);
  const packs = [];
  for (const columns of [
    `status = 'ready', size_bytes = 1234567, sha256 = repeat('ab', 32), finished_at = now(), expires_at = now() + interval '7 days'`,
    `status = 'failed', error_code = 'internal_error', error_message = 'It failed.', finished_at = now()`,
  ]) {
    const range = { lastIndex: packs.length };
    const { id } = await dashboard.exports.exports.create(org, range, OPERATOR);
    await setExport(id, columns);
    packs.push(id);
  }
  const all = [...ids.receipts, ...receipts];
  const webhooks = [...ids.webhooks, ...(await webhooksOf(org))];
  return {
    org,
    ids: {
      keys: [old, next.id],
      receipts: [receipts[0]!, all.at(-1)!],
      requests: [requests.at(-1)!, requests[0]!],
      exports: [...ids.exports, ...packs],
      webhooks,
    },
  };
}

async function withLeaked(): Promise<Shown> {
  const { id: org } = await activeAccount(now);
  const leaked = { reason: 'in a log', leaked: true };
  const keys = [];
  for (const registries of [now, past]) {
    const expiresAt = Date.now() - 10 * DAY_MS;
    const expires = registries === past ? { expiresAt } : {};
    const { key } = await registries.keys.issue(org, { name: 'leaked', ...expires }, OPERATOR);
    await now.keys.revoke(org, key.id, OPERATOR, leaked);
    keys.push(key.id);
  }
  return { org, ids: { ...NOTHING, keys } };
}

async function withExpired(): Promise<Shown> {
  const { org, ids } = await withOne();
  const issued = { name: 'expired', expiresAt: Date.now() - 10 * DAY_MS };
  const expired = (await past.keys.issue(org, issued, OPERATOR)).key.id;
  const revoked = (await past.keys.issue(org, issued, OPERATOR)).key.id;
  await past.keys.revoke(org, revoked, OPERATOR);
  await setExport(
    ids.exports[0]!,
    `status = 'expired', size_bytes = 1, sha256 = repeat('ab', 32), finished_at = now() - interval '8 days',
     created_at = now() - interval '8 days', expires_at = now() - interval '1 day'`,
  );
  return { org, ids: { ...ids, keys: [expired, revoked] } };
}

/** An application that has come so far. */
async function applied(state: State): Promise<Shown> {
  const { accounts, vettings } = now;
  if (state === 'in_review' || state === 'rejected') {
    const { orgId, reviewId } = await referApplicant(now, {
      account: { name: 'Doubtful Works' },
    });
    if (state === 'in_review') review = reviewId;
    else {
      const vettingId = (await vettings.openReview(orgId))?.vettingId ?? null;
      await vettings.decide(orgId, {
        decision: 'rejected',
        vettingId,
        actor: OPERATOR,
        note: 'no',
      });
    }
    return { org: orgId, ids: NOTHING };
  }
  const { id } = await accounts.create(newAccount(), OPERATOR);
  const steps: readonly (readonly [State, () => Promise<unknown>])[] = [
    ['declared', () => accounts.declare(id, declaration(), OPERATOR)],
    ['approved', () => vettings.record(id, vetting())],
    ['contracted', () => accounts.sign(id, contract(), OPERATOR)],
  ];
  for (const [reached, act] of state === 'onboarding' ? [] : steps) {
    await act();
    if (reached === state) break;
  }
  return { org: id, ids: NOTHING };
}

beforeAll(async () => {
  shown.none = { org: (await activeAccount(now)).id, ids: NOTHING };
  shown.one = await withOne();
  shown.many = await withMany();
  shown.suspended = await withOne();
  shown.closed = await withOne();
  shown.leaked = await withLeaked();
  shown.expired = await withExpired();
  for (const state of STATES) shown[state] ??= await applied(state);
  const everywhere = (role: 'owner' | 'member' | 'auditor'): Promise<Person> =>
    newPerson(
      database.pool,
      STATES.map((state) => ({ kind: 'organisation', orgId: shown[state].org, role })),
    );
  const people = {
    owner: await everywhere('owner'),
    member: await everywhere('member'),
    auditor: await everywhere('auditor'),
    staff: await newPerson(database.pool, [
      { kind: 'staff', role: 'operator' },
      { kind: 'staff', role: 'reviewer' },
    ]),
  };
  await now.accounts.suspend(shown.suspended.org, OPERATOR, 'a question');
  await now.accounts.close(shown.closed.org, OPERATOR, 'asked for');
  visitors.nobody = browser({ address: '198.18.0.1' });
  for (const [i, who] of (['owner', 'member', 'auditor', 'staff'] as const).entries()) {
    visitors[who] = browser({ address: `198.18.0.${2 + i}` });
    await visitors[who].signIn(people[who]);
  }
  const settings = `/dashboard/${shown.many.org}/single-sign-on`;
  const saved = await visitors.owner.send(settings, settings, {
    issuer: issuer.issuer,
    'client-id': issuer.client.id,
    'client-secret': issuer.client.secret,
    role: 'member',
  });
  if (saved.statusCode !== 303) throw new Error(`Single sign-on is not set up: ${saved.payload}`);
});

/** Every address of a page in a state: one for each thing that there is. */
function addressesOf(page: string, { org, ids }: Shown): string[] {
  const things = { ...ids, accounts: [org], reviews: [review] };
  const address = `/dashboard/${page.replace(':org', org)}`;
  const kind = /(\w+)\/:id/.exec(page)?.[1];
  if (kind === undefined) return [address];
  return things[kind as keyof typeof things].map((id) => address.replace(':id', id));
}

/** What is read on a page: without commands, and what was signed. */
const words = (page: string): string =>
  page
    .replaceAll(/<(script|style|pre|code|title|svg)\b[^]*?<\/\1>/g, ' ')
    // Works that numbers are taken from are named as they name themselves.
    .replaceAll(/<ol class="sources[^]*?<\/ol>/g, ' ')
    .replaceAll(/<[^>]+>/g, ' ')
    .replaceAll(/&#(\d+);/g, (_, code: string) => String.fromCodePoint(Number(code)))
    .replaceAll(/\s+/g, ' ');

/** What no page says in any state. */
const NEVER: readonly RegExp[] = [
  /\b1 (?:requests|tokens|receipts|entries|acts|keys|scopes|days|lists|names|packs|streams|models|regions|letters|members)\b/,
  /\b(?:undefined|NaN|null|Infinity|Invalid Date)\b|\[object/,
  // Days are written one way: 22 Nov 2026.
  /\b\d{4}-\d{2}-\d{2}\b/,
  /\b0 days\b/,
];

const read = new Map<string, { statusCode: number; payload: string }>();
async function open(who: Reader, address: string) {
  const known = read.get(`${who} ${address}`);
  if (known !== undefined) return known;
  const { statusCode, payload } = await visitors[who].get(address);
  read.set(`${who} ${address}`, { statusCode, payload });
  return { statusCode, payload };
}

/** What is wrong with a page about anything; undefined where there is none to be read. */
async function faultsOf(who: Reader, address: string): Promise<string[] | undefined> {
  const { statusCode, payload } = await open(who, address);
  if (statusCode !== 200) return undefined;
  const text = words(payload);
  const faults = NEVER.flatMap((never) => never.exec(text)?.[0] ?? []);
  for (const [, time] of payload.matchAll(/<time[^>]*>([^<]*)<\/time>/g)) {
    if (!/^\d{1,2} [A-Z][a-z]{2} \d{4}, \d\d:\d\d UTC$/.test(time!)) faults.push(time!);
  }
  for (const [, href] of payload.matchAll(/<a\b[^>]*href="(\/dashboard[^"#]*)/g)) {
    const link = href!.replaceAll('&#38;', '&').replaceAll('&amp;', '&');
    // A pack is in the store of packs, of which there is none here.
    if (link.endsWith('.zip')) continue;
    const { statusCode: there } = await open(who, link);
    if (there >= 400) faults.push(`${link} ${there}`);
  }
  return faults;
}

describe('every page in every state', () => {
  it('has its place in this table, those to come included', () => {
    const known = routes.map((url) => url.replace(/^\/dashboard\/?/, '').replace(/\/$/, ''));
    expect([...new Set(known)].toSorted()).toEqual(
      [...Object.values(PAGES).flat(), ...NO_PAGES].toSorted(),
    );
  });

  it.each(STATES)(
    '%s: words are whole, days and times are written one way, and no link leads to a refusal [dashboard.sentences]',
    async (state) => {
      const found: Record<string, string[]> = {};
      let pages = 0;
      for (const who of READERS) {
        const places = pagesOf(who)
          .filter((page) => !readsAsOwner(who) || READ_BESIDE.has(`${who} ${page} ${state}`))
          .flatMap((page) => addressesOf(page, shown[state]));
        for (const address of who === 'nobody' ? [...FRONT, ...places] : places) {
          const faults = await faultsOf(who, address);
          if (faults === undefined) continue;
          if (!readsAsOwner(who)) pages += 1;
          if (faults.length > 0) {
            found[`${who} ${address.replace(shown[state].org, ':org')}`] = faults;
          }
        }
      }
      expect(found).toEqual({});
      // Those of a closed organisation are few, and refusals are no pages.
      expect(pages).toBeGreaterThanOrEqual(state === 'closed' ? 36 : 49);
      expect(errors).toEqual([]);
    },
  );

  it('the page of an issuer is read where an organisation signs its members in there', async () => {
    const [address] = addressesOf('sso/:org', shown.many);
    expect(await faultsOf('nobody', address!)).toEqual([]);
  });

  it('no page shows a key’s name without its prefix beside it, by which two of one name are told apart [dashboard.keys, dashboard.sentences]', async () => {
    const bare: string[] = [];
    let names = 0;
    for (const who of READERS) {
      const places = pagesOf(who).flatMap((page) => addressesOf(page, shown.many));
      const sums = ['overview', 'usage'].map(
        (page) => `/dashboard/${shown.many.org}/${page}?by=key`,
      );
      for (const address of who === 'owner' ? [...places, ...sums] : places) {
        const { payload } = await open(who, address);
        const text = payload.replace(/^[^]*<main/, '').replaceAll(/<[^>]+>|\s+/g, ' ');
        names += text.split(SHARED_NAME).length - 1;
        const found = BARE_NAME.exec(text);
        if (found !== null) bare.push(`${who} ${address}: ${found[0]}`);
      }
    }
    expect(bare).toEqual([]);
    expect(names).toBeGreaterThan(30);
  });

  const SENTENCES: readonly (readonly [
    state: State,
    who: Reader,
    page: string,
    says: readonly RegExp[],
    saysNot: readonly RegExp[],
  ])[] = [
    ['none', 'owner', ':org/onboarding', [/Create the first key/], [/You are all set/]],
    ['one', 'owner', ':org/onboarding', [/You are all set/, /First key , done/], [/You have keys/]],
    ['none', 'owner', ':org/overview', [/No requests with a receipt in the last 30 days/], []],
    [
      'one',
      'owner',
      ':org/overview',
      [/Requests 1 with a receipt; 91 tokens in, 13 out/, /all have an est/],
      [],
    ],
    // The refused ones have no receipt, and charts count them.
    [
      'many',
      'owner',
      ':org/overview',
      [/Requests 61 with a receipt/, /1 of 61 not estimated/, /Refused and failed requests/],
      [/receipts? Failed requests/],
    ],
    ['many', 'owner', ':org/usage', [/Total 61 .*Requests are those with a receipt/], []],
    ['one', 'owner', ':org/usage', [/No tag is declared.*Declare tags/], []],
    ['one', 'member', ':org/usage', [/Owners and admins declare tags/], [/Declare tags/]],
    ['many', 'member', ':org/charts', [/Owners and admins declare tags/], [/Declare tags/]],
    ['many', 'staff', 'service/charts', [/Charts of all/], [/No tag is declared/]],
    ['one', 'auditor', ':org/requests', [/Owners and admins declare tags/], [/Declare tags/]],
    [
      'none',
      'owner',
      ':org/playground',
      [/Playground of Ada Example/, /nor answers are kept here/, /\beu, /],
      // A closed region, where nothing runs.
      [/\bgone, /],
    ],
    ['none', 'auditor', ':org/playground', [/You are auditor of this/], [/Code of this call/]],
    ['suspended', 'owner', ':org/playground', [/Nothing runs while/], [/Code of this call/]],
    ['declared', 'owner', ':org/playground', [/can be tried once the organisation is active/], []],
    [
      'rejected',
      'owner',
      ':org/playground',
      [/application is not approved/],
      [/can be tried once/],
    ],
    ['none', 'owner', ':org/keys', [/No keys yet/, /Create the first key/], []],
    [
      'suspended',
      'owner',
      ':org/keys',
      [
        /no key is issued or restored/,
        /rotated by owners and admins while the organisation is act/,
      ],
      [/Create key/, /Owners and admins create/],
    ],
    ['one', 'member', ':org/keys', [/Owners and admins create/], [/Create key/]],
    [
      'suspended',
      'member',
      ':org/keys',
      [/while the organisation is active/],
      [/Owners and admins create/],
    ],
    ['none', 'owner', ':org/budgets', [/first name it in the settings/], [/\bmoney\b/i]],
    ['none', 'owner', ':org/charts', [], [/is none\b/]],
    ['none', 'owner', ':org/receipts', [/No receipts yet/, /See the keys/], []],
    ['closed', 'owner', ':org/receipts', [/This organisation is closed/], [/See the keys/]],
    ['none', 'owner', ':org/requests', [/No requests/, /See the keys/], [/Failed, by code/]],
    ['declared', 'owner', ':org/onboarding', [/You or its contacts get an e-mail with/], []],
    ['in_review', 'auditor', ':org/onboarding', [/Its contacts or owners get an/], [/You will/]],
    ['none', 'member', ':org/onboarding', [/an owner or admin creates it/], [/Create your first/]],
    ['one', 'auditor', ':org/settings', [/Owners .* change the other settings/], []],
    ['one', 'owner', ':org/notifications', [/Programs of yours can be told/], []],
    ['one', 'owner', ':org/requests', [/200 answered/], [/Failed, by code/, /No request matches/]],
    ['many', 'auditor', ':org/requests', [/Failed, by code .*381 requests/], []],
    ['none', 'owner', ':org/charts', [/No figures in the last 30 days/], [/Download CSV/]],
    [
      'many',
      'auditor',
      ':org/charts',
      [/Requests 442 none in the 30 days before/, /also those without a receipt/],
      [],
    ],
    ['none', 'owner', ':org/requests/times', [/Nothing was asked in these hours/], [/By model/]],
    [
      'one',
      'member',
      ':org/requests/times',
      [/By model/, /half took at most/i],
      [/By organisation/],
    ],
    ['one', 'member', ':org/requests/:id', [/Until the first of the stream 114/], [/went wrong/]],
    ['many', 'owner', ':org/requests/:id', [/What to do/, /381 requests/, /nothing ran/], []],
    ['none', 'owner', ':org/ledger', [/No signed head yet.*your keys/], []],
    ['one', 'owner', ':org/ledger', [/Entries 1 /, /1 in the last day/], []],
    ['none', 'owner', ':org/exports', [/No packs/, /Make pack/], []],
    ['none', 'member', ':org/keys', [/An owner or admin can create one/], [/Create the first/]],
    ['none', 'auditor', ':org/exports', [/No packs/, /Make pack/], []],
    ['one', 'member', ':org/keys/:id/rotation', [/An owner or admin can issue it/], []],
    ['suspended', 'owner', ':org/keys/:id/rotation', [/An owner or admin can issue it while/], []],
    ['onboarding', 'member', ':org/onboarding', [/The declaration is being filled in/], []],
    ['one', 'owner', ':org/exports/:id', [/0 of 1 receipt /, /1, entry 0 of the l/], [/entries/]],
    ['expired', 'owner', ':org/exports/:id', [/deleted/], [/Download/]],
    ['none', 'owner', ':org/audit-log', [/log is signed within half a minute/], [/Signed head/]],
    ['suspended', 'owner', ':org/keys/:id', [/while the organisation is active/], [/You can rest/]],
    [
      'leaked',
      'owner',
      ':org/keys/:id',
      [/This key leaked: others have it, or may have it\. Only support can restore it, until/],
      [/An owner or admin can restore it/, /Restore key/],
    ],
    ['leaked', 'staff', 'service/keys/:id', [/It leaked: restore it only if you know/], []],
    [
      'expired',
      'owner',
      ':org/keys/:id',
      [/expired keys cannot be restored/, /Expired/],
      [/support alone/, /Restore key/],
    ],
    ['expired', 'staff', 'service/keys/:id', [/expired keys cannot be restored/], [/Restore key/]],
    ['closed', 'owner', ':org/receipts/:id', [/ledger #0/], [/Flag for recalculation/]],
    ['rejected', 'owner', ':org/onboarding', [/support@docket\.example/], [/Create the first/]],
    ['suspended', 'owner', ':org/onboarding', [/Requests are refused/], [/Create the first key/]],
    ['closed', 'staff', 'service/accounts/:id', [/Begin a legal hold…/], [/Suspend…/]],
    [
      'in_review',
      'staff',
      'service/reviews/:id',
      [/no list had been imported/, /Declaration 2026-11 .*Will the service be made available/],
      [/a question/],
    ],
    ['none', 'staff', 'service/regions', [/dedicated .*nothing: it is dedicated/], []],
    ['none', 'staff', 'service/incidents', [/Nothing was told in these days/], []],
    ['none', 'staff', 'service/policy', [/blocked nothing in these days/], []],
    [
      'none',
      'staff',
      'service/health',
      [/No list was imported: every applicant goes to review/],
      [/taken every (letter|e-mail)/, /every degraded receipt/],
    ],
  ];

  it.each(SENTENCES)(
    '%s: what %s reads at %s is so [dashboard.sentences]',
    async (state, who, page, says, saysNot) => {
      const addresses = addressesOf(page, shown[state]);
      expect(addresses.length).toBeGreaterThan(0);
      // Of several things of one state the sentence is about the first; what is not said is said of none.
      const text = words((await open(who, addresses[0]!)).payload);
      for (const sentence of says) expect(text).toMatch(sentence);
      for (const sentence of saysNot) {
        for (const address of addresses) {
          expect(words((await open(who, address)).payload)).not.toMatch(sentence);
        }
      }
    },
  );

  it('with lists, names that were compared are said to be, and lists have their day [dashboard.sentences]', async () => {
    const file = await openSanctionsFile(
      join(import.meta.dirname, '../../fixtures/sanctions/un.xml'),
    );
    await now.sanctions.import(
      { ...file, entities: file.entities(), fileName: 'un.xml' },
      OPERATOR,
    );
    read.clear();
    for (const page of ['service/health', 'service/reviews/:id']) {
      const [address] = addressesOf(page, shown.in_review);
      expect(await faultsOf('staff', address!)).toEqual([]);
    }
    const health = words((await open('staff', '/dashboard/service/health')).payload);
    expect(health).toMatch(/un, published \d{1,2} [A-Z][a-z]{2} \d{4}/);
    const lists = words((await open('staff', '/dashboard/service/sanctions')).payload);
    expect(lists).toMatch(/current \d{1,2} [A-Z][a-z]{2} \d{4} /);
    expect(health).not.toContain('No list was imported');
  });

  it('without mail, who waits for an e-mail is told, and operators see which [dashboard.sentences, dashboard.letters]', async () => {
    await database.pool.query(
      `update mail_outbox set created_at = now() - interval '1 hour' where org_id = $1`,
      [shown.one.org],
    );
    read.clear();
    const asked = await visitors.nobody.send('/dashboard/sign-up', '/dashboard/sign-up', {
      name: 'Nora',
      email: 'nora@late.example',
    });
    expect(words(asked.payload)).toContain('E-mails are delayed');
    const health = words((await open('staff', '/dashboard/service/health')).payload);
    expect(health).toContain('not tried yet');
    expect(health).not.toContain('None has failed');
  });
});

type Figure = Record<'quantityKind' | 'value' | 'lower' | 'upper', string>;
/** What the overview shows, and its column of usage. */
const AMOUNTS = [
  ['energy', 'energy_kwh'],
  ['gwp', 'gwp_kgco2e'],
  ['water', 'water_l'],
] as const;
/** An exact decimal, in units that are smaller than its last digit. */
function scaled(decimal: string): bigint {
  const [whole, fraction = ''] = decimal.split('.');
  return BigInt(whole! + fraction.padEnd(60, '0'));
}

it('what is counted in several places is the same number in each [dashboard.usage, dashboard.sentences]', async () => {
  const { org } = shown.many;
  const key = api.keyFor(org);
  const list: { id: string; measurement?: { result: Figure[] } }[] = [];
  for (let after: string | undefined, more = true; more; after = list.at(-1)?.id) {
    const query = after === undefined ? '' : `&after=${encodeURIComponent(after)}`;
    const page = (await api.get(`/receipts?limit=100${query}`, key)).json();
    list.push(...page.data);
    more = page.has_more;
  }
  const requests = list.length;
  expect(requests).toBe(61);

  const day = (at: number): string => new Date(at).toISOString().slice(0, 10);
  const span = `from=${day(Date.now() - 29 * DAY_MS)}&to=${day(Date.now() + DAY_MS)}`;
  const usage = (await api.get(`/usage?${span}&group_by=key`, key)).json();
  const { total } = usage;
  expect(total.requests).toBe(requests);

  const overview = words((await visitors.owner.get(`/dashboard/${org}/overview`)).payload);
  expect(overview).toContain(`Requests ${count(requests)} `);
  expect(overview).toContain(`${count(total.uncovered)} of ${count(requests)} not estimated`);
  expect(overview).toContain(`at ledger size ${count(requests)}.`);
  const exact = AMOUNTS.map(([quantity, column]) => {
    const [value, lower, upper] = ['', '_lower', '_upper'].map((end) => total[column + end]);
    const figures = list.flatMap(({ measurement }) =>
      (measurement?.result ?? []).filter(({ quantityKind }) => quantityKind === quantity),
    );
    for (const [sum, of] of [
      [value, 'value'],
      [lower, 'lower'],
      [upper, 'upper'],
    ] as const) {
      const parts = figures.reduce((all, figure) => all + scaled(figure[of]), 0n);
      expect([quantity, of, scaled(sum)]).toEqual([quantity, of, parts]);
    }
    return `${value}, 5–95 %: ${lower} to ${upper}`;
  });
  const cards = (await visitors.owner.get(`/dashboard/${org}/overview`)).payload;
  for (const title of exact) expect(cards).toContain(`title="${title}"`);
  const table = words((await visitors.owner.get(`/dashboard/${org}/usage`)).payload);
  expect(table).toContain(`Total ${count(requests)} ${count(total.uncovered)} `);
  const [head, ...rows] = (await visitors.owner.get(`/dashboard/${org}/usage.csv`)).payload
    .trim()
    .split('\r\n')
    .map((line) => line.split(','));
  const column = head!.indexOf('requests');
  expect(rows.reduce((sum, row) => sum + Number(row[column]), 0)).toBe(requests);
  const degraded = (await api.get('/receipts?tier=degraded&limit=100', key)).json();
  expect(degraded.data).toHaveLength(total.uncovered);

  const ledger = words((await visitors.owner.get(`/dashboard/${org}/ledger`)).payload);
  expect(ledger).toContain(`Entries ${count(requests)} `);
  const [pack] = shown.many.ids.exports.slice(-1);
  const packed = words((await visitors.owner.get(`/dashboard/${org}/exports/${pack}`)).payload);
  expect(packed).toContain(`the checkpoint of ${count(requests)} entries`);

  const keys = (await now.keys.list({ orgId: org, limit: 100, order: 'asc' })).items;
  const rowsOf = (page: string): number =>
    page.match(/<code>dkt_\w{4}…\w{4}<\/code>/g)?.length ?? 0;
  const support = await visitors.staff.get(`/dashboard/service/accounts/${org}`);
  const own = await visitors.owner.get(`/dashboard/${org}/keys`);
  expect([rowsOf(own.payload), rowsOf(support.payload)]).toEqual([keys.length, keys.length]);
});
