import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { receiptIdOf } from '#shared/kernel/ids.ts';
import type { Role } from '#shared/config/settings.ts';
import { limitsKey, shardOf } from '#shared/lanes/keys.ts';
import { RedisCluster } from '#lab/storms/redis-cluster.ts';
import { spawnDocket } from '#test/support/docket-cli.ts';
import { ask, expectKept, sendOn, timeline } from '#test/support/steady-senders.ts';
import { startSystem, type System } from '#test/support/system.ts';
import { until } from '#test/support/until.ts';

const ROLES: readonly Role[] = ['api', 'inference', 'receipts', 'ledger', 'housekeeping'];
const SHARDS = 3;
/** Starting six nodes and all roles with TLS, on a machine that does much else. */
const START_MS = 120_000;
/** Different failures that one process meets while a master is away, each told once and counted every ten seconds. */
const FAILURES_MAX = 6;

let cluster: RedisCluster;
let system: System;

beforeAll(async () => {
  cluster = await RedisCluster.start();
  // One node is named, by which the others are found.
  const { REDIS_URL: redisUrl, ...env } = cluster.env;
  system = await startSystem({
    replicas: {},
    redisUrl: redisUrl!,
    env: { ...env, SHARDS: `${SHARDS}` },
  });
  await system.start('housekeeping');
}, START_MS);
afterAll(() => cluster?.stop());

const linesOf = (role: Role, event: string): number =>
  system.processes(role).flatMap((one) => one.logs().filter((line) => line['event'] === event))
    .length;

/** What the processes of a role have complained of, but for single requests. */
const troublesOf = (role: Role): Record<string, unknown>[] =>
  system
    .processes(role)
    .flatMap((one) => one.logs())
    .filter(({ level, event }) => level !== 'info' && !OF_REQUESTS.includes(String(event)));

describe('a Redis Cluster of three masters with a replica each, TLS only, with a user and a password', () => {
  it('what was refused while the masters were frozen does not run when they go on', async () => {
    const told = await cluster.whileFrozen(() =>
      Promise.all(Object.values(system.demo.keys).map((key) => ask(system, key))),
    );
    expect(new Set(told.map(({ status, code }) => `${status} ${code}`))).toEqual(
      new Set(['503 store_unavailable']),
    );
    await until(async () => (await ask(system, system.key)).status === 200, 'it answers again');
    const { rows } = await system.database.pool.query(
      'select entry_id from ledger_body where entry_id = any($1)',
      [told.map(({ requestId }) => receiptIdOf(requestId))],
    );
    expect(rows).toEqual([]);
  });

  it(
    'a master that is lost costs seconds of 503 with Retry-After, one line for its loss and one for its heir, and no receipt',
    async () => {
      const load = sendOn(system);
      await until(() => load.told.length > 20);
      const shard = shardOf(system.orgId, SHARDS);
      const { startAgain } = await cluster.killMasterOf(limitsKey(shard, system.orgId));
      const killedAt = performance.now();
      // Also when this fails: the next test counts its nodes.
      onTestFinished(startAgain);
      // A caller who was admitted before waits for the heir and is answered, which may be every one of these callers.
      const latecomers = sendOn(system, load.told);
      await until(() => load.told.some(({ status }) => status !== 200), 'requests are refused');
      await until(() => ROLES.every((role) => linesOf(role, 'redis_master_found') > 0), 'all know');
      const heard = load.told.length;
      await until(
        () => load.told.slice(heard).filter(({ status }) => status === 200).length > 50,
        'requests are answered again',
      ).catch((error: unknown) => {
        const said = ROLES.flatMap((role) => troublesOf(role).slice(-FAILURES_MAX));
        throw new Error(
          `since the kill:\n${timeline(load.told, killedAt)}\n${said.map((line) => JSON.stringify(line)).join('\n')}`,
          { cause: error },
        );
      });
      await Promise.all([load.stop(), latecomers.stop()]);

      const ours = troublesOf('api').filter(({ event }) => event === 'internal_error');
      await expectKept(system, load.told, JSON.stringify(ours));
      for (const role of ROLES) {
        expect(linesOf(role, 'redis_master_lost'), role).toBe(1);
        expect(linesOf(role, 'redis_master_found'), role).toBe(1);
        // Those of the frozen masters above are among them.
        expect(troublesOf(role).length, role).toBeLessThanOrEqual(4 * FAILURES_MAX);
      }
    },
    START_MS,
  );

  it('jobs by the clock run on it, and docket doctor finds its masters and replicas from one node', async () => {
    const { REDIS_URL: url, NODE_EXTRA_CA_CERTS: certificate } = cluster.env;
    // As operators do: a certificate is read when a process begins.
    const { stdout } = await spawnDocket(['doctor', '--json'], {
      DATABASE_URL: system.database.url,
      REDIS_URL: url!,
      NODE_EXTRA_CA_CERTS: certificate!,
      SHARDS: `${SHARDS}`,
    });
    expect(stdout).toContain('a cluster of 3 masters and 3 replicas, SHARDS is 3');
    await until(async () => (await jobsDone()) > 0, 'a job has run');
  });
});

/** Lines about single requests and receipts, whose number is that of the requests under way. */
const OF_REQUESTS = ['receipt_late', 'outcome_stale', 'upstream_failed', 'receipt_degraded'];

async function jobsDone(): Promise<number> {
  const [housekeeping] = system.processes('housekeeping');
  const text = await (await fetch(`http://127.0.0.1:${housekeeping!.metricsPort}/metrics`)).text();
  const counts = text.matchAll(/^docket_job_duration_seconds_count\{.*\} (\d+)$/gm);
  return [...counts].reduce((sum, [, count]) => sum + Number(count), 0);
}
