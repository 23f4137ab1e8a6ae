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

const ROUNDS = 3;
/** How long the system is watched doing nothing, for what it does by the clock on the way of requests. */
const IDLE_MS = 2_000;

/**
 * PostgreSQL looks no further into what it writes ahead than it has flushed, and the tests' server lets commits wait for
 * that: a mark is written and flushed first, or a reading would miss what was written just now, and the next would have it.
 */
const WAL_MARK = `select pg_logical_emit_message(false, 'costs', '', true) as lsn`;

/**
 * What was written ahead for tables of the database, not for those of the server: it looks by the clock at the tables of all
 * databases, and writes statistics of them. Tables that the ledger writes once in a round, for all receipts that it took, are
 * counted apart: how many share a round depends on how fast the machine is.
 */
const WAL_COUNTS = `
  with written as (
    select r.xid, b.record_length, b.resource_manager || '/' || b.record_type as name,
      coalesce(i.indrelid, c.oid)::regclass::text ~ '^(ledger_(head|checkpoint|tile)|usage_|anchor_)' as in_round
    from pg_get_wal_block_info($1, $2, show_data => false) b
    join pg_get_wal_records_info($1, $2) r using (start_lsn)
    join pg_database d on d.oid = b.reldatabase and d.datname = current_database()
    join pg_class c on c.relfilenode = b.relfilenode and c.relnamespace <> 'pg_catalog'::regnamespace
    left join pg_index i on i.indexrelid = c.oid
    where b.block_id = 0)
  select
    coalesce(sum(record_length) filter (where not in_round), 0)::float8 as "postgres bytes written ahead",
    (count(distinct xid::text) filter (where not in_round and xid <> '0'))::float8 as "postgres transactions",
    (count(*) filter (where not in_round and name ~ '^Heap/(INSERT|UPDATE|HOT_UPDATE|DELETE)'))::float8
      as "postgres rows written",
    (count(*) filter (where not in_round and name ~ '^Btree/INSERT_LEAF'))::float8 as "postgres index entries",
    (count(*) filter (where in_round and name ~ '^Heap/(INSERT|UPDATE|HOT_UPDATE|DELETE)'))::float8
      as "postgres rows of rounds"
  from written`;

/**
 * What work costs, in counts: commands and bytes at Redis, transactions, rows, index entries and bytes that PostgreSQL
 * writes ahead, reads and writes of processes. What the system does by the clock is measured first, and taken off by the
 * time that the work took, so that a count does not depend on how fast the machine is.
 */
export class Costs {
  readonly #options: CostOptions;
  #idlePerMs: Counts = {};
  #walFrom = '';
  #wal: Counts = {};

  constructor(options: CostOptions) {
    this.#options = options;
  }

  /** Looks on while nothing is asked for. Returns what happened per second. */
  async watchIdle(forMs: number = IDLE_MS): Promise<Counts> {
    this.#idlePerMs = {};
    this.#beginWal();
    const before = await this.#read();
    await until(() => performance.now() - before.at >= forMs);
    const after = await this.#read();
    this.#idlePerMs = map(difference(before, after), (count) => count / (after.at - before.at));
    return map(this.#idlePerMs, (count) => count * 1_000);
  }

  /**
   * What one of the `times` pieces of work costs that `work` is: the median of some rounds, or what `pick` takes of them. A
   * process that collects its garbage, or compiles, wakes its threads thousands of times in a moment, which is not the work's.
   */
  async each(
    times: number,
    work: () => Promise<unknown>,
    pick: (values: readonly number[], name: string) => number = median,
  ): Promise<Counts> {
    const rounds: Counts[] = [];
    this.#beginWal();
    for (let round = 0; round < ROUNDS; round += 1) {
      const before = await this.#read();
      await work();
      const after = await this.#read();
      const ms = after.at - before.at;
      const used = difference(before, after);
      rounds.push(map(used, (count, name) => (count - (this.#idlePerMs[name] ?? 0) * ms) / times));
    }
    return map(rounds[0]!, (_, name) =>
      pick(
        rounds.map((counts) => counts[name]!),
        name,
      ),
    );
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

  /** Transactions in the file's database, also those that write nothing. PostgreSQL hears of them within a second or so. */
  async #readStatements(): Promise<number> {
    const { rows } = await this.#options.pool.query<{ count: number }>(
      `select (xact_commit + xact_rollback)::float8 as count
        from pg_stat_database where datname = current_database()`,
    );
    return rows[0]!.count;
  }

  /** What was written before this is not read: PostgreSQL may have removed it. */
  #beginWal(): void {
    this.#walFrom = '';
  }

  /** Since the reading before, added to what was counted then, so that these only grow as well. */
  async #readWal(): Promise<Counts> {
    const { pool } = this.#options;
    const marked = await pool.query<{ lsn: string }>(WAL_MARK);
    const { lsn } = marked.rows[0]!;
    if (this.#walFrom !== '') {
      const { rows } = await pool.query<Counts>(WAL_COUNTS, [this.#walFrom, lsn]);
      this.#wal = map(rows[0]!, (count, name) => count + (this.#wal[name] ?? 0));
    }
    this.#walFrom = lsn;
    return this.#wal;
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

export const mean = (values: readonly number[]): number =>
  values.reduce((sum, value) => sum + value, 0) / values.length;

/** Of an odd number of values. */
function median(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[values.length >> 1]!;
}
