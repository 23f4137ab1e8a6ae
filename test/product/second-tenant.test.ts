import { beforeAll, expect, it } from 'vitest';
import { SCOPES } from '#shared/keys/credential.ts';
import { ApiDescription } from '#test/support/api-description.ts';
import { chatBody, post } from '#test/support/calls.ts';
import { newOrganisation } from '#test/support/organisations.ts';
import { integrated } from '#test/support/receipts.ts';
import { joinProduct } from '#test/support/product.ts';
import type { Product } from '#test/support/system.ts';
import { until } from '#test/support/until.ts';

/** What operations of one thing are sent, where they want a body. */
const BODIES: Record<string, object> = {
  rotateKey: {},
  revokeKey: { reason: 'leaked' },
  restoreKey: {},
  recalculateReceipt: { reason: 'a guess' },
};

let system: Product;
let owner: string;
let stranger: string;
/** Things of the owner, by the beginning of the path below which they are found. */
let ids: Record<string, string>;

beforeAll(async () => {
  system = await joinProduct();
  const scopes = [...SCOPES];
  owner = await (await newOrganisation(system, {})).newKey({ scopes });
  stranger = await (await newOrganisation(system, {})).newKey({ scopes });
  const answer = await post(system, '/chat/completions', chatBody(), { key: owner });
  await answer.text();
  await integrated(system);
  const made = await post(system, '/exports', { format: 'evidence-pack' }, { key: owner });
  const key = await post(system, '/keys', { name: 'of the owner' }, { key: owner });
  ids = {
    '/receipts/': answer.headers.get('x-receipt-id')!,
    '/requests/': answer.headers.get('x-request-id')!,
    '/exports/': ((await made.json()) as { id: string }).id,
    '/keys/': ((await key.json()) as { id: string }).id,
  };
  // Rows of requests are written once in a while, in batches.
  await until(
    async () => (await call(owner, 'get', `/requests/${ids['/requests/']}`)).status === 200,
    'the request is on record',
  );
});

const call = (key: string, method: string, path: string, body?: object): Promise<Response> =>
  fetch(`${system.baseUrl}${path}`, {
    method: method.toUpperCase(),
    headers: {
      authorization: `Bearer ${key}`,
      ...(body === undefined ? {} : { 'content-type': 'application/json' }),
    },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });

it('on every route that names a thing, another organisation’s thing is one that does not exist, also to change', async () => {
  const { operations } = await ApiDescription.of(system.root);
  const tried: string[] = [];
  for (const { method, path, operation } of operations) {
    const place = path.replace(/^\/v1/, '');
    const [prefix, id] = Object.entries(ids).find(([start]) => place.startsWith(`${start}{`)) ?? [];
    if (prefix === undefined || operation.security?.length === 0) continue;
    const named = place.replace(/\{[^}]+\}/, id!);
    const body =
      operation.requestBody === undefined ? undefined : (BODIES[operation.operationId] ?? {});
    const answer = await call(stranger, method, named, body);
    const { error } = (await answer.json()) as { error?: { code: string; type: string } };
    // As an id of the right form that names nothing.
    const nobodys = named.replace(/_[0-9A-Z]{26}/, `_${'0'.repeat(25)}1`);
    const nothing = await call(stranger, method, nobodys, body);
    const what = `${method} ${named}`;
    expect([what, answer.status, error]).toEqual([
      what,
      404,
      ((await nothing.json()) as { error: object }).error,
    ]);
    expect(nothing.status, what).toBe(404);
    tried.push(`${method} ${path}`);
  }
  // Every thing was tried: read, and where it can be, changed.
  expect(tried.length).toBeGreaterThanOrEqual(12);
  for (const [prefix, id] of Object.entries(ids)) {
    expect((await call(owner, 'get', `${prefix}${id}`)).status, prefix).toBe(200);
    expect(
      tried.some((one) => one.includes(prefix)),
      prefix,
    ).toBe(true);
  }
});

it('no list of another organisation holds what is not its own', async () => {
  for (const path of ['/receipts', '/requests', '/exports', '/keys', '/audit-log', '/usage']) {
    const text = await (await call(stranger, 'get', path)).text();
    for (const id of Object.values(ids)) expect(text, path).not.toContain(id);
  }
});
