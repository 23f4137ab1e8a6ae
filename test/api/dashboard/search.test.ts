import { beforeAll, expect, it } from 'vitest';
import { answerIdOf } from '#shared/kernel/answer-ids.ts';
import { newId } from '#shared/kernel/system/new-id.ts';
import type { OrganisationRole } from '#shared/persons/roles.ts';
import { writeRequests } from '#shared/requests/postgres/requests.ts';
import { activeAccount, createRegistries, OPERATOR } from '#test/support/accounts.ts';
import { newPerson, openDashboardEdge, type TestBrowser } from '#test/support/dashboard.ts';
import { createTestDatabase } from '#test/support/database.ts';
import {
  inferenceRecord,
  issueReceipts,
  makeReceiptSigner,
  receiptPools,
} from '#test/support/issuing.ts';
import { requestRow } from '#test/support/requests.ts';

const database = await createTestDatabase();
const registries = createRegistries(database.pool);
const { browser, errors } = await openDashboardEdge(database);

/** An organisation with one of each thing that is found. */
async function furnished() {
  const { id: org } = await activeAccount(registries);
  const { key, plaintext: secret } = await registries.keys.issue(
    org,
    { name: 'Nightly batch' },
    OPERATOR,
  );
  const request = newId('req');
  const record = inferenceRecord({ orgId: org, keyId: key.id, requestId: request });
  const [receipt] = await issueReceipts(receiptPools(database), makeReceiptSigner().signer, [
    record,
  ]);
  await writeRequests(database.pool, [requestRow({ orgId: org, keyId: key.id, id: request })]);
  return { org, key, secret, request, receipt: receipt! };
}
let [ours, theirs]: Awaited<ReturnType<typeof furnished>>[] = [];
beforeAll(async () => {
  [ours, theirs] = [await furnished(), await furnished()];
});

let last = 0;
async function someone(role: OrganisationRole, ...orgs: string[]): Promise<TestBrowser> {
  const places = orgs.map((orgId) => ({ kind: 'organisation', orgId, role }) as const);
  const visitor = browser({ address: `192.0.2.${(last += 1)}` });
  await visitor.signIn(await newPerson(database.pool, places, 'Grace Hopper'));
  return visitor;
}
const search = async (visitor: TestBrowser, q: string, more: Record<string, string> = {}) =>
  visitor.get(`/dashboard/search?${new URLSearchParams({ q, ...more }).toString()}`);
/** The addresses of what is found. */
const foundBy = async (...asked: Parameters<typeof search>): Promise<string[]> => {
  const { statusCode, payload } = await search(...asked);
  expect(statusCode).toBe(200);
  const found = /id="found">([^]*)<\/main>/.exec(payload)![1]!;
  return [...found.matchAll(/href="([^"]+)"/g)].map(([, address]) => address!);
};

it('an id, or an address with one, leads to its page at once; one of another organisation leads to none [dashboard.search, dashboard.organisations]', async () => {
  const visitor = await someone('member', ours!.org);
  const { org, key, request, receipt } = ours!;
  const answer = answerIdOf('chat.completions', request)!;
  const led = [];
  for (const id of [key.id, receipt, request, answer, `https://x.example/receipts/${receipt}`]) {
    led.push((await search(visitor, ` ${id} `)).headers.location);
  }
  const page = (path: string) => `/dashboard/${org}/${path}`;
  expect(led).toEqual([
    page(`keys/${key.id}`),
    page(`receipts/${receipt}`),
    page(`requests/${request}`),
    page(`requests/${request}`),
    page(`receipts/${receipt}`),
  ]);
  // A request that is forgotten leads to its receipt.
  const forgotten = newId('req');
  const record = inferenceRecord({ orgId: org, keyId: key.id, requestId: forgotten });
  const [left] = await issueReceipts(receiptPools(database), makeReceiptSigner().signer, [record]);
  expect((await search(visitor, forgotten)).headers.location).toBe(page(`receipts/${left!}`));
  for (const id of [theirs!.key.id, theirs!.receipt, theirs!.request, newId('key')]) {
    expect(await foundBy(visitor, id)).toEqual([]);
  }
  expect((await search(visitor, 'x', { in: theirs!.org })).statusCode).toBe(404);
  expect(errors).toEqual([]);
});

it('keys are found by name, first eight and last four characters, people by name and address, pages by what the role opens, and the documentation [dashboard.search, dashboard.roles]', async () => {
  const auditor = await someone('auditor', ours!.org);
  const { org, key } = ours!;
  const { head, tail } = key.display;
  for (const q of ['NIGHTLY', head, tail, `${head}…${tail}`]) {
    expect(await foundBy(auditor, q)).toContain(`/dashboard/${org}/keys/${key.id}`);
  }
  const people = await foundBy(auditor, 'grace h');
  expect(people.every((address) => address.startsWith(`/dashboard/${org}/team#usr_`))).toBe(true);
  expect(people.length).toBeGreaterThan(0);
  expect(await foundBy(auditor, 'audit log')).toContain(`/dashboard/${org}/audit-log`);
  expect(await foundBy(auditor, 'webhooks')).not.toContain(`/dashboard/${org}/webhooks`);
  const owner = await someone('owner', ours!.org);
  expect(await foundBy(owner, 'webhooks')).toContain(`/dashboard/${org}/webhooks`);
  expect(await foundBy(owner, 'reviews')).toEqual([]);
  expect(await foundBy(owner, 'revoked_api_key')).toContain('/docs#error-revoked-api-key');
  // What stands for anything in a pattern stands for itself.
  for (const q of ['%', '_______', '\\', '', ' ']) {
    expect(await foundBy(owner, q)).not.toContain(`/dashboard/${org}/keys/${key.id}`);
  }
});

it('who is in several organisations searches all of them, or one; a closed one has its receipts alone, and one that asks for more is left out [dashboard.search, dashboard.closed, dashboard.second-factor-required]', async () => {
  const [third, closed] = [await furnished(), await furnished()];
  const owner = await someone('owner', ours!.org, third.org, closed.org);
  await registries.accounts.close(closed.org, OPERATOR, 'asked for');
  const key = (of: typeof third) => `/dashboard/${of.org}/keys/${of.key.id}`;
  expect((await foundBy(owner, 'nightly')).toSorted()).toEqual([key(ours!), key(third)].toSorted());
  expect(await foundBy(owner, 'nightly', { in: third.org })).toEqual([key(third)]);
  expect((await search(owner, closed.receipt)).headers.location).toContain(closed.org);
  expect(await foundBy(owner, closed.key.id)).toEqual([]);
  await database.pool.query('insert into persons.second_factor_rule values ($1, now())', [
    third.org,
  ]);
  expect(await foundBy(owner, 'nightly')).toEqual([key(ours!)]);
  expect(await foundBy(owner, third.receipt)).toEqual([]);
});

it('an operator is led by an id of any organisation to what is known of it, and finds accounts by name; others find neither [dashboard.search, dashboard.operators]', async () => {
  const operator = browser({ address: `192.0.2.${(last += 1)}` });
  await operator.signIn(await newPerson(database.pool, [{ kind: 'staff', role: 'operator' }]));
  const { org, request, receipt } = theirs!;
  const lookUp = `/dashboard/service/look-up?q=${request}`;
  const answer = answerIdOf('chat.completions', request)!;
  for (const id of [request, receipt, answer, `https://x.example/receipts/${receipt}`]) {
    expect((await search(operator, id)).headers.location).toBe(lookUp);
  }
  expect((await operator.get(lookUp)).payload).toContain(`/accounts/${org}"`);
  const account = `/dashboard/service/accounts/${org}`;
  expect((await search(operator, org)).headers.location).toBe(account);
  expect(await foundBy(operator, newId('org'))).toEqual([]);
  const { name } = await registries.accounts.get(org);
  expect(await foundBy(operator, name.toUpperCase())).toContain(account);
  expect(await foundBy(operator, theirs!.key.display.head)).toContain(account);
  const reviewer = browser({ address: `192.0.2.${(last += 1)}` });
  await reviewer.signIn(await newPerson(database.pool, [{ kind: 'staff', role: 'reviewer' }]));
  for (const other of [reviewer, await someone('owner', ours!.org)]) {
    for (const q of [request, org]) expect(await foundBy(other, q)).toEqual([]);
    expect(await foundBy(other, name)).not.toContain(account);
  }
  expect(errors).toEqual([]);
});

it('of a whole key that was typed nothing is shown but its first characters, and what to do is said [dashboard.search, dashboard.keys]', async () => {
  const { payload } = await search(await someone('owner', ours!.org), ours!.secret);
  expect(payload).toContain('That was a whole key');
  expect(payload).not.toContain(ours!.secret.slice(0, 9));
  expect(payload).toContain(`keys/${ours!.key.id}`);
});

it('a whole key in an address stands in none that a sign-in leads to [dashboard.search, dashboard.keys]', async () => {
  const searched = `/dashboard/search?q=${ours!.secret}`;
  const shown = ours!.secret.slice(0, 8);
  const back = `to=${encodeURIComponent(`/dashboard/search?q=${shown}`)}`;
  const stranger = browser();
  const signIn = `/dashboard/sign-in?${back}`;
  expect((await stranger.get(searched)).headers.location).toBe(signIn);
  const typed = `/dashboard/sign-in?to=${encodeURIComponent(searched)}`;
  expect((await stranger.get(typed)).headers.location).toBe(signIn);
  expect((await stranger.get(signIn)).payload).not.toContain(ours!.secret.slice(0, 9));
});
