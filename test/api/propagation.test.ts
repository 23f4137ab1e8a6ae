import { describe, expect, it } from 'vitest';
import { createAccountEdge, type AccountEdge } from '#test/support/account-edge.ts';
import { activeAccount, createRegistries, OPERATOR } from '#test/support/accounts.ts';
import { createTestDatabase } from '#test/support/database.ts';

const database = await createTestDatabase();
const registries = createRegistries(database.poolAs('docket_operator'));
const one = await createAccountEdge(database);
const two = await createAccountEdge(database);
const deaf = await createAccountEdge(database, { listens: false });

/** The promise for a process that hears no notice. */
const WITHOUT_NOTICE_MS = 5_000;

async function ask(edge: AccountEdge, key: string): Promise<string> {
  const reply = await edge.app.inject({
    url: '/v1/account',
    headers: { authorization: `Bearer ${key}` },
  });
  return reply.statusCode === 200 ? 'admitted' : reply.json().error.code;
}

async function organisation() {
  const account = await activeAccount(registries, 'enterprise');
  const issued = await registries.keys.issue(
    account.id,
    { name: 'a', scopes: ['admin:keys', 'service:read'] },
    OPERATOR,
  );
  for (const edge of [one, two, deaf]) expect(await ask(edge, issued.plaintext)).toBe('admitted');
  return { id: account.id, key: issued.plaintext, keyId: issued.key.id };
}

describe('a change made through one process', () => {
  it('a revocation through one process is known to the other by its notice [survives.revocation]', async () => {
    const { key, id } = await organisation();
    const target = await registries.keys.issue(id, { name: 'target' }, OPERATOR);
    expect(await ask(two, target.plaintext)).toBe('admitted');
    const reply = await one.app.inject({
      method: 'POST',
      url: `/v1/keys/${target.key.id}/revoke`,
      headers: { authorization: `Bearer ${key}` },
    });
    expect(reply.statusCode).toBe(200);
    await two.caughtUp();
    expect(await ask(two, target.plaintext)).toBe('revoked_api_key');
  });

  it('suspension, reinstatement, plan and limits reach both processes [accounts.suspended]', async () => {
    const { key, id } = await organisation();
    const steps: [() => Promise<unknown>, string][] = [
      [() => registries.accounts.suspend(id, OPERATOR, 'looking into it'), 'customer_suspended'],
      [() => registries.accounts.reinstate(id, OPERATOR, 'all is well'), 'admitted'],
      [() => registries.accounts.close(id, OPERATOR, 'the end'), 'revoked_api_key'],
    ];
    for (const [change, outcome] of steps) {
      await change();
      await Promise.all([one.caughtUp(), two.caughtUp()]);
      expect([await ask(one, key), await ask(two, key)]).toEqual([outcome, outcome]);
    }
    const other = await organisation();
    const limits = { requestsPerSecond: 3, burst: 4, requestsPerDay: 5, concurrentStreams: 6 };
    await registries.accounts.setLimits(other.id, limits, OPERATOR);
    await two.caughtUp();
    expect((await two.cache.lookup(other.key))?.limits).toEqual(limits);
  });

  it('a process that hears no notice knows of a revocation within five seconds [survives.revocation]', async () => {
    const { key, keyId, id } = await organisation();
    await registries.keys.revoke(id, keyId, OPERATOR);
    deaf.clock.advance(WITHOUT_NOTICE_MS - 400);
    expect(await ask(deaf, key)).toBe('revoked_api_key');
  });

  it('a process knows what it missed as soon as its channel is back', async () => {
    const { key, keyId, id } = await organisation();
    const back = [one.feedBack(), two.feedBack()];
    // The listeners are cut and the key revoked in one transaction, so that no process hears the notice.
    const client = await database.pool.connect();
    await client.query(
      `select pg_terminate_backend(pid) from pg_stat_activity
       where datname = current_database() and application_name = 'feed of an edge'`,
    );
    client.release();
    await registries.keys.revoke(id, keyId, OPERATOR);
    await Promise.all(back);
    expect([await ask(one, key), await ask(two, key)]).toEqual([
      'revoked_api_key',
      'revoked_api_key',
    ]);
  });

  it('a restored and a new key work on every process at once', async () => {
    const { key, keyId, id } = await organisation();
    await registries.keys.revoke(id, keyId, OPERATOR);
    await Promise.all([one.caughtUp(), two.caughtUp()]);
    expect(await ask(two, key)).toBe('revoked_api_key');
    await registries.keys.restore(id, keyId, OPERATOR);
    await Promise.all([one.caughtUp(), two.caughtUp()]);
    expect([await ask(one, key), await ask(two, key)]).toEqual(['admitted', 'admitted']);
    const fresh = await registries.keys.issue(id, { name: 'fresh' }, OPERATOR);
    for (const edge of [one, two, deaf]) expect(await ask(edge, fresh.plaintext)).toBe('admitted');
  });
});
