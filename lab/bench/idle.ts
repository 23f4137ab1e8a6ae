/**
 * What an idle system costs: processor time and wake-ups of each process started by `docket up`
 * as it is shipped, stores included, and what Redis and PostgreSQL are asked meanwhile.
 *
 * Usage: npm run bench idle -- [--seconds 60] [--settle 30] [--against <another checkout>]
 *
 * The second checkout runs beside the first at the same time, so that what else the machine does meets both.
 */
import { resolve } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { Redis } from 'ioredis';
import { Client } from 'pg';
import { type Gateway, launchGateway } from './gateway/launch.ts';
import { cpuByProcess, memoryByProcess, wakeUpsByProcess } from './gateway/processes.ts';
import { openSession } from './gateway/session.ts';
import type { Figures } from './gateway/rounds.ts';
import { table } from './gateway/tables.ts';
import { readNumber, readOptions } from './support/arguments.ts';

const USAGE = 'idle -- [--seconds 60] [--settle 30] [--against <another checkout>]';
const values = readOptions(USAGE, {
  seconds: { type: 'string', default: '60' },
  /** Between the end of a start and the measurement: first rounds, compilers and caches. */
  settle: { type: 'string', default: '30' },
  against: { type: 'string' },
});
const idle = readNumber(USAGE, 'seconds', values.seconds);
const settle = readNumber(USAGE, 'settle', values.settle);
const checkouts = [
  ...(values.against === undefined ? [] : [['there', resolve(values.against)] as const]),
  ['here', resolve(import.meta.dirname, '../..')] as const,
];
const session = await openSession();
try {
  const systems = await Promise.all(
    checkouts.map(async ([name, checkout]) => {
      const dataDir = `${session.dataDir}/${name}`;
      return { name, gateway: await launchGateway(session.children, checkout, dataDir) };
    }),
  );
  await sleep(settle * 1_000);
  const found = await Promise.all(
    systems.map(async ({ name, gateway }) => [name, [await watch(gateway)]] as const),
  );
  process.stdout.write(`\nIdle for ${idle} s, each figure per second\n`);
  process.stdout.write(table(new Map(found)));
} finally {
  await session.close();
}

/** Everything that is counted, per second. */
async function watch({ dev, processes }: Gateway): Promise<Figures> {
  const redis = new Redis(dev.redis_url);
  const postgres = new Client({ connectionString: dev.database_url });
  await postgres.connect();
  const read = async () => ({
    at: performance.now(),
    cpu: cpuByProcess(processes),
    wakeUps: wakeUpsByProcess(processes),
    commands: numberIn(await redis.info('stats'), /^total_commands_processed:(\d+)/m),
    transactions: await transactionsOf(postgres),
  });
  const before = await read();
  await sleep(idle * 1_000);
  const after = await read();
  const memory = memoryByProcess(processes);
  redis.disconnect();
  await postgres.end();
  const seconds = (after.at - before.at) / 1_000;
  const figures = new Map<string, number>();
  const add = (title: string, unit: (name: string) => string, of: 'cpu' | 'wakeUps', by = 1) => {
    let all = 0;
    for (const [name, count] of after[of]) {
      const each = (count - (before[of].get(name) ?? 0)) / seconds / by;
      figures.set(unit(name), each);
      all += each;
    }
    figures.set(title, all);
  };
  // Microseconds per second: a ten-thousandth is a hundredth of a core's percent.
  add('% of a core: all', (name) => `% of a core: ${name}`, 'cpu', 10_000);
  add('wake-ups: all', (name) => `wake-ups: ${name}`, 'wakeUps');
  figures.set('redis commands', (after.commands - before.commands) / seconds);
  figures.set('postgres transactions', (after.transactions - before.transactions) / seconds);
  figures.set('MB of memory', [...memory.values()].reduce((sum, bytes) => sum + bytes, 0) / 1e6);
  return figures;
}

async function transactionsOf(client: Client): Promise<number> {
  // What a connection has done is counted at most a second later, and at once when it is idle.
  const { rows } = await client.query<{ count: string }>(
    'select sum(xact_commit + xact_rollback) as count from pg_stat_database',
  );
  return Number(rows[0]!.count);
}

function numberIn(text: string, pattern: RegExp): number {
  return Number(pattern.exec(text)?.[1] ?? 0);
}
