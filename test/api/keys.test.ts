import { DAY_MS } from '#shared/kernel/time.ts';
import { describe, expect, it } from 'vitest';
import { SCOPES } from '#shared/keys/credential.ts';
import { createAccountCalls, refusalOf } from '#test/support/account-calls.ts';
import { activeAccount, OPERATOR } from '#test/support/accounts.ts';
import { createTestDatabase } from '#test/support/database.ts';

const database = await createTestDatabase();
const { call, edge, organisation, registries } = await createAccountCalls(database);

describe('POST /keys', () => {
  it('POST /keys 201: the key is shown once, works at once, and is never shown again [operations.keys, keys.shown-once, keys.active]', async () => {
    const { key } = await organisation();
    const expires = new Date(Date.now() + DAY_MS).toISOString();
    const made = await call(key, 'POST', '/keys', {
      name: 'ci',
      expires_at: expires,
      rate_limit: { requests_per_second: 3 },
    });
    expect(made.status).toBe(201);
    expect(made.headers['cache-control']).toBe('no-store');
    expect(made.body).toMatchObject({
      object: 'api_key',
      name: 'ci',
      state: 'active',
      scopes: ['inference:read', 'inference:write', 'service:read'],
      expires_at: expires,
      rate_limit: { requests_per_second: 3, burst: 12 },
      predecessor_id: null,
      lineage_id: made.body.id,
      last_used_at: null,
    });
    expect(made.body.display).toBe(`${made.body.key.slice(0, 8)}…${made.body.key.slice(-4)}`);
    expect((await call(made.body.key, 'GET', '/account')).status).toBe(200);
    const shown = await call(key, 'GET', `/keys/${made.body.id}`);
    expect(shown.body).not.toHaveProperty('key');
    expect(JSON.stringify((await call(key, 'GET', '/keys')).body)).not.toContain(made.body.key);
  });

  it.each([
    ['admin:keys from a key', { name: 'a', scopes: ['admin:keys'] }, 'invalid_scope', 'scopes'],
    ['an unknown scope', { name: 'a', scopes: ['root'] }, 'invalid_scope', 'scopes'],
    ['no scope', { name: 'a', scopes: [] }, 'invalid_scope', 'scopes'],
    [
      'a past expiry',
      { name: 'a', expires_at: '2001-01-01T00:00:00Z' },
      'invalid_expiry',
      'expires_at',
    ],
    [
      'an expiry that is no time',
      { name: 'a', expires_at: 'soon' },
      'invalid_expiry',
      'expires_at',
    ],
    [
      'a limit above the account’s',
      { name: 'a', rate_limit: { requests_per_second: 201 } },
      'invalid_rate_limit',
      'rate_limit',
    ],
    ['an empty name', { name: ' ' }, 'invalid_name', 'name'],
  ])('400: %s', async (_case, payload, code, param) => {
    const { key } = await organisation();
    expect(refusalOf(await call(key, 'POST', '/keys', payload))).toEqual([400, code, param]);
  });

  it('POST /keys 400: a scope or expiry beyond the plan [codes.keys, scopes.plans]', async () => {
    const account = await activeAccount(registries, 'audit_plus');
    const { plaintext } = await registries.keys.issue(
      account.id,
      { name: 'a', scopes: ['admin:keys'] },
      OPERATOR,
    );
    expect(
      (await call(plaintext, 'POST', '/keys', { name: 'b', scopes: ['service:export'] })).status,
    ).toBe(201);
    await registries.accounts.setPlan(account.id, 'audit', OPERATOR);
    await edge.caughtUp();
    // admin:keys itself is beyond the plan now.
    expect(refusalOf(await call(plaintext, 'POST', '/keys', { name: 'c' }))).toEqual([
      403,
      'insufficient_scope',
      null,
    ]);
  });

  it('POST /keys 401 without a key, 403 without admin:keys', async () => {
    expect(refusalOf(await call(null, 'POST', '/keys', { name: 'a' }))).toEqual([
      401,
      'invalid_api_key',
      null,
    ]);
    const others = SCOPES.filter((scope) => scope !== 'admin:keys');
    const { key } = await organisation('audit_plus', others);
    expect(refusalOf(await call(key, 'POST', '/keys', { name: 'a' }))).toEqual([
      403,
      'insufficient_scope',
      null,
    ]);
  });
});

describe('the acts on a key', () => {
  it('a key leaked by a choice, made at once or later, and never by a word; then support brings it back with a reason, and no key', async () => {
    const { key, id: orgId } = await organisation();
    const made = await call(key, 'POST', '/keys', { name: 'prod' });
    const path = `/keys/${made.body.id}`;
    for (const restorer of [OPERATOR, { ...OPERATOR, ticket: 'T-4711' }]) {
      const gone = await call(key, 'POST', `${path}/revoke`, { reason: 'in a log', leaked: true });
      expect(gone.body).toMatchObject({ state: 'revoked', leaked: true });
      const refused = await call(key, 'POST', `${path}/restore`);
      expect(refusalOf(refused)).toEqual([409, 'key_state_conflict', 'id']);
      const restore = (reason?: string) =>
        registries.keys.restore(orgId, made.body.id, restorer, reason);
      await expect(restore(' ')).rejects.toMatchObject({ code: 'invalid_reason' });
      const back = await restore('it stood in a private log');
      expect(back).toMatchObject({ state: 'active', leaked: false });
    }
    for (const reason of ['it was not exposed', 'Leaked? No: rotated', 'compromised']) {
      const gone = await call(key, 'POST', `${path}/revoke`, { reason });
      expect(gone.body).toMatchObject({ state: 'revoked', leaked: false });
      expect((await call(key, 'POST', `${path}/restore`)).status).toBe(200);
    }
    await call(key, 'POST', `${path}/revoke`);
    expect((await call(key, 'POST', `${path}/revoke`, { leaked: true })).body.leaked).toBe(true);
    expect((await call(key, 'POST', `${path}/restore`)).status).toBe(409);
    expect((await call(key, 'POST', `${path}/revoke`, { leaked: true })).status).toBe(409);
    const { items } = await registries.audit.list({ orgId, limit: 1, order: 'desc' });
    expect(items[0]).toMatchObject({ action: 'key.leaked', subject: made.body.id, reason: null });
  });

  it('rotate, revoke and restore a key: each answer, and each entry of the audit log [operations.keys, codes.keys, keys.revoked, keys.audited, accounts.rotation]', async () => {
    const { key, keyId } = await organisation();
    const made = await call(key, 'POST', '/keys', { name: 'prod', scopes: ['service:export'] });
    const rotated = await call(key, 'POST', `/keys/${made.body.id}/rotate`);
    expect(rotated.status).toBe(201);
    expect(rotated.body).toMatchObject({
      scopes: ['service:export'],
      lineage_id: made.body.id,
      predecessor_id: made.body.id,
    });
    expect((await call(made.body.key, 'GET', '/account')).status).toBe(200);

    const revoked = await call(key, 'POST', `/keys/${made.body.id}/revoke`, {
      reason: 'rotated',
    });
    expect(revoked.body).toMatchObject({ state: 'revoked' });
    await edge.caughtUp();
    const window = Date.parse(revoked.body.restorable_until) - Date.parse(revoked.body.revoked_at);
    expect(window).toBe(90 * DAY_MS);
    expect(refusalOf(await call(made.body.key, 'GET', '/account'))).toEqual([
      401,
      'revoked_api_key',
      null,
    ]);
    expect(refusalOf(await call(key, 'POST', `/keys/${made.body.id}/revoke`))).toEqual([
      409,
      'key_state_conflict',
      'id',
    ]);
    expect(refusalOf(await call(key, 'POST', `/keys/${made.body.id}/rotate`))).toEqual([
      409,
      'key_state_conflict',
      'id',
    ]);

    expect((await call(key, 'POST', `/keys/${made.body.id}/restore`)).body.state).toBe('active');
    await edge.caughtUp();
    expect((await call(made.body.key, 'GET', '/account')).status).toBe(200);
    expect(refusalOf(await call(key, 'POST', `/keys/${made.body.id}/restore`))).toEqual([
      409,
      'key_state_conflict',
      'id',
    ]);

    const log = await call(key, 'GET', `/audit-log?order=asc&actor=${keyId}`);
    expect(
      log.body.data.map((entry: { action: string; reason: string | null }) => [
        entry.action,
        entry.reason,
      ]),
    ).toEqual([
      ['key.issued', null],
      ['key.rotated', null],
      ['key.revoked', 'rotated'],
      ['key.restored', null],
    ]);
    expect(log.body.data[0]).toMatchObject({
      object: 'audit_log_entry',
      actor: { kind: 'key', id: keyId },
      address: '127.0.0.1',
      subject: made.body.id,
    });
  });

  it('POST /keys/{id}/revoke 400: a key cannot revoke itself [scopes.no-escalation]', async () => {
    const { key, keyId } = await organisation();
    expect(refusalOf(await call(key, 'POST', `/keys/${keyId}/revoke`))).toEqual([
      400,
      'invalid_key',
      'id',
    ]);
    expect((await call(key, 'GET', '/account')).status).toBe(200);
  });

  it('a key of another organisation is 404, as one that does not exist', async () => {
    const { key } = await organisation();
    const theirs = await organisation();
    for (const id of [theirs.keyId, 'key_none', 'key%20none']) {
      expect(refusalOf(await call(key, 'GET', `/keys/${id}`))).toEqual([
        404,
        'key_not_found',
        'id',
      ]);
      for (const act of ['rotate', 'revoke', 'restore']) {
        expect(refusalOf(await call(key, 'POST', `/keys/${id}/${act}`))).toEqual([
          404,
          'key_not_found',
          'id',
        ]);
      }
    }
  });
});

describe('lists', () => {
  it('GET /keys pages by cursor, both ways', async () => {
    const { key } = await organisation();
    for (let i = 0; i < 4; i += 1) await call(key, 'POST', '/keys', { name: `k${i}` });
    const all = await call(key, 'GET', '/keys');
    expect(all.body).toMatchObject({ object: 'list', has_more: false });
    expect(all.body.data).toHaveLength(5);
    const first = await call(key, 'GET', '/keys?limit=2');
    const second = await call(key, 'GET', `/keys?limit=3&after=${first.body.last_id}`);
    expect([...first.body.data, ...second.body.data]).toEqual(all.body.data);
    expect([first.body.has_more, second.body.has_more]).toEqual([true, false]);
    expect(first.body.first_id).toBe(first.body.data[0].id);
    const upwards = await call(key, 'GET', '/keys?order=asc');
    expect(upwards.body.data).toEqual(all.body.data.toReversed());
  });

  it('GET /audit-log shows the chain, filters, and refuses a cursor that is not its own', async () => {
    const { key } = await organisation();
    const other = await organisation();
    const whole = await call(key, 'GET', '/audit-log?order=asc&limit=100');
    const entries = whole.body.data as {
      id: string;
      previous_hash: string;
      hash: string;
      sequence: number;
    }[];
    for (const [at, entry] of entries.entries()) {
      expect(entry.sequence).toBe(at);
      expect(entry.previous_hash).toBe(entries[at - 1]?.hash ?? '0'.repeat(64));
    }
    const issued = await call(key, 'GET', '/audit-log?action=key.issued');
    expect(issued.body.data).toHaveLength(1);
    const foreign = await call(other.key, 'GET', `/audit-log?after=${entries[0]!.id}`);
    expect(refusalOf(foreign)).toEqual([400, 'invalid_after', 'after']);
  });

  it.each(['/keys?limit=0', '/keys?limit=101', '/audit-log?order=up', '/keys?limit=x'])(
    '400: %s',
    async (path) => {
      const { key } = await organisation();
      expect((await call(key, 'GET', path)).status).toBe(400);
    },
  );
});

it('the reason of a revocation is taken as it comes, and kept on one line that turns no direction', async () => {
  const { key, id: orgId } = await organisation();
  const made = await call(key, 'POST', '/keys', { name: 'odd' });
  const reason = 'seen\nin \u001b[2Ja log\u202e';
  const revoked = await call(key, 'POST', `/keys/${made.body.id}/revoke`, { reason });
  expect(revoked.status).toBe(200);
  const { items } = await registries.audit.list({ orgId, limit: 1, order: 'desc' });
  expect(items[0]!.reason).toBe('seen in  [2Ja log');
});

describe('text that no database can hold', () => {
  it('text that no database can hold breaks neither an act nor the chain that records it', async () => {
    const { key, id } = await organisation();
    const made = await call(key, 'POST', '/keys', { name: 'odd' });
    const reason = 'lone\ud800surrogate and a nul \u0000';
    const revoked = await call(key, 'POST', `/keys/${made.body.id}/revoke`, { reason });
    expect(revoked.status).toBe(200);
    for await (const verdict of registries.audit.verify(id)) expect(verdict.fault).toBeNull();
    const half = await call(key, 'POST', '/keys', { name: 'half \ud800' });
    expect(refusalOf(half)).toEqual([400, 'invalid_name', 'name']);
    for (const query of ['after=%00', 'action=%00', 'actor=%00']) {
      expect((await call(key, 'GET', `/audit-log?${query}`)).status).toBeLessThan(500);
    }
  });
});
