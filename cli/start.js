#!/usr/bin/env node
// What `npx docket` runs, in a checkout and where the package is installed. Plain JavaScript that Nodes of long ago read too,
// so that they say what is the matter instead of a syntax error.
import { existsSync } from 'node:fs';
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
// no such place yet, it does without: whose that directory is, is for the launcher to say.
const cache = join(process.env.DOCKET_DATA_DIR || '.docket', 'compile-cache');
if (process.argv[2] === 'up' && existsSync(cache)) module.enableCompileCache(cache);
// Only a checkout has the sources, and runs them as they are.
const source = new URL('docket.ts', import.meta.url);
const built = new URL('../dist/cli/docket.js', import.meta.url);
await import((existsSync(source) ? source : built).href);
