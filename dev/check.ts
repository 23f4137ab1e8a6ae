/**
 * `npm run check`: everything that can be said of the code without PostgreSQL and Redis, all steps
 * at once. `node dev/check.ts static` leaves out the unit tests, which `npm test` runs with the others.
 */
import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { readEnvironment } from '#shared/config/config.ts';
import { trackedFiles } from './tracked-files.ts';

const ROOT = join(import.meta.dirname, '..');

/** Longest first: the others finish beside it. The import rules are among the tests. */
const STEPS: Readonly<Record<string, readonly string[]>> = {
  tests: ['vitest', 'run', '--project', 'unit', '--reporter', 'dot'],
  // Five times as fast as the TypeScript 6 that the import rules are read with; both call themselves tsc. Several threads
  // check much twice, and the other steps use the processors meanwhile.
  types: ['node', 'node_modules/typescript-7/bin/tsc', '--pretty', '--singleThreaded'],
  lint: ['oxlint'],
  'dead code': ['knip', '--no-progress'],
  'code that only tests run': ['knip', '--production', '--no-progress'],
  // Only what is tracked: who follows the README has answers and keys beside it.
  format: ['oxfmt', '--check', '--no-error-on-unmatched-pattern', ...trackedFiles(ROOT)],
};

/** The linter's type checker, in Go, collects garbage for a third of its time where its heap may only double in between. */
const ENVIRONMENT = { ...readEnvironment(), GOGC: '400' };

interface Outcome {
  passed: boolean;
  output: string;
  seconds: string;
}

function run([program = '', ...args]: readonly string[]): Promise<Outcome> {
  const started = performance.now();
  const child = spawn(join(ROOT, 'node_modules/.bin', program), args, {
    cwd: ROOT,
    env: ENVIRONMENT,
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let output = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (text: string) => {
      output += text;
    });
  }
  return new Promise((resolve) => {
    const end = (passed: boolean): void => {
      resolve({ passed, output, seconds: ((performance.now() - started) / 1_000).toFixed(1) });
    };
    child.once('error', (error) => {
      output += error.message;
      end(false);
    });
    child.once('close', (code) => end(code === 0));
  });
}

const wanted = Object.entries(STEPS).filter(
  ([name]) => !(process.argv[2] === 'static' && name === 'tests'),
);
await Promise.all(
  wanted.map(async ([name, command]) => {
    const { passed, output, seconds } = await run(command);
    process.stdout.write(`${passed ? '✓' : '✗'} ${name} (${seconds} s)\n`);
    if (passed) return;
    process.stdout.write(`${output.trim().replaceAll(/^/gm, '    ')}\n`);
    process.exitCode = 1;
  }),
);
