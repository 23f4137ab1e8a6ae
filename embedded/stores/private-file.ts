import { constants } from 'node:fs';
import { type FileHandle, open, readFile, unlink } from 'node:fs/promises';
import { randomBytes } from 'node:crypto';
import type { SystemUser } from './unprivileged-user.ts';

/**
 * Writes a file anew that only its owner reads. Its directory may belong to another user by now, who may have put a
 * symbolic link in its place: the name is removed and made, never followed, and the file is given away by its handle.
 */
export async function writePrivateFile(
  path: string,
  text: string,
  owner?: SystemUser,
): Promise<void> {
  await removeName(path);
  const { O_CREAT, O_EXCL, O_NOFOLLOW, O_WRONLY } = constants;
  const file: FileHandle = await open(path, O_CREAT | O_EXCL | O_NOFOLLOW | O_WRONLY, 0o600);
  try {
    await file.writeFile(text);
    if (owner !== undefined) await file.chown(owner.uid, owner.gid);
  } finally {
    await file.close();
  }
}

/** Removes one name, if it is there; a directory in its place stays, and is an error. */
export async function removeName(path: string): Promise<void> {
  await unlink(path).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'ENOENT') throw error;
  });
}

/** Longer than the number of a process with what goes with it; of a longer file nothing more is read. */
const PLAIN_BYTES_MAX = 4_096;

/**
 * Reads a small file in a directory that may belong to another user by now: a symbolic link in its place is not followed,
 * and what is no file is not waited for, as reading a pipe without a writer would be.
 */
export async function readPlainFile(path: string): Promise<string> {
  const { O_NOFOLLOW, O_NONBLOCK, O_RDONLY } = constants;
  const file: FileHandle = await open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK);
  try {
    if (!(await file.stat()).isFile()) throw new Error(`${path} is not a file`);
    const { buffer, bytesRead } = await file.read({ buffer: Buffer.alloc(PLAIN_BYTES_MAX) });
    return buffer.toString('utf8', 0, bytesRead);
  } finally {
    await file.close();
  }
}

/** A password that is made once and kept in a file of this user's own. */
export async function ensurePassword(path: string): Promise<string> {
  const kept = await readFile(path, 'utf8').catch(() => '');
  if (kept.trim() !== '') return kept.trim();
  const password = randomBytes(24).toString('hex');
  await writePrivateFile(path, `${password}\n`);
  return password;
}
