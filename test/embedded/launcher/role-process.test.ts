import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { describe, expect, it, onTestFinished } from 'vitest';
import { RoleProcess } from '#embedded/launcher/role-process.ts';
import { startServer } from '#embedded/stores/server-process.ts';
import { childEnvironment } from '#test/support/child-environment.ts';
import { createTestDatabase } from '#test/support/database.ts';
import { startTestRedis } from '#test/support/redis.ts';

const REPOSITORY = new URL('../../../', import.meta.url);
const database = await createTestDatabase();
const redis = await startTestRedis({ durable: true });

function startPurge(env: Record<string, string>) {
  const lines: string[] = [];
  const role = new RoleProcess({
    name: 'purge.2',
    roles: ['purge'],
    semiSpaceMib: 1,
    entry: new URL('workers/purge/main.ts', REPOSITORY),
    cwd: REPOSITORY,
    env: {
      ...childEnvironment(),
      METRICS_PORT: '0',
      SUPPORT_EMAIL: 'support@docket.example',
      REDIS_URL: redis.url,
      ...env,
    },
    probed: true,
    onLine: (line) => lines.push(line),
  });
  onTestFinished(() => role.stop(1_000));
  return { role, lines };
}

describe('a process that the launcher starts', () => {
  it('is found ready by asking it, with a log that says nothing', async () => {
    const { role, lines } = startPurge({ DATABASE_URL: database.url, LOG_LEVEL: 'warn' });
    await role.ready(AbortSignal.timeout(20_000));
    const health = await fetch(`http://127.0.0.1:${role.metricsPort}/readyz`);
    expect(health.status).toBe(200);
    expect(lines).toEqual([]);
  });

  it('is named when it is not ready in time', async () => {
    const { role } = startPurge({ DATABASE_URL: 'postgres://u@127.0.0.1:1/d' });
    const late = new AbortController();
    const ready = role.ready(late.signal);
    late.abort();
    await expect(ready).rejects.toThrow('purge.2 was not ready in time');
  });
});

describe('a line that a process of the launcher writes', () => {
  const line = 'forged\u2028ready\u2029\u0085\rready';

  it('is told whole, of a role', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'role-'));
    onTestFinished(() => rmSync(folder, { recursive: true }));
    const entry = join(folder, 'entry.ts');
    writeFileSync(entry, `console.log(${JSON.stringify(line)})`);
    const told = Promise.withResolvers<string>();
    const role = new RoleProcess({
      name: 'api',
      roles: [],
      semiSpaceMib: 1,
      entry: pathToFileURL(entry),
      cwd: REPOSITORY,
      env: childEnvironment(),
      probed: false,
      onLine: told.resolve,
    });
    expect(await told.promise).toBe(line);
    await role.exited;
  });

  it('is told whole, of a store, and makes it ready only by itself', async () => {
    const lines: string[] = [];
    const server = await startServer({
      name: 'store',
      command: '/bin/sh',
      args: ['-c', 'printf "%s\\nready\\n" "$0"; exec sleep 600', line],
      ready: /^ready$/,
      readyMs: 20_000,
      stopSignal: 'SIGTERM',
      stopMs: 1_000,
      onLog: (one) => lines.push(one),
    });
    await server.stop();
    expect(lines).toEqual([line, 'ready']);
  });
});
