import { readEnvironment } from '#shared/config/config.ts';

/** Where programs, libraries and temporary files are, and what time it is here. */
const NEEDED = ['PATH', 'LD_LIBRARY_PATH', 'DYLD_LIBRARY_PATH', 'TMPDIR', 'TZ'];

/**
 * What a program that is not ours is started with: nothing of the caller's that is secret, and nothing that would set it up
 * otherwise than its command line does.
 */
export function bareEnvironment(): Record<string, string | undefined> {
  const own = readEnvironment();
  return Object.fromEntries(NEEDED.map((name) => [name, own[name]]));
}
