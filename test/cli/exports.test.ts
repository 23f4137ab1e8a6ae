import {
  existsSync,
  mkdtempSync,
  readFileSync,
  readdirSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { hash } from 'node:crypto';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import type { ExportDescription } from '#shared/packs/export-record.ts';
import { createTestDatabase } from '#test/support/database.ts';
import { runDocket, type CommandResult } from '#test/support/docket-cli.ts';
import { ORG, PackLab, PUBLIC_URL } from '#test/support/packs.ts';
import { startProcess } from '#test/support/processes.ts';
import { startTestRedis } from '#test/support/redis.ts';

const database = await createTestDatabase();
const redis = await startTestRedis();
const directory = mkdtempSync(join(tmpdir(), 'docket-cli-exports-'));
const lab = new PackLab(database.pool, directory);
const EXPORT_STORE = join(directory, 'packs');
const env = { DATABASE_URL: database.url, EXPORT_STORE };
const trust = join(directory, 'trusted.json');

beforeAll(async () => {
  await lab.issue(30);
  await lab.integrate();
  writeFileSync(trust, lab.documents.didDocument());
  await startProcess({
    role: 'exports',
    env: {
      ...env,
      REDIS_URL: redis.url,
      ALLOW_VOLATILE_REDIS: '1',
      PUBLIC_URL,
      SIGNING_KEYS_DIR: lab.keysDir,
    },
  });
});

const docket = (...args: string[]): Promise<CommandResult> => runDocket(args, env);
const asOperator = ['--org', ORG, '--ticket', '4711'];
const created = async (...more: string[]): Promise<ExportDescription> => {
  const { code, stdout, stderr } = await docket(
    'exports',
    'create',
    ...asOperator,
    ...more,
    '--json',
  );
  expect([code, stderr]).toEqual([0, '']);
  return JSON.parse(stdout) as ExportDescription;
};

it('docket usage says what an organisation used and what that took, as GET /v1/usage names it', async () => {
  const report = await docket('usage', '--org', ORG, '--group-by', 'model,region', '--json');
  expect([report.code, report.stderr]).toEqual([0, '']);
  const { data, total } = JSON.parse(report.stdout) as {
    data: { by: object; requests: number }[];
    total: object;
  };
  expect(total).toMatchObject({
    requests: 30,
    covered: 30,
    energy_kwh: expect.stringMatching(/^\d/),
  });
  expect(data.reduce((sum, { requests }) => sum + requests, 0)).toBe(30);
  expect(Object.keys(data[0]!.by)).toEqual(['model', 'region']);
  const table = await docket('usage', '--org', ORG, '--group-by', 'model');
  expect(table.stdout).toMatch(/^model +requests .*\n(.*\n)+total +30 /);
});

describe('docket exports', () => {
  it('asks for a pack, waits, fetches it, and verify finds it good', async () => {
    const { id, status } = await created('--first', '3', '--last', '20');
    expect(status).toBe('queued');
    const waited = await docket('exports', 'wait', id, ...asOperator, '--json');
    expect(JSON.parse(waited.stdout)).toMatchObject({
      id,
      status: 'ready',
      progress: { done: 18, total: 18 },
    });
    const listed = await docket('exports', 'list', ...asOperator);
    expect(listed.stdout).toMatch(new RegExp(`^${id} +ready +18 `, 'm'));
    const path = join(directory, 'pack.zip');
    const fetched = await docket('exports', 'download', id, ...asOperator, '-o', path);
    expect([fetched.code, fetched.stderr]).toEqual([0, '']);
    const { sha256 } = JSON.parse(waited.stdout) as ExportDescription;
    expect(hash('sha256', readFileSync(path))).toBe(sha256);

    const verified = await docket('verify', path, '--trust', trust);
    expect(verified.code).toBe(0);
    expect(verified.stdout).toMatch(/^GOOD {2}/);
    // For people; to the last digit it is said when that is asked for.
    expect(verified.stdout).toMatch(/^energy +[\d.]+ [mk]?Wh \[[\d.]+–[\d.]+\]$/m);
    expect(verified.stdout).not.toMatch(/kgSbe|adpe|gwp/);
    const details = await docket('verify', path, '--trust', trust, '--details');
    expect(details.stdout).toMatch(/^adpe +0\.\d+ kgSbe \(0\.\d+ to 0\.\d+\)$/m);
    const json = await docket('verify', path, '--json', '--trust', trust);
    expect(JSON.parse(json.stdout)).toMatchObject({
      verdict: 'good',
      code: 'good',
      own_keys: false,
      pack: { credentialSubject: { range: { receipts: 18 } } },
    });
  });

  it('goes on with a download that was interrupted', async () => {
    const { id, sha256 } = await created('--wait');
    const path = join(directory, 'resumed.zip');
    const pack = readFileSync(join(EXPORT_STORE, `${id}.zip`));
    const partial = `${path}.${sha256!.slice(0, 16)}.partial`;
    writeFileSync(partial, pack.subarray(0, 40_000));
    const { code } = await docket('exports', 'download', id, ...asOperator, '-o', path);
    expect(code).toBe(0);
    expect(readFileSync(path).equals(pack)).toBe(true);
    expect(existsSync(partial)).toBe(false);
  });

  it('does not give a wrong file the pack’s name', async () => {
    const { id, sha256 } = await created('--wait');
    const path = join(directory, 'wrong.zip');
    writeFileSync(`${path}.${sha256!.slice(0, 16)}.partial`, Buffer.alloc(5_000));
    const { code, stderr } = await docket('exports', 'download', id, ...asOperator, '-o', path);
    expect(code).toBe(1);
    expect(stderr).toMatch(/SHA-256/);
    expect(readdirSync(directory).filter((name) => name.startsWith('wrong'))).toEqual([]);
  });

  it('fails with one line', async () => {
    for (const args of [
      ['exports', 'create', '--org', 'org_nobody'],
      ['exports', 'create', ...asOperator, '--first', '99'],
      ['exports', 'create', ...asOperator, '--first', 'x'],
      ['exports', 'create'],
      ['exports', 'wait', 'exp_nobody', ...asOperator],
      ['exports', 'create', '--url', 'http://127.0.0.1:1/v1'],
    ]) {
      const { code, stdout, stderr } = await docket(...args);
      expect([code, stdout]).toEqual([1, '']);
      expect(stderr).toMatch(/^docket: [^\n]+\n$/);
    }
  });
});

describe('docket verify', () => {
  it('says that the keys were the pack’s own, and what that is worth', async () => {
    const path = join(directory, 'own', 'pack.zip');
    const { id } = await created('--wait');
    const own = mkdtempSync(join(directory, 'own-'));
    await docket('exports', 'download', id, ...asOperator, '-o', join(own, 'pack.zip'));
    const { code, stdout } = await docket('verify', join(own, 'pack.zip'));
    expect(code).toBe(3);
    expect(stdout).toMatch(/^INTACT, ISSUER UNKNOWN {2}/);
    expect(stdout).toMatch(/do not show whose it is/);
    expect(existsSync(path)).toBe(false);
  });

  it('exits with 1 for a bad pack, and says where', async () => {
    const { id } = await created('--wait');
    const path = join(directory, 'bad.zip');
    await docket('exports', 'download', id, ...asOperator, '-o', path);
    const bytes = readFileSync(path);
    const at = bytes.indexOf('"outputTokens":') + 15;
    bytes[at] = bytes[at] === 0x31 ? 0x32 : 0x31;
    writeFileSync(path, bytes);
    const { code, stdout } = await docket('verify', path, '--trust', trust);
    expect(code).toBe(1);
    expect(stdout).toMatch(/^BAD {2}/);
    expect(stdout).toMatch(/reason +checksum_mismatch/);
    truncateSync(path, 1_000);
    const cut = await docket('verify', path, '--json', '--trust', trust);
    expect([cut.code, (JSON.parse(cut.stdout) as { code: string }).code]).toEqual([1, 'not_a_zip']);
  });
});
