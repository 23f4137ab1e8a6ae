import { appendFile, copyFile } from 'node:fs/promises';
import { Redis } from 'ioredis';
import { setTimeout as delay } from 'node:timers/promises';
import { Client } from 'pg';
import type { Instance } from '#lab/storms/instance.ts';
import { signal } from '#lab/storms/processes.ts';

/** Where nothing listens: the discard port, which no machine serves any more. */
const NOWHERE = ['127.0.0.1', '9'] as const;
/** Longer than the five seconds after which a worker is taken for dead. */
const ASLEEP_MS = 9_000;

export interface TrialGround {
  instance: Instance;
  /** The shipped catalogue, and the copy of it that the product reads. */
  catalogue: { shipped: string; copy: string };
}

export interface Trial {
  /** What is broken, as the table shows it. */
  broken: string;
  /** The alerts that have to come of it. */
  alerts: readonly string[];
  /** Breaks it, and hands back what mends it. */
  provoke: (ground: TrialGround) => Promise<() => Promise<void>>;
}

export const TRIALS: readonly Trial[] = [
  {
    broken: 'the upstream answers 500',
    alerts: ['DocketCircuitOpen'],
    async provoke({ instance }) {
      const url = `${new URL(instance.info.sandbox_url).origin}/sandbox/fault`;
      await ask(url, { method: 'PUT', body: 'status=500' });
      return () => ask(url, { method: 'DELETE' });
    },
  },
  {
    broken: 'the only receipts worker stands still',
    alerts: ['DocketRoleGone', 'DocketProcessDown', 'DocketReceiptsLate'],
    async provoke({ instance }) {
      const pids = await instance.pids('receipts');
      signal(pids, 'SIGSTOP');
      return async () => signal(pids, 'SIGCONT');
    },
  },
  {
    broken: 'a lock on the heads of logs',
    alerts: ['DocketMergeDelayBroken'],
    async provoke({ instance }) {
      const client = new Client({ connectionString: instance.info.database_url });
      await client.connect();
      await client.query('begin');
      await client.query('lock table ledger_head in share mode');
      return () => client.end();
    },
  },
  {
    broken: 'one of two inference workers sleeps, and wakes',
    alerts: ['DocketStaleOutcomes'],
    async provoke({ instance }) {
      const [pid] = await instance.pids('inference');
      signal([pid!], 'SIGSTOP');
      await delay(ASLEEP_MS);
      signal([pid!], 'SIGCONT');
      return async () => undefined;
    },
  },
  {
    broken: 'Redis is made a replica',
    alerts: ['DocketErrorBudgetBurnsFast', 'DocketStoreErrors'],
    async provoke({ instance }) {
      await demote(instance, ...NOWHERE);
      return () => demote(instance, 'NO', 'ONE');
    },
  },
  {
    broken: 'an inference worker with another catalogue',
    alerts: ['DocketPeersDiffer'],
    async provoke({ instance, catalogue: { shipped, copy } }) {
      const replaceOne = async (): Promise<void> => {
        // Always the same of the two: the other has the catalogue that all began with.
        const pid = (await instance.pids('inference')).at(-1)!;
        await instance.replace('inference', pid, 'SIGTERM');
      };
      await appendFile(copy, '\n# Another catalogue.\n');
      await replaceOne();
      return async () => {
        await copyFile(shipped, copy);
        await replaceOne();
      };
    },
  },
];

async function ask(url: string, init: RequestInit): Promise<void> {
  const { ok, status } = await fetch(url, init);
  if (!ok) throw new Error(`${url}: ${status}`);
}

async function demote(instance: Instance, host: string, port: string): Promise<void> {
  const redis = new Redis(instance.info.redis_url, { lazyConnect: true });
  try {
    await redis.connect();
    await redis.call('REPLICAOF', host, port);
  } finally {
    redis.disconnect();
  }
}
