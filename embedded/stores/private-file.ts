import { constants } from 'node:fs';
import { type FileHandle, open, readFile, rm } from 'node:fs/promises';
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
  await rm(path, { force: true });
  const { O_CREAT, O_EXCL, O_NOFOLLOW, O_WRONLY } = constants;
  const file: FileHandle = await open(path, O_CREAT | O_EXCL | O_NOFOLLOW | O_WRONLY, 0o600);
  try {
    await file.writeFile(text);
    if (owner !== undefined) await file.chown(owner.uid, owner.gid);
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
