import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { readArguments } from '#lab/support/arguments.ts';
import { Cache, inUserCache, NotToBeHad } from '#lab/upstreams/cache.ts';
import { exampleReceipt } from './example.ts';

// pycose reads no lists of cbor2 6.
const PACKAGES = ['scitt-cose==0.5.0', 'pycose==1.1.0', 'cbor2==5.9.0', 'cryptography==50.0.2'];
const RECORDED = join(import.meta.dirname, '../../test/vectors/cose/inclusion.json');

const USAGE = `npm run cose -- [--cache DIRECTORY] [--record]

Makes a COSE receipt of inclusion by a fixed key, of a fixed log, and has programs in Python verify it, which share no code
with this one. Exit code 0: all of them take it and refuse altered ones, or nothing was tried; 1: one does not; 2: wrong
arguments.

--cache    where Python's packages are kept; default: docket/cose in the user's cache directory
--record   writes the receipt and what was said of it into test/vectors/cose, which npm test compares with what is made
`;

const { values } = readArguments(USAGE, {
  options: { cache: { type: 'string' }, record: { type: 'boolean' } },
});
const say = (line: string): void => void process.stdout.write(`${line}\n`);
try {
  const cache = new Cache(values.cache ?? inUserCache('cose'), say);
  const python = await cache.python({ title: 'what verifies', packages: PACKAGES });
  process.exitCode = check(python) ? 0 : 1;
} catch (error) {
  if (!(error instanceof NotToBeHad)) throw error;
  say(`skipped, nothing was tried: ${error.message}`);
}

function check(python: string): boolean {
  const { receipt, entry, publicKey, publicKeyPem } = exampleReceipt();
  const scratch = mkdtempSync(join(tmpdir(), 'docket-cose-'));
  try {
    const files = Object.entries({ receipt, entry, key: publicKeyPem }).map(([name, content]) => {
      const path = join(scratch, name);
      writeFileSync(path, content);
      return path;
    });
    const script = join(import.meta.dirname, 'check.py');
    const { status, stdout, stderr } = spawnSync(python, [script, ...files], { encoding: 'utf8' });
    say(`${stdout}${stderr}`.trimEnd());
    if (status !== 0) return false;
    if (values.record === true) {
      const hex = (bytes: Uint8Array): string => Buffer.from(bytes).toString('hex');
      const recorded = {
        entry: entry.toString(),
        publicKey: hex(publicKey),
        receipt: hex(receipt),
        said: stdout.trimEnd().split('\n'),
      };
      writeFileSync(RECORDED, `${JSON.stringify(recorded, null, 2)}\n`);
    }
    return true;
  } finally {
    rmSync(scratch, { recursive: true });
  }
}
