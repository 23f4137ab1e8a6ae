import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { startEmbeddedPostgres } from '#embedded/stores/postgres.ts';
import { queryOnce } from '#test/support/sql.ts';

const launchers: ChildProcess[] = [];

/** Another launcher with a PostgreSQL on the directory; settles when that is up. */
async function launchElsewhere(dataDir: string): Promise<ChildProcess> {
  const module = join(import.meta.dirname, '../../../embedded/stores/postgres.ts');
  const program = `
    const { startEmbeddedPostgres } = await import(${JSON.stringify(module)});
    const { url } = await startEmbeddedPostgres({ dataDir: ${JSON.stringify(dataDir)} });
    console.log(url);
    setInterval(() => {}, 1_000);`;
  const launcher = spawn(process.execPath, ['--input-type=module', '--eval', program], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  launchers.push(launcher);
  await once(launcher.stdout, 'data');
  return launcher;
}

afterAll(async () => {
  for (const launcher of launchers) launcher.kill('SIGKILL');
});

describe('a data directory', () => {
  it('serves one launcher at a time, and is taken over from one that was killed', async () => {
    const dataDir = await mkdtemp(join(tmpdir(), 'docket-owner-'));
    const other = await launchElsewhere(dataDir);
    await expect(startEmbeddedPostgres({ dataDir })).rejects.toThrow(
      `in use by process ${other.pid}`,
    );
    other.kill('SIGKILL');
    await once(other, 'exit');
    const server = await startEmbeddedPostgres({ dataDir });
    expect(await queryOnce(server.url, 'select 1 as up')).toEqual([{ up: 1 }]);
    await server.stop();
  });
});
