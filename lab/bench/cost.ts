/**
 * What this checkout costs beside the last commit that stated its cost (cost.json): processor time per request and per
 * token, both gateways at once under the same load in turn, started anew some times, since two starts of one build differ
 * by more than what is looked for. Ends with 1 where a request or a token costs more than 5 % more in most starts.
 *
 * Usage: npm run bench cost -- [--starts 4] [--rounds 3] [--seconds 4] [--state]
 *
 * `--state` writes into cost.json what was found and the commit that is checked out, which is compared with from then on.
 */
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { type Figures, type Load, takeTurns } from './gateway/rounds.ts';
import { openSession, startGateway } from './gateway/session.ts';
import { median } from './gateway/tables.ts';
import { readNumber, readOptions, refuseArguments } from './support/arguments.ts';

const USAGE = 'cost -- [--starts 4] [--rounds 3] [--seconds 4] [--state]';
const values = readOptions(USAGE, {
  starts: { type: 'string', default: '4' },
  rounds: { type: 'string', default: '3' },
  seconds: { type: 'string', default: '4' },
  state: { type: 'boolean', default: false },
});
const starts = readNumber(USAGE, 'starts', values.starts);
const rounds = readNumber(USAGE, 'rounds', values.rounds);
const seconds = readNumber(USAGE, 'seconds', values.seconds);

/** What may be more than before, and is no more than what starts differ by. */
const MORE_MAX = 1.05;

const LOADS: readonly (Load & { what: string; figure: string })[] = [
  {
    what: 'request at 64',
    figure: 'µs per request: all',
    connections: 64,
    streamed: false,
    seconds,
  },
  { what: 'token of 50', figure: 'µs per token: all', connections: 50, streamed: true, seconds },
];

/** The commit that is compared with, and what it cost as a part of the one that it was compared with. */
interface Stated {
  commit: string;
  ratios: Record<string, number>;
}

const here = resolve(import.meta.dirname, '../..');
const file = join(import.meta.dirname, 'cost.json');
const stated = JSON.parse(readFileSync(file, 'utf8')) as Stated;
const git = (...args: string[]): string =>
  execFileSync('git', ['-C', here, ...args], { encoding: 'utf8' }).trim();
if (values.state && git('status', '--porcelain') !== '')
  refuseArguments(USAGE, 'What is stated is the cost of a commit, and something here is none yet.');

const folder = mkdtempSync(join(tmpdir(), 'docket-cost-'));
const there = join(folder, 'there');
const ratios = new Map<string, number[]>(LOADS.map(({ what }) => [what, []]));
try {
  git('worktree', 'add', '--detach', there, stated.commit);
  provide(there);
  for (let start = 1; start <= starts; start += 1) {
    process.stdout.write(`start ${start} of ${starts}: `);
    for (const [what, found] of await ratiosOfOneStart()) {
      ratios.get(what)!.push(found);
      process.stdout.write(`${what} ${found.toFixed(3)}  `);
    }
    process.stdout.write('\n');
  }
} finally {
  rmSync(folder, { recursive: true, force: true });
  git('worktree', 'prune');
}

const medians = Object.fromEntries(
  [...ratios].map(([what, found]) => [what, Math.round(median(found) * 1_000) / 1_000]),
);
for (const [what, ratio] of Object.entries(medians)) {
  const all = ratios.get(what)!.map((one) => one.toFixed(3));
  process.stdout.write(
    `a ${what} costs ${ratio} of what it did at ${stated.commit} (${all.join(', ')})\n`,
  );
}
if (values.state) {
  const next: Stated = { commit: git('rev-parse', 'HEAD'), ratios: medians };
  writeFileSync(file, `${JSON.stringify(next, null, 2)}\n`);
}
process.exitCode = Object.values(medians).some((ratio) => ratio > MORE_MAX) ? 1 : 0;

/** The packages that a checkout was made for: those of this one, where they are the same. */
function provide(checkout: string): void {
  const lock = 'package-lock.json';
  const isSame = readFileSync(join(checkout, lock)).equals(readFileSync(join(here, lock)));
  if (isSame) symlinkSync(join(here, 'node_modules'), join(checkout, 'node_modules'));
  else execFileSync('npm', ['ci', '--no-audit', '--no-fund'], { cwd: checkout, stdio: 'ignore' });
}

/** Both are started, and take turns under each load: the median ratio of the rounds. */
async function ratiosOfOneStart(): Promise<[what: string, ratio: number][]> {
  const session = await openSession();
  try {
    const targets = [
      await startGateway(session, 'there', there),
      await startGateway(session, 'here', here),
    ];
    const found: [string, number][] = [];
    for (const { what, figure, ...load } of LOADS) {
      const figures = await takeTurns(session, targets, load, rounds);
      const of = (name: string): number[] =>
        figures.get(name)!.map((one: Figures) => one.get(figure)!);
      const before = of('there');
      found.push([what, median(of('here').map((value, i) => value / before[i]!))]);
    }
    return found;
  } finally {
    await session.close();
  }
}
