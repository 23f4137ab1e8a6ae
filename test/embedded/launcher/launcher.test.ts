import { mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Client } from 'pg';
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from 'vitest';
import { PROVIDERS } from '#embedded/providers/table.ts';
import { gone, START_MS, startLauncher, stopLaunchers } from './start-launcher.ts';

/** Of every start: the first begins with nothing, as a first start does, and the others with what it has left, or what a kill has. */
let dataDir: string;
beforeAll(async () => {
  dataDir = await mkdtemp(join(tmpdir(), 'docket-launcher-'));
});
afterAll(() => rm(dataDir, { recursive: true, force: true, maxRetries: 5 }));

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
  const keyNames = [...PROVIDERS.flatMap(({ keyVariable }) => keyVariable ?? []), 'OWN_KEY'];
  /** One for all that is asked of an instance that runs, until the last of these tests kills it. */
  let launcher: ReturnType<typeof startLauncher> | undefined;
  async function running(): Promise<ReturnType<typeof startLauncher>> {
    if (launcher !== undefined) return launcher;
    const catalogue = join(dataDir, 'catalogue.yaml');
    await writeFile(
      catalogue,
      `version: 1
regions: [{ code: eu, zone: FRA }]
endpoints: [{ name: e, adapter: openai-compatible, base_url: 'http://127.0.0.1:9/v1', api_key_env: OWN_KEY, regions: [eu] }]
models: [{ id: m, kinds: [chat], context_window: 100, footprint: {}, endpoints: [{ name: e, model: m }] }]
`,
    );
    const keys = Object.fromEntries(keyNames.map((name) => [name, `hush-${name}`]));
    launcher = startLauncher(dataDir, { ...keys, CATALOGUE: catalogue, LOG_LEVEL: 'warn' });
    await launcher.said(/curl http/);
    return launcher;
  }
  afterAll(stopLaunchers);

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
      'owner',
      'processes',
      'redis_url',
      'reviewer',
      'sandbox_url',
      'second_reviewer',
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

    const again = await (await running()).devFile();
    expect(again.keys).toEqual(info.keys);
    expect(again.org_id).toBe(info.org_id);
    for (const who of ['owner', 'operator', 'reviewer', 'second_reviewer'] as const) {
      expect(again[who]).toEqual(info[who]);
    }
  });

  it('becomes ready without a line in any log: it asks each process, and reads nothing', async () => {
    const { output, devFile } = await running();
    expect(output()).not.toContain('event=');
    expect((await devFile()).processes).toHaveLength(8);
  });

  it('hands the key of a provider to no process but inference workers, also one that the catalogue does not name', async () => {
    const { pid: launcherPid, devFile } = await running();
    const { processes } = await devFile();
    const pids = await descendants(launcherPid);
    // The stores, what stops them when the launcher dies, and the sandbox, besides the roles.
    expect(pids.length).toBe(processes.length + 4);
    for (const pid of pids) {
      const role = processes.find((one) => one.pid === pid)?.role ?? '';
      const environment = (await readFile(`/proc/${pid}/environ`, 'utf8')).split('\0');
      const held = keyNames.filter((name) => environment.includes(`${name}=hush-${name}`));
      expect([role, held]).toEqual([role, role === 'inference' ? keyNames : []]);
    }
  });

  it('names who holds the data directory, and does not start beside it', async () => {
    const { pid } = await running();
    const second = startLauncher(dataDir);
    expect(await second.exited).toBe(1);
    expect(second.output()).toContain(`in use by process ${pid}`);
  });

  it('starts again what dies, a role or a store', async () => {
    const { said, devFile } = await running();
    const before = await devFile();
    const ledger = before.processes.find(({ role }) => role === 'ledger')!;
    process.kill(ledger.pid, 'SIGKILL');
    await said(/ledger ended \(exit SIGKILL\)/);
    await said(/ledger is back/);
    await vi.waitFor(async () => {
      const now = (await devFile()).processes.find(({ role }) => role === 'ledger')!;
      expect(now.pid).not.toBe(ledger.pid);
    });

    const postmaster = await readFile(join(dataDir, 'postgres/data/postmaster.pid'), 'utf8');
    process.kill(Number.parseInt(postmaster, 10), 'SIGKILL');
    await said(/postgres is back/);
    const client = new Client({ connectionString: before.database_url });
    await client.connect();
    expect((await client.query('select count(*)::int as n from account')).rows).toEqual([{ n: 3 }]);
    await client.end();
  });

  it('leaves nothing behind when it is killed itself [survives.launcher]', async () => {
    const { kill, exited } = await running();
    const pids = await allPids(await running());
    expect(pids.length).toBeGreaterThanOrEqual(12);
    kill('SIGKILL');
    await exited;
    await gone(pids);
  });
});

describe('docket up with the roles of the product', { timeout: 3 * START_MS }, () => {
  const write = (model: string): Promise<void> =>
    writeFile(
      join(dataDir, 'catalogue.yaml'),
      `version: 1
regions: [{ code: eu, zone: FRA }]
endpoints: [{ name: e, adapter: openai-compatible, base_url: '\${SANDBOX_URL}', regions: [eu] }]
models: [{ id: ${model}, kinds: [chat], context_window: 100, footprint: {}, endpoints: [{ name: e, model: m }] }]
`,
    );
  /** One for both tests, until the second stops it. */
  let started: ReturnType<typeof startLauncher> | undefined;
  async function running(): Promise<ReturnType<typeof startLauncher>> {
    if (started !== undefined) return started;
    await write('before');
    const env = { CATALOGUE: join(dataDir, 'catalogue.yaml'), REPLICAS: 'purge=1' };
    started = startLauncher(dataDir, env, { realRoles: true });
    await started.said(/curl http/);
    return started;
  }
  afterAll(stopLaunchers);

  it('roles that no request waits for share one process, which comes back with all of them when it dies; those that REPLICAS names are processes of their own', async () => {
    const launcher = await running();
    const { processes } = await launcher.devFile();
    const pidsOf = (roles: readonly string[]): Set<number> =>
      new Set(processes.filter(({ role }) => roles.includes(role)).map(({ pid }) => pid));
    const sharing = ['ledger', 'recalculation', 'exports', 'housekeeping'];
    expect(processes).toHaveLength(8);
    expect(new Set(processes.map(({ pid }) => pid)).size).toBe(5);
    const [shared] = pidsOf(sharing);
    expect(pidsOf(sharing).size).toBe(1);
    expect(pidsOf(['purge'])).not.toContain(shared);

    process.kill(shared!, 'SIGKILL');
    await launcher.said(/background is back/);
    await vi.waitFor(async () => {
      const now = (await launcher.devFile()).processes.filter(({ role }) => sharing.includes(role));
      expect(now).toHaveLength(sharing.length);
      expect(new Set(now.map(({ pid }) => pid)).size).toBe(1);
      expect(now[0]!.pid).not.toBe(shared);
      const reply = await fetch(`http://127.0.0.1:${now[0]!.metrics_port}/metrics`);
      const metrics = await reply.text();
      for (const role of ['ledger', 'exports']) expect(metrics).toContain(`role="${role}"`);
    }, 20_000);
  });

  it('SIGHUP reloads the catalogue in every process; one that is bad is refused in one place, and the old one stays', async () => {
    const launcher = await running();
    const info = await launcher.devFile();
    const offered = async (): Promise<string[]> => {
      const headers = { authorization: `Bearer ${info.api_key}` };
      const { data } = (await (await fetch(`${info.base_url}/models`, { headers })).json()) as {
        data: { id: string }[];
      };
      return data.map(({ id }) => id);
    };
    const said = (what: string): number =>
      launcher
        .output()
        .split('\n')
        .filter((line) => line.includes(what)).length;
    expect(await offered()).toEqual(['before']);

    await write('after');
    launcher.kill('SIGHUP');
    await vi.waitFor(
      () => {
        expect(said('event=catalogue_loaded outcome=replaced')).toBe(4);
        expect(said('event=nothing_to_reload')).toBe(4);
      },
      { timeout: 20_000, interval: 20 },
    );
    expect(await offered()).toEqual(['after']);

    await writeFile(join(dataDir, 'catalogue.yaml'), 'version: 1\nmodles: []\n');
    launcher.kill('SIGHUP');
    await launcher.said(/the catalogue is not reloaded/);
    await launcher.said(/catalogue\.yaml:2: modles: unknown field/);
    expect(said('catalogue_kept')).toBe(0);
    expect(await offered()).toEqual(['after']);
    const now = await launcher.devFile();
    expect(now.processes).toEqual(info.processes);
    launcher.kill('SIGTERM');
    expect(await launcher.exited).toBe(0);
  });
});

describe('signals to docket up', { timeout: 3 * START_MS }, () => {
  afterEach(stopLaunchers);

  it('stops cleanly in the middle of its start', async () => {
    const first = join(dataDir, 'first');
    const launcher = startLauncher(first);
    await launcher.said(/starting PostgreSQL/);
    launcher.kill('SIGTERM');
    expect(await launcher.exited).toBe(0);
    await expect(readFile(join(first, 'postgres/data/postmaster.pid'))).rejects.toThrow();
  });

  it('stops when the shell is gone in which npm runs it', async () => {
    const own = join(dataDir, 'of-npm');
    const launcher = startLauncher(own, {}, { npm: true });
    await launcher.said(/starting PostgreSQL/);
    launcher.kill('SIGTERM');
    // Its output is closed when the last has ended that writes to it.
    expect(await launcher.exited).toBe(null);
    expect(launcher.output()).toContain('npm has ended: stopping');
    await expect(readFile(join(own, 'postgres/data/postmaster.pid'))).rejects.toThrow();
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

  it('SIGHUP stops everything when it is the terminal that was closed', async () => {
    const launcher = startLauncher(dataDir, {}, { terminal: true });
    await launcher.said(/curl http/);
    const owner = Number.parseInt(await readFile(join(dataDir, 'owner'), 'utf8'), 10);
    const pids = await allPids(launcher);
    // On a terminal that is there, it reloads.
    process.kill(owner, 'SIGHUP');
    await launcher.said(/reloading the catalogue in every process/);
    launcher.kill('SIGKILL');
    await gone([...pids, owner]);
    expect(await readdir(dataDir)).not.toContain('dev.json');
  });
});

describe('docket up that cannot start', { timeout: 2 * START_MS }, () => {
  afterEach(stopLaunchers);

  it('names the port that is taken', async () => {
    const squatter = createServer().listen(0, '127.0.0.1');
    await new Promise((resolve) => squatter.once('listening', resolve));
    const { port } = squatter.address() as AddressInfo;
    const made = join(dataDir, 'made');
    const launcher = startLauncher(made, { PORT: String(port) });
    expect(await launcher.exited).toBe(1);
    expect(launcher.output()).toContain(`Port ${port} on 127.0.0.1 is in use`);
    // What it has made is closed to other users of the machine, but for those of the stores on their way through it.
    expect((await stat(made)).mode & 0o777).toBe(process.getuid?.() === 0 ? 0o711 : 0o700);
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
});
