/**
 * `npm run test:deep -- [--seed N] [files and options of Vitest]`: the tests with all of what is random or exhaustive, by a
 * new seed each time, or by one that is given again.
 */
import { spawnSync } from 'node:child_process';
import { randomInt } from 'node:crypto';
import { join } from 'node:path';
import { readEnvironment } from '#shared/config/config.ts';

/** What fast-check takes for a seed. */
const SEEDS = 2 ** 31;

const args = process.argv.slice(2);
const at = args.indexOf('--seed');
const given = at === -1 ? String(randomInt(SEEDS)) : (args.splice(at, 2)[1] ?? '');
if (!/^\d{1,10}$/.test(given) || Number(given) >= SEEDS) {
  process.stderr.write(`--seed takes a whole number below ${SEEDS}, not "${given}"\n`);
  process.exit(2);
}
process.stdout.write(`seed ${given}\n`);
const vitest = join(import.meta.dirname, '../node_modules/vitest/vitest.mjs');
const { status } = spawnSync(process.execPath, [vitest, 'run', ...args], {
  env: { ...readEnvironment(), DEEP_SEED: given },
  stdio: 'inherit',
});
if (status !== 0) {
  process.stderr.write(`npm run test:deep -- --seed ${given} <file> repeats what failed\n`);
  process.exitCode = status ?? 1;
}
