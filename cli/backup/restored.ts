import { cp, mkdtemp, readdir, rm, stat, statfs, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import {
  giveTo,
  removeGiven,
  runAs,
  type SystemUser,
  unprivilegedUser,
} from '#embedded/stores/unprivileged-user.ts';
import { type RunningServer, startServer } from '#embedded/stores/server-process.ts';
import { reasonOf } from '#shared/kernel/plain-text.ts';
import { EXIT_OF } from '#shared/process/exits.ts';
import type { Backup } from './folder.ts';

export interface RestoreOptions {
  /** The folder with `postgres` of the backup's version. */
  programs: string;
  /** Where the copy lies while it is looked at. */
  scratch: string;
  /** Whose name the copy is asked in, and of which database. */
  login: { user: string; database: string };
  onCopied: (bytes: number, of: number) => void;
  onReplayed: (files: number, of: number) => void;
}

export interface Restored {
  /** Of the copy, by a socket that this user alone reaches. */
  url: string;
  /** When the last transaction in it was committed, in ms; undefined where none was replayed. */
  lastTransaction: number | undefined;
}

/** A folder may hold years of files; a replay takes what it takes. */
const READY_MS = 24 * 60 * 60_000;
const STOP_MS = 30_000;
const SIGNALS = Object.keys(EXIT_OF) as (keyof typeof EXIT_OF)[];
/** What a copy takes beyond the base: what is replayed into it is written once more. */
const ROOM = 1.25;
const SOCKET = '.s.PGSQL.5432';
/** The path of a Unix socket, by Linux and macOS. */
const SOCKET_PATH_MAX = 100;
/** What stands in a command of PostgreSQL's settings as it is. */
const PLAIN_PATH = /^[\w./+@,:-]+$/;

/**
 * Restores a copy of a backup beside everything, starts it where no one else reaches it, and removes it after `work`. Neither
 * the backup nor its archive is written to.
 * @throws Error when there is no room, a path cannot be told to PostgreSQL, or the copy does not start
 */
export async function withRestored<T>(
  backup: Backup,
  options: RestoreOptions,
  work: (restored: Restored) => Promise<T>,
): Promise<T> {
  const tablespaces = await readdir(join(backup.base, 'pg_tblspc'));
  if (tablespaces.length > 0) {
    throw new Error(
      'The backup has tablespaces: a copy would write into those of the server that it was taken of.',
    );
  }
  const size = await sizeOf(backup.base);
  const room = await roomAt(options.scratch);
  if (room < size * ROOM) {
    throw new Error(
      `A copy of the backup takes ${sizeText(size * ROOM)}, and ${options.scratch} has ${sizeText(room)}: name a folder with more by --scratch.`,
    );
  }
  const home = await mkdtemp(join(resolve(options.scratch), 'docket-restored-'));
  let server: RunningServer | undefined;
  const stopping = new Stopping();
  try {
    const cluster = join(home, 'data');
    await copy(backup.base, cluster, (done) => {
      stopping.check();
      options.onCopied(done, size);
    });
    const user = await userFor(backup);
    await writeSettings(cluster, home, backup);
    if (user !== undefined) await giveTo(user, home);
    const told = { lastTransaction: undefined as number | undefined };
    server = await start(cluster, {
      ...options,
      backup,
      user,
      told,
      onSpawn: (pid) => stopping.serverIs(pid),
    });
    const { user: name, database } = options.login;
    const url = `postgres://${encodeURIComponent(name)}@localhost/${encodeURIComponent(database)}?host=${encodeURIComponent(home)}`;
    return await work({ url, ...told });
  } finally {
    await server?.stop();
    await removeGiven(home);
    stopping.done();
  }
}

/** Ctrl-C, and a supervisor that stops the command: what it does ends by that, and it removes what it has made. */
class Stopping {
  #signal: keyof typeof EXIT_OF | undefined;
  #server: number | undefined;
  readonly #hear = (signal: NodeJS.Signals): void => {
    this.#signal = signal as keyof typeof EXIT_OF;
    this.#endServer();
  };

  constructor() {
    for (const signal of SIGNALS) process.once(signal, this.#hear);
  }

  /** @throws Error once the command was told to stop */
  check(): void {
    if (this.#signal !== undefined) throw new Error(`stopped by ${this.#signal}`);
  }

  serverIs(pid: number): void {
    this.#server = pid;
    if (this.#signal !== undefined) this.#endServer();
  }

  /** Ends the process if it was told to, by now that nothing is left. */
  done(): void {
    for (const signal of SIGNALS) process.off(signal, this.#hear);
    if (this.#signal !== undefined) process.exit(EXIT_OF[this.#signal]);
  }

  /** At once: nothing of it is needed. What waits for it fails. */
  #endServer(): void {
    if (this.#server === undefined) return;
    try {
      process.kill(this.#server, 'SIGQUIT');
    } catch {
      // It has ended by itself.
    }
  }
}

/** As root, who reads the backup: its owner, who is the server's user as a rule. */
async function userFor({ base }: Backup): Promise<SystemUser | undefined> {
  const user = await unprivilegedUser();
  const { uid, gid } = await stat(base);
  return user === undefined || uid === 0 ? user : { name: `of ${base}`, uid, gid };
}

/** What the server had is not asked: it may name certificates, libraries and an archive of that machine. */
async function writeSettings(cluster: string, home: string, { wal }: Backup): Promise<void> {
  if (home.length + SOCKET.length + 1 > SOCKET_PATH_MAX) {
    throw new Error(
      `${home} is too long for the path of a socket: name a shorter one by --scratch.`,
    );
  }
  for (const path of [home, ...(wal === undefined ? [] : [resolve(wal)])]) {
    if (!PLAIN_PATH.test(path)) throw new Error(`PostgreSQL cannot be told the path ${path}.`);
  }
  const settings = {
    listen_addresses: '',
    unix_socket_directories: home,
    log_timezone: 'UTC',
    archive_mode: 'off',
    hot_standby: 'off',
    max_connections: 20,
    max_prepared_transactions: 64,
    shared_buffers: '128MB',
    ...(wal === undefined ? {} : { restore_command: `cp ${resolve(wal)}/%f %p` }),
  };
  const lines = Object.entries(settings).map(([name, value]) => `${name} = '${value}'\n`);
  await writeFile(join(cluster, 'postgresql.conf'), lines.join(''));
  await writeFile(join(cluster, 'postgresql.auto.conf'), '');
  // The folder of the socket is closed to everyone else.
  await writeFile(join(cluster, 'pg_hba.conf'), 'local all all trust\n');
  await writeFile(join(cluster, 'pg_ident.conf'), '');
  await rm(join(cluster, 'standby.signal'), { force: true });
  if (wal !== undefined) await writeFile(join(cluster, 'recovery.signal'), '');
}

interface Starting extends RestoreOptions {
  backup: Backup;
  user: SystemUser | undefined;
  told: { lastTransaction: number | undefined };
  onSpawn: (pid: number) => void;
}

async function start(
  cluster: string,
  { backup: { wal, firstWal }, programs, user, told, onReplayed, onSpawn }: Starting,
): Promise<RunningServer> {
  const archived = wal === undefined ? [] : await readdir(wal);
  // The timeline comes first in a name, and is another after each promotion.
  const files = archived.filter((name) => /^[0-9A-F]{24}$/.test(name) && name >= firstWal).length;
  let replayed = 0;
  const postgres = join(programs, 'postgres');
  // A file of the archive: the folder itself may be closed to the server's user.
  const paths = [cluster, ...(wal === undefined ? [] : [join(resolve(wal), firstWal)])];
  return startServer({
    ...(await runAs(user, postgres, ['-D', cluster], paths)),
    name: 'PostgreSQL of the copy',
    cwd: cluster,
    ready: /database system is ready to accept connections/,
    readyMs: READY_MS,
    stopSignal: 'SIGINT',
    stopMs: STOP_MS,
    onSpawn,
    onLog: (line) => {
      if (/restored log file "[0-9A-F]{24}"/.test(line)) onReplayed((replayed += 1), files);
      const last = /last completed transaction was at log time (\S+) ([\d:.]+)\+00$/.exec(line);
      if (last !== null) told.lastTransaction = Date.parse(`${last[1]}T${last[2]}Z`);
    },
  });
}

const sizeText = (size: number): string =>
  size < 1e9 ? `${Math.ceil(size / 1e6)} MB` : `${(size / 1e9).toFixed(1)} GB`;

async function sizeOf(folder: string): Promise<number> {
  let size = 0;
  for (const entry of await readdir(folder, { recursive: true, withFileTypes: true })) {
    if (entry.isFile()) size += (await stat(join(entry.parentPath, entry.name))).size;
  }
  return size;
}

async function roomAt(folder: string): Promise<number> {
  const found = await statfs(folder).catch((cause: unknown) => {
    throw new Error(`A copy cannot lie in ${folder} (--scratch): ${reasonOf(cause)}`, { cause });
  });
  return found.bavail * found.bsize;
}

async function copy(from: string, to: string, onCopied: (bytes: number) => void): Promise<void> {
  let copied = 0;
  await cp(from, to, {
    recursive: true,
    // pg_wal may be a link to another disk, which a copy must not write to.
    dereference: true,
    filter: async (path) => {
      const found = await stat(path);
      if (found.isFile()) onCopied((copied += found.size));
      // A socket or a pipe is of the server's machine.
      return found.isFile() || found.isDirectory();
    },
  });
}
