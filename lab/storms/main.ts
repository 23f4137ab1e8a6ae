import { readArguments, refuseArguments } from '#lab/support/arguments.ts';
import { untilStopped } from '#lab/support/until-stopped.ts';
import { runStorm, type StormReport } from './run-storm.ts';
import { STORMS } from './storms.ts';

/** Start, calm before and after, healing and the verdict, besides the storm itself: on two cores about so long. */
const AROUND_S = 35;
const SECONDS = 20;

const USAGE = `npm run faults -- [--storm NAME]… [--seconds N] [--seed N] [--seeds N]

Lets faults loose on the whole product under load (plain, streamed and idempotent requests, the
last with a client's retries) and checks every answer that a client saw against receipts and
ledger. Exit code 0: every promise was kept; 1: one was broken; 2: wrong arguments; 130: stopped.

  --storm NAME   one of the storms below, again for several; all when none is named
  --seconds N    how long each storm rages; ${SECONDS} when absent
  --seed N       the requests and the order of faults; another each time when absent
  --seeds N      so many seeds in a row, from --seed on; 1 when absent
  --help         this text

A storm takes its seconds and about ${AROUND_S} more on two cores, \`cluster\` and \`upgrade\` more: a seed with all
storms at ${SECONDS} seconds takes about ${Math.round((Object.keys(STORMS).length * (SECONDS + AROUND_S)) / 60)} minutes. Storms, in their order:

${Object.entries(STORMS)
  .map(([name, { description }]) => `  ${name.padEnd(10)}${description}`)
  .join('\n')}
`;

interface SeededReport extends StormReport {
  seed: number;
}

const COLUMNS = [
  ['seed', ({ seed }) => seed],
  ['storm', ({ name }) => name],
  ['attempts', ({ attempts }) => attempts],
  ['whole', ({ answered }) => answered],
  ['refused', ({ refused }) => refused],
  ['excused', ({ excused }) => excused],
  ['lost', ({ lost }) => lost],
  ['doubled', ({ doubled }) => doubled],
  ['mismatched', ({ mismatched }) => mismatched],
  ['no envelope', ({ bare }) => bare],
  ['fsck', ({ sound }) => (sound ? 'sound' : 'DAMAGED')],
  ['healed', ({ healedMs }) => `${(healedMs / 1_000).toFixed(1)} s`],
  ['', ({ good }) => (good ? 'good' : 'BROKEN')],
] as const satisfies [string, (report: SeededReport) => string | number][];

const { values } = readArguments(USAGE, {
  options: {
    storm: { type: 'string', multiple: true, default: Object.keys(STORMS) },
    seconds: { type: 'string', default: String(SECONDS) },
    seed: { type: 'string', default: String(Date.now() % 1_000_000) },
    seeds: { type: 'string', default: '1' },
  },
});
const unknown = values.storm.filter((name) => !(name in STORMS));
const [seconds, seed, seeds] = [values.seconds, values.seed, values.seeds].map(Number) as [
  number,
  number,
  number,
];
const areNumbers = [seed, seeds].every((one) => Number.isSafeInteger(one)) && seeds >= 1;
if (unknown.length > 0) refuseArguments(`There is no storm ${unknown.join(', ')}.`, USAGE);
if (!(seconds > 0) || !areNumbers) {
  refuseArguments('--seconds is a number above zero, --seed and --seeds are whole numbers.', USAGE);
}

const runs = Array.from({ length: seeds }, (_, i) => seed + i).flatMap((one) =>
  values.storm.map((name) => ({ seed: one, name })),
);
process.stdout.write(
  `${runs.length} storms of ${seconds} s, seeds ${seed} to ${seed + seeds - 1}\n`,
);
const reports: SeededReport[] = [];
const broken: string[] = [];
const { signal, stopped } = untilStopped();
for (const [index, run] of runs.entries()) {
  if (signal.aborted) break;
  const startedAt = performance.now();
  process.stdout.write(
    `\n[${index + 1}/${runs.length}] seed ${run.seed}, ${run.name}; ${broken.length} broken so far\n`,
  );
  const say = (line: string): void => {
    const at = ((performance.now() - startedAt) / 1_000).toFixed(1).padStart(6);
    process.stdout.write(`${run.name.padEnd(9)}${at}  ${line}\n`);
  };
  try {
    const report = await runStorm({ ...run, seconds, say, stopped });
    for (const example of report.examples) say(example);
    reports.push({ ...report, seed: run.seed });
    if (!report.good) broken.push(`${run.name} of seed ${run.seed}`);
  } catch (error) {
    if (signal.aborted) break;
    say(error instanceof Error ? `${String(error.cause)}\n${error.message}` : String(error));
    broken.push(`${run.name} of seed ${run.seed} (no verdict)`);
  }
}
process.stdout.write(`\n${table()}\n`);
if (signal.aborted)
  process.stdout.write(`stopped; ${runs.length - reports.length} storms not run\n`);
else if (broken.length === 0) process.stdout.write('every promise was kept\n');
if (broken.length > 0) process.stdout.write(`BROKEN: ${broken.join(', ')}\n`);
process.exitCode = broken.length > 0 ? 1 : signal.aborted ? 130 : 0;
// Its load and its storm go on.
if (signal.aborted) process.exit();

function table(): string {
  const rows = [
    COLUMNS.map(([title]) => title),
    ...reports.map((report) => COLUMNS.map(([, of]) => String(of(report)))),
  ];
  const widths = COLUMNS.map((_, column) => Math.max(...rows.map((row) => row[column]!.length)));
  return rows
    .map((row) => row.map((cell, column) => cell.padStart(widths[column]!)).join('  '))
    .join('\n');
}
