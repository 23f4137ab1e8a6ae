/** The way on after a loss, as an operator goes it: a database that was put back, fsck, the declaration, and the next head. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { declareLosses } from '#cli/loss/declaration.ts';
import { createAuditLog } from '#shared/accounts/postgres/audit.ts';
import { systemSurroundings } from '#shared/kernel/system/surroundings.ts';
import { connectRedis } from '#shared/lanes/redis/connect.ts';
import { auditLogOf, logOrigins } from '#shared/ledger/origins.ts';
import { publishAuditHeads } from '#shared/ledger/postgres/audit-checkpoints.ts';
import { publishCheckpoints } from '#shared/ledger/postgres/checkpoints.ts';
import { createCheckpointMemory } from '#shared/ledger/redis/checkpoint-memory.ts';
import { createCheckpointSigner } from '#shared/receipts/signing/files/checkpoint-signer.ts';
import { ensureSigningKeys } from '#shared/receipts/signing/files/key-files.ts';
import { copyOf } from '#test/support/backup.ts';
import { createTestDatabase, type TestDatabase } from '#test/support/database.ts';
import { type CommandResult, HERE, runDocket } from '#test/support/docket-cli.ts';
import { integrateAll, makeReceipts, originOf, submitReceipts } from '#test/support/ledger.ts';
import { startTestRedis } from '#test/support/redis.ts';

const keysDir = await mkdtemp(join(tmpdir(), 'signing-keys-'));
afterAll(() => rm(keysDir, { recursive: true }));
const keys = ensureSigningKeys(keysDir);
const [signer, anchor] = [
  createCheckpointSigner(keys, 'checkpoints'),
  createCheckpointSigner(keys, 'anchor'),
];
const redis = await startTestRedis({ durable: true });
const client = connectRedis({ url: redis.url, name: 'test', use: 'patient' });
afterAll(() => client.disconnect());
const memory = createCheckpointMemory(client);

/** Integrates, and signs ledgers and audit logs, as a ledger worker does. */
async function grow(database: TestDatabase, orgId: string, receipts: number) {
  const worker = database.poolAs('docket_ledger', 2);
  await submitReceipts(database.pool, makeReceipts(orgId, receipts));
  await integrateAll(worker);
  const options = { signer, memory, limit: 10, intervalMs: 0 };
  const ledger = await publishCheckpoints(worker, { ...options, originOf });
  const audit = await publishAuditHeads(worker, {
    ...options,
    originOf: (org) => `gateway.example/${auditLogOf(org)}`,
  });
  return {
    signed: [...ledger.signed, ...audit.signed],
    halted: [...ledger.halted, ...audit.halted],
  };
}

const act = (database: TestDatabase) =>
  createAuditLog(database.poolAs('docket_api', 1), systemSurroundings).append({
    orgId: 'org_a',
    action: 'key.issued',
    actor: { kind: 'operator', id: 'ada' },
  });

const docket = ({ url }: TestDatabase, ...args: string[]): Promise<CommandResult> =>
  runDocket(['ledger', ...args], {
    DATABASE_URL: url,
    REDIS_URL: redis.url,
    SIGNING_KEYS_DIR: keysDir,
    PUBLIC_URL: 'https://gateway.example',
  });
const DECLARE = 'declare-loss --org org_a --reason disk-failed'.split(' ');
const declare = (of: TestDatabase, ...more: string[]): Promise<CommandResult> =>
  docket(of, ...DECLARE, ...more);

const count = async ({ pool }: TestDatabase, from: string): Promise<number> =>
  Number((await pool.query<{ n: string }>(`select count(*) as n from ${from}`)).rows[0]!.n);

let [older, restored]: TestDatabase[] = [];

beforeAll(async () => {
  const database = await createTestDatabase();
  await act(database);
  await grow(database, 'org_a', 5);
  older = await copyOf(database.pool);
  restored = await copyOf(database.pool);
  await act(database);
  await grow(database, 'org_a', 7);
});

describe('docket ledger declare-loss [survives.declared-loss]', () => {
  it('prints what it would declare, and changes nothing without --yes', async () => {
    const { halted } = await grow(restored!, 'org_a', 2);
    expect(halted).toMatchObject([{ orgId: 'org_a' }]);
    expect((await docket(restored!, 'fsck', '--org', 'org_a')).code).toBe(4);
    const { code, stdout } = await declare(restored!);
    expect(code).toBe(4);
    expect(stdout).toContain(
      'gateway.example/log/org_a: of 12 entries published, those after the first 5 are lost: declared on ',
    );
    expect(stdout).toContain(
      'gateway.example/audit/org_a: of 2 entries published, the last is lost',
    );
    expect(stdout).toMatch(/ {2}opened {2}gateway\.example\/log\/org_a\/2\n/);
    expect(stdout).toMatch(/Nothing is declared yet\. .* --yes\.\n$/);
    expect(await count(restored!, 'ledger_loss')).toBe(0);
  });

  it('leaves nothing behind when one of its statements fails', async () => {
    const failing = declareLosses(
      restored!.poolAs('docket_operator', 2),
      { orgId: 'org_a', actor: { kind: 'operator', id: 'ada' }, reason: 'a test' },
      {
        memory,
        origins: logOrigins('https://gateway.example'),
        surroundings: {
          ...systemSurroundings,
          newId: () => {
            throw new Error('the last statement fails');
          },
        },
        witnessed: 0,
        signers: { checkpoints: signer, anchor },
      },
    );
    await expect(failing).rejects.toThrow('the last statement fails');
    expect(await count(restored!, 'ledger_loss')).toBe(0);
    expect(await count(restored!, 'ledger_head where halted_at is not null')).toBe(1);
  });

  it('declares in one act that stands in the audit log, once, and workers go on under another name', async () => {
    const { code, stdout } = await declare(restored!, '--yes');
    expect(stdout).toMatch(/\nDeclared\. /);
    expect(code).toBe(0);
    const again = await declare(restored!, '--yes');
    expect(again.stdout).toMatch(/It is already declared\. gateway\.example\/log\/org_a: of 12 /);
    expect(again.code).toBe(0);
    const { rows } = await restored!.pool.query<{ actor_id: string; details: string }>(
      `select actor_id, details from audit_log where action = 'ledger.loss_declared'`,
    );
    expect(rows).toEqual([{ actor_id: HERE, details: expect.stringContaining('opens 2 after 1') }]);
    expect((await docket(restored!, 'fsck', '--org', 'org_a')).code).toBe(0);

    const { signed, halted } = await grow(restored!, 'org_a', 1);
    expect(halted).toEqual([]);
    expect(signed).toEqual([
      { orgId: 'org_a', size: 8 },
      { orgId: 'audit/org_a', size: 2 },
    ]);
    const notes = await restored!.pool.query<{ note: string }>(
      `select note from ledger_checkpoint where size = 8 union all select note from audit_checkpoint where size = 2`,
    );
    expect(notes.rows.map(({ note }) => note.split('\n')[0])).toEqual([
      'gateway.example/log/org_a/2',
      'gateway.example/audit/org_a/2',
    ]);
    const sound = await docket(restored!, 'fsck', '--org', 'org_a');
    expect(sound.stdout).toMatch(
      /^note {2}org_a {2}declared loss, tree 2 {2}loss_declared: Of 12 /,
    );
    expect(sound.code).toBe(0);
  });

  it('refuses a log that has lost nothing, and says what is known of it', async () => {
    const { code, stderr } = await declare(restored!, '--yes');
    expect(stderr).toContain('Nothing of org_a is lost: it has all that was published');
    expect(code).toBe(1);
  });

  it('does not let a database from before the statement sign, nor one that has less of the successor', async () => {
    const behind = await copyOf(restored!.pool);
    await grow(restored!, 'org_a', 1);
    for (const database of [older!, behind]) {
      expect((await docket(database, 'fsck', '--org', 'org_a')).code).toBe(4);
      const { signed, halted } = await grow(database, 'org_a', 1);
      expect([signed.filter(({ orgId }) => orgId === 'org_a'), halted.length > 0]).toEqual([
        [],
        true,
      ]);
    }
    expect((await declare(older!, '--yes')).stdout).toContain(
      'opened  gateway.example/log/org_a/3',
    );
    expect((await grow(older!, 'org_a', 1)).halted).toEqual([]);
    // The tree that was closed is behind now.
    expect((await grow(restored!, 'org_a', 1)).halted).not.toEqual([]);
  });
});
