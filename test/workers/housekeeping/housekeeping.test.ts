import { DAY_MS } from '#shared/kernel/time.ts';
import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { createSanctionsStore } from '#shared/accounts/postgres/sanctions.ts';
import { connectRedis } from '#shared/lanes/redis/connect.ts';
import { openSanctionsFile } from '#shared/accounts/sanctions/files/read-list.ts';
import { JobQueues } from '#shared/jobs/redis/job-queues.ts';
import { runJobs } from '#shared/jobs/redis/job-runner.ts';
import {
  activeAccount,
  createRegistries,
  declaration,
  newAccount,
  OPERATOR,
} from '#test/support/accounts.ts';
import { createTestDatabase } from '#test/support/database.ts';
import { startProcess } from '#test/support/processes.ts';
import { startTestRedis } from '#test/support/redis.ts';
import { until } from '#test/support/until.ts';

const database = await createTestDatabase();
const redis = await startTestRedis({ durable: true });
const dataDir = await mkdtemp(join(tmpdir(), 'housekeeping-'));
const registries = createRegistries(database.poolAs('docket_operator'));
const { accounts, keys, clock } = registries;
const connection = connectRedis({ url: redis.url, name: 'test', use: 'patient' });
const queues = new JobQueues(connection);
afterAll(async () => {
  await queues.close();
  connection.disconnect();
  await rm(dataDir, { recursive: true });
});
const env = { DATABASE_URL: database.url, REDIS_URL: redis.url, DOCKET_DATA_DIR: dataDir };

describe('the housekeeping process', () => {
  it('screens an applicant when it is asked to, writes e-mails, makes partitions, expires keys, and stops when told to', async () => {
    const file = await openSanctionsFile(
      join(import.meta.dirname, '../../fixtures/sanctions/ofac-sdn.xml'),
    );
    const store = createSanctionsStore(database.poolAs('docket_operator'), clock);
    await store.import(
      { ...file, entities: file.entities(), fileName: 'sdn.xml' },
      { kind: 'operator', id: 'ada' },
    );
    const months = `select inhrelid::regclass::text as name from pg_inherits
      where inhparent = 'ledger_body'::regclass order by 1`;
    const { rows: partitions } = await database.pool.query<{ name: string }>(months);
    const last = partitions.findLast(({ name }) => /\d$/.test(name))!;
    await database.pool.query(`drop table ${last.name}`);
    const workers = await Promise.all([
      startProcess({ role: 'housekeeping', env }),
      startProcess({ role: 'housekeeping', env }),
    ]);
    const { id } = await accounts.create(newAccount(), OPERATOR);
    await accounts.declare(id, declaration(), OPERATOR);
    await queues.add('screening', { orgId: id });
    await until(async () => (await accounts.get(id)).state === 'approved');
    // To both contacts: that the account was opened, and that it is approved.
    await until(async () => {
      const names = await readdir(join(dataDir, 'mail')).catch(() => []);
      return names.filter((name) => name.endsWith('.eml')).length === 4;
    });

    await until(async () => {
      const { rows } = await database.pool.query<{ name: string }>(months);
      return rows.some(({ name }) => name === last.name);
    });

    const account = await activeAccount(registries);
    const short = await keys.issue(
      account.id,
      { name: 'short', expiresAt: clock.now() + 300 },
      OPERATOR,
    );
    await until(async () => (await keys.get(account.id, short.key.id)).state === 'expired');
    expect(await Promise.all(workers.map((worker) => worker.stop()))).toEqual([0, 0]);
  });
});

describe('the purge process', () => {
  it('deletes keys that were revoked 90 days ago, and e-mails of 30 days ago, as soon as it runs [keys.ninety-days]', async () => {
    const { id } = await activeAccount(registries);
    const { key } = await keys.issue(id, { name: 'old' }, OPERATOR);
    await keys.revoke(id, key.id, OPERATOR);
    await database.pool.query('update api_key set revoked_at = $2 where id = $1', [
      key.id,
      new Date(clock.now() - 90 * DAY_MS),
    ]);
    const old = `insert into mail_outbox (recipient, subject, body, created_at, next_attempt_at, sent_at)
        select 'old@bakery.example', 'Hello', '', d, d, d from (select now() - interval '31 days' as d) as day`;
    await database.pool.query(old);
    const worker = await startProcess({ role: 'purge', env });
    await until(() =>
      keys.get(id, key.id).then(
        () => false,
        () => true,
      ),
    );
    await until(async () => {
      const letters = `select from mail_outbox where recipient = 'old@bakery.example'`;
      return (await database.pool.query(letters)).rowCount === 0;
    });
    expect(await worker.stop()).toBe(0);
  });
});

describe('the job queues', () => {
  it('refuse a payload that does not fit the table, and fail one that another program wrote', async () => {
    await expect(queues.add('screening', { orgId: 'nobody' })).rejects.toThrow('payload');
    const failed = Promise.withResolvers<[unknown, boolean]>();
    const running = runJobs({
      name: 'screening',
      connection,
      handler: async () => {},
      observer: {
        done() {},
        failed: (_name, error, final) => failed.resolve([error, final]),
        queueFailed() {},
      },
    });
    await rawAdd({ orgId: 7 });
    const [error] = await failed.promise;
    expect(String(error)).toContain('payload');
    await running.stop();
  });

  it('run a job again that failed, by its row of the table', async () => {
    const outcome = Promise.withResolvers<number>();
    let attempts = 0;
    const running = runJobs({
      name: 'screening',
      connection,
      handler: async () => {
        attempts += 1;
        if (attempts < 2) throw new Error('not yet');
      },
      observer: { done: () => outcome.resolve(attempts), failed() {}, queueFailed() {} },
    });
    await queues.add('screening', { orgId: 'org_1' });
    expect(await outcome.promise).toBe(2);
    await running.stop();
  });
});

async function rawAdd(data: object): Promise<void> {
  const { Queue } = await import('bullmq');
  const queue = new Queue('screening', { connection, prefix: '{docket-jobs}' });
  await queue.add('screening', data);
  await queue.close();
}
