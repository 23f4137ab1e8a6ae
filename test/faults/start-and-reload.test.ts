import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { afterAll, describe, expect, it } from 'vitest';
import { ROLES } from '#shared/config/settings.ts';
import { ensureLaneKeys } from '#shared/lanes/files/lane-keys.ts';
import { ensureSigningKeys } from '#shared/receipts/signing/files/key-files.ts';
import { sample } from '#test/support/depth.ts';
import { childEnvironment } from '#test/support/child-environment.ts';
import { createTestDatabase } from '#test/support/database.ts';
import { startProcess } from '#test/support/processes.ts';
import { startTestRedis } from '#test/support/redis.ts';
import { until } from '#test/support/until.ts';

const ROOT = join(import.meta.dirname, '../..');
const database = await createTestDatabase();
const redis = await startTestRedis({ durable: true });
const forgetful = await startTestRedis();
const directory = await mkdtemp(join(tmpdir(), 'docket-start-'));
afterAll(() => rm(directory, { recursive: true }));
ensureSigningKeys(join(directory, 'keys'));
ensureLaneKeys(join(directory, 'lane-keys'));

const env = {
  DATABASE_URL: database.url,
  REDIS_URL: redis.url,
  DOCKET_DATA_DIR: directory,
  SIGNING_KEYS_DIR: join(directory, 'keys'),
  SANDBOX_URL: 'http://127.0.0.1:1/v1',
  SUPPORT_EMAIL: 'support@docket.example',
};

/** Runs a main file that is expected to end by itself. */
function runMain(file: string, more: Record<string, string>, base: Record<string, string> = env) {
  return new Promise<{ code: number | null; lines: string[] }>((resolve) => {
    const child = execFile(
      process.execPath,
      [join(ROOT, file)],
      {
        env: { ...childEnvironment(), PORT: '0', METRICS_PORT: '0', ...base, ...more },
        timeout: 60_000,
      },
      (_, stdout, stderr) =>
        resolve({
          code: child.exitCode,
          lines: `${stdout}${stderr}`.split('\n').filter((line) => line !== ''),
        }),
    );
  });
}

const mainOf = (role: string): string =>
  role === 'api' ? 'api/main.ts' : `workers/${role}/main.ts`;

describe('SIGHUP', () => {
  it.each(ROLES)(
    '%s reads its catalogue again, or says that it has none, and runs on',
    async (role) => {
      const started = await startProcess({ role, env });
      const answers = ['catalogue_loaded', 'nothing_to_reload'];
      const said = (): number =>
        started.logs().filter(({ event }) => answers.includes(String(event))).length;
      started.kill('SIGHUP');
      await until(() => said() === 1, 'it has said what the signal did');
      const ready = await fetch(`http://127.0.0.1:${started.metricsPort}/readyz`);
      expect(ready.status).toBe(200);
      expect(await started.stop()).toBe(0);
    },
  );
});

/** Programs begin by the same function, so that some of them tell of all. */
const someOf = (programs: readonly string[]): string[] => sample(programs, () => 'program');

describe('a start that a person has to make possible', () => {
  it.each(someOf(['inference', 'receipts']))(
    '%s names the line of a bad catalogue in one line, and exits with 78',
    async (role) => {
      const catalogue = join(directory, 'bad.yaml');
      await writeFile(catalogue, 'version: 1\nregions: []\nmodels: []\nmodles: []\n');
      const { code, lines } = await runMain(mainOf(role), { CATALOGUE: catalogue });
      expect(lines.filter((line) => /bad\.yaml:4: .*modles/.test(line))).toHaveLength(1);
      expect(lines.join('\n')).not.toMatch(/^\s+at |"stack"/m);
      expect(code).toBe(78);
    },
  );

  it('says in one line that there is no catalogue but that of the sandbox, and exits with 78', async () => {
    const { SANDBOX_URL: _, ...beyond } = env;
    const { code, lines } = await runMain(mainOf('inference'), {}, beyond);
    expect(lines).toEqual([
      'The environment cannot be used:',
      expect.stringMatching(/^ {2}CATALOGUE is not set: .*docs\/catalogue\.md/),
    ]);
    expect(code).toBe(78);
  });

  it('says which store it waits for, as long as it is not there', async () => {
    const child = spawn(process.execPath, [join(ROOT, mainOf('ledger'))], {
      env: {
        ...childEnvironment(),
        METRICS_PORT: '0',
        ...env,
        REDIS_URL: 'redis://127.0.0.1:1',
      },
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    try {
      let waiting: unknown;
      for await (const line of createInterface({ input: child.stdout })) {
        waiting = JSON.parse(line);
        if (line.includes('waiting_for_stores')) break;
      }
      expect(waiting).toMatchObject({ event: 'waiting_for_stores', stores: ['redis'] });
    } finally {
      child.kill('SIGKILL');
      await once(child, 'exit');
    }
  });

  it.each(someOf([...ROLES.map(mainOf), 'migrations/main.ts']))(
    '%s says in one line that no person would read what support is asked, and exits with 78',
    async (file) => {
      const { code, lines } = await runMain(file, { SUPPORT_EMAIL: '' });
      expect(lines.filter((line) => line.includes('SUPPORT_EMAIL is not set'))).toEqual([
        lines.at(-1),
      ]);
      expect(code).toBe(78);
    },
  );

  // Not the inference worker: it never asks PostgreSQL for anything.
  it.each(someOf(['api/main.ts', 'workers/ledger/main.ts', 'migrations/main.ts']))(
    '%s says in one line that the database does not exist, and exits with 78',
    async (file) => {
      const missing = new URL(database.url);
      missing.pathname = '/not_there';
      const { code, lines } = await runMain(file, { DATABASE_URL: missing.href });
      const said = /^DATABASE_URL cannot be used: database "not_there" does not exist/;
      expect(lines.filter((line) => said.test(line))).toEqual([lines.at(-1)]);
      expect(lines.join('\n')).not.toContain('start_failed');
      expect(code).toBe(78);
    },
  );

  it.each(someOf(['api', 'inference', 'receipts']))(
    '%s says in one line that SHARDS is another in a process that runs, and exits with 78 [survives.other-shards]',
    async (role) => {
      const started = await startProcess({ role: 'receipts', env });
      const { code, lines } = await runMain(mainOf(role), { SHARDS: '2' });
      expect(lines.at(-1)).toMatch(
        /^This process does not start: SHARDS is 2 here and 1 in receipts-/,
      );
      expect(code).toBe(78);
      const ready = await fetch(`http://127.0.0.1:${started.metricsPort}/readyz`);
      expect(ready.status).toBe(200);
      expect(await started.stop()).toBe(0);
    },
  );

  it.each(someOf(['inference', 'receipts', 'api']))(
    '%s says in one line that it has no lane key, and exits with 78',
    async (role) => {
      const { code, lines } = await runMain(mainOf(role), {
        LANE_KEYS_DIR: join(directory, 'no-lane-keys'),
      });
      const said = /^The lane keys cannot be used: No lane key in .*openssl rand 32/;
      expect(lines.filter((line) => said.test(line))).toEqual([lines.at(-1)]);
      expect(lines.join('\n')).not.toContain('start_failed');
      expect(code).toBe(78);
    },
  );

  it.each(someOf(['ledger', 'api', 'inference']))(
    '%s says in one line that Redis would lose what it is given, and exits with 78',
    async (role) => {
      const { code, lines } = await runMain(mainOf(role), { REDIS_URL: forgetful.url });
      const said = /^Redis is not safe to use: the append-only file is off\. Set appendonly yes/;
      expect(lines.filter((line) => said.test(line))).toEqual([lines.at(-1)]);
      expect(lines.join('\n')).not.toContain('start_failed');
      expect(code).toBe(78);
    },
  );

  it('migrations say in one line that another build made the database, change nothing, and exit with 78', async () => {
    const foreign = await createTestDatabase();
    await foreign.pool.query(
      `update schema_migration set name = '0003_ledger' where name like '0003%'`,
    );
    const { code, lines } = await runMain('migrations/main.ts', { DATABASE_URL: foreign.url });
    expect(lines).toEqual([
      expect.stringMatching(/^The database was made by another build .* 0003_ledger: start .*\.$/),
    ]);
    expect(code).toBe(78);
  });

  it('migrations say in one line that behind a pooler they need PostgreSQL itself, and exit with 78 [survives.pooler]', async () => {
    const { code, lines } = await runMain('migrations/main.ts', {
      DATABASE_POOLER: 'transaction',
    });
    expect(lines).toEqual([expect.stringMatching(/^DATABASE_DIRECT_URL is not set: .*\.$/)]);
    expect(code).toBe(78);
  });

  it('migrations say in one line that PostgreSQL cannot be reached', async () => {
    const away = new URL(database.url);
    // No program listens at the port of tcpmux.
    away.port = '1';
    const { code, lines } = await runMain('migrations/main.ts', { DATABASE_URL: away.href });
    expect(lines).toEqual([
      expect.stringMatching(/^PostgreSQL cannot be reached, so nothing was migrated: .*:1$/),
    ]);
    expect(code).toBe(1);
  });
});
