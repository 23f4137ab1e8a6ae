import { Queue } from 'bullmq';
import { afterAll, describe, expect, it } from 'vitest';
import { readJobs } from '#api/dashboard/operations.ts';
import { JOB_PREFIX, JobQueues } from '#shared/jobs/redis/job-queues.ts';
import { runJobs } from '#shared/jobs/redis/job-runner.ts';
import { createTurns, runRounds } from '#shared/jobs/redis/rounds.ts';
import { connectRedis } from '#shared/lanes/redis/connect.ts';
import { startTestRedis } from '#test/support/redis.ts';
import { until } from '#test/support/until.ts';

const { url } = await startTestRedis();
const connection = connectRedis({ url, name: 'test', use: 'patient' });
const queues = new JobQueues(connection);
afterAll(async () => {
  await queues.close();
  connection.disconnect();
});

it('a job of a newer build waits for one that can read it, and has not failed [survives.newer-messages]', async () => {
  const reading = connectRedis({ url, name: 'worker', use: 'blocking' });
  const writing = new Queue('screening', { connection, prefix: JOB_PREFIX });
  await writing.add('screening', { orgId: 'org_1', asOf: 'yesterday' });
  const done: string[] = [];
  const finals: boolean[] = [];
  const runner = runJobs({
    name: 'screening',
    handler: ({ orgId }) => Promise.resolve(void done.push(orgId)),
    connection: reading,
    observer: {
      done() {},
      failed: (_name, _error, final) => void finals.push(final),
      queueFailed() {},
    },
  });
  await until(async () => (await queues.counts('screening'))['delayed'] === 1);
  await queues.add('screening', { orgId: 'org_2' });
  await until(() => done.length > 0);
  expect(done).toEqual(['org_2']);
  expect(finals).toEqual([false]);
  expect(await queues.counts('screening')).toMatchObject({ delayed: 1, failed: 0 });
  await runner.stop();
  await writing.close();
  reading.disconnect();
});

it('a job that no build could read for a day has failed for good, also where others are tried again [survives.newer-messages]', async () => {
  const reading = connectRedis({ url, name: 'worker', use: 'blocking' });
  const writing = new Queue('recalculation', { connection, prefix: JOB_PREFIX });
  const timestamp = Date.now() - 25 * 3_600_000;
  await writing.add('recalculation', { of: 'a newer build' }, { attempts: 5, timestamp });
  const finals: boolean[] = [];
  const runner = runJobs({
    name: 'recalculation',
    handler: () => Promise.resolve(),
    connection: reading,
    observer: {
      done() {},
      failed: (_name, _error, final) => void finals.push(final),
      queueFailed() {},
    },
  });
  await until(() => finals.length > 0);
  expect(finals).toEqual([true]);
  await runner.stop();
  await writing.obliterate({ force: true });
  await writing.close();
  reading.disconnect();
});

describe('jobs, as operators see them', () => {
  it('every kind is counted, and what has failed for good says why [dashboard.operators]', async () => {
    const failed = Promise.withResolvers<void>();
    const reading = connectRedis({ url, name: 'worker', use: 'blocking' });
    const runner = runJobs({
      name: 'export',
      handler: async () => {
        throw new Error('the store is full');
      },
      connection: reading,
      observer: { done() {}, failed: () => failed.resolve(), queueFailed: failed.reject },
    });
    await queues.add('export', {});
    await failed.promise;
    await runner.stop();
    reading.disconnect();
    const purge = runRounds({
      name: 'key-purge',
      handler: async () => {
        throw new Error('no such table');
      },
      turns: createTurns(connection),
      observer: { done() {}, failed() {}, queueFailed: failed.reject },
    });
    await until(async () => (await queues.lastRounds()).size > 0);
    await purge.stop();
    const { jobs, rounds, failures } = await readJobs(queues);
    expect(jobs.find(({ name }) => name === 'export')).toMatchObject({
      failed: 1,
    });
    expect(rounds.find(({ name }) => name === 'key-purge')).toEqual({
      name: 'key-purge',
      everyMs: 3_600_000,
      last: { at: expect.any(Number) as number, failure: 'no such table', attempts: 1 },
    });
    expect(rounds.find(({ name }) => name === 'mail')).toMatchObject({ last: null });
    expect(failures).toEqual([
      {
        name: 'export',
        reason: 'the store is full',
        at: expect.any(Number) as number,
        attempts: 1,
      },
    ]);
  });
});
