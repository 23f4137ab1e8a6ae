import { randomUUID } from 'node:crypto';
import { linkSync, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';

/**
 * Writes a whole file, which this user alone can read, under a name that is not taken yet; returns false when another process
 * was faster. The content is on disk before the name is: a crash leaves no half key, and `link` refuses a name that is taken.
 */
export function writeExclusively(path: string, content: string | Uint8Array): boolean {
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
  const offer = `${path}.${randomUUID()}.offer`;
  try {
    writeFileSync(offer, content, { flag: 'wx', mode: 0o600, flush: true });
    linkSync(offer, path);
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false;
    throw error;
  } finally {
    rmSync(offer, { force: true });
  }
}
