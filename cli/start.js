#!/usr/bin/env node
// What `npx docket` runs, in a checkout and where the package is installed. Plain JavaScript that Nodes of long ago read too,
// so that they say what is the matter instead of a syntax error.
import { existsSync } from 'node:fs';

/** As package.json's `engines` says. */
const OLDEST = 24;

const [major = ''] = process.versions.node.split('.');
if (Number(major) < OLDEST) {
  process.stderr.write(
    `docket: Node ${OLDEST} or newer is needed, and this is ${process.version}\n`,
  );
  process.exit(1);
}
// Only a checkout has the sources, and runs them as they are.
const source = new URL('docket.ts', import.meta.url);
const built = new URL('../dist/cli/docket.js', import.meta.url);
await import((existsSync(source) ? source : built).href);
