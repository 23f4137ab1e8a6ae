import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { readArguments } from '#lab/support/arguments.ts';
import { startIssuer } from './issuer.ts';
import { findMinio, Minio } from './minio.ts';
import { checkProduct, findClockLibrary } from './product-checks.ts';
import { expiring, makeBuckets, STORE_CHECKS } from './store-checks.ts';

const USAGE = `npm run objects -- [--minio <path>] [--expiry]

Starts a real MinIO with a key of KMS and an issuer of web identities, and sees what the store of packs and of archived
receipts does there: refused, locked, encrypted, stopped and killed. Then the whole product archives receipts of another
month there, reads them, makes a pack of them and checks the ledger. It takes some minutes. Exit code 0: everything works; 1:
something does not; 2: wrong arguments; 3: MinIO is not installed.

  --minio <path>  the program, where it is not on the path
  --expiry        also waits for the end of a session, a quarter of an hour
  --help          this text

Checks:
${STORE_CHECKS.map(([name]) => `  ${name}`).join('\n')}
`;

const { values } = readArguments(USAGE, {
  options: { minio: { type: 'string' }, expiry: { type: 'boolean', default: false } },
});
const say = (line: string): void => void process.stdout.write(`${line}\n`);
const told = (name: string, words: string): void =>
  say([`  ${name}: works`, ...words.split('\n')].join('\n      '));
const binary = await findMinio(values.minio);
if (binary === undefined) {
  say('MinIO is not installed: go install github.com/minio/minio@latest');
  process.exit(3);
}
const directory = await mkdtemp(join(tmpdir(), 'docket-objects-'));
const issuer = await startIssuer();
const minio = await Minio.start({ binary, directory: join(directory, 'data'), issuer });
const ground = { minio, issuer, directory };
try {
  await makeBuckets(ground);
  const over = values.expiry ? await expiring(ground) : undefined;
  for (const [name, check] of STORE_CHECKS) {
    try {
      told(name, await check(ground));
    } catch (error) {
      say(`  ${name}: does not work: ${(error as Error).message}`);
      process.exitCode = 1;
    }
  }
  const clockLibrary = findClockLibrary();
  if (clockLibrary === undefined) say('  the product: skipped, faketime is not installed');
  else await checkProduct(ground, clockLibrary, told);
  if (over !== undefined) told('a session that is over', await over());
} catch (error) {
  // What follows builds on it.
  say(`  does not work: ${(error as Error).message}`);
  process.exitCode = 1;
} finally {
  await minio.kill();
  await issuer.close();
  await rm(directory, { recursive: true, force: true });
}
