import { execFile } from 'node:child_process';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { type RunningServer, startServer, withPort } from '#embedded/stores/server-process.ts';
import { giveTo, runAs, unprivilegedUser } from '#embedded/stores/unprivileged-user.ts';

const READY_MS = 10_000;
const PLACES = ['pgbouncer', '/usr/sbin/pgbouncer'];

/** The program and what it says of itself; undefined where it is not installed. */
export async function findPgBouncer(): Promise<{ binary: string; version: string } | undefined> {
  for (const binary of PLACES) {
    const answer = await promisify(execFile)(binary, ['--version']).catch(() => undefined);
    if (answer !== undefined) return { binary, version: answer.stdout.split('\n')[0]! };
  }
  return undefined;
}

export interface PgBouncer extends RunningServer {
  port: number;
}

/** PgBouncer by transaction, as it is shipped but for the number of connections where one is named. @param logins name → password */
export async function startPgBouncer(options: {
  binary: string;
  directory: string;
  server: URL;
  logins: ReadonlyMap<string, string>;
  port?: number;
  /** Connections to the server for each login; as it is shipped when absent. */
  servers?: number;
}): Promise<PgBouncer> {
  const { binary, directory, server, logins, servers } = options;
  await mkdir(directory, { recursive: true });
  const users = join(directory, 'users.txt');
  await writeFile(users, [...logins].map(([name, word]) => `"${name}" "${word}"\n`).join(''));
  const user = await unprivilegedUser();
  const { server: running, port } = await withPort(options.port, /bind|in use/i, async (free) => {
    const file = join(directory, 'pgbouncer.ini');
    const lines = [
      '[databases]',
      `docket = host=${server.hostname} port=${server.port} dbname=docket`,
      '[pgbouncer]',
      'listen_addr = 127.0.0.1',
      `listen_port = ${free}`,
      'unix_socket_dir =',
      'auth_type = scram-sha-256',
      `auth_file = ${users}`,
      'pool_mode = transaction',
      ...(servers === undefined ? [] : [`default_pool_size = ${servers}`]),
    ];
    await writeFile(file, `${lines.join('\n')}\n`);
    if (user !== undefined) await giveTo(user, directory);
    const invocation = await runAs(user, binary, [file], [directory]);
    const started = await startServer({
      ...invocation,
      name: 'PgBouncer',
      cwd: directory,
      ready: /process up/,
      readyMs: READY_MS,
      stopSignal: 'SIGINT',
      stopMs: READY_MS,
    });
    return { server: started, port: free };
  });
  return { ...running, port };
}
