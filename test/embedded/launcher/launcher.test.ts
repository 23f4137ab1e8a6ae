import { mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Client } from 'pg';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { gone, START_MS, startLauncher } from './start-launcher.ts';

let dataDir: string;
beforeEach(async () => {
  dataDir = await mkdtemp(join(tmpdir(), 'docket-launcher-'));
});
afterEach(() => rm(dataDir, { recursive: true, force: true, maxRetries: 5 }));

/** Every process of the instance that the launcher has started, the stores included. */
async function allPids(launcher: ReturnType<typeof startLauncher>): Promise<number[]> {
  const { processes } = await launcher.devFile();
  const postmaster = await readFile(join(dataDir, 'postgres/data/postmaster.pid'), 'utf8');
  const redis = await readFile(join(dataDir, 'redis/redis.pid'), 'utf8');
  const sandbox = await descendants(launcher.pid);
  return [
    ...new Set([
      ...processes.map(({ pid }) => pid),
      Number.parseInt(postmaster, 10),
      Number(redis),
      ...sandbox,
    ]),
  ];
}

async function descendants(pid: number): Promise<number[]> {
  const text = await readFile(`/proc/${pid}/task/${pid}/children`, 'utf8').catch(() => '');
  return text.split(' ').filter(Boolean).map(Number);
}

describe('docket up', { timeout: 3 * START_MS }, () => {
  it('starts everything, says where it is, stops it in reverse order, and keeps keys and data', async () => {
    const first = startLauncher(dataDir, { REPLICAS: 'api=2' });
    await first.said(/curl http/);
    const info = await first.devFile();
    expect(first.output()).toContain(info.api_key);
    expect(info.api_key).toBe(info.keys.enterprise);
    expect(Object.keys(info).toSorted()).toEqual([
      'api_key',
      'base_url',
      'dashboard_url',
      'database_url',
      'keys',
      'operator',
      'org_id',
      'processes',
      'redis_url',
      'sandbox_url',
    ]);
    expect((await stat(join(dataDir, 'dev.json'))).mode & 0o777).toBe(0o600);
    expect((await fetch(`${info.sandbox_url}/models`)).status).toBe(200);
    expect(info.processes.map(({ role }) => role)).toEqual([
      'receipts',
      'ledger',
      'recalculation',
      'exports',
      'purge',
      'housekeeping',
      'inference',
      'api',
      'api',
    ]);

    // Both api processes answer on the one port.
    const answered = new Set<number>();
    await vi.waitFor(
      async () => {
        answered.add(Number(await (await fetch(info.base_url)).text()));
        expect(answered.size).toBe(2);
      },
      { timeout: 10_000, interval: 1 },
    );

    const pids = await allPids(first);
    first.kill('SIGINT');
    expect(await first.exited).toBe(0);
    await gone(pids);
    expect(await readdir(dataDir)).not.toContain('dev.json');
    const stops = first
      .output()
      .split('\n')
      .filter((line) => line.includes('event=stopped'));
    const order = stops.map((line) => line.split(' ')[0]!);
    expect(order.slice(0, 2).toSorted()).toEqual(['api', 'api.2']);
    expect(order[2]).toBe('inference');
    expect(order).toHaveLength(9);

    const second = startLauncher(dataDir);
    await second.said(/curl http/);
    const again = await second.devFile();
    expect(again.keys).toEqual(info.keys);
    expect(again.org_id).toBe(info.org_id);
    expect(again.operator).toEqual(info.operator);
  });

  it('becomes ready without a line in any log: it asks each process, and reads nothing', async () => {
    const launcher = startLauncher(dataDir, { LOG_LEVEL: 'warn' });
    await launcher.said(/curl http/);
    expect(launcher.output()).not.toContain('event=');
    expect((await launcher.devFile()).processes).toHaveLength(8);
  });

  it('starts again what dies, a role or a store', async () => {
    const launcher = startLauncher(dataDir);
    await launcher.said(/curl http/);
    const before = await launcher.devFile();
    const ledger = before.processes.find(({ role }) => role === 'ledger')!;
    process.kill(ledger.pid, 'SIGKILL');
    await launcher.said(/ledger ended \(exit SIGKILL\)/);
    await launcher.said(/ledger is back/);
    await vi.waitFor(async () => {
      const now = (await launcher.devFile()).processes.find(({ role }) => role === 'ledger')!;
      expect(now.pid).not.toBe(ledger.pid);
    });

    const postmaster = await readFile(join(dataDir, 'postgres/data/postmaster.pid'), 'utf8');
    process.kill(Number.parseInt(postmaster, 10), 'SIGKILL');
    await launcher.said(/postgres is back/);
    const client = new Client({ connectionString: before.database_url });
    await client.connect();
    expect((await client.query('select count(*)::int as n from account')).rows).toEqual([{ n: 3 }]);
    await client.end();
  });

  it(
    'leaves nothing behind when it is killed itself',
    { tags: ['survives.launcher'] },
    async () => {
      const launcher = startLauncher(dataDir);
      await launcher.said(/curl http/);
      const pids = await allPids(launcher);
      expect(pids.length).toBeGreaterThanOrEqual(12);
      launcher.kill('SIGKILL');
      await gone(pids);
    },
  );

  it('stops cleanly in the middle of its start', async () => {
    const launcher = startLauncher(dataDir);
    await launcher.said(/starting PostgreSQL/);
    launcher.kill('SIGTERM');
    expect(await launcher.exited).toBe(0);
    await expect(readFile(join(dataDir, 'postgres/data/postmaster.pid'))).rejects.toThrow();
  });

  it('kills what is left at the second signal', async () => {
    const launcher = startLauncher(dataDir);
    await launcher.said(/curl http/);
    const pids = await allPids(launcher);
    launcher.kill('SIGINT');
    launcher.kill('SIGINT');
    launcher.kill('SIGTERM');
    expect([0, 130, 143]).toContain(await launcher.exited);
    await gone(pids);
  });
});

describe('docket up that cannot start', { timeout: 2 * START_MS }, () => {
  it('names the port that is taken', async () => {
    const squatter = createServer().listen(0, '127.0.0.1');
    await new Promise((resolve) => squatter.once('listening', resolve));
    const { port } = squatter.address() as AddressInfo;
    const launcher = startLauncher(dataDir, { PORT: String(port) });
    expect(await launcher.exited).toBe(1);
    expect(launcher.output()).toContain(`Port ${port} on 127.0.0.1 is in use`);
    squatter.close();
  });

  it('names the line of a bad catalogue', async () => {
    const catalogue = join(dataDir, 'catalogue.yaml');
    await writeFile(catalogue, 'version: 1\nregions: []\nmodles: []\n');
    const launcher = startLauncher(dataDir, { CATALOGUE: catalogue });
    expect(await launcher.exited).toBe(1);
    expect(launcher.output()).toMatch(/catalogue\.yaml:3: .*modles/);
  });

  it('gives up on a role that refuses its settings, and stops the others', async () => {
    const launcher = startLauncher(dataDir, { FIXTURE_EXIT: '78' });
    expect(await launcher.exited).toBe(1);
    expect(launcher.output()).toContain('this role cannot start');
    expect(launcher.output()).not.toContain('starting it again');
  });

  it('names who holds the data directory', async () => {
    const holder = startLauncher(dataDir);
    await holder.said(/starting PostgreSQL/);
    const second = startLauncher(dataDir);
    expect(await second.exited).toBe(1);
    expect(second.output()).toContain(`in use by process ${holder.pid}`);
  });
});
