import { type ChildProcess, spawn } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { loadavg } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { readArguments, refuseArguments } from '#lab/support/arguments.ts';
import { Random } from '#lab/support/random.ts';

const VITEST = join(import.meta.dirname, '../../node_modules/vitest/vitest.mjs');
const RUNS = 5;
/** As many as the smallest machine has cores: the tests get what these leave. */
const BURNERS = 2;
const BURST_MS_MAX = 1_500;
const STOP_MS_MAX = 300;
const BETWEEN_STOPS_MS_MAX = 400;

const USAGE = `npm run test:weather -- [--runs N] [--seed N] [files of Vitest]

Runs the tests, but for those that hold seconds (the project alone), on a machine made bad on purpose: ${BURNERS} processes
take the cores in bursts of up to ${BURST_MS_MAX} ms, and a random process of the run is stopped for up to
${STOP_MS_MAX} ms, several times a second. What fails then depends on time that others can steal. Exit code 0: every run
was green; 1: one was not; 2: wrong arguments; 130: stopped. Linux only.

  --runs N   so many runs, one after the other; ${RUNS} when absent
  --seed N   the bursts and the stops; another each time when absent
  --help     this text
`;

const { values, positionals } = readArguments(USAGE, {
  allowPositionals: true,
  options: {
    runs: { type: 'string', default: String(RUNS) },
    seed: { type: 'string', default: String(Date.now() % 1_000_000) },
  },
});
const [runs, seed] = [Number(values.runs), Number(values.seed)];
if (!Number.isInteger(runs) || runs < 1)
  refuseArguments(`--runs is not a number: ${values.runs}`, USAGE);
if (!Number.isInteger(seed) || seed < 0)
  refuseArguments(`--seed is not a number: ${values.seed}`, USAGE);
if (process.platform !== 'linux')
  refuseArguments('Processes are found by /proc, which this system has not.');

interface Outcome {
  run: number;
  seed: number;
  seconds: number;
  load: string;
  stops: number;
  result: string;
}

/** Takes a core in bursts, until it is killed. */
const BURNER = `
let seed = Number(process.argv[1]);
const random = () => ((seed = (seed * 1103515245 + 12345) % 2147483648) / 2147483648);
const burst = () => {
  const end = Date.now() + random() * ${BURST_MS_MAX};
  while (Date.now() < end);
  setTimeout(burst, random() * ${BURST_MS_MAX});
};
burst();`;

function startBurners(first: number): ChildProcess[] {
  return Array.from({ length: BURNERS }, (_, i) =>
    spawn(process.execPath, ['-e', BURNER, String(first + i)], { stdio: 'inherit' }),
  );
}

/** Every process that this one has begun, as far down as it goes, by its parent's id in \`/proc\`. */
function descendantsOf(pid: number): number[] {
  const children = new Map<number, number[]>();
  for (const name of readdirSync('/proc')) {
    if (!/^\d+$/.test(name)) continue;
    const parent = parentOf(name);
    if (parent !== null) children.set(parent, [...(children.get(parent) ?? []), Number(name)]);
  }
  const found: number[] = [];
  const open = [pid];
  while (open.length > 0) {
    const next = children.get(open.pop()!) ?? [];
    found.push(...next);
    open.push(...next);
  }
  return found;
}

function parentOf(pid: string): number | null {
  const parent = statOf(pid)?.[1];
  return parent === undefined ? null : Number(parent);
}

/** State, parent and what follows them; undefined of a process that has ended meanwhile. */
function statOf(pid: string): string[] | undefined {
  try {
    const stat = readFileSync(join('/proc', pid, 'stat'), 'utf8');
    return stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  } catch {
    return undefined;
  }
}

/** A test has stopped it, and would find it awake. */
const isStopped = (pid: number): boolean => statOf(String(pid))?.[0] === 'T';

/** What plays a terminal stops itself with its child, and does not go on with it. */
function isInTerminal(pid: number): boolean {
  const parent = parentOf(String(pid));
  try {
    return readFileSync(`/proc/${parent}/comm`, 'utf8').trim() === 'script';
  } catch {
    return false;
  }
}

/** Stops random processes of the run for moments, until the run is over; returns how many it has stopped. */
async function stopSome(vitest: ChildProcess, random: Random): Promise<number> {
  let stops = 0;
  while (vitest.exitCode === null && vitest.signalCode === null) {
    await delay(random.between(0, BETWEEN_STOPS_MS_MAX));
    const pids = descendantsOf(vitest.pid!);
    if (pids.length === 0) continue;
    const pid = random.of(pids);
    if (isStopped(pid) || isInTerminal(pid) || !signal(pid, 'SIGSTOP')) continue;
    stops += 1;
    await delay(random.between(0, STOP_MS_MAX));
    signal(pid, 'SIGCONT');
  }
  return stops;
}

function signal(pid: number, name: NodeJS.Signals): boolean {
  try {
    return process.kill(pid, name);
  } catch {
    return false;
  }
}

async function runOnce(run: number): Promise<Outcome> {
  const started = performance.now();
  const burners = startBurners(seed + run);
  const vitest = spawn(
    process.execPath,
    [VITEST, 'run', '--project', '!alone', '--reporter', 'minimal', ...positionals],
    { stdio: 'inherit' },
  );
  const end = (): void => {
    for (const burner of burners) burner.kill('SIGKILL');
    vitest.kill();
  };
  process.once('exit', end);
  const stops = await stopSome(vitest, new Random(seed + run));
  end();
  process.off('exit', end);
  const passed = vitest.exitCode === 0;
  return {
    run,
    seed: seed + run,
    seconds: Math.round((performance.now() - started) / 1_000),
    load: loadavg()[0]!.toFixed(1),
    stops,
    result: passed ? 'green' : 'RED',
  };
}

for (const name of ['SIGINT', 'SIGTERM'] as const) process.on(name, () => process.exit(130));
const outcomes: Outcome[] = [];
for (let run = 1; run <= runs; run += 1) {
  process.stdout.write(`run ${run} of ${runs}, seed ${seed + run}\n`);
  outcomes.push(await runOnce(run));
}
console.table(outcomes);
if (outcomes.some(({ result }) => result === 'RED')) process.exitCode = 1;
