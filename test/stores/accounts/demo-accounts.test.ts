import { mkdtemp, readFile, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { ensureDemoAccounts, PAID_REQUESTS_PER_DAY } from '#embedded/demo-accounts.ts';
import { createAccountRegistry } from '#shared/accounts/postgres/accounts.ts';
import { createSanctionsStore } from '#shared/accounts/postgres/sanctions.ts';
import { createVettings } from '#shared/accounts/postgres/vetting.ts';
import { Vetter } from '#shared/accounts/vetter.ts';
import { createAuditLog } from '#shared/accounts/postgres/audit.ts';
import { createKeyRegistry } from '#shared/keys/postgres/keys.ts';
import { createCredentialSource } from '#shared/keys/postgres/credentials.ts';
import { systemSurroundings } from '#shared/kernel/system/surroundings.ts';
import { authorize } from '#shared/keys/authorize.ts';
import { SCOPES } from '#shared/keys/credential.ts';
import { hashKey } from '#shared/keys/format.ts';
import { createTestDatabase } from '#test/support/database.ts';

const database = await createTestDatabase();
const dataDir = await mkdtemp(join(tmpdir(), 'demo-'));
afterAll(() => rm(dataDir, { recursive: true, force: true }));

/** How often housekeeping screens each applicant, in a row. */
const TIMES = 5;

describe('demo accounts', () => {
  it('work, survive a second start, and are issued anew when their file is gone', async () => {
    const first = await ensureDemoAccounts(database.pool, dataDir);
    const credentials = createCredentialSource(database.poolAs('docket_api'));
    const hash = hashKey(first.keys.enterprise);
    const credential = (await credentials.findByHashes([hash])).get(hash)!;
    for (const scope of SCOPES) {
      authorize(credential, scope, { now: Date.now(), supportEmail: 'support@docket.example' });
    }
    expect(credential.limits).toEqual({
      requestsPerSecond: 1_000_000,
      burst: 1_000_000,
      requestsPerDay: 1_000_000_000_000,
      concurrentStreams: 100_000,
    });
    const file = join(dataDir, 'demo-keys.json');
    expect((await stat(file)).mode & 0o777).toBe(0o600);
    expect(JSON.parse(await readFile(file, 'utf8'))).toEqual(first.keys);

    expect(await ensureDemoAccounts(database.pool, dataDir)).toEqual(first);

    await rm(file);
    const again = await ensureDemoAccounts(database.pool, dataDir);
    expect(again.organisations).toEqual(first.organisations);
    expect(again.keys.enterprise).not.toBe(first.keys.enterprise);
  });

  it('are left suspended by another start, which goes on with the keys that they have and names them', async () => {
    const accounts = createAccountRegistry(database.pool, systemSurroundings);
    const keys = createKeyRegistry(database.pool, systemSurroundings);
    const { organisations, keys: first } = await ensureDemoAccounts(database.pool, dataDir);
    const ada = { kind: 'operator', id: 'ada' } as const;
    const orgId = organisations.audit;
    await accounts.suspend(orgId, ada, 'unpaid');
    const known = (await keys.findByHash(hashKey(first.audit)))!;
    await keys.revoke(orgId, known.id, ada);
    const started = await ensureDemoAccounts(database.pool, dataDir);
    expect(started.keys).toEqual(first);
    expect(started.inactive).toMatchObject([{ id: orgId, state: 'suspended' }]);
    const elsewhere = await ensureDemoAccounts(database.pool, join(dataDir, 'other'));
    expect(elsewhere.keys.audit).toBe('');
    await accounts.reinstate(orgId, ada, 'paid');
    const again = await ensureDemoAccounts(database.pool, dataDir);
    expect(again.inactive).toEqual([]);
    expect([first.audit, '']).not.toContain(again.keys.audit);
  });

  it('have a daily budget while requests may cost money, and none when they do not; what an operator agreed stays', async () => {
    const credentials = createCredentialSource(database.poolAs('docket_api'));
    const accounts = createAccountRegistry(database.pool, systemSurroundings);
    const budget = async (options?: { requestsPerDay: number }): Promise<number> => {
      const { keys } = await ensureDemoAccounts(database.pool, dataDir, options);
      const hash = hashKey(keys.enterprise);
      return (await credentials.findByHashes([hash])).get(hash)!.limits.requestsPerDay;
    };
    expect(await budget({ requestsPerDay: PAID_REQUESTS_PER_DAY })).toBe(200);
    expect(await budget()).toBe(1_000_000_000_000);
    const { organisations } = await ensureDemoAccounts(database.pool, dataDir);
    const agreed = { requestsPerSecond: 1, burst: 1, requestsPerDay: 7, concurrentStreams: 1 };
    await accounts.setLimits(organisations.enterprise, agreed, { kind: 'operator', id: 'ada' });
    expect(await budget({ requestsPerDay: PAID_REQUESTS_PER_DAY })).toBe(7);
    expect(await budget()).toBe(7);
  });

  it('have taken every step of the onboarding, in order, in a sound audit log', async () => {
    const { organisations } = await ensureDemoAccounts(database.pool, dataDir);
    const audit = createAuditLog(database.pool, systemSurroundings);
    const page = await audit.list({
      orgId: organisations.audit,
      limit: 9,
      order: 'asc',
    });
    expect(page.items.map((entry) => entry.action)).toEqual([
      'account.created',
      'account.declared',
      'account.screened',
      'account.referred',
      'account.approved',
      'account.contracted',
      'account.screened',
      'account.activated',
      'key.issued',
    ]);
    for await (const verdict of audit.verify()) expect(verdict.fault).toBeNull();
  });

  it('are made while housekeeping screens the same applicants', async () => {
    const { pool } = await createTestDatabase();
    const vettings = createVettings(pool, systemSurroundings);
    const lists = createSanctionsStore(pool, systemSurroundings);
    const vetter = new Vetter({ vettings, lists, monotonicNow: () => performance.now() });
    const directory = await mkdtemp(join(dataDir, 'beside-'));
    const making = { isOver: false };
    const made = ensureDemoAccounts(pool, directory).finally(() => (making.isOver = true));
    const screened = new Map<string, number>();
    const housekeeping = (async () => {
      while (!making.isOver) {
        const { rows } = await pool.query<{ id: string }>(
          `select id from account where state = 'in_review'`,
        );
        for (const { id } of rows.filter((row) => (screened.get(row.id) ?? 0) < TIMES)) {
          screened.set(id, (screened.get(id) ?? 0) + 1);
          await vetter.vet(id, 'list_import');
        }
      }
    })();
    expect(Object.keys((await made).keys)).toHaveLength(3);
    await housekeeping;
  });
});
