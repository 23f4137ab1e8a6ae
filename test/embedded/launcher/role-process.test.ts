import { describe, expect, it, onTestFinished } from 'vitest';
import { RoleProcess } from '#embedded/launcher/role-process.ts';
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
