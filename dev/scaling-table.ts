import { ONLINE_DAYS_SHOWN, requirementsOf, type Requirements } from './scaling.ts';

/** Requests a second of the table. */
const RATES = [10, 100, 1_000, 10_000, 100_000] as const;

const UNITS = ['B', 'kB', 'MB', 'GB', 'TB', 'PB'] as const;

/** Two digits: the figures that these are made of are not known better. */
function readable(bytes: number): string {
  let [value, unit] = [bytes, 0];
  for (; value >= 1_000 && unit < UNITS.length - 1; unit += 1) value /= 1_000;
  return `${rounded(value)} ${UNITS[unit]}`;
}

const count = (value: number): string => value.toLocaleString('en');

function rounded(value: number): string {
  return Number(value.toPrecision(2)).toLocaleString('en', { maximumFractionDigits: 1 });
}

const LINES: readonly (readonly [string, (required: Requirements) => string])[] = [
  ['api processes', ({ processes }) => count(processes.api)],
  ['inference processes', ({ processes }) => count(processes.inference)],
  ['receipts processes', ({ processes }) => count(processes.receipts)],
  ['ledger processes', ({ processes }) => count(processes.ledger)],
  ['cores of these processes', ({ cores }) => count(cores.processes)],
  ['cores of PostgreSQL', ({ cores }) => count(cores.postgres)],
  ['masters of Redis, a core each', ({ cores }) => count(cores.redis)],
  ['connections to PostgreSQL', ({ connections }) => count(connections)],
  ['memory of Redis', ({ redisBytes }) => readable(redisBytes)],
  ['receipts a day', ({ day }) => count(day.receipts)],
  ['WAL a second', ({ walBytesASecond }) => readable(walBytesASecond)],
  ['WAL a day', ({ day }) => readable(day.walBytes)],
  ['receipts in PostgreSQL, a day', ({ day }) => readable(day.onlineBytes)],
  ['the same with an archive', ({ day }) => readable(day.archivedOnlineBytes)],
  ['receipts in the archive, a day', ({ day }) => readable(day.archiveBytes)],
  ['PostgreSQL after a year', ({ year }) => readable(year.onlineBytes)],
  [
    `the same with \`RECEIPT_BODIES_ONLINE=${ONLINE_DAYS_SHOWN}d\``,
    ({ year }) => readable(year.archivedOnlineBytes),
  ],
];

export const scalingHead = (): string[] => ['requests a second', ...RATES.map(count)];

/** What each rate takes, line by line. */
export function scalingRows(): string[][] {
  const required = RATES.map(requirementsOf);
  return LINES.map(([name, cell]) => [name, ...required.map(cell)]);
}
