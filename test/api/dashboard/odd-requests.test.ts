import type { InjectOptions } from 'fastify';
import fc from 'fast-check';
import { beforeAll, expect, it } from 'vitest';
import { newId } from '#shared/kernel/system/new-id.ts';
import type { Place } from '#shared/persons/postgres/persons.ts';
import {
  activeAccount,
  createRegistries,
  newAccount,
  OPERATOR,
  referApplicant,
} from '#test/support/accounts.ts';
import { createTestDatabase } from '#test/support/database.ts';
import {
  formTokenOf,
  newPerson,
  openDashboardEdge,
  routesOf,
  type TestBrowser,
} from '#test/support/dashboard.ts';
import { runs, SEED } from '#test/support/depth.ts';
import { publishHeads } from '#test/support/ledger.ts';
import {
  inferenceRecord,
  issueReceipts,
  makeReceiptSigner,
  receiptPools,
} from '#test/support/issuing.ts';

const READS = runs(2_000);
const FORMS = runs(2_000);
const STRAYED = runs(1_000);

const database = await createTestDatabase();
const registries = createRegistries(database.pool);
const { app, browser, errors, dashboard } = await openDashboardEdge(database);

/** What a browser never sends, as it stands in an address or a form. */
const ODD = [
  '',
  '%20',
  '%00',
  'a%00b',
  '%ED%A0%80',
  '%FF',
  '%C0%AF',
  '%0D%0Aset-cookie:a=b',
  '%E2%80%AE',
  '%F0%9F%8C%8A',
  '%3Cscript%3E',
  "'--",
  '*',
  '__proto__',
  'constructor',
  'toString',
  'null',
  'NaN',
  'Infinity',
  '0',
  '-1',
  '1.5',
  '1e308',
  '-9007199254740993',
  '99999999999999999999',
  '2147483648',
  '9223372036854775808',
  '2026-02-31',
  '2026-13-01',
  '0000-01-01',
  '1969-12-31',
  '9999-12-31',
  '99999-01-01',
  '%2B275760-09-13',
  'x'.repeat(400),
  'x'.repeat(5_000),
  '%F0%9F%8C%8A'.repeat(300),
  'dkt_',
  'dkt_abcd',
  `sha256:${'ab'.repeat(32)}`,
  `org_${'Z'.repeat(26)}`,
  `rcpt_${'7'.repeat(26)}`,
  `rcpt_8${'0'.repeat(25)}`,
  newId('key'),
  newId('exp'),
  newId('aud'),
  newId('rev'),
  newId('req'),
];
const odd = fc.constantFrom(...ODD);

/** What the fields of the pages' forms are named, and those of each form, by its address. */
const names = new Set<string>();
const namesOf = new Map<string, Set<string>>();
const visitors: Record<string, TestBrowser> = {};
const tokens: Record<string, string> = {};
const routes: { method: string; url: string }[] = [];
/** Ids that stand in addresses: ours, and another organisation's. */
const ids: string[] = [];
const orgs: string[] = [];

beforeAll(async () => {
  const { pool } = database;
  const ours = (await activeAccount(registries)).id;
  const theirs = (await activeAccount(registries, 'enterprise')).id;
  const { id: applying } = await registries.accounts.create(newAccount(), OPERATOR);
  const { orgId: inReview, reviewId } = await referApplicant(registries);
  orgs.push(ours, theirs, applying, inReview, newId('org'));
  for (const org of [ours, theirs]) {
    const { key } = await registries.keys.issue(org, { name: 'a key' }, OPERATOR);
    const receipts = await issueReceipts(
      receiptPools(database),
      makeReceiptSigner().signer,
      [1, 2].map(() => inferenceRecord({ orgId: org, requestId: newId('req') })),
    );
    ids.push(key.id, ...receipts);
  }
  ids.push(reviewId);
  await publishHeads(database.poolAs('docket_ledger', 1));
  for (const org of [ours, theirs]) {
    const actor = { kind: 'user', id: newId('usr') } as const;
    ids.push((await dashboard.exports.exports.create(org, {}, actor)).id);
  }
  const of = (role: 'owner' | 'admin' | 'member' | 'auditor'): Place[] => [
    { kind: 'organisation', orgId: ours, role },
    { kind: 'organisation', orgId: applying, role },
  ];
  const places: Record<string, Place[]> = {
    owner: of('owner'),
    admin: of('admin'),
    member: of('member'),
    auditor: of('auditor'),
    operator: [{ kind: 'staff', role: 'operator' }],
    reviewer: [{ kind: 'staff', role: 'reviewer' }],
  };
  let last = 0;
  for (const [role, list] of Object.entries(places)) {
    const visitor = browser({ address: `203.0.113.${(last += 1)}` });
    await visitor.signIn(await newPerson(pool, list));
    visitors[role] = visitor;
    tokens[role] = formTokenOf((await visitor.get('/dashboard/account')).payload);
  }
  visitors['nobody'] = browser({ address: '203.0.113.99' });
  tokens['nobody'] = formTokenOf((await visitors['nobody'].get('/dashboard/sign-in')).payload);
  const { get, post } = await routesOf(dashboard);
  routes.push(...get.map((url) => ({ method: 'GET', url })));
  routes.push(...post.map((url) => ({ method: 'POST', url })));
  await readFields();
});

/** Opens a page of each kind as a person who may, and notes the fields of its forms. */
async function readFields(): Promise<void> {
  for (const { method, url } of routes) {
    if (method !== 'GET') continue;
    const addresses = [orgs[0]!, orgs[2]!].flatMap((org) =>
      (url.includes(':id') ? idsFor(url) : ['']).map((id) =>
        url.replace(':org', org).replace(':id', id).replace('*', 'nothing'),
      ),
    );
    for (const address of new Set(addresses)) {
      const { payload } = await visitors[insiderOf(url)]!.get(address);
      for (const [, head = '', body = ''] of payload.matchAll(FORM)) {
        const action = /\baction="([^"?]*)/.exec(head)?.[1] ?? '';
        const pattern = routes.find((route) => matches(route, head, action))?.url ?? action;
        const own = namesOf.get(pattern) ?? new Set();
        for (const [, name = ''] of body.matchAll(/\bname="([^"]*)"/g)) {
          if (name === 'form') continue;
          names.add(name);
          own.add(name);
        }
        namesOf.set(pattern, own);
      }
    }
  }
}

/** Who may come in at an address. */
function insiderOf(pattern: string): string {
  if (pattern.includes('/reviews')) return 'reviewer';
  if (pattern.includes('/service')) return 'operator';
  return /sign-in|sign-up|password\/|e-mail/.test(pattern) ? 'nobody' : 'owner';
}

const PREFIXES = { key: 'key', receipt: 'rcpt', export: 'exp', review: 'rev', account: 'org' };

/** Ids that are there, of the kind that an address takes. */
function idsFor(pattern: string): string[] {
  const kind = /(key|receipt|export|review|account)s\/:id/.exec(pattern)?.[1] ?? 'key';
  const prefix = PREFIXES[kind as keyof typeof PREFIXES];
  return [...ids, ...orgs].filter((id) => id.startsWith(`${prefix}_`));
}

const FORM = /<form\b([^>]*)>([\s\S]*?)<\/form>/g;

function matches({ method, url }: { method: string; url: string }, head: string, action: string) {
  const source = url.replaceAll(/:(\w+)/g, (_, name) =>
    name === 'act' ? '[a-z]+' : '\\w+_\\w{26}',
  );
  const verb = head.includes('method="post"') ? 'POST' : 'GET';
  return method === verb && new RegExp(`^${source}$`).test(action);
}

interface Asked {
  role: string;
  request: InjectOptions & { url: string };
}

/** Sends it and says what is wrong with the answer. */
async function problemOf({ role, request }: Asked): Promise<string | undefined> {
  const cookie = [...visitors[role]!.cookies].map(([name, value]) => `${name}=${value}`).join('; ');
  const before = errors.length;
  const reply = await app.inject({
    remoteAddress: '127.0.0.1',
    ...request,
    headers: {
      host: 'gateway.example',
      origin: 'https://gateway.example',
      'x-forwarded-for': '203.0.113.200',
      cookie,
      ...request.headers,
    },
  });
  const what = `${role} ${request.method} ${request.url.slice(0, 300)} ${typeof request.payload === 'string' ? request.payload.slice(0, 300) : ''}`;
  if (reply.statusCode >= 500 || errors.length > before) {
    return `${reply.statusCode} ${what}: ${String(errors.at(-1))}`;
  }
  const type = reply.headers['content-type'];
  const isPage = type === 'text/html; charset=utf-8' && reply.payload.includes('<h1');
  return reply.statusCode < 400 || request.method === 'HEAD' || isPage
    ? undefined
    : `${reply.statusCode} is no page (${type}): ${what}`;
}

async function problemsOf(all: fc.Arbitrary<Asked>, numRuns: number): Promise<string[]> {
  const problems: string[] = [];
  for (const asked of fc.sample(all, { seed: SEED, numRuns })) {
    const problem = await problemOf(asked);
    if (problem !== undefined) problems.push(problem);
  }
  return problems;
}

/** Mostly a person who may come in there. */
function roleFor(pattern: string): fc.Arbitrary<string> {
  return fc.oneof(
    { weight: 3, arbitrary: fc.constant(insiderOf(pattern)) },
    fc.constantFrom(...Object.keys(visitors)),
  );
}

/** An address of this pattern: mostly of something that is there, else odd. */
function addressOf(pattern: string): fc.Arbitrary<string> {
  const org = fc.oneof(
    { weight: 6, arbitrary: fc.constantFrom(orgs[0]!, orgs[2]!) },
    { weight: 1, arbitrary: fc.constantFrom(...orgs) },
    { weight: 1, arbitrary: odd },
  );
  const id = fc.oneof(
    {
      weight: 4,
      arbitrary: fc.constantFrom(...idsFor(pattern)),
    },
    { weight: 1, arbitrary: fc.constantFrom(...ids, ...orgs) },
    { weight: 2, arbitrary: odd },
  );
  const act = fc.oneof(
    {
      weight: 5,
      arbitrary: fc.constantFrom('suspend', 'reinstate', 'sign', 'activate', 'plan', 'limits'),
    },
    odd,
  );
  return fc
    .tuple(org, id, act, odd)
    .map(([o, i, a, rest]) =>
      pattern.replace(':org', o).replace(':id', i).replace(':act', a).replace('*', rest),
    );
}

const patterns = (method: string) =>
  fc.constantFrom(...routes.filter((route) => route.method === method).map(({ url }) => url));

/** Fields of a page, some of them odd, some of them twice. */
function oddFields(pattern: string, further: readonly string[] = []): fc.Arbitrary<string> {
  const own = [...(namesOf.get(pattern) ?? []), ...further];
  const name = fc.oneof(
    { weight: own.length === 0 ? 0 : 5, arbitrary: fc.constantFrom(...own, 'x[]') },
    { weight: 1, arbitrary: fc.constantFrom(...names) },
  );
  return fc
    .tuple(fc.array(fc.tuple(name, odd), { minLength: 1, maxLength: 3 }), fc.boolean())
    .map(([pairs, twice]) =>
      (twice ? [...pairs, ...pairs] : pairs).map(([key, value]) => `${key}=${value}`).join('&'),
    );
}

it(
  'no address and no query gets a failure: each is answered by a page, for every visitor [dashboard.odd-requests]',
  { timeout: 300_000 },
  async () => {
    const further = ['after', 'days', 'by', 'and', 'from', 'to', 'do', 'done', 'part', 'rows'];
    further.push('token', 'show', 'find', 'search', 'q');
    const reads = patterns('GET').chain((pattern) =>
      fc.record({
        role: roleFor(pattern),
        request: fc
          .tuple(addressOf(pattern), oddFields(pattern, further))
          .map(([url, query]) => ({ method: 'GET' as const, url: `${url}?${query}` })),
      }),
    );
    expect(await problemsOf(reads, READS)).toEqual([]);
  },
);

it(
  'no form gets a failure, with any text in its fields: it is taken or told what is wrong [dashboard.odd-requests]',
  { timeout: 300_000 },
  async () => {
    const forms = patterns('POST')
      // They would end the sessions that the others are sent with.
      .filter((pattern) => !/sign-out|sessions|account\/password$/.test(pattern))
      .chain((pattern) => fc.tuple(roleFor(pattern), addressOf(pattern), oddFields(pattern)))
      .map(([role, url, fields]): Asked => {
        const taken = new URLSearchParams({ ...PLAUSIBLE, form: tokens[role]! });
        for (const field of fields.split('&')) taken.delete(field.split('=', 1)[0]!);
        return {
          role,
          request: {
            method: 'POST',
            url,
            payload: `${taken.toString()}&${fields}`,
            headers: { 'content-type': 'application/x-www-form-urlencoded' },
          },
        };
      });
    expect(await problemsOf(forms, FORMS)).toEqual([]);
  },
);

it('a day that the calendar has not is none, and a form with a character that no store holds is refused whole [dashboard.odd-requests]', async () => {
  const owner = visitors['owner']!;
  const page = await owner.get(`/dashboard/${orgs[0]}/usage?from=2026-02-31&to=2026-03-01`);
  expect([page.statusCode, page.payload.includes('Name both days')]).toEqual([400, true]);
  const reset = { form: tokens['nobody']!, token: 'a\0b', password: 'correct horse battery' };
  const refused = await visitors['nobody']!.post('/dashboard/password/reset', reset);
  expect(refused.payload).toContain('contains a NUL');
  const forgot = { form: tokens['nobody']!, email: 'no address' };
  await visitors['nobody']!.post('/dashboard/password/forgot', forgot);
  expect(errors).toEqual([]);
});

/** What most fields take, so that what is odd in one of them is come to. */
const PLAUSIBLE: Readonly<Record<string, string>> = {
  name: 'Someone',
  email: 'someone@person.example',
  password: 'correct horse battery',
  token: 'a-token',
  plan: 'audit_plus',
  billing: 'billing@person.example',
  'billing-name': 'Bill',
  technical: 'technical@person.example',
  'technical-name': 'Tess',
  country: 'FR',
  industry: 'retail',
  'party-0': 'Dora',
  'country-0': 'FR',
  'role-0': 'owner',
  scope: 'inference:write',
  why: 'rotated',
  kind: 'service',
  digest: 'ab'.repeat(32),
  signatory: 'Bill',
  signed: '2026-01-02',
  decision: 'approved',
  'approved-note': 'read',
  'suspend-reason': 'unpaid',
  'reinstate-reason': 'paid',
  rps: '1',
  burst: '2',
  day: '3',
  streams: '4',
  declared_by: 'Tess',
};

it(
  'methods, bodies and types that no page takes are told so by a page [dashboard.odd-requests]',
  { timeout: 300_000 },
  async () => {
    const method = fc.constantFrom('GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS');
    const type = fc.constantFrom(
      'application/json',
      'multipart/form-data; boundary=x',
      'text/plain',
      'application/x-www-form-urlencoded; charset=utf-16',
      '',
    );
    const payload = fc.constantFrom(
      '',
      '{"form":1}',
      '%',
      '&&&=',
      `a=${'x'.repeat(1_100_000)}`,
      'a&'.repeat(100_000),
    );
    const strayed = fc
      .constantFrom(...routes.map(({ url }) => url), '/dashboard/*', '/dashboard/:org/*')
      .chain((pattern) =>
        fc.record({
          role: roleFor(pattern),
          request: fc
            .tuple(method, addressOf(pattern), type, payload)
            .map(([verb, url, media, body]) => ({
              method: verb as 'GET',
              url,
              ...(verb === 'GET' || verb === 'HEAD' ? {} : { payload: body }),
              headers: media === '' ? {} : { 'content-type': media },
            })),
        }),
      );
    expect(await problemsOf(strayed, STRAYED)).toEqual([]);
  },
);
