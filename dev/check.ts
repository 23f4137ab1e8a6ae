/**
 * `npm run check`: what can be said of the code within a minute, without PostgreSQL and Redis, all steps at once. `npm test`
 * adds the rules of the linter that ask for types. It runs the unit tests with all others, those of megabytes, floods, waits
 * and many cases (test/scale) among them.
 */
import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { readEnvironment } from '#shared/config/config.ts';
import { type Changes, changesIn } from './changes.ts';
import { trackedFiles } from './tracked-files.ts';

const ROOT = join(import.meta.dirname, '..');

const USAGE = `npm run check [-- static | --changed]

Format, lint, types, dead code, import rules and unit tests, all at once; each says how long it took.

static      no unit tests, and lint by types too
--changed   of format, lint (by types too) and unit tests only what has to do with the files that differ
            from the last commit, or with those of that commit when none does
`;

interface Scope {
  withTests: boolean;
  changes: Changes | undefined;
}

function readScope(): Scope {
  if (process.argv.includes('--help')) {
    process.stdout.write(USAGE);
    process.exit();
  }
  try {
    const { values, positionals } = parseArgs({
      allowPositionals: true,
      options: { changed: { type: 'boolean', default: false } },
    });
    const [mode, tooMany] = [...positionals, ...(values.changed ? ['--changed'] : [])];
    if (tooMany !== undefined) throw new Error(`${mode} does not go with ${tooMany}`);
    if (positionals.length > 0 && mode !== 'static')
      throw new Error(`Unexpected argument '${mode}'`);
    return { withTests: mode !== 'static', changes: values.changed ? changesIn(ROOT) : undefined };
  } catch (error) {
    process.stderr.write(`${(error as Error).message.split('. ')[0]}.\n\n${USAGE}`);
    return process.exit(2);
  }
}

/** Two at once: the other steps use what time is left while some tests wait. */
const UNIT = [
  'vitest',
  'run',
  '--project',
  'unit',
  '--exclude',
  'test/scale/**',
  '--exclude',
  'test/programs/**',
  '--reporter',
  'minimal',
  '--maxWorkers',
  '2',
];

const LINT = ['oxlint'];
/** All rules but those that ask for types, whose checker alone would be a quarter of a check of everything. */
const QUICK_LINT = ['oxlint', '--config', 'dev/quick-lint.json'];

/** Longest first: the others finish beside it. The import rules are among the tests. */
function stepsOf({ withTests, changes }: Scope): Record<string, readonly string[]> {
  // Only what is tracked: who follows the README has answers and keys beside it.
  const files = changes?.files ?? trackedFiles(ROOT);
  const isQuick = withTests && changes === undefined;
  const sources = changes?.files.filter((path) => /\.[cm]?[jt]s$/.test(path));
  return {
    ...(withTests && {
      tests: changes === undefined ? UNIT : [...UNIT, '--changed', changes.since],
    }),
    // They read the whole repository, so none of their imports tells what they have to do with.
    ...(changes && { 'tests of rules and pages': [...UNIT, 'test/architecture', 'test/docs'] }),
    // Five times as fast as the TypeScript 6 that the import rules are read with; both call themselves tsc. Several threads
    // check much twice, and the other steps use the processors meanwhile. Of files that are as they were it knows the errors.
    types: [
      'node',
      'node_modules/typescript-7/bin/tsc',
      '--pretty',
      '--singleThreaded',
      '--incremental',
      '--tsBuildInfoFile',
      '.cache/types.tsbuildinfo',
    ],
    // Without names of files it would lint all there are.
    ...(sources?.length !== 0 && { lint: [...(isQuick ? QUICK_LINT : LINT), ...(sources ?? [])] }),
    'dead code': ['knip', '--no-progress'],
    'code that only tests run': ['knip', '--production', '--no-progress'],
    ...(files.length > 0 && {
      format: ['oxfmt', '--check', '--no-error-on-unmatched-pattern', ...files],
    }),
  };
}

/** The linter's type checker, in Go, collects garbage for a third of its time where its heap may only double in between; tenfold it takes no more memory. */
const ENVIRONMENT = { ...readEnvironment(), GOGC: '1000' };

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

await Promise.all(
  Object.entries(stepsOf(readScope())).map(async ([name, command]) => {
    const { passed, output, seconds } = await run(command);
    process.stdout.write(`${passed ? '✓' : '✗'} ${name} (${seconds} s)\n`);
    if (passed) return;
    process.stdout.write(`${output.trim().replaceAll(/^/gm, '    ')}\n`);
    process.exitCode = 1;
  }),
);
