import { readdir, readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';

/** A base backup, and what was written ahead since. */
export interface Backup {
  /** A data folder, as `pg_basebackup` leaves it. */
  base: string;
  /** The archive that `archive_command` fills; undefined where there is none. */
  wal: string | undefined;
  /** Of the server, such as 18. */
  major: string;
  /** When the base began, in ms. */
  startedAt: number;
  /** The first file of the archive that a restore reads. */
  firstWal: string;
}

/**
 * Finds the newest base backup of a folder: the folder itself, or one in it; the archive is `wal` beside it unless it is named.
 * @throws Error when there is no such folder, or no base backup in it
 */
export async function newestBackup(folder: string, wal?: string): Promise<Backup> {
  if (!(await isFolder(folder))) throw new Error(`${folder} is no folder that can be read here.`);
  const names = await readdir(folder);
  const places = [folder, ...names.map((name) => join(folder, name))];
  const bases = (await Promise.all(places.map(readBase))).filter((base) => base !== undefined);
  const newest = bases.toSorted((a, b) => b.startedAt - a.startedAt)[0];
  if (newest === undefined) {
    throw new Error(
      `${folder} has no base backup: neither it nor a folder in it has PG_VERSION and backup_label, as pg_basebackup leaves them in plain form.`,
    );
  }
  const beside = join(folder, 'wal');
  const archive = wal ?? ((await isFolder(beside)) ? beside : undefined);
  if (archive !== undefined && !(await isFolder(archive))) {
    throw new Error(`${archive} is no folder that can be read here.`);
  }
  return { ...newest, wal: archive };
}

async function readBase(base: string): Promise<Omit<Backup, 'wal'> | undefined> {
  const read = (name: string): Promise<string | undefined> =>
    readFile(join(base, name), 'utf8').catch(() => undefined);
  const [version, label] = await Promise.all([read('PG_VERSION'), read('backup_label')]);
  if (version === undefined || label === undefined) return undefined;
  const began = /^START TIME: (\S+ \S+) (\S+)$/m.exec(label);
  const startedAt = Date.parse(`${began?.[1]?.replace(' ', 'T')}Z`);
  const firstWal = /^START WAL LOCATION: .*\(file ([0-9A-F]{24})\)/m.exec(label)?.[1];
  if (firstWal === undefined) throw new Error(`${join(base, 'backup_label')} cannot be read.`);
  return {
    base,
    major: version.trim(),
    // The label has the server's zone by a name that may be any; its file is as old as the backup.
    startedAt: /^(?:UTC|GMT)$/.test(began?.[2] ?? '')
      ? startedAt
      : (await stat(join(base, 'backup_label'))).mtimeMs,
    firstWal,
  };
}

const isFolder = (path: string): Promise<boolean> =>
  stat(path).then(
    (found) => found.isDirectory(),
    () => false,
  );
