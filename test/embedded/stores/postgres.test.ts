import { mkdtemp, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { type EmbeddedPostgres, startEmbeddedPostgres } from '#embedded/stores/postgres.ts';
import { queryOnce } from '#test/support/sql.ts';

const running: EmbeddedPostgres[] = [];

async function start(dataDir: string): Promise<EmbeddedPostgres> {
  const server = await startEmbeddedPostgres({ dataDir });
  running.push(server);
  return server;
}

/** Closed to other users, as a root's home is: the server must get to its files all the same. */
const privateDirectory = (): Promise<string> => mkdtemp(join(tmpdir(), 'docket-postgres-'));

afterAll(async () => {
  await Promise.all(running.map((server) => server.stop()));
});

describe('embedded PostgreSQL', () => {
  it('keeps its data and its password over a stop, and over a kill', async () => {
    const dataDir = await privateDirectory();
    const first = await start(dataDir);
    await queryOnce(first.url, 'create table kept as select 1 as stop');
    await first.stop();
    const second = await start(dataDir);
    await queryOnce(second.url, 'alter table kept add column kill integer default 2');
    second.kill();
    const third = await start(dataDir);
    expect(await queryOnce(third.url, 'select * from kept')).toEqual([{ stop: 1, kill: 2 }]);
    expect(new URL(third.url).password).toBe(new URL(first.url).password);
  });

  it('is safe at a power failure unless told otherwise', async () => {
    const { url } = await start(await privateDirectory());
    const [row] = await queryOnce(
      url,
      `select current_setting('fsync') as fsync, current_setting('synchronous_commit') as commit,
              current_setting('full_page_writes') as pages, current_setting('timezone') as zone`,
    );
    expect(row).toEqual({ fsync: 'on', commit: 'on', pages: 'on', zone: 'UTC' });
  });

  it('refuses a connection without the password', async () => {
    const { url } = await start(await privateDirectory());
    const guess = new URL(url);
    guess.password = 'guess';
    await expect(queryOnce(guess.href, 'select 1')).rejects.toMatchObject({ code: '28P01' });
  });

  it('starts many at once, each on a port of its own', async () => {
    const servers = await Promise.all([1, 2, 3].map(async () => start(await privateDirectory())));
    expect(new Set(servers.map(({ url }) => new URL(url).port)).size).toBe(3);
  });

  it('keeps its password readable by its owner alone', async () => {
    const dataDir = await privateDirectory();
    await start(dataDir);
    expect((await stat(join(dataDir, 'password'))).mode & 0o077).toBe(0);
  });
});
