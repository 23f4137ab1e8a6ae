import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { publishCheckpoints } from '#shared/ledger/postgres/checkpoints.ts';
import { createCheckpointSigner } from '#shared/receipts/signing/files/checkpoint-signer.ts';
import { ensureSigningKeys } from '#shared/receipts/signing/files/key-files.ts';
import { createTestDatabase } from '#test/support/database.ts';
import { connectRedis } from '#shared/lanes/redis/connect.ts';
import { createCheckpointMemory } from '#shared/ledger/redis/checkpoint-memory.ts';
import { type CommandResult, HERE, runDocket } from '#test/support/docket-cli.ts';
import { startTestRedis } from '#test/support/redis.ts';
import {
  integrateAll,
  makeReceipt,
  makeReceipts,
  originOf,
  submitReceipts,
  tamper,
} from '#test/support/ledger.ts';

const database = await createTestDatabase();
const receipts = database.poolAs('docket_receipts', 1);
const ledger = database.poolAs('docket_ledger', 1);
const keysDir = await mkdtemp(join(tmpdir(), 'signing-keys-'));
afterAll(() => rm(keysDir, { recursive: true }));

const redis = await startTestRedis({ durable: true });
const client = connectRedis({ url: redis.url, name: 'test', use: 'patient' });
afterAll(() => client.disconnect());
const published = createCheckpointMemory(client);

const env = {
  DATABASE_URL: database.url,
  REDIS_URL: redis.url,
  SIGNING_KEYS_DIR: keysDir,
};
const fsck = (...args: string[]): Promise<CommandResult> =>
  runDocket(['ledger', 'fsck', ...args], env);

beforeAll(async () => {
  ensureSigningKeys(keysDir);
  await submitReceipts(receipts, [...makeReceipts('org_a', 260), ...makeReceipts('org_b', 3)]);
  await integrateAll(ledger);
  const signer = createCheckpointSigner(ensureSigningKeys(keysDir), 'checkpoints');
  const options = { signer, memory: published, originOf, limit: 10, intervalMs: 0 };
  await publishCheckpoints(ledger, options);
});

it('says that a sound ledger is sound and exits with 0', async () => {
  const { code, stdout, stderr } = await fsck();
  expect(stdout).toBe('The ledger is sound: 263 entries rebuilt from their receipts.\n');
  expect(stderr).toBe('');
  expect(code).toBe(0);
});

it('exits with 3 when something waits for a person', async () => {
  await submitReceipts(receipts, [makeReceipt('org_b', { leafHash: Buffer.alloc(32) })]);
  await integrateAll(ledger);
  const { code, stdout } = await fsck('--org', 'org_b');
  expect(stdout).toMatch(/^attention {2}org_b {2}rcpt_\w{26} {2}quarantined: .*body_altered\n/);
  expect(code).toBe(3);
});

it('gives a receipt in quarantine another try, as an act of a person', async () => {
  const { rows } = await database.pool.query<{ entry_id: string }>(
    'select entry_id from ledger_quarantine',
  );
  const id = rows[0]!.entry_id;
  const leaf = `sha256('\\x00'::bytea || body)`;
  await tamper(database.pool, `update ledger_body set leaf_hash = ${leaf} where entry_id = $1`, [
    id,
  ]);
  await tamper(
    database.pool,
    `update ledger_quarantine q set leaf_hash = b.leaf_hash from ledger_body b where b.entry_id = q.entry_id`,
  );
  const requeue = ['ledger', 'requeue', id, '--reason', 'mended'];
  expect(await runDocket(requeue, env)).toMatchObject({
    code: 0,
    stdout: `${id} waits for integration again.\n`,
  });
  expect(await integrateAll(ledger)).toEqual({ quarantined: [], halted: [] });
  expect((await runDocket(requeue, env)).code).toBe(1);
  expect((await fsck('--org', 'org_b')).code).toBe(0);
  const { rows: acts } = await database.pool.query(
    'select action, actor_id, subject, reason from audit_log',
  );
  expect(acts).toEqual([
    { action: 'receipt.requeued', actor_id: HERE, subject: id, reason: 'mended' },
  ]);
});

it('lets a halted log go on when fsck finds it undamaged, and only then', async () => {
  const halt = `update ledger_head set halted_at = now(), halt_reason = 'for a test' where org_id = 'org_b'`;
  const resume = ['ledger', 'resume', '--org', 'org_b', '--ticket', '4711'];
  const { rows } = await database.pool.query(`select root from ledger_head where org_id = 'org_b'`);
  const setRoot = (root: string, ...values: unknown[]): Promise<number> =>
    tamper(database.pool, `update ledger_head set root = ${root} where org_id = 'org_b'`, values);
  await tamper(database.pool, halt);
  await setRoot('sha256(root)');
  expect((await runDocket(resume, env)).code).toBe(2);
  expect((await fsck('--org', 'org_b')).stdout).toContain('log_halted');
  await setRoot('$1', (rows[0] as { root: Buffer }).root);
  const resumed = await runDocket(resume, env);
  expect(resumed.stdout).toMatch(/The log of org_b goes on\.\n$/);
  expect(resumed.code).toBe(0);
  expect((await fsck('--org', 'org_b')).code).toBe(0);
  expect((await runDocket(resume, env)).code).toBe(1);
});

it('exits with 4 when more was published than is here, and with 3 when it cannot be compared', async () => {
  const before = (await published.recall(['org_b'])).get('org_b')!;
  await published.remember(new Map([['org_b', { size: 1_234, root: before.root }]]));
  const behind = await fsck('--org', 'org_b');
  expect(behind.stdout).toMatch(
    /^loss {2}org_b {2}log {2}behind: 1,234 entries published, 4 here, .*\n.*BEHIND .*\nLet no traffic in: /,
  );
  expect(behind.code).toBe(4);
  const programs = JSON.parse((await fsck('--json')).stdout) as { verdict: string };
  expect(programs.verdict).toBe('behind');
  await client.hset('ledger:published', 'org_b', 'unreadable');
  const unread = await fsck('--org', 'org_b');
  await client.hdel('ledger:published', 'org_b');
  await published.remember(new Map([['org_b', before]]));
  const apart = await runDocket(['ledger', 'fsck', '--org', 'org_b'], { ...env, REDIS_URL: '' });
  for (const { code, stdout } of [unread, apart]) {
    expect(stdout).toMatch(/^attention {2}org_b {2}what was published {2}not_compared: /);
    expect(code).toBe(3);
  }
});

it('does not let a log go on whose database is older than what was published, and says so', async () => {
  const halt = `update ledger_head set halted_at = now(), halt_reason = 'for a test' where org_id = 'org_b'`;
  const resume = ['ledger', 'resume', '--org', 'org_b', '--ticket', '4711'];
  const { rows } = await database.pool.query<{ size: string; root: Buffer }>(
    `select size, root from ledger_head where org_id = 'org_b'`,
  );
  const head = { size: Number(rows[0]!.size), root: rows[0]!.root };
  const stillHalted = async (): Promise<boolean> => {
    const found = await database.pool.query(
      `select from ledger_head where org_id = 'org_b' and halted_at is not null`,
    );
    return found.rowCount === 1;
  };
  await tamper(database.pool, halt);

  const unreachable = await runDocket(resume, { ...env, REDIS_URL: 'redis://127.0.0.1:1' });
  expect([unreachable.code, await stillHalted()]).toEqual([1, true]);

  // Another tree of the same size, as a database that was restored and written to again has it.
  await published.remember(new Map([['org_b', { size: head.size, root: Buffer.alloc(32, 1) }]]));
  const other = await runDocket(resume, env);
  expect(other.stderr).toMatch(/must not go on: .*what was published before/);
  expect([other.code, await stillHalted()]).toEqual([1, true]);

  await published.remember(new Map([['org_b', { size: head.size + 7, root: head.root }]]));
  const older = await runDocket(resume, env);
  expect(older.stderr).toContain(`has ${head.size + 7} entries, the log only ${head.size}`);
  expect([older.code, await stillHalted()]).toEqual([1, true]);

  await client.hdel('ledger:published', 'org_b');
  await published.remember(new Map([['org_b', head]]));
  await tamper(database.pool, `insert into anchor_head values ('org_b', 0, 99)`);
  const anchored = await runDocket(resume, env);
  expect(anchored.stderr).toContain('99 entries published, 4 here, as the anchor log has it');
  expect([anchored.code, await stillHalted()]).toEqual([1, true]);
  await tamper(database.pool, 'delete from anchor_head');

  expect((await runDocket(resume, env)).code).toBe(0);
});

it('calls no organisation sound that does not exist', async () => {
  const { code, stdout } = await fsck('--org', 'org_nope');
  expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
});

it('names the damage and exits with 2, for people and for programs', async () => {
  const flip = 'leaf_hash = set_byte(leaf_hash, 0, get_byte(leaf_hash, 0) # 128)';
  await tamper(
    database.pool,
    `update ledger_entry set ${flip} where org_id = 'org_a' and index = 7`,
  );
  const people = await fsck('--org', 'org_a');
  expect(people.stdout).toMatch(
    /^damage {2}org_a {2}entry 7 \(rcpt_\w{26}\) {2}leaf_altered: .*\n.*DAMAGED/,
  );
  expect(people.stdout).toContain(`Signatures were checked by the keys in ${keysDir}.\n`);
  expect(people.code).toBe(2);
  const programs = await fsck('--org', 'org_a', '--json');
  expect(programs.code).toBe(2);
  expect(JSON.parse(programs.stdout)).toMatchObject({
    verdict: 'damaged',
    entries: 260,
    findings: [{ kind: 'leaf_altered', severity: 'damage', orgId: 'org_a' }],
  });
});

it('exits with 1 and one line when it cannot look', async () => {
  const { code, stderr } = await runDocket(['ledger', 'fsck'], {
    DATABASE_URL: 'postgres://nobody@127.0.0.1:1/none',
    SIGNING_KEYS_DIR: keysDir,
  });
  expect(code).toBe(1);
  expect(stderr.trim().split('\n')).toHaveLength(1);
});

it('an archive that cannot be read ends fsck with 1 and the reason, and is no damage', async () => {
  const moved = makeReceipt('org_moved');
  await submitReceipts(receipts, [moved]);
  await integrateAll(ledger);
  await tamper(database.pool, 'update ledger_body set body = null where entry_id = $1', [moved.id]);
  await database.pool.query(
    `insert into ledger_archive_block (org_id, first_id, last_id, receipts, object, start, bytes)
     values ('org_moved', $1, $1, 1, repeat('f', 64), 0, 9)`,
    [moved.id],
  );
  const missing = { ...env, RECEIPT_ARCHIVE: join(keysDir, 'missing') };
  for (const [where, reason] of [
    [missing, 'RECEIPT_ARCHIVE) cannot be read: ENOENT'],
    [env, 'RECEIPT_ARCHIVE is not set'],
  ] as const) {
    const { code, stderr } = await runDocket(['ledger', 'fsck', '--org', 'org_moved'], where);
    expect(stderr).toContain(reason);
    expect(code).toBe(1);
  }
});
