import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, it } from 'vitest';
import { ensureSecrets } from '#embedded/containers/prepare.ts';
import { ROLES } from '#shared/config/settings.ts';

const directory = mkdtempSync(join(tmpdir(), 'docket-prepare-'));
afterAll(() => rmSync(directory, { recursive: true, force: true }));

function contents(): Record<string, string> {
  const files = readdirSync(directory, { recursive: true, withFileTypes: true });
  return Object.fromEntries(
    files
      .filter((entry) => entry.isFile())
      .map((entry) => join(entry.parentPath, entry.name))
      .map((path) => [path.slice(directory.length + 1), readFileSync(path, 'utf8')]),
  );
}
const STORES = { postgres: 'postgres:5432', redis: 'redis:6379' };

it('secrets of containers are made once, a folder for each process that only it can read', async () => {
  await ensureSecrets(directory, STORES);
  const made = contents();
  for (const role of ROLES) {
    expect(made[`${role}/redis-url`]).toMatch(/^redis:\/\/:[0-9a-f]{48}@redis:6379$/);
    expect(statSync(join(directory, role)).mode & 0o077).toBe(0);
  }
  expect(made['owner/database-url']).toContain(
    `:${made['postgres/password']!.trim()}@postgres:5432`,
  );
  for (const path of Object.keys(made)) {
    const isForServer = ['postgres/password', 'redis/redis.conf'].includes(path);
    expect([path, statSync(join(directory, path)).mode & 0o077]).toEqual([
      path,
      isForServer ? 0o044 : 0,
    ]);
  }
  // Containers start again and again.
  await ensureSecrets(directory, STORES);
  expect(contents()).toEqual(made);
});
