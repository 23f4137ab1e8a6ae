import { rm, statfs, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import type { Environment } from '#shared/config/config.ts';
import type { Role } from '#shared/config/settings.ts';
import type { Instance } from './instance.ts';
import type { Excuse } from './judge.ts';
import { familyOf, signal } from './processes.ts';
import { Random } from '#lab/support/random.ts';
import { type Cut, CUTS, type Distant, type Hosts } from './hosts.ts';
import { RedisCluster } from './redis-cluster.ts';
import { RedisSentinel } from './redis-sentinel.ts';

const SERVING: readonly Role[] = ['api', 'inference', 'receipts', 'ledger'];
const WORKING: readonly Role[] = ['inference', 'receipts', 'ledger'];
const STORES = ['postgres', 'redis'] as const;
/** What a piece takes one way over a slow link: from what a link has always, `floor`, to what a queue makes of it. */
const SLOW_MS = { floor: { least: 50, most: 200 }, most: 300 } as const;

/** How a storm rages, of any kind. */
export interface Conditions {
  random: Random;
  /** Epoch milliseconds at which it is to end; what was begun is finished. */
  endsAt: number;
  say: (line: string) => void;
  /** Connections that are open during this may break. */
  excused: <T>(work: () => Promise<T>) => Promise<T>;
}

/** What a storm has to work with. */
interface Weather extends Conditions {
  instance: Instance;
  /** In place of the instance's own Redis, for a storm that wants one. */
  cluster: RedisCluster | null;
  /** The same, of Sentinels. */
  sentinel: RedisSentinel | null;
}

interface Kind {
  description: string;
  /** No request may fail at all. */
  gentle?: boolean;
}

interface InstanceStorm extends Kind {
  /** Runs on a Redis Cluster, or on a Redis that Sentinels watch. */
  on?: 'cluster' | 'sentinel';
  /** Needs a file system of this size for the data. */
  diskMib?: number;
  /** Settings of the instance that are not those of one machine. */
  env?: Environment;
  run: (weather: Weather) => Promise<void>;
}

interface HostsStorm extends Kind {
  on: 'hosts';
  run: (conditions: Conditions & { hosts: Hosts }) => Promise<void>;
}

/** What `npm run upgrade` does. */
interface UpgradeStorm extends Kind {
  on: 'builds';
}

export type Storm = InstanceStorm | HostsStorm | UpgradeStorm;

export const STORMS = {
  kill: { description: 'one process of each role killed, again and again', run: killRoles },
  pause: { description: 'workers stopped for 7 to 30 s and woken', run: pauseWorkers },
  postgres: {
    description: 'PostgreSQL stopped, killed and frozen',
    run: (weather) => strikeStore(weather, 'postgres'),
  },
  redis: {
    description: 'Redis stopped, killed and frozen',
    run: (weather) => strikeStore(weather, 'redis'),
  },
  all: { description: 'everything killed at once, and started again', run: killEverything },
  disk: { description: 'the disk of both stores full for seconds', diskMib: 512, run: fillDisk },
  cluster: {
    description: 'the busiest master of a Redis Cluster killed (TLS, a password, replicas)',
    on: 'cluster',
    run: killMasters,
  },
  sentinel: {
    description: 'the Redis that takes writes killed, and another named by Sentinel',
    on: 'sentinel',
    run: killMasters,
  },
  demote: {
    description: 'the Redis that takes writes made a replica of another, with its connections open',
    on: 'sentinel',
    run: demoteMasters,
  },
  restart: {
    description: 'every process stopped and replaced in turn, again and again',
    gentle: true,
    // Where others than its owner notice a restart. A client that is held up itself hears late that a connection is gone.
    env: { LAME_DUCK_MS: '4000' },
    run: restartAround,
  },
  hosts: {
    description:
      'links between four hosts (namespaces) cut and slow, two clocks five seconds apart; root',
    on: 'hosts',
    run: cutLinks,
  },
  upgrade: {
    description: 'an upgrade from the oldest commit and back, as npm run upgrade does it',
    on: 'builds',
    gentle: true,
  },
} satisfies Record<string, Storm>;

/** Collects the times in which connections may break. */
export function excuses(): { list: Excuse[]; excused: Conditions['excused'] } {
  const list: Excuse[] = [];
  return {
    list,
    excused: async (work) => {
      const excuse = { from: Date.now(), to: Infinity };
      list.push(excuse);
      try {
        return await work();
      } finally {
        excuse.to = Date.now();
      }
    },
  };
}

async function killRoles({ instance, random, endsAt, say, excused }: Weather): Promise<void> {
  do {
    for (const role of random.shuffled(SERVING)) {
      const pid = random.of(await instance.pids(role));
      say(`kill ${role} ${pid}`);
      const replaced = (): Promise<void> => instance.replace(role, pid, 'SIGKILL');
      await (role === 'api' ? excused(replaced) : replaced());
      await delay(random.between(200, 1_500));
    }
  } while (Date.now() < endsAt);
}

async function pauseWorkers({ instance, random, endsAt, say }: Weather): Promise<void> {
  do {
    const role = random.of(WORKING);
    const pids = random.shuffled(await instance.pids(role));
    // Now and then all of them: then none may be taken for dead by another.
    const stopped = random.between(0, 1) < 0.3 ? pids : pids.slice(0, 1);
    const forMs = Math.min(random.between(7_000, 30_000), Math.max(7_000, endsAt - Date.now()));
    say(`stop ${role} ${stopped.join(' ')} for ${(forMs / 1_000).toFixed(1)} s`);
    signal(stopped, 'SIGSTOP');
    await delay(forMs);
    signal(stopped, 'SIGCONT');
    await delay(random.between(500, 3_000));
  } while (Date.now() < endsAt);
}

async function strikeStore(
  { instance, random, endsAt, say }: Weather,
  store: (typeof STORES)[number],
): Promise<void> {
  const ways = random.shuffled(['stop', 'kill', 'freeze'] as const);
  for (let turn = 0; turn === 0 || Date.now() < endsAt; turn += 1) {
    const pid = await instance.storePid(store);
    if (pid !== undefined) {
      const way = ways[turn % ways.length]!;
      say(`${way} ${store} ${pid}`);
      if (way === 'stop') signal([pid], 'SIGINT');
      if (way === 'kill') signal([pid], 'SIGKILL');
      if (way === 'freeze') {
        const family = familyOf(pid);
        signal(family, 'SIGSTOP');
        await delay(random.between(2_000, 8_000));
        signal(family, 'SIGCONT');
      }
    }
    await delay(random.between(2_000, 5_000));
  }
}

async function killEverything({ instance, random, endsAt, say, excused }: Weather): Promise<void> {
  do {
    await delay(random.between(1_000, 4_000));
    say('kill everything');
    await excused(async () => {
      await instance.killEverything();
      await instance.launch();
    });
    say('everything is back');
  } while (Date.now() < endsAt);
}

async function fillDisk({ instance, random, endsAt, say }: Weather): Promise<void> {
  const filler = join(instance.dataDir, 'filler');
  do {
    await delay(random.between(1_000, 3_000));
    const { bavail, bsize } = await statfs(instance.dataDir);
    say(`fill the disk: ${Math.round((bavail * bsize) / 2 ** 20)} MiB`);
    await writeFile(filler, Buffer.alloc(bavail * bsize)).catch(() => {
      // What was written first is there; the rest no longer fits, as is meant.
    });
    await delay(random.between(2_000, 6_000));
    await rm(filler, { force: true });
    say('the disk has room again');
    await delay(random.between(2_000, 4_000));
  } while (Date.now() < endsAt);
}

async function killMasters({ cluster, sentinel, random, endsAt, say }: Weather): Promise<void> {
  do {
    const { port, startAgain } = await (cluster ?? sentinel)!.killMaster();
    say(`kill the master on port ${port}`);
    const killedAt = Date.now();
    await startAgain();
    say(`another has taken over, and it is back, after ${Date.now() - killedAt} ms`);
    await delay(random.between(2_000, 5_000));
  } while (Date.now() < endsAt);
}

async function demoteMasters({ sentinel, random, endsAt, say }: Weather): Promise<void> {
  do {
    const { port } = await sentinel!.demoteMaster();
    say(`another has taken the place of the server on port ${port}`);
    await sentinel!.agreed();
    say('which follows it');
    await delay(random.between(2_000, 5_000));
  } while (Date.now() < endsAt);
}

async function restartAround({ instance, endsAt, say }: Weather): Promise<void> {
  do {
    for (const role of SERVING) {
      for (const pid of await instance.pids(role)) {
        say(`restart ${role} ${pid}`);
        await instance.replace(role, pid, 'SIGTERM');
      }
    }
  } while (Date.now() < endsAt);
}

/** The api and both hosts with workers. */
const DISTANT: readonly Distant[] = ['api', 'worker-1', 'worker-2'];

async function cutLinks({
  hosts,
  random,
  endsAt,
  say,
}: Conditions & { hosts: Hosts }): Promise<void> {
  if (hosts.clockLibrary === undefined) say('clocks agree: faketime is not installed');
  const links: readonly (readonly Distant[])[] = [
    ['api'],
    ['worker-1'],
    ['worker-2'],
    ['worker-1', 'worker-2'],
  ];
  do {
    for (const link of random.shuffled(links)) {
      const slowed = DISTANT.filter(() => random.between(0, 1) < 0.5).map((host) => {
        const floorMs = random.between(SLOW_MS.floor.least, SLOW_MS.floor.most);
        // Drawn apart: how many pieces there are must not change what comes next.
        const jitter = new Random(random.between(0, 2 ** 32));
        hosts.slow(host, () => jitter.between(floorMs, SLOW_MS.most));
        return `${host} by ${floorMs.toFixed(0)} to ${SLOW_MS.most} ms`;
      });
      say(`slow: ${slowed.length === 0 ? 'none' : slowed.join(', ')}`);
      const cut = random.of(Object.keys(CUTS) as Cut[]);
      // Shorter and longer than what makes a process dead for the others.
      const forMs = random.between(1_000, 12_000);
      say(`cut ${link.join(' and ')} ${cut} for ${(forMs / 1_000).toFixed(1)} s`);
      for (const host of link) hosts.cut(host, cut);
      await delay(forMs);
      for (const host of link) hosts.mend(host);
      await delay(random.between(500, 3_000));
      for (const host of DISTANT) hosts.slow(host);
    }
  } while (Date.now() < endsAt);
}
