import { beforeAll, describe, expect, it, type TestContext } from 'vitest';
import type { Role } from '#shared/config/settings.ts';
import { chatBody, payloadsIn, post } from '#test/support/calls.ts';
import { Costs, type Counts, KERNEL_COUNTS } from '#test/support/costs.ts';
import { connectTo } from '#test/support/lanes.ts';
import { MAIN_ROLES, startSystem, type System } from '#test/support/system.ts';
import { until } from '#test/support/until.ts';
import { ANCHOR_AWAKE_MS } from '#workers/ledger/intervals.ts';

/**
 * What work may cost, in counts that do not depend on how fast a machine is: each a little above what was measured when
 * it was last lowered. A change that makes something cheaper lowers it; one that must raise it says in the commit what for.
 */

/** One request alone, from its bytes to its entry in the ledger: what is shared with no other. */
const REQUEST_ALONE: Counts = {
  'redis commands': 29,
  'redis scripts': 3.2,
  'redis reads': 7.6,
  'redis writes': 7.6,
  'redis bytes in': 8_100,
  'redis bytes out': 6_700,
  'redis bytes logged': 7_700,
  // Of the worker that issues the receipt, and of the ledger when no other receipt is in its round.
  'postgres transactions': 2.1,
  'postgres rows written': 4.2,
  'postgres index entries': 6.3,
  'postgres bytes written ahead': 5_300,
  // A log's head, its hour and its day of usage, and its head again with a checkpoint.
  'postgres rows of rounds': 6,
  'api reads': 4.5,
  'api writes': 4.5,
  'inference reads': 3.5,
  'inference writes': 3.5,
  'receipts reads': 3.5,
  'receipts writes': 3.5,
};

/** One of 32 requests at once. How many share a write depends on the machine, so what is shared is bounded loosely. */
const REQUEST_OF_32: Counts = {
  'redis commands': 19,
  'redis scripts': 2.2,
  'redis reads': 3,
  'redis writes': 3,
  'redis bytes in': 7_100,
  'redis bytes out': 6_100,
  'redis bytes logged': 6_900,
  'postgres transactions': 0.6,
  'postgres rows written': 4.2,
  'postgres index entries': 6.3,
  'postgres bytes written ahead': 5_300,
  'postgres rows of rounds': 1.5,
};

/** One token of a stream that is alone, its request's own costs spread over fifty. */
const TOKEN_ALONE: Counts = {
  'redis commands': 3.3,
  'redis scripts': 0.3,
  'redis reads': 2.5,
  'redis writes': 2.5,
  'redis bytes in': 1_050,
  'redis bytes out': 980,
  'redis bytes logged': 930,
  'api reads': 1.4,
  'api writes': 2.4,
  'inference reads': 2.4,
  'inference writes': 1.4,
};

/**
 * One token of 32 streams at once, of thirty tokens each: the write to its client is its own, most else is shared by those
 * that come within some milliseconds.
 */
const TOKEN_OF_32: Counts = {
  'redis commands': 1.8,
  'redis scripts': 0.15,
  'redis reads': 1,
  'redis writes': 1,
  'redis bytes in': 860,
  'redis bytes out': 780,
  'redis bytes logged': 840,
  'api reads': 0.6,
  'api writes': 1.6,
  'inference reads': 1.6,
  'inference writes': 0.6,
};

/** A second without a request, once everything of before is done. */
const IDLE_SECOND: Counts = {
  'redis commands': 48,
  'redis bytes logged': 1_400,
  'postgres statements': 9,
  'api sleeps': 10,
  'inference sleeps': 10,
  'receipts sleeps': 9,
  'ledger sleeps': 9,
  'recalculation sleeps': 9,
  'exports sleeps': 8,
  'purge sleeps': 7,
  'housekeeping sleeps': 9,
};
/** Some rounds by the clock are in each window, and the rare ones in few. */
const IDLE_WINDOW_MS = 5_000;
/** What is rare falls into one of two windows. */
const IDLE_WINDOWS_MAX = 4;

/** The signed receipt of a plain request, as its client gets it. */
const RECEIPT_BYTES = 3_300;

let system: System;
let costs: Costs;
/** When the last receipt was in the ledger. */
let doneAt = 0;

beforeAll(async () => {
  system = await startSystem({ replicas: {}, redis: { durable: true } });
  await system.database.pool.query('create extension pg_walinspect');
  costs = costsOf(MAIN_ROLES);
  // What a process does at its first requests only.
  await answer(64, 16);
  await costs.watchIdle();
});

function costsOf(roles: readonly Role[]): Costs {
  const pidOf = (role: Role): [Role, number] => [role, system.processes(role)[0]!.pid];
  return new Costs({
    redis: connectTo(system.redis.url),
    pool: system.database.pool,
    pids: Object.fromEntries(roles.map(pidOf)),
  });
}

/** Has requests answered, `together` at once, and waits until all their receipts are in the ledger. */
async function answer(times: number, together: number, rest: object = {}): Promise<string> {
  let left = times;
  let last = '';
  const caller = async (): Promise<void> => {
    while (left > 0) {
      left -= 1;
      const response = await post(system, '/chat/completions', chatBody(rest));
      last = await response.text();
      expect(response.status, last).toBe(200);
    }
  };
  await Promise.all(Array.from({ length: together }, caller));
  await until(async () => {
    const { rows } = await system.database.pool.query('select from receipt_pending limit 1');
    return rows.length === 0;
  }, 'no receipt waits for the ledger');
  doneAt = performance.now();
  return last;
}

/** What is over its budget, as it should not be. All counts stand in the report of a test that fails. */
async function over({ annotate }: TestContext, counts: Counts, budget: Counts): Promise<string[]> {
  const texts = Object.entries(counts).map(([name, count]) => `${name}: ${count.toFixed(2)}`);
  await annotate(texts.join('\n'));
  return Object.entries(budget).flatMap(([name, most]) => {
    const count = counts[name];
    if (count === undefined) return KERNEL_COUNTS ? [`${name} was not counted`] : [];
    return count <= most ? [] : [`${name}: ${count.toFixed(2)}, more than ${most}`];
  });
}

describe('what work costs', () => {
  it('a receipt fits into its budget of bytes', async () => {
    const text = await answer(1, 1);
    const receipt = text.slice(text.indexOf(',"receipt":') + ',"receipt":'.length, -1);
    expect(Object.keys(JSON.parse(receipt) as object)).toContain('proof');
    expect(Buffer.byteLength(receipt)).toBeLessThanOrEqual(RECEIPT_BYTES);
  });

  it('a request alone stays within its budget at Redis, PostgreSQL and in each process', async (context) => {
    const times = 20;
    const counts = await costs.each(times, () => answer(times, 1));
    expect(await over(context, counts, REQUEST_ALONE)).toEqual([]);
  });

  it('a request among 32 stays within its budget at Redis and PostgreSQL', async (context) => {
    const times = 160;
    const counts = await costs.each(times, () => answer(times, 32));
    expect(await over(context, counts, REQUEST_OF_32)).toEqual([]);
  });

  it('a token of a stream that is alone stays within its budget', async (context) => {
    const tokens = 50;
    const body = { stream: true, max_tokens: tokens, sandbox_fault: 'pace=100' };
    const counts = await costs.each(tokens, async () => {
      expect(payloadsIn(await answer(1, 1, body)).length).toBeGreaterThan(tokens);
    });
    expect(await over(context, counts, TOKEN_ALONE)).toEqual([]);
  });

  it('a token of 32 streams at once stays within its budget', async (context) => {
    const [streams, tokens] = [32, 30];
    const body = { stream: true, max_tokens: tokens, sandbox_fault: 'pace=50' };
    const counts = await costs.each(streams * tokens, async () => {
      await answer(streams, streams, body);
    });
    expect(await over(context, counts, TOKEN_OF_32)).toEqual([]);
  });

  it('a system without a request does little by the clock', async (context) => {
    const others = ['recalculation', 'exports', 'purge', 'housekeeping'] as const;
    await Promise.all(others.map((role) => system.start(role)));
    // A ledger worker looks often until the epoch is over in which its last head is anchored.
    const quietAt = doneAt + ANCHOR_AWAKE_MS;
    await until(() => performance.now() >= quietAt, 'everything of before is done');
    const all = costsOf([...MAIN_ROLES, ...others]);
    let found = await over(context, await all.watchIdle(IDLE_WINDOW_MS), IDLE_SECOND);
    for (let window = 1; found.length > 0 && window < IDLE_WINDOWS_MAX; window += 1) {
      found = await over(context, await all.watchIdle(IDLE_WINDOW_MS), IDLE_SECOND);
    }
    expect(found).toEqual([]);
  });
});
