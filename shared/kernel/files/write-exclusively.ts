import { randomUUID } from 'node:crypto';
import {
  chmodSync,
  chownSync,
  linkSync,
  mkdirSync,
  rmSync,
  type Stats,
  writeFileSync,
} from 'node:fs';
import { dirname } from 'node:path';

/**
 * Writes a whole file, which this user alone can read, under a name that is not taken yet; returns false when another process
 * was faster. The content is on disk before the name is: a crash leaves no half key, and `link` refuses a name that is taken.
 * @param like whose file it is to be, and what for, by the time that it has its name; for root to say
 */
export function writeExclusively(
  path: string,
  content: string | Uint8Array,
  like?: Pick<Stats, 'uid' | 'gid' | 'mode'>,
): boolean {
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
  const offer = `${path}.${randomUUID()}.offer`;
  try {
    writeFileSync(offer, content, { flag: 'wx', mode: 0o600, flush: true });
    if (like !== undefined) {
      chownSync(offer, like.uid, like.gid);
      chmodSync(offer, like.mode & 0o777);
    }
    linkSync(offer, path);
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false;
    throw error;
  } finally {
    rmSync(offer, { force: true });
  }
}
