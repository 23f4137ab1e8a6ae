#!/usr/bin/env node
// What `npx docket` runs, in a checkout and where the package is installed. Plain JavaScript that Nodes of long ago read too,
// so that they say what is the matter instead of a syntax error.
import { existsSync, lstatSync } from 'node:fs';
import module from 'node:module';
import { join } from 'node:path';

/** As package.json's `engines` says. */
const OLDEST = 24;

const [major = ''] = process.versions.node.split('.');
if (Number(major) < OLDEST) {
  process.stderr.write(
    `docket: Node ${OLDEST} or newer is needed, and this is ${process.version}\n`,
  );
  process.exit(1);
}
// `docket up` lives as long as its processes do. It keeps what it is compiled to where they keep theirs, and where there is
// no such place yet, it does without. What is in that place is run: so no other user may write to it, which the launcher asks
// of the directory around it later on.
const directory = process.env.DOCKET_DATA_DIR || '.docket';
const cache = join(directory, 'compile-cache');
if (process.argv[2] === 'up' && isOnlyOurs(directory, cache)) module.enableCompileCache(cache);
// Only a checkout has the sources, and runs them as they are.
const source = new URL('docket.ts', import.meta.url);
const built = new URL('../dist/cli/docket.js', import.meta.url);
await import((existsSync(source) ? source : built).href);

/** Whether both are this user's, and no other user can write to the one in the other. */
function isOnlyOurs(around, inner) {
  const found = [around, inner].map((path) => lstatSync(path, { throwIfNoEntry: false }));
  if (!found.every((one) => one?.isDirectory() && one.uid === process.getuid?.())) return false;
  const [outside, inside] = found;
  return (outside.mode & 0o077) === 0 || ((outside.mode | inside.mode) & 0o022) === 0;
}
