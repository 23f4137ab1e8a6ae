import { appendFile, copyFile } from 'node:fs/promises';
import { Redis } from 'ioredis';
import { setTimeout as delay } from 'node:timers/promises';
import { Queue } from 'bullmq';
import { Client } from 'pg';
import { run } from '#lab/pooler/product.ts';
import type { Instance } from '#lab/storms/instance.ts';
import { signal } from '#lab/storms/processes.ts';
import { JOB_PREFIX } from '#shared/jobs/redis/job-queues.ts';
import { receiptsLane } from '#shared/lanes/keys.ts';

/** Where nothing listens: the discard port, which no machine serves any more. */
const NOWHERE = ['127.0.0.1', '9'] as const;
/** Longer than the five seconds after which a worker is taken for dead. */
const ASLEEP_MS = 9_000;

const BECAUSE = ['--reason', 'a trial'];
/** Longer than a notice of a changed key may take. */
const NOTICE_HELD_MS = 4_000;
/** More than half of what is owed at most. */
const OWED = 260_000;
const LANE = receiptsLane(0);
/** Longer ago than a job is left to a newer build. */
const JOB_AGE_MS = 25 * 3_600_000;
const LOOK_MS = 200;

/** A model that the catalogue says no size of, for one request. */
const SIZELESS = 'a-model-without-a-size';
const SIZELESS_MODEL = `models:
  - id: ${SIZELESS}
    kinds: [chat]
    context_window: 8192
    tokenizer: o200k_base
    modalities: [text]
    max_n: 1
    owned_by: lab
    created: 1721692800
    endpoints:
      - { name: sandbox-eu-west, model: lab/a-model }
    footprint: {}
`;

/** The shipped catalogue, with that model. */
export const withSizeless = (catalogue: string): string =>
  catalogue.replace(/^models:\n/m, () => SIZELESS_MODEL);

export interface TrialGround {
  instance: Instance;
  /** The catalogue that all began with, and the copy of it that the product reads. */
  catalogue: { first: string; copy: string };
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
    alerts: ['DocketRoleGone', 'DocketProcessDown', 'DocketReceiptsLate', 'DocketLaneWaits'],
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
    alerts: ['DocketErrorBudgetBurnsFast', 'DocketErrorBudgetBurns', 'DocketStoreErrors'],
    async provoke({ instance }) {
      await demote(instance, ...NOWHERE);
      return () => demote(instance, 'NO', 'ONE');
    },
  },
  {
    broken: 'an inference worker with another catalogue',
    alerts: ['DocketPeersDiffer'],
    async provoke({ instance, catalogue: { first, copy } }) {
      const replaceOne = async (): Promise<void> => {
        // Always the same of the two: the other has the catalogue that all began with.
        const pid = (await instance.pids('inference')).at(-1)!;
        await instance.replace('inference', pid, 'SIGTERM');
      };
      await appendFile(copy, '\n# Another catalogue.\n');
      await replaceOne();
      return async () => {
        await copyFile(first, copy);
        await replaceOne();
      };
    },
  },
  {
    broken: 'the process with the other roles stands still',
    alerts: ['DocketBackgroundRoleGone'],
    async provoke({ instance }) {
      const pids = await instance.pids('exports');
      signal(pids, 'SIGSTOP');
      return async () => signal(pids, 'SIGCONT');
    },
  },
  {
    broken: 'PostgreSQL takes no receipts',
    alerts: ['DocketReceiptsNotCommitted'],
    async provoke({ instance }) {
      await sql(instance, 'revoke insert on receipt_pending from docket_receipts');
      return async () =>
        void (await sql(instance, 'grant insert on receipt_pending to docket_receipts'));
    },
  },
  {
    broken: 'an outcome that cannot be read',
    alerts: ['DocketReceiptImpossible'],
    async provoke({ instance }) {
      await redis(instance, (client) => client.xadd(LANE, '*', 'message', 'of no outcome'));
      return async () => undefined;
    },
  },
  {
    broken: `${OWED} receipts are owed`,
    alerts: ['DocketReceiptsOwed'],
    async provoke({ instance }) {
      const pids = await instance.pids('receipts');
      signal(pids, 'SIGSTOP');
      await redis(instance, (client) => client.eval(OWE, 1, LANE, OWED));
      return async () => {
        await redis(instance, (client) => client.eval(OWE_NO_MORE, 1, LANE));
        signal(pids, 'SIGCONT');
      };
    },
  },
  {
    broken: 'a model without a size, and a person who does not look',
    alerts: ['DocketReceiptsDegraded', 'DocketRecalculationsParked'],
    async provoke({ instance }) {
      const { base_url: baseUrl, api_key: key } = instance.info;
      await ask(`${baseUrl}/chat/completions`, {
        method: 'POST',
        headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
        body: JSON.stringify({ model: SIZELESS, messages: [{ role: 'user', content: 'Hello.' }] }),
      });
      // Eight attempts would take half an hour.
      while ((await sql(instance, `update recalculation set state = 'parked'`)) === 0)
        await delay(LOOK_MS);
      return async () => void (await sql(instance, 'delete from recalculation'));
    },
  },
  {
    broken: 'a body is changed before it is integrated',
    alerts: ['DocketReceiptsQuarantined'],
    async provoke({ instance }) {
      const held = new Client({ connectionString: instance.info.database_url });
      await held.connect();
      await held.query('begin');
      await held.query('lock table ledger_head in share mode');
      while ((await sql(instance, `${UNGUARDED}; ${ALTER_PENDING}`)) === 0) await delay(LOOK_MS);
      await held.end();
      return async () => {
        await sql(instance, `${UNGUARDED}; ${MEND_ALTERED}`);
        for (const id of await column(instance, 'select entry_id as value from ledger_quarantine'))
          await docket(instance, 'ledger', 'requeue', id, ...BECAUSE);
      };
    },
  },
  {
    broken: 'the head of a log is changed',
    alerts: ['DocketLogHalted'],
    async provoke({ instance }) {
      const { org_id: orgId } = instance.info;
      const by = (entries: string): string =>
        `${UNGUARDED}; update ledger_head set size = size ${entries} where org_id = '${orgId}'`;
      await sql(instance, by('+ 7'));
      return async () => {
        await sql(instance, by('- 7'));
        await docket(instance, 'ledger', 'resume', '--org', orgId, ...BECAUSE);
      };
    },
  },
  {
    broken: 'the head of an audit log is changed',
    alerts: ['DocketAuditHeadRefused'],
    async provoke({ instance }) {
      const turned = `${UNGUARDED}; update audit_head set hash = set_byte(hash, 0, 255 - get_byte(hash, 0)),
        size = size`;
      const where = `where org_id = '${instance.info.org_id}'`;
      await sql(instance, `${turned} + 1 ${where}`);
      return async () => void (await sql(instance, `${turned} - 1 ${where}`));
    },
  },
  {
    broken: 'a notice of a changed key is held up',
    alerts: ['DocketRevocationsSlow'],
    async provoke({ instance }) {
      const { base_url: baseUrl, api_key: key } = instance.info;
      const listeners = await column(
        instance,
        `select pid as value from pg_stat_activity where application_name like 'docket api%' and query ilike 'listen%'`,
      );
      const pids = listeners.map(Number);
      signal(pids, 'SIGSTOP');
      await ask(`${baseUrl}/keys`, {
        method: 'POST',
        headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
        body: JSON.stringify({ name: 'of a trial' }),
      });
      await delay(NOTICE_HELD_MS);
      signal(pids, 'SIGCONT');
      return async () => undefined;
    },
  },
  {
    broken: 'a job that no build can read',
    alerts: ['DocketJobGivenUp'],
    async provoke({ instance }) {
      const { hostname: host, port, password } = new URL(instance.info.redis_url);
      const connection = { host, port: Number(port), password };
      const queue = new Queue('screening', { connection, prefix: JOB_PREFIX });
      await queue.add('screening', {}, { timestamp: Date.now() - JOB_AGE_MS });
      await queue.close();
      return async () => undefined;
    },
  },
  {
    broken: 'a lock on the e-mails that wait',
    alerts: ['DocketJobKeepsFailing'],
    async provoke({ instance }) {
      const client = new Client({ connectionString: instance.info.database_url });
      await client.connect();
      await client.query('begin');
      await client.query('lock table mail_outbox in access exclusive mode');
      return () => client.end();
    },
  },
];

/** Entries that no worker has read. */
const OWE = `for entry = 1, tonumber(ARGV[1]) do redis.call('XADD', KEYS[1], '*', 'of', 'the lab') end return 1`;
const OWE_NO_MORE = `local after = '-'
while true do
  local entries = redis.call('XRANGE', KEYS[1], after, '+', 'COUNT', 1000)
  if #entries == 0 then return 1 end
  for _, entry in ipairs(entries) do
    after = '(' .. entry[1]
    if entry[2][1] == 'of' then redis.call('XDEL', KEYS[1], entry[1]) end
  end
end`;

/** As only who owns the server can: what guards receipts and heads is a trigger. */
const UNGUARDED = 'set local session_replication_role = replica';
/** The newest of several: the oldest have been read by the worker that waits. */
const ALTER_PENDING = `update ledger_body set body = body || '\\x20' where entry_id = (
  select max(entry_id) from receipt_pending having count(*) > 8)`;
const MEND_ALTERED = `update ledger_body set body = substr(body, 1, length(body) - 1) where entry_id in (
  select entry_id from ledger_quarantine)`;
/** As an operator does what the runbook says. @throws Error with what the command has said, when it does not do it */
async function docket({ info }: Instance, ...args: string[]): Promise<void> {
  const env = { DATABASE_URL: info.database_url, REDIS_URL: info.redis_url };
  const { code, lines } = await run('cli/start.js', env, args);
  if (code !== 0) throw new Error(`docket ${args.join(' ')}: ${code}: ${lines.join(' ')}`);
}

/** Does it in one transaction, as the owner. @returns rows that the last statement has changed */
async function sql(instance: Instance, text: string): Promise<number> {
  return withClient(instance, async (client) => {
    const answers = [await client.query(text)].flat();
    return answers.at(-1)!.rowCount ?? 0;
  });
}

async function column(instance: Instance, text: string): Promise<string[]> {
  return withClient(instance, async (client) =>
    (await client.query<{ value: string }>(text)).rows.map(({ value }) => value),
  );
}

async function withClient<T>(instance: Instance, work: (client: Client) => Promise<T>): Promise<T> {
  const client = new Client({ connectionString: instance.info.database_url });
  await client.connect();
  try {
    return await work(client);
  } finally {
    await client.end();
  }
}

async function ask(url: string, init: RequestInit): Promise<void> {
  const { ok, status } = await fetch(url, init);
  if (!ok) throw new Error(`${url}: ${status}`);
}

async function demote(instance: Instance, host: string, port: string): Promise<void> {
  await redis(instance, (client) => client.call('REPLICAOF', host, port));
}

async function redis(instance: Instance, work: (client: Redis) => Promise<unknown>): Promise<void> {
  const client = new Redis(instance.info.redis_url, { lazyConnect: true });
  try {
    await client.connect();
    await work(client);
  } finally {
    client.disconnect();
  }
}
