import { parseArgs } from 'node:util';
import { runStorm, type StormReport } from './run-storm.ts';
import { STORMS } from './storms.ts';

const USAGE = `npm run faults -- [--storm NAME]… [--seconds N] [--seed N]

Lets faults loose on the whole product under load and checks every answer that a client saw
against receipts and ledger. Exit code 0: every promise was kept. Storms, all when none is named:

${Object.entries(STORMS)
  .map(([name, { description }]) => `  ${name.padEnd(10)}${description}`)
  .join('\n')}
`;

const COLUMNS = [
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
] as const satisfies [string, (report: StormReport) => string | number][];

const { values } = parseArgs({
  options: {
    storm: { type: 'string', multiple: true, default: Object.keys(STORMS) },
    seconds: { type: 'string', default: '60' },
    seed: { type: 'string', default: String(Date.now() % 1_000_000) },
    help: { type: 'boolean', default: false },
  },
});
const unknown = values.storm.filter((name) => !(name in STORMS));
const [seconds, seed] = [Number(values.seconds), Number(values.seed)];
if (values.help || unknown.length > 0 || !(seconds > 0) || !Number.isSafeInteger(seed)) {
  process.stdout.write(USAGE);
  process.exit(values.help ? 0 : 2);
}

process.stdout.write(`seed ${seed}, ${seconds} s each\n`);
const reports: StormReport[] = [];
let failed = false;
for (const name of values.storm) {
  const startedAt = performance.now();
  const say = (line: string): void => {
    const at = ((performance.now() - startedAt) / 1_000).toFixed(1).padStart(6);
    process.stdout.write(`${name.padEnd(9)}${at}  ${line}\n`);
  };
  try {
    const report = await runStorm({ name, seed, seconds, say });
    for (const example of report.examples) say(example);
    reports.push(report);
    failed ||= !report.good;
  } catch (error) {
    say(error instanceof Error ? `${String(error.cause)}\n${error.message}` : String(error));
    failed = true;
  }
}
process.stdout.write(`\n${table()}\nseed ${seed}\n`);
process.exitCode = failed ? 1 : 0;

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
