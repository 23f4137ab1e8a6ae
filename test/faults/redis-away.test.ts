import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { tookMs } from '#test/support/control.ts';
import { post } from '#test/support/http.ts';
import { connectTo } from '#test/support/lanes.ts';
import { sendLoad } from '#test/support/load.ts';
import { integrated } from '#test/support/receipts.ts';
import { MAIN_ROLES, startSystem, type System } from '#test/support/system.ts';
import { until } from '#test/support/until.ts';
import { atFileEnd } from '#test/support/file-end.ts';

/** The promise: requests fail within a second while Redis is away. */
const FAIL_WITHIN_MS = 1_000;
/** What the product waits for Redis of that; the rest is the machine's. */
const WAITED_MS = 800;
/** Different failures that one process meets while Redis is away: of commands, connections, loops and requests. */
const FAILURES_MAX = 8;
const BODY = JSON.stringify({
  model: 'llama-3.1-8b',
  messages: [{ role: 'user', content: 'Tell me about the lighthouse.' }],
  max_tokens: 4,
});

let system: System;

beforeAll(async () => {
  const dataDir = await mkdtemp(join(tmpdir(), 'docket-redis-'));
  atFileEnd(() => rm(dataDir, { recursive: true, force: true }));
  system = await startSystem({ replicas: {}, redis: { dataDir, durable: true } });
  await sendLoad(system, { requests: 10, concurrency: 2 });
});

async function expectFastFailure(): Promise<void> {
  const fail = async (): Promise<number> => {
    const startedAt = performance.now();
    const response = await post(system, '/chat/completions', BODY);
    const took = performance.now() - startedAt;
    expect(response.status).toBe(503);
    expect(await response.json()).toMatchObject({
      error: { type: 'internal_error', code: 'store_unavailable' },
    });
    expect(response.headers.get('retry-after')).toBe('1');
    expect(response.headers.get('x-should-retry')).toBe('true');
    return took;
  };
  expect(await tookMs(FAIL_WITHIN_MS, fail, FAIL_WITHIN_MS - WAITED_MS)).toBeLessThan(
    FAIL_WITHIN_MS,
  );
}

async function expectRecovery(): Promise<void> {
  await until(
    async () => (await sendLoad(system, { requests: 1, concurrency: 1 }))[0]!.signed,
    'requests are answered with signed receipts again',
  );
  const seen = await sendLoad(system, { requests: 20, concurrency: 4 });
  expect(seen.every(({ answered, signed }) => answered && signed)).toBe(true);
  const totals = await integrated(system);
  expect(totals).toMatchObject({ gaps: 0, distinct: totals.receipts });
}

describe('Redis', () => {
  it('requests fail within a second while Redis swallows every packet, and nothing needs a restart [errors.store, codes.internal, survives.redis]', async () => {
    process.kill(system.redis.pid, 'SIGSTOP');
    try {
      for (let i = 0; i < 3; i += 1) await expectFastFailure();
      const many = await Promise.all(
        Array.from({ length: 20 }, () => post(system, '/chat/completions', BODY)),
      );
      expect(many.every(({ status }) => status === 503)).toBe(true);
    } finally {
      process.kill(system.redis.pid, 'SIGCONT');
    }
    await expectRecovery();
  });

  it('a Redis that is away costs each process a few lines, however many requests fail', async () => {
    const startedAt = performance.now();
    process.kill(system.redis.pid, 'SIGSTOP');
    try {
      for (let round = 0; round < 4; round += 1) {
        await Promise.all(
          Array.from({ length: 50 }, () => post(system, '/chat/completions', BODY)),
        );
      }
    } finally {
      process.kill(system.redis.pid, 'SIGCONT');
    }
    await expectRecovery();
    // Each of the few failures that a process meets is told once, and counted every ten seconds after that.
    const tens = 1 + Math.ceil((performance.now() - startedAt) / 10_000);
    const lines = MAIN_ROLES.flatMap((role) => system.processes(role)).map(
      (one) => one.logs().filter(({ level }) => level === 'warn' || level === 'error').length,
    );
    expect(Math.max(...lines)).toBeGreaterThan(0);
    expect(Math.max(...lines)).toBeLessThanOrEqual(FAILURES_MAX * (1 + tens));
  });

  it('no process is ready while Redis is demoted, each says so once, and all go on when it takes writes again [survives.redis-demoted]', async () => {
    const processes = MAIN_ROLES.flatMap((role) => system.processes(role));
    const areReady = async (): Promise<boolean[]> =>
      Promise.all(
        processes.map(async ({ metricsPort }) => {
          const { status } = await fetch(`http://127.0.0.1:${metricsPort}/readyz`);
          return status === 200;
        }),
      );
    const redis = connectTo(system.redis.url);
    const promote = () => redis.replicaof('NO', 'ONE');
    onTestFinished(async () => void (await promote()));
    await redis.replicaof('127.0.0.1', 1);
    await until(async () => !(await areReady()).includes(true), 'no process is ready');
    await expectFastFailure();
    await promote();
    await expectRecovery();
    await until(async () => !(await areReady()).includes(false), 'all are ready');
    for (const one of processes) {
      const said = one.logs().map(({ event }) => event);
      expect(said.filter((event) => event === 'redis_server_lost')).toHaveLength(1);
      expect(said.filter((event) => event === 'redis_server_found')).toHaveLength(1);
    }
  });

  it('no answered request loses its receipt when Redis is stopped and started again under load [survives.redis]', async () => {
    const port = Number(new URL(system.redis.url).port);
    const load = sendLoad(system, { requests: 200, concurrency: 8 });
    await system.restartRedis(port);
    const seen = await load;
    await expectRecovery();
    const { rows } = await system.database.pool.query<{ missing: string }>(
      `SELECT count(*) AS missing FROM unnest($1::text[]) AS wanted (id)
       WHERE NOT EXISTS (SELECT FROM ledger_entry e WHERE e.entry_id = wanted.id)`,
      [seen.filter(({ signed }) => signed).map(({ receiptId }) => receiptId)],
    );
    expect(Number(rows[0]!.missing)).toBe(0);
  });
});
