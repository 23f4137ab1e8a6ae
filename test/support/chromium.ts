import { access } from 'node:fs/promises';
import { delimiter, join } from 'node:path';
import { apt, canInstall } from '#embedded/stores/redis-binary.ts';
import { readEnvironment } from '#shared/config/config.ts';

/** Where a Chromium may be when it is not on the PATH. */
const NAMES = ['chromium', 'chromium-browser', 'google-chrome'];

/** Path of the browser that the page tests drive, or undefined. */
export async function findChromium(): Promise<string | undefined> {
  for (const directory of (readEnvironment()['PATH'] ?? '').split(delimiter)) {
    for (const name of NAMES) {
      const path = join(directory, name);
      const found = await access(path).then(
        () => true,
        () => false,
      );
      if (found) return path;
    }
  }
  return undefined;
}

/** Vitest's global set-up of the browser tests: installs Chromium where it may, says what to do where not. */
export default async function ensureChromium(): Promise<void> {
  if ((await findChromium()) !== undefined) return;
  if (!(await canInstall())) {
    throw new Error('Chromium is missing: install it (Debian, Ubuntu: apt-get install chromium)');
  }
  process.stderr.write('Chromium is missing: installing the package chromium with apt-get\n');
  await apt(['update', '-q']);
  await apt(['install', '-q', '-y', '--no-install-recommends', 'chromium']);
}
