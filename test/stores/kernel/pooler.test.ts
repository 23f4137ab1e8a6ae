import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { wayTo } from '#cli/doctor/way.ts';
import { examinePostgres } from '#cli/doctor/postgres.ts';
import { createCredentialSource } from '#shared/keys/postgres/credentials.ts';
import { hashKey } from '#shared/keys/format.ts';
import { databaseCheck, DatabaseProblem } from '#shared/kernel/postgres/fitness.ts';
import { createPool, type DatabaseRole } from '#shared/kernel/postgres/pool.ts';
import { inTransaction } from '#shared/kernel/postgres/transaction.ts';
import { createLedgerReader } from '#shared/ledger/postgres/reader.ts';
import { createUsageReader } from '#shared/receipts/postgres/usage.ts';
import { activeAccount, createRegistries, OPERATOR } from '#test/support/accounts.ts';
import { createTestDatabase } from '#test/support/database.ts';
import { atFileEnd } from '#test/support/file-end.ts';
import { commitReceipts, inferenceRecord } from '#test/support/issuing.ts';
import { collectFindings } from '#test/support/ledger.ts';
import { ORG, PackLab } from '#test/support/packs.ts';
import { startPoolingProxy } from '#test/support/pooling-proxy.ts';

const database = await createTestDatabase();
const proxy = await startPoolingProxy(database.url);

function pooled(role?: DatabaseRole, more: { login?: string; statementTimeoutMs?: number } = {}) {
  const { login = role, statementTimeoutMs = 60_000 } = more;
  const pool = createPool({
    url: proxy.urlAs(login),
    pooler: 'transaction',
    ...(role === undefined ? {} : { role }),
    max: 3,
    applicationName: 'test',
    statementTimeoutMs,
  });
  atFileEnd(() => pool.end());
  return pool;
}

describe('through a pooler that gives each transaction another connection', () => {
  it('receipts are committed, integrated, proven, listed, summed up, examined and packed, and keys looked up [survives.pooler]', async () => {
    const directory = mkdtempSync(join(tmpdir(), 'docket-pooled-'));
    const lab = new PackLab(pooled(), directory);
    await lab.issue(3);
    const [degraded] = await lab.issue(1, 'degraded');
    await lab.integrate();
    await lab.revise([degraded!]);
    const [id] = await commitReceipts(pooled('docket_receipts'), lab.signer(), [
      inferenceRecord({ orgId: ORG }),
    ]);
    const size = await lab.integrate();
    await lab.anchor();
    expect(size).toBe(6);

    const api = pooled('docket_api');
    const ledger = createLedgerReader(api);
    expect(await ledger.proof(ORG, id!)).toContain(`\n${size}\n`);
    const { items } = await ledger.listReceipts({ orgId: ORG, limit: 100, order: 'asc' });
    expect(items).toHaveLength(size);
    const { total } = await createUsageReader(api).usage({
      orgId: ORG,
      range: { from: Date.now() - 86_400_000, to: Date.now() + 60_000 },
      groupBy: ['model'],
    });
    expect(total.requests).toBe(5);

    const range = { firstIndex: 0, lastIndex: size - 1, checkpointSize: size };
    const { sizeBytes } = await lab.pack(join(directory, 'pack.zip'), range);
    expect(sizeBytes).toBeGreaterThan(0);
    const findings = await collectFindings(pooled('docket_operator'), {
      orgId: ORG,
      signatures: null,
    });
    expect(findings.filter(({ severity }) => severity === 'damage')).toEqual([]);

    const operator = pooled('docket_operator');
    const registries = createRegistries(operator);
    const account = await activeAccount(registries, 'enterprise');
    const issued = await registries.keys.issue(account.id, { name: 'a' }, OPERATOR);
    const hash = hashKey(issued.plaintext);
    // Twice: what the first had prepared would be known to the second.
    for (let time = 0; time < 2; time += 1) {
      expect((await createCredentialSource(api).findByHashes([hash])).has(hash)).toBe(true);
    }
    expect(proxy.moved()).toBeGreaterThan(20);
  });

  it('a transaction is cancelled that takes too long, and leaves no time-out behind', async () => {
    const hasty = pooled(undefined, { statementTimeoutMs: 200 });
    await expect(
      inTransaction(hasty, (client) => client.query('select pg_sleep(60)')),
    ).rejects.toMatchObject({ code: '57014' });
    const { rows } = await hasty.query(`select current_setting('statement_timeout') as timeout`);
    expect(rows).toEqual([{ timeout: '0' }]);
  });

  it('a login that does not act as the role of its process is refused', async () => {
    const check = databaseCheck(pooled('docket_ledger', { login: 'docket_purge' }), 'select');
    await expect(check()).rejects.toThrow(/acts as docket_purge, .* has to act as docket_ledger/);
  });

  it('a process that was not told of it is, in one line that says what to set [survives.pooler]', async () => {
    const pool = createPool({
      url: proxy.urlAs('docket_api'),
      role: 'docket_api',
      max: 1,
      applicationName: 'test',
      statementTimeoutMs: 60_000,
    });
    atFileEnd(() => pool.end());
    const refused: unknown = await databaseCheck(pool, 'select')().catch((error: unknown) => error);
    expect(refused).toBeInstanceOf(DatabaseProblem);
    expect((refused as Error).message).toMatch(/^[^\n]+ set DATABASE_POOLER=transaction\.$/);
  });
});

describe('docket doctor', () => {
  it('tells PostgreSQL itself from poolers by session and by transaction', async () => {
    const bySession = await startPoolingProxy(database.url, 'session');
    expect(await wayTo(database.url)).toBe('direct');
    expect(await wayTo(bySession.urlAs())).toBe('pooled by session');
    expect(await wayTo(proxy.urlAs())).toBe('pooled by transaction');
  });

  it('says which connection is which, and what to set where a pooler was not named', async () => {
    const told = await examinePostgres({
      url: proxy.urlAs('docket_api'),
      ours: false,
      pooler: 'transaction',
      directUrl: database.url,
      readUrl: database.url,
    });
    const of = (name: string) => told.find((finding) => finding.name === name);
    expect(of('PostgreSQL connection')?.detail).toBe('DATABASE_URL is pooled by transaction');
    expect(of('PostgreSQL direct')?.detail).toBe('DATABASE_DIRECT_URL is direct');
    expect(of('PostgreSQL replica')).toMatchObject({
      verdict: 'problem',
      detail: 'it is a primary, and no replica',
    });
    const [untold] = await examinePostgres({ url: proxy.urlAs('docket_api'), ours: false });
    expect(untold).toMatchObject({
      verdict: 'problem',
      fix: expect.stringContaining('DATABASE_POOLER=transaction') as string,
    });
  });
});
