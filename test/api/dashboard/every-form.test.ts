/** What holds for every address of the dashboard, those to come included: they are read from its routes. */
import { expect, it } from 'vitest';
import { newId } from '#shared/kernel/system/new-id.ts';
import type { Place } from '#shared/persons/postgres/persons.ts';
import { activeAccount, createRegistries, OPERATOR } from '#test/support/accounts.ts';
import { createTestDatabase } from '#test/support/database.ts';
import {
  formTokenOf,
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
} from '#test/support/issuing.ts';
import { publishHeads } from '#test/support/ledger.ts';

const database = await createTestDatabase();
const registries = createRegistries(database.pool);
const { browser, dashboard, errors } = await openDashboardEdge(database);
const [ours, theirs] = await Promise.all([activeAccount(registries), activeAccount(registries)]);

const { get, post: forms } = await routesOf(dashboard);
const routes = [
  ...get.map((url) => ({ method: 'GET', url })),
  ...forms.map((url) => ({ method: 'POST', url })),
];

/** A receipt in the ledger, with which there can be a pack. */
async function receiptOf(org: string): Promise<string> {
  const pools = receiptPools(database);
  const record = inferenceRecord({ orgId: org, requestId: newId('req') });
  const [id] = await issueReceipts(pools, makeReceiptSigner().signer, [record]);
  await publishHeads(pools.ledger);
  return id!;
}

/** Ids of an organisation's things, by what stands before them in an address. */
const idsOf = async (org: string): Promise<Record<string, string>> => ({
  receipts: await receiptOf(org),
  keys: (await registries.keys.issue(org, { name: 'a key' }, OPERATOR)).key.id,
  exports: (await dashboard.exports.exports.create(org, {}, OPERATOR)).id,
  webhooks: (
    await dashboard.webhooks.make(
      org,
      { address: 'https://hooks.example/x', description: 'a webhook', events: ['key.leaked'] },
      OPERATOR,
    )
  ).endpoint.id,
  budgets: (
    await dashboard.budgets.make(
      org,
      {
        name: 'a budget',
        scope: 'organisation',
        target: null,
        measure: 'tokens',
        period: 'day',
        mode: 'hard',
        limit: 5,
        shares: [],
      },
      OPERATOR,
    )
  ).id,
  reviews: newId('rev'),
  accounts: org,
});
const ourIds = await idsOf(ours.id);
const theirIds = await idsOf(theirs.id);

/** An address of the route: of this organisation, with ids of that one. */
const addressOf = (url: string, org: string, ids: Record<string, string>): string =>
  url
    .replace(':org', org)
    .replace(/(\w+)\/:id/, (_, kind: string) => `${kind}/${ids[kind] ?? newId('key')}`)
    .replace(':act', 'suspend')
    .replaceAll(/:\w+/g, 'x')
    .replace('*', 'nothing');

let last = 0;
async function signedIn(...places: Place[]): Promise<{ visitor: TestBrowser; token: string }> {
  const visitor = browser({ address: `203.0.113.${(last += 1)}` });
  await visitor.signIn(await newPerson(database.pool, places));
  return { visitor, token: formTokenOf((await visitor.get('/dashboard/account')).payload) };
}
const part = (role: 'owner' | 'auditor', orgId = ours.id): Place => ({
  kind: 'organisation',
  orgId,
  role,
});

/** Everything that acts write to. */
async function written(): Promise<unknown> {
  const { rows } = await database.pool.query(
    `select (select count(*) from audit_log) as acts, (select count(*) from mail_outbox) as letters,
            (select count(*) from persons.invitation) as invitations, (select count(*) from persons.session) as sessions,
            (select count(*) from persons.membership) as members, (select count(*) from export) as exports`,
  );
  return rows[0];
}

it('every form is refused without its token, with that of another session, and from another site; nothing is written by it [dashboard.forms]', async () => {
  const [owner, other] = [await signedIn(part('owner')), await signedIn(part('owner'))];
  const operator = await signedIn({ kind: 'staff', role: 'operator' });
  const reviewer = await signedIn({ kind: 'staff', role: 'reviewer' });
  const stranger = browser({ address: '203.0.113.200' });
  const token = formTokenOf((await stranger.get('/dashboard/sign-in')).payload);
  const nobody = { visitor: stranger, token };
  const forNobody = /sign-in|sign-up|password\/(forgot|reset)|e-mail|contacts\/confirm/;
  const before = await written();
  const taken: string[] = [];
  for (const url of forms) {
    const who = url.includes('/reviews')
      ? reviewer
      : url.includes('/service')
        ? operator
        : forNobody.test(url)
          ? nobody
          : owner;
    const address = addressOf(url, ours.id, ourIds);
    const answers = [
      await who.visitor.post(address, {}),
      await who.visitor.post(address, { form: other.token }),
    ];
    const elsewhere = browser({ origin: 'https://evil.example', address: '203.0.113.201' });
    for (const [name, value] of who.visitor.cookies) elsewhere.cookies.set(name, value);
    answers.push(await elsewhere.post(address, { form: who.token }));
    for (const { statusCode, payload } of answers) {
      if (statusCode !== 403 || !payload.includes('This form did not come from this site')) {
        taken.push(`${statusCode} ${url}`);
      }
    }
  }
  expect(forms.length).toBeGreaterThan(40);
  expect(taken).toEqual([]);
  expect(await written()).toEqual(before);
});

/** What of a form is typed: of a list of keys their ids are chosen, which are no secret. */
const typed = (form: string): string =>
  form.replaceAll(/<label[^>]*>[^<]*<\/label>\s*<select[^]*?<\/select>/g, '');

it('a form that is sent into an address asks for no secret: no password, no key, no token [dashboard.forms]', async () => {
  const [owner, operator] = [
    await signedIn(part('owner')),
    await signedIn({ kind: 'staff', role: 'operator' }, { kind: 'staff', role: 'reviewer' }),
  ];
  const stranger = browser({ address: '203.0.113.202' });
  const [asking, sending]: string[][] = [[], []];
  for (const url of [...get, '/docs']) {
    for (const visitor of [owner.visitor, operator.visitor, stranger]) {
      const { payload } = await visitor.get(addressOf(url, ours.id, ourIds));
      for (const [form] of payload.matchAll(/<form[^]*?<\/form>/g)) {
        if (/^<form[^>]*method="(post|dialog)"/.test(form)) sending!.push(url);
        else if (/type="(password|hidden)"|="dkt_|<label[^>]*>[^<]*\bkeys?\b/i.test(typed(form))) {
          asking!.push(url);
        }
      }
    }
  }
  expect(asking).toEqual([]);
  expect(sending).toContain('/docs');
  expect(new Set(sending).size).toBeGreaterThan(20);
});

it('every address of another organisation, and every id of one in our own, is as one that is not there; nothing is written [dashboard.organisations]', async () => {
  const { visitor, token } = await signedIn(part('owner'));
  const before = await written();
  const found: string[] = [];
  for (const { method, url } of routes) {
    if (!url.includes('/:org') || url.includes('/sso/')) continue;
    const addresses = [addressOf(url, theirs.id, theirIds)];
    if (url.includes(':id')) addresses.push(addressOf(url, ours.id, theirIds));
    for (const address of addresses) {
      const { statusCode } =
        method === 'GET'
          ? await visitor.get(address)
          : await visitor.post(address, { form: token, why: 'rotated', reason: 'x' });
      if (statusCode !== 404) found.push(`${statusCode} ${method} ${address}`);
    }
  }
  expect(found).toEqual([]);
  expect(await written()).toEqual(before);
});

it('an auditor changes nothing by any form but makes packs, and the pages of the service are for its own roles alone [dashboard.roles]', async () => {
  const { visitor, token } = await signedIn(part('auditor'));
  const before = await written();
  const taken: string[] = [];
  for (const { method, url } of routes) {
    const isService = url.includes('/service');
    if (!isService && (method === 'GET' || !url.includes('/:org'))) continue;
    // What one has seen is of oneself.
    if (/^\/dashboard\/:org\/(exports|notifications\/read)$/.test(url)) continue;
    const address = addressOf(url, ours.id, ourIds);
    const { statusCode } =
      method === 'GET'
        ? await visitor.get(address)
        : await visitor.post(address, { form: token, name: 'x', why: 'rotated' });
    const refused = isService ? statusCode === 404 : statusCode === 403 || statusCode === 404;
    if (!refused) taken.push(`${statusCode} ${method} ${url}`);
  }
  expect(taken).toEqual([]);
  expect(await written()).toEqual(before);
  expect(errors).toEqual([]);
});

/** The pages of an organisation, with ids of its own; what is no page for people is left out. */
async function pagesOf(
  visitor: TestBrowser,
  org: string,
  ids: Record<string, string>,
): Promise<{ url: string; statusCode: number; payload: string }[]> {
  const pages = [];
  for (const url of get) {
    if (!url.startsWith('/dashboard/:org')) continue;
    const { statusCode, payload, headers } = await visitor.get(addressOf(url, org, ids));
    if (String(headers['content-type']).startsWith('text/html')) {
      pages.push({ url, statusCode, payload });
    }
  }
  return pages;
}

it('every page of a suspended organisation says so, since when and whom to write to, and offers no form that is refused then [dashboard.suspended]', async () => {
  const { id } = await activeAccount(registries);
  const ids = await idsOf(id);
  const revoked = (await registries.keys.issue(id, { name: 'revoked' }, OPERATOR)).key.id;
  await registries.keys.revoke(id, revoked, OPERATOR);
  const { visitor, token } = await signedIn(part('owner', id));
  const giving = /^<form.*\/keys"|\/keys\/new"|\/rotate"|\/restore"/;
  expect((await visitor.get(`/dashboard/${id}/keys/${revoked}`)).payload).toMatch(/\/restore"/);
  await registries.accounts.suspend(id, OPERATOR, 'a question');
  const pages = await pagesOf(visitor, id, ids);
  pages.push(...(await pagesOf(visitor, id, { ...ids, keys: revoked })));
  expect(pages.length).toBeGreaterThan(20);
  for (const { url, statusCode, payload } of pages) {
    // A page that is not there belongs to no organisation.
    if (statusCode !== 200) continue;
    expect([url, payload]).toEqual([url, expect.stringContaining('suspended pending review')]);
    expect(payload).toMatch(/since\s+<time datetime="[^"]+" title="[^"]+">[^<]+ UTC<\/time>/);
    expect(payload).toContain('mailto:support@docket.example');
    const offered = [...payload.matchAll(/(?:<form[^>]*action|<a[^>]*href)="[^"]*"/g)];
    expect([url, offered.filter(([form]) => giving.test(form)).map(String)]).toEqual([url, []]);
  }
  const said = [];
  for (const act of ['', `/${ids['keys']}/rotate`, `/${revoked}/restore`]) {
    const reply = await visitor.post(`/dashboard/${id}/keys${act}`, { form: token, name: 'x' });
    said.push([reply.statusCode, reply.payload.includes('The organisation is suspended')]);
  }
  expect(said).toEqual([
    [403, true],
    [403, true],
    [403, true],
  ]);
  const revoke = `/dashboard/${id}/keys/${ids['keys']}`;
  expect((await visitor.send(revoke, `${revoke}/revoke`)).statusCode).toBe(303);
});

it('a closed organisation’s owner reads receipts, packs, ledger and audit log for 90 days and nothing else; others have nothing [dashboard.closed]', async () => {
  const { id } = await activeAccount(registries);
  const ids = await idsOf(id);
  const [owner, member] = [
    await signedIn(part('owner', id), part('owner')),
    await signedIn({ kind: 'organisation', orgId: id, role: 'member' }),
  ];
  await registries.accounts.close(id, OPERATOR, 'asked for');
  const read = [];
  for (const { url, statusCode, payload } of await pagesOf(owner.visitor, id, ids)) {
    if (statusCode === 403) expect(payload).toContain('The organisation is closed');
    if (statusCode !== 200) continue;
    read.push(url.replace('/dashboard/:org/', ''));
    expect(payload).toContain('<strong>This organisation is closed</strong>, since');
    const posted = [...payload.matchAll(/<form[^>]*method="post"[^>]*action="([^"]+)"/g)];
    const acts = posted.map(([, action]) => action!.replace(/^.*\/(?=exports|receipts)/, ''));
    expect(acts.filter((act) => !/^(\/dashboard\/sign-out|exports(\/.*)?)$/.test(act))).toEqual([]);
  }
  expect(read).toEqual(
    expect.arrayContaining(['receipts', 'receipts/:id', 'exports', 'ledger', 'audit-log']),
  );
  expect(read.filter((url) => !/^(receipts|exports|ledger|audit-log)/.test(url))).toEqual([]);
  // Where there is another organisation, that one comes first.
  expect((await owner.visitor.get('/dashboard')).headers.location).toContain(ours.id);
  const flag = `/dashboard/${id}/receipts/${ids['receipts']}/flag`;
  expect((await owner.visitor.post(flag, { form: owner.token })).statusCode).toBe(403);
  const receipts = `/dashboard/${id}/receipts`;
  expect((await member.visitor.get(receipts)).statusCode).toBe(404);
  await database.pool.query(
    `update account set state_changed_at = now() - interval '90 days' where id = $1`,
    [id],
  );
  expect((await owner.visitor.get(receipts)).statusCode).toBe(404);
  expect(errors).toEqual([]);
});
