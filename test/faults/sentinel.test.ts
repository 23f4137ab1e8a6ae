import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Role } from '#shared/config/settings.ts';
import { RedisSentinel } from '#lab/storms/redis-sentinel.ts';
import { runDocket } from '#test/support/docket-cli.ts';
import { expectKept, sendOn, timeline, type Told } from '#test/support/steady-senders.ts';
import { startSystem, type System } from '#test/support/system.ts';
import { until } from '#test/support/until.ts';

const ROLES: readonly Role[] = ['api', 'inference', 'receipts', 'ledger', 'housekeeping'];
/** Starting six servers and all roles, on a machine that does much else. */
const START_MS = 120_000;

let redis: RedisSentinel;
let system: System;

beforeAll(async () => {
  redis = await RedisSentinel.start();
  system = await startSystem({ replicas: {}, redisUrl: redis.env['REDIS_URL']! });
  await system.start('housekeeping');
}, START_MS);
afterAll(() => redis?.stop());

const linesOf = (role: Role, ...events: string[]): number =>
  system
    .processes(role)
    .flatMap((one) => one.logs())
    .filter(({ event }) => events.includes(String(event))).length;

/** Sends while another server takes the place of the one that takes writes; what was told has been kept when it returns. */
async function expectKeptWhile(replace: () => Promise<void>): Promise<Told[]> {
  const load = sendOn(system);
  await until(() => load.told.length > 20);
  const since = performance.now();
  const knew = ROLES.map((role) => linesOf(role, 'redis_server_replaced', 'redis_server_found'));
  const replaced = replace();
  // A caller who was admitted before waits and is answered, which may be every one of these.
  const latecomers = sendOn(system, load.told);
  await until(
    () =>
      ROLES.every(
        (role, i) => linesOf(role, 'redis_server_replaced', 'redis_server_found') > knew[i]!,
      ),
    'all know of another',
  );
  const heard = load.told.length;
  await until(
    () => load.told.slice(heard).filter(({ status }) => status === 200).length > 50,
    'requests are answered again',
  ).catch((error: unknown) => {
    throw new Error(timeline(load.told, since), { cause: error });
  });
  await replaced;
  await Promise.all([load.stop(), latecomers.stop()]);
  return expectKept(system, load.told);
}

describe('a Redis with two replicas and a password, which three Sentinels watch', () => {
  it('docket doctor finds its replicas, and a quorum of the Sentinels', async () => {
    const { stdout } = await runDocket(['doctor', '--json'], {
      DATABASE_URL: system.database.url,
      REDIS_URL: redis.env['REDIS_URL']!,
    });
    expect(stdout).toContain('a server behind Sentinel, replicas: 2');
    expect(stdout).toContain('all 3 that are named answer, and have a quorum');
  });

  it(
    'a server that is killed with the machine of a Sentinel costs seconds of 503 with Retry-After, one line for the one that is named, and no receipt [survives.sentinel]',
    { timeout: START_MS },
    async () => {
      const refused = await expectKeptWhile(async () => {
        const killed = await redis.whileOneIsFrozen(async () => {
          const master = await redis.killMaster();
          await redis.untilReplaced(master.port);
          return master;
        });
        await killed.startAgain();
      });
      expect(refused).not.toEqual([]);
      // Who comes to the other before it takes writes says first that there is none.
      for (const role of ROLES)
        expect(linesOf(role, 'redis_server_replaced', 'redis_server_found'), role).toBe(1);
    },
  );

  it(
    'a server that is demoted, and keeps its connections, is left by every process, and costs no receipt [survives.sentinel]',
    { timeout: START_MS },
    async () => {
      let left = 0;
      await expectKeptWhile(async () => {
        left = (await redis.demoteMaster()).port;
      });
      const ours = ROLES.flatMap((role) => system.processes(role)).map(({ pid }) => `-${pid}-`);
      await until(
        async () =>
          !(await redis.clientsOf(left)).some((name) => ours.some((one) => name.includes(one))),
        'no process has a connection to it',
      );
    },
  );
});
