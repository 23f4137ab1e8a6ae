import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import type { Report } from '#cli/doctor/examine.ts';
import { ensureDatabaseLogins } from '#embedded/stores/database-logins.ts';
import { connectRedis } from '#shared/lanes/redis/connect.ts';
import { createCheckpointMemory } from '#shared/ledger/redis/checkpoint-memory.ts';
import { createTestDatabase } from '#test/support/database.ts';
import { runDocket, spawnDocket } from '#test/support/docket-cli.ts';
import { startTestRedis } from '#test/support/redis.ts';
import { atFileEnd } from '#test/support/file-end.ts';

describe('docket', () => {
  it('lists its commands, each with a sentence', async () => {
    const { code, stdout } = await runDocket(['--help']);
    expect(code).toBe(0);
    for (const command of ['up', 'doctor', 'keys', 'verify']) {
      expect(stdout).toMatch(new RegExp(`^  ${command}\\b.* \\w+`, 'm'));
    }
  });

  it('says of each option whether it is required', async () => {
    const { stdout } = await runDocket(['persons', 'list', '--help']);
    expect(stdout).toMatch(/--org <org-id> .*\(required\)$/m);
    expect(stdout).not.toMatch(/--json.*required/);
  });

  it('suggests what was meant, and fails', async () => {
    const { code, stderr } = await runDocket(['dokter']);
    expect(code).toBe(1);
    expect(stderr).toContain("unknown command 'dokter'");
    expect(stderr).toContain('Did you mean doctor?');
  });

  it('names an option that does not exist', async () => {
    const { code, stderr } = await runDocket(['doctor', '--jsno']);
    expect(code).toBe(1);
    expect(stderr).toContain('--jsno');
  });
});

it.each(['api', 'ledger', 'sandbox'])(
  'docket run %s runs it: it says what it lacks, as when its main file is started',
  async (role) => {
    const { code, stderr } = await spawnDocket(['run', role], { PORT: '-1' });
    expect(code).toBeGreaterThan(0);
    expect(stderr).toMatch(
      role === 'sandbox' ? /PORT must be a number/ : /DATABASE_URL is not set/,
    );
  },
);

describe('docket doctor', () => {
  let directory: string;
  let healthy: Record<string, string>;
  beforeAll(async () => {
    directory = await mkdtemp(join(tmpdir(), 'docket-doctor-'));
    const [database, redis] = await Promise.all([
      createTestDatabase(),
      startTestRedis({ durable: true }),
    ]);
    healthy = {
      DATABASE_URL: database.url,
      REDIS_URL: redis.url,
      EXPORT_STORE: join(directory, 'exports'),
      SIGNING_KEYS_DIR: join(directory, 'keys'),
      PORT: '0',
    };
  });
  atFileEnd(() => rm(directory, { recursive: true }));

  async function examined(env: Record<string, string>) {
    const { code, stdout } = await runDocket(['doctor', '--json'], env);
    const report = JSON.parse(stdout) as Report;
    expect(code).toBe(report.healthy ? 0 : 1);
    const verdicts = Object.fromEntries(
      report.findings.map(({ name, verdict }) => [name, verdict]),
    );
    return { report, verdicts, stdout };
  }

  it('finds stores, versions, schema and clocks in order', async () => {
    const { verdicts } = await examined(healthy);
    expect(verdicts).toMatchObject({
      Node: 'ok',
      settings: 'ok',
      PostgreSQL: 'ok',
      'PostgreSQL clock': 'ok',
      schema: 'ok',
      Redis: 'ok',
      'Redis durability': 'ok',
      'Redis clock': 'ok',
      catalogue: 'ok',
    });
  });

  it('warns of a login that owns the schema, and is content with one that a process was given', async () => {
    const owner = await examined(healthy);
    expect(owner.verdicts['PostgreSQL login']).toBe('warning');
    const warning = owner.report.findings.find(({ name }) => name === 'PostgreSQL login');
    expect(warning).toMatchObject({
      detail: expect.stringContaining('owns the schema') as string,
      fix: expect.stringContaining('docs/operations.md') as string,
    });
    const ownerUrl = healthy['DATABASE_URL']!;
    const urls = await ensureDatabaseLogins({
      ownerUrl,
      dataDir: directory,
      ours: false,
      background: [],
    });
    // As `docket doctor` is run with the environment of a process.
    for (const url of [urls.api, urls.receipts]) {
      const { verdicts } = await examined({ ...healthy, DATABASE_URL: url });
      expect(verdicts['PostgreSQL login']).toBe('ok');
    }
  });

  it('warns where WAL is not archived', async () => {
    const { report } = await examined(healthy);
    const found = report.findings.find(({ name }) => name === 'PostgreSQL archive');
    expect(found).toMatchObject({ verdict: 'warning', detail: 'archive_mode is off' });
  });

  it('says which stores cannot be reached, and goes on to the rest', async () => {
    const nowhere = {
      DATABASE_URL: 'postgres://u:hush@127.0.0.1:1/d',
      REDIS_URL: 'redis://127.0.0.1:1',
    };
    const { verdicts, report, stdout } = await examined({ ...healthy, ...nowhere });
    expect(verdicts).toMatchObject({ PostgreSQL: 'problem', Redis: 'problem', catalogue: 'ok' });
    expect(report.findings.every(({ verdict, fix }) => verdict !== 'problem' || fix)).toBe(true);
    expect(stdout).not.toContain('hush');
  });

  it('finds a database that was never migrated', async () => {
    const { url } = await createTestDatabase({ empty: true });
    const { verdicts } = await examined({ ...healthy, DATABASE_URL: url });
    expect(verdicts['schema']).toBe('problem');
  });

  it('finds a database that another build made, and does not advise to migrate it', async () => {
    const { url, pool } = await createTestDatabase();
    await pool.query(`update schema_migration set name = '0003_ledger' where name like '0003%'`);
    const { report } = await examined({ ...healthy, DATABASE_URL: url });
    expect(report.findings.find(({ name }) => name === 'schema')).toMatchObject({
      verdict: 'problem',
      detail: expect.stringContaining('0003_ledger') as string,
      fix: expect.stringContaining('empty database') as string,
    });
  });

  it('finds a Redis that would lose data, unless that is allowed', async () => {
    const { url } = await startTestRedis({ durable: false });
    const forgetful = { ...healthy, REDIS_URL: url };
    expect((await examined(forgetful)).verdicts['Redis durability']).toBe('problem');
    const allowed = await examined({ ...forgetful, ALLOW_VOLATILE_REDIS: '1' });
    expect(allowed.verdicts['Redis durability']).toBe('warning');
  });

  it('finds settings and catalogues that cannot be used', async () => {
    expect((await examined({ ...healthy, PORT: 'many' })).verdicts['settings']).toBe('problem');
    const missing = await examined({ ...healthy, CATALOGUE: join(directory, 'none.yaml') });
    expect(missing.verdicts['catalogue']).toBe('problem');
  });

  it('finds addresses that mean nothing to others, and mail that cannot be sent', async () => {
    expect((await examined(healthy)).verdicts).toMatchObject({
      PUBLIC_URL: 'problem',
      SUPPORT_EMAIL: 'problem',
      SMTP: 'warning',
      'e-mails': 'ok',
    });
    const set = {
      ...healthy,
      PUBLIC_URL: 'https://docket.example',
      SUPPORT_EMAIL: 'help@docket.example',
      SMTP_URL: 'smtp://u:hush@127.0.0.1:1',
    };
    const { verdicts, stdout } = await examined(set);
    expect(verdicts).toMatchObject({ PUBLIC_URL: 'ok', SUPPORT_EMAIL: 'ok', SMTP: 'problem' });
    expect(verdicts).not.toHaveProperty('e-mails');
    expect(stdout).not.toContain('hush');
    const plain = await examined({ ...set, PUBLIC_URL: 'http://docket.example' });
    expect(plain.verdicts['PUBLIC_URL']).toBe('warning');
  });

  it('finds halted logs and receipts in quarantine, and names their organisations', async () => {
    const { url, pool } = await createTestDatabase();
    const waiting = { ...healthy, DATABASE_URL: url };
    expect((await examined(waiting)).verdicts).toMatchObject({
      'halted logs': 'ok',
      quarantine: 'ok',
      'Redis topology': 'ok',
    });
    await pool.query(
      `insert into ledger_head (org_id, size, root, frontier, integrated_at, halted_at, halt_reason)
       values ('org_halted', 0, sha256(''), '', now(), now(), 'for a test')`,
    );
    await pool.query(
      `insert into ledger_quarantine (entry_id, org_id, kind, leaf_hash, submitted_at, quarantined_at, reason)
       values ('rcpt_x', 'org_kept', 'original', sha256(''), now(), now(), 'body_missing')`,
    );
    const { report, verdicts } = await examined(waiting);
    expect(verdicts).toMatchObject({ 'halted logs': 'problem', quarantine: 'problem' });
    const detail = (name: string) => report.findings.find((one) => one.name === name)?.detail;
    expect(detail('halted logs')).toBe('org_halted');
    expect(detail('quarantine')).toBe('org_kept (1)');
  });

  it('finds a database that has less than what was published', async () => {
    const { url, pool } = await createTestDatabase();
    const redis = await startTestRedis({ durable: true });
    const client = connectRedis({ url: redis.url, name: 'test', use: 'patient' });
    const size = `insert into ledger_head (org_id, size, root, frontier, integrated_at)
      values ('org_a', 1200, sha256(''), '', now())`;
    await pool.query(size);
    const root = Buffer.alloc(32);
    const memory = createCheckpointMemory(client);
    await memory.remember(new Map([['org_a', { size: 1_200, root }]]));
    const stores = { ...healthy, DATABASE_URL: url, REDIS_URL: redis.url };
    const before = await examined(stores);
    await memory.remember(new Map([['org_a', { size: 1_234, root }]]));
    client.disconnect();
    const after = await examined(stores);
    expect([before, after].map(({ verdicts }) => verdicts['published logs'])).toEqual([
      'ok',
      'problem',
    ]);
    const detail = after.report.findings.find(({ name }) => name === 'published logs')?.detail;
    expect(detail).toBe('org_a: 1,234 entries published, 1,200 here');
  });

  it('shows every setting with its source, and no secret', async () => {
    const { report, stdout } = await examined({
      ...healthy,
      SMTP_URL: 'smtp://u:hush@mail.example',
    });
    const source = (name: string) => report.settings.find((row) => row.name === name)?.source;
    expect(source('DATABASE_URL')).toBe('environment');
    expect(source('SHARDS')).toBe('default');
    expect(source('TSA_URL')).toBe('unset');
    expect(stdout).not.toContain('hush');
  });
});
