import { execFile } from 'node:child_process';
import { mkdir, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { claimPort } from '#embedded/ports.ts';
import { writePrivateFile } from '#embedded/stores/private-file.ts';
import { type RunningServer, startServer } from '#embedded/stores/server-process.ts';
import { giveTo, runAs, unprivilegedUser } from '#embedded/stores/unprivileged-user.ts';

const run = promisify(execFile);
/** Where Debian has its PostgreSQL, a folder for each version. */
const VERSIONS = '/usr/lib/postgresql';
const HOST = '127.0.0.1';
const READY_MS = 60_000;

/** The folder of programs of the oldest version that is installed; undefined where there is none. */
export async function findDebianPostgres(): Promise<string | undefined> {
  const versions = await readdir(VERSIONS).catch(() => []);
  const [version] = versions.toSorted((a, b) => Number(a) - Number(b));
  return version === undefined ? undefined : join(VERSIONS, version, 'bin');
}

/** A PostgreSQL as its packages make one, with an archive of its WAL beside it. */
export class Postgres {
  /** The folder of its programs. */
  readonly programs: string;
  readonly #password: string;
  /** With the cluster in `data`, what was archived in `backup/wal`, and a base backup in `backup/base`. */
  readonly directory: string;
  #server: RunningServer | undefined;
  #port = 0;

  /** Makes a cluster in a new folder, and starts it. */
  static async start(programs: string, directory: string, password: string): Promise<Postgres> {
    const postgres = new Postgres(programs, directory, password);
    await mkdir(join(directory, 'backup/wal'), { recursive: true });
    await writePrivateFile(join(directory, 'password'), password, await unprivilegedUser());
    const user = await unprivilegedUser();
    if (user !== undefined) await giveTo(user, directory);
    await postgres.shell(
      `"${programs}/initdb" -D data -U postgres --auth=scram-sha-256 --pwfile=password`,
      {},
    );
    await postgres.begin();
    return postgres;
  }

  private constructor(programs: string, directory: string, password: string) {
    this.programs = programs;
    this.directory = directory;
    this.#password = password;
  }

  /** Of the superuser, without a database. */
  get url(): string {
    return `postgres://postgres:${this.#password}@${HOST}:${this.#port}`;
  }

  async version(): Promise<string> {
    return (await run(join(this.programs, 'postgres'), ['--version'])).stdout.trim();
  }

  /** Starts the cluster that is in `data`, on another port each time. */
  async begin(): Promise<void> {
    this.#port = await claimPort(HOST, 0);
    const wal = join(this.directory, 'backup/wal');
    const settings = {
      listen_addresses: HOST,
      port: this.#port,
      unix_socket_directories: '',
      archive_mode: 'on',
      archive_command: `test ! -f ${wal}/%f && cp %p ${wal}/%f`,
    };
    const flags = Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`]);
    const data = join(this.directory, 'data');
    const invocation = await runAs(
      await unprivilegedUser(),
      join(this.programs, 'postgres'),
      ['-D', data, ...flags],
      [data],
    );
    this.#server = await startServer({
      ...invocation,
      name: 'PostgreSQL',
      cwd: data,
      ready: /database system is ready to accept connections/,
      readyMs: READY_MS,
      stopSignal: 'SIGINT',
      stopMs: READY_MS,
    });
  }

  async stop(): Promise<void> {
    await this.#server?.stop();
    this.#server = undefined;
  }

  /** Runs commands as the user of the server, where its folders are. */
  async shell(commands: string, env: Readonly<Record<string, string>>): Promise<void> {
    const { directory } = this;
    const user = await unprivilegedUser();
    const {
      command,
      args,
      user: as,
    } = await runAs(user, '/bin/bash', ['-euc', commands], [directory]);
    const PATH = `${this.programs}:${process.env['PATH']}`;
    await run(command, [...args], { ...as, cwd: directory, env: { PATH, ...env } });
  }
}
