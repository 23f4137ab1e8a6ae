import { expect, type TestContext } from 'vitest';
import type { Role } from '#shared/config/settings.ts';
import { chatBody, post } from './calls.ts';
import { Costs, type Counts, KERNEL_COUNTS } from './costs.ts';
import { connectTo } from './lanes.ts';
import { MAIN_ROLES, startSystem, type System } from './system.ts';
import { until } from './until.ts';

/** A product of the file's own whose work is counted. */
export class CountedSystem {
  readonly system: System;
  readonly costs: Costs;
  /** When the last receipt was in the ledger. */
  doneAt = 0;
  #answered = 0;

  private constructor(system: System) {
    this.system = system;
    this.costs = this.costsOf(MAIN_ROLES);
  }

  /** Starts one that has done what a process does at its first requests only. */
  static async start(): Promise<CountedSystem> {
    const system = await startSystem({ replicas: {}, redis: { durable: true } });
    await system.database.pool.query('create extension pg_walinspect');
    const counted = new CountedSystem(system);
    await counted.answer(64, 16);
    await counted.settle();
    return counted;
  }

  /** Waits until what became of all requests is written: by the clock, so that it would be counted as what comes after them. */
  async settle(): Promise<void> {
    const { pool } = this.system.database;
    await until(async () => {
      const { rows } = await pool.query<{ isDone: boolean }>(
        'select coalesce(sum(requests), 0) >= $1 as "isDone" from request',
        [this.#answered],
      );
      return rows[0]!.isDone;
    }, 'all requests are written down');
  }

  costsOf(roles: readonly Role[]): Costs {
    const { system } = this;
    const pidOf = (role: Role): [Role, number] => [role, system.processes(role)[0]!.pid];
    return new Costs({
      redis: connectTo(system.redis.url),
      pool: system.database.pool,
      pids: Object.fromEntries(roles.map(pidOf)),
    });
  }

  /** Has requests answered, `together` at once, and waits until all their receipts are in the ledger. */
  async answer(times: number, together: number, rest: object = {}, status = 200): Promise<string> {
    const { system } = this;
    let left = times;
    let last = '';
    const caller = async (): Promise<void> => {
      while (left > 0) {
        left -= 1;
        const response = await post(system, '/chat/completions', chatBody(rest));
        last = await response.text();
        expect(response.status, last).toBe(status);
      }
    };
    await Promise.all(Array.from({ length: together }, caller));
    // One that failed may have its receipt only after its answer.
    this.#answered += times;
    await until(async () => {
      const { rowCount } = await system.database.pool.query('select from ledger_entry');
      return rowCount! >= this.#answered;
    }, 'all receipts are in the ledger');
    this.doneAt = performance.now();
    return last;
  }
}

/** What is over its budget, as it should not be. All counts stand in the report of a test that fails. */
export async function over(
  { annotate }: TestContext,
  counts: Counts,
  budget: Counts,
): Promise<string[]> {
  const texts = Object.entries(counts).map(([name, count]) => `${name}: ${count.toFixed(2)}`);
  await annotate(texts.join('\n'));
  return Object.entries(budget).flatMap(([name, most]) => {
    const count = counts[name];
    if (count === undefined) return KERNEL_COUNTS ? [`${name} was not counted`] : [];
    return count <= most ? [] : [`${name}: ${count.toFixed(2)}, more than ${most}`];
  });
}
