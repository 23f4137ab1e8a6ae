import { readArguments } from '#lab/support/arguments.ts';
import { CHECKS } from './checks.ts';
import { Ground } from './ground.ts';
import { findPgBouncer } from './pgbouncer.ts';

const USAGE = `npm run pooler

Starts a PostgreSQL with a streaming replica, a real PgBouncer by transaction as it is shipped, and every process of the
product with a login of its own, which know PostgreSQL by PgBouncer alone, and sees what callers and operators see. It takes
some minutes on two cores. Exit code 0: everything works; 1: something does not; 2: wrong arguments; 3: PgBouncer is
missing. Checks:
${CHECKS.map(([name]) => `  ${name}`).join('\n')}
`;

readArguments(USAGE, { options: {} });
const say = (line: string): void => void process.stdout.write(`${line}\n`);
const found = await findPgBouncer();
if (found === undefined) {
  say('There is no PgBouncer: apt-get install --no-install-recommends pgbouncer');
  process.exit(3);
}
say(`${found.version}, by transaction`);
const ground = await Ground.start(found.binary);
try {
  for (const [name, check] of CHECKS) {
    const lines = (await check(ground)).split('\n');
    say([`  ${name}: works`, ...lines].join('\n      '));
  }
  say(`${CHECKS.length} checks work`);
} catch (error) {
  // What follows builds on it.
  say(`  does not work: ${(error as Error).message}`);
  process.exitCode = 1;
} finally {
  await ground.remove();
}
