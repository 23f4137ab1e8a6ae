import { existsSync, readFileSync } from 'node:fs';
import type { Redis } from 'ioredis';
import type { Pool } from 'pg';
import { until } from './until.ts';

/** Whether this kernel says what other processes read and write, as Linux does. */
export const KERNEL_COUNTS = existsSync('/proc/self/io');

/** Counts of what a process or a store has done, by name; all of them only grow. */
export type Counts = Record<string, number>;

/** Reads, at one moment, everything that is counted. */
interface Reading {
  at: number;
  counts: Counts;
}

export interface CostOptions {
  redis: Redis;
  /** A superuser of the server: what is written ahead is looked into. */
  pool: Pool;
  /** Processes whose system calls and wake-ups are counted, by name, where the kernel tells. */
  pids: Readonly<Record<string, number>>;
}

const ROUNDS = 5;
/** How long the system is watched doing nothing, for what it does by the clock on the way of requests. */
const IDLE_MS = 2_000;

/**
 * What work costs, in counts: commands and bytes at Redis, transactions, rows, index entries and bytes that PostgreSQL
 * writes ahead, reads and writes of processes. What the system does by the clock is measured first, and taken off by the
 * time that the work took, so that a count does not depend on how fast the machine is.
 */
export class Costs {
  readonly #options: CostOptions;
  #idlePerMs: Counts = {};
  #walFrom = '';

  constructor(options: CostOptions) {
    this.#options = options;
  }

  /** Looks on while nothing is asked for. Returns what happened per second. */
  async watchIdle(forMs: number = IDLE_MS): Promise<Counts> {
    this.#idlePerMs = {};
    const before = await this.#read();
    await until(() => performance.now() - before.at >= forMs);
    const after = await this.#read();
    this.#idlePerMs = map(difference(before, after), (count) => count / (after.at - before.at));
    return map(this.#idlePerMs, (count) => count * 1_000);
  }

  /**
   * What one of the `times` pieces of work costs that `work` is: the median of some rounds. A process that collects its
   * garbage, or compiles, wakes its threads thousands of times in a moment, which is not the work's.
   */
  async each(times: number, work: () => Promise<unknown>): Promise<Counts> {
    const rounds: Counts[] = [];
    for (let round = 0; round < ROUNDS; round += 1) {
      const before = await this.#read();
      await work();
      const after = await this.#read();
      const ms = after.at - before.at;
      const used = difference(before, after);
      rounds.push(map(used, (count, name) => (count - (this.#idlePerMs[name] ?? 0) * ms) / times));
    }
    return map(rounds[0]!, (_, name) => median(rounds.map((counts) => counts[name]!)));
  }

  async #read(): Promise<Reading> {
    const { redis, pids } = this.#options;
    const at = performance.now();
    const counts = {
      ...countsOfRedis(await redis.info('everything')),
      ...(await this.#readWal()),
      'postgres statements': await this.#readStatements(),
    };
    for (const [name, pid] of Object.entries(pids)) Object.assign(counts, countsOf(name, pid));
    return { at, counts };
  }

  /** Transactions, also those that write nothing. PostgreSQL hears of them within a second or so. */
  async #readStatements(): Promise<number> {
    const { rows } = await this.#options.pool.query<{ count: number }>(
      'select sum(xact_commit + xact_rollback)::float8 as count from pg_stat_database',
    );
    return rows[0]!.count;
  }

  /**
   * From the first reading on, so that these only grow as well. PostgreSQL looks no further than what has been flushed, and
   * the tests' server lets commits wait for that: a mark is written and flushed first, or a reading would miss what was
   * written just now, and the next would have it.
   */
  async #readWal(): Promise<Counts> {
    const { pool } = this.#options;
    const { rows } = await pool.query<{ lsn: string }>(
      `select pg_logical_emit_message(false, 'costs', '', true) as lsn`,
    );
    const { lsn } = rows[0]!;
    if (this.#walFrom === '') {
      this.#walFrom = lsn;
      return {};
    }
    const { rows: found } = await pool.query<{ name: string; count: number; bytes: number }>(
      `select "resource_manager/record_type" as name, count::float8, combined_size::float8 as bytes
       from pg_get_wal_stats($1, $2, per_record => true)`,
      [this.#walFrom, lsn],
    );
    const sum = (pattern: RegExp, of: (row: (typeof found)[number]) => number): number =>
      found.filter(({ name }) => pattern.test(name)).reduce((all, row) => all + of(row), 0);
    return {
      'postgres bytes written ahead': sum(/^(?!LogicalMessage)/, ({ bytes }) => bytes),
      'postgres transactions': sum(/^Transaction\/COMMIT/, ({ count }) => count),
      'postgres rows written': sum(
        /^Heap\/(INSERT|UPDATE|HOT_UPDATE|DELETE)/,
        ({ count }) => count,
      ),
      'postgres index entries': sum(/^Btree\/INSERT_LEAF/, ({ count }) => count),
    };
  }
}

/** What scripts call counts as commands, too. */
function countsOfRedis(info: string): Counts {
  return {
    'redis commands': numberIn(info, /^total_commands_processed:(\d+)/m),
    'redis scripts': numberIn(info, /^cmdstat_evalsha:calls=(\d+)/m),
    'redis reads': numberIn(info, /^total_reads_processed:(\d+)/m),
    'redis writes': numberIn(info, /^total_writes_processed:(\d+)/m),
    'redis bytes in': numberIn(info, /^total_net_input_bytes:(\d+)/m),
    'redis bytes out': numberIn(info, /^total_net_output_bytes:(\d+)/m),
    'redis bytes logged': numberIn(info, /^aof_current_size:(\d+)/m),
  };
}

/** Reads and writes of a process, sockets included, and how often it went to sleep. */
function countsOf(name: string, pid: number): Counts {
  if (!KERNEL_COUNTS) return {};
  const io = readFileSync(`/proc/${pid}/io`, 'utf8');
  const status = readFileSync(`/proc/${pid}/status`, 'utf8');
  return {
    [`${name} reads`]: numberIn(io, /^syscr: (\d+)/m),
    [`${name} writes`]: numberIn(io, /^syscw: (\d+)/m),
    [`${name} sleeps`]: numberIn(status, /^voluntary_ctxt_switches:\s*(\d+)/m),
  };
}

function numberIn(text: string, pattern: RegExp): number {
  return Number(pattern.exec(text)?.[1] ?? 0);
}

function difference(before: Reading, after: Reading): Counts {
  const counts: Counts = {};
  for (const [name, count] of Object.entries(after.counts))
    counts[name] = count - (before.counts[name] ?? 0);
  return counts;
}

function map(counts: Counts, change: (count: number, name: string) => number): Counts {
  return Object.fromEntries(
    Object.entries(counts).map(([name, count]) => [name, change(count, name)]),
  );
}

/** Of an odd number of values. */
function median(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[values.length >> 1]!;
}
