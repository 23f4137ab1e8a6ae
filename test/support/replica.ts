import { cp, mkdir, mkdtemp, readdir, rm, writeFile, appendFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Client } from 'pg';
import { type EmbeddedPostgres, startEmbeddedPostgres } from '#embedded/stores/postgres.ts';

/** Of the primary's data, what a replica makes for itself. */
const OWN = ['postmaster.pid', 'postmaster.opts'];
const OWN_FOLDERS = ['pg_wal', 'pg_replslot'];

/**
 * A streaming replica of a server of the embedded mode, made by the backup that PostgreSQL offers to programs.
 * @param home the primary's directory
 */
export async function startReplica(primaryUrl: string, home: string): Promise<EmbeddedPostgres> {
  const dataDir = await mkdtemp(join(tmpdir(), 'docket-replica-'));
  await copyData(primaryUrl, home, join(dataDir, 'data'));
  const to = join(dataDir, 'data');
  const { hostname, port, username, password } = new URL(primaryUrl);
  const target = `host=${hostname} port=${port} user=${username} password=${password}`;
  await appendFile(join(to, 'postgresql.auto.conf'), `primary_conninfo = '${target}'\n`);
  await writeFile(join(to, 'standby.signal'), '');
  await cp(join(home, 'password'), join(dataDir, 'password'));
  const server = await startEmbeddedPostgres({ dataDir, durable: false });
  return {
    ...server,
    stop: async () => {
      await server.stop();
      await rm(dataDir, { recursive: true, force: true });
    },
  };
}

/**
 * A base backup of a server of the embedded mode, by the way that PostgreSQL offers to programs.
 * @param home its directory
 * @param to a folder that is not there yet
 */
export async function copyData(url: string, home: string, to: string): Promise<void> {
  const from = join(home, 'data');
  const client = new Client({ connectionString: url });
  await client.connect();
  try {
    await client.query(`select pg_backup_start('replica', true)`);
    await mkdir(to, { mode: 0o700 });
    for (const name of (await readdir(from)).filter((entry) => !OWN.includes(entry))) {
      if (OWN_FOLDERS.includes(name)) await mkdir(join(to, name), { mode: 0o700 });
      else await cp(join(from, name), join(to, name), { recursive: true });
    }
    const { rows } = await client.query<{ label: string }>(
      'select labelfile as label from pg_backup_stop(false)',
    );
    await writeFile(join(to, 'backup_label'), rows[0]!.label);
  } finally {
    await client.end();
  }
}
