/** Exports as deployed: an api and builders of packs as processes, with an object store that can be held up. */
import { hash } from 'node:crypto';
import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { JobQueues } from '#shared/jobs/redis/job-queues.ts';
import { connectRedis } from '#shared/lanes/redis/connect.ts';
import { createExportRegistry } from '#shared/packs/postgres/exports.ts';
import { systemSurroundings } from '#shared/kernel/system/surroundings.ts';
import type { ExportRecord } from '#shared/packs/export-record.ts';
import { createTestDatabase } from '#test/support/database.ts';
import { ORG, PackLab, PUBLIC_URL } from '#test/support/packs.ts';
import { type StartedProcess, startProcess } from '#test/support/processes.ts';
import { startTestRedis } from '#test/support/redis.ts';
import { startTestS3 } from '#test/support/s3-server.ts';
import { until } from '#test/support/until.ts';

const database = await createTestDatabase();
const redis = await startTestRedis();
const s3 = await startTestS3();
const directory = mkdtempSync(join(tmpdir(), 'docket-builders-'));
const lab = new PackLab(database.pool, directory);
const registry = createExportRegistry(database.poolAs('docket_operator'), systemSurroundings);
const actor = { kind: 'operator', id: 'test' } as const;
const connection = connectRedis({ url: redis.url, name: 'test', use: 'patient' });
const queues = new JobQueues(connection);
afterAll(async () => {
  await queues.close();
  connection.disconnect();
});
/** Two parts of an upload, as small as tests have them, and some: a builder whose first part is held up stops in the midst of them. */
const RECEIPTS = 220;

const env = {
  DATABASE_URL: database.url,
  REDIS_URL: redis.url,
  ALLOW_VOLATILE_REDIS: '1',
  PUBLIC_URL,
  SIGNING_KEYS_DIR: lab.keysDir,
  EXPORT_STORE: 's3://packs/docket',
  S3_ENDPOINT: s3.endpoint,
  AWS_ACCESS_KEY_ID: s3.accessKeyId,
  AWS_SECRET_ACCESS_KEY: s3.secretAccessKey,
};
const start = () => startProcess({ role: 'exports', env });
let running: StartedProcess | undefined;
/** The builder that an earlier test has started and none has ended, or a new one. */
const builderAtWork = async (): Promise<StartedProcess> => (running ??= await start());
/** Asks for a pack as the api does. */
const create = async (range: Parameters<typeof registry.create>[1]) => {
  const created = await registry.create(ORG, range, actor);
  await queues.add('export', {});
  return created;
};
const objectOf = (id: string): Buffer | undefined => s3.objects.get(`docket/${id}.zip`);
const find = async (id: string): Promise<ExportRecord> => (await registry.get(ORG, id))!;
const untilReady = (id: string) => until(async () => (await find(id)).status === 'ready');
/** What the clock would do in a quarter of a minute. */
const letRunsFallSilent = () =>
  database.pool.query(
    `update export set run_at = run_at - interval '1 minute' where run_at is not null`,
  );

beforeAll(async () => {
  await lab.issue(RECEIPTS);
  await lab.integrate();
});

it('an export whose process is killed is finished by another process, and nothing of the first is left', async () => {
  s3.holdParts();
  const doomed = await start();
  const { id } = await create({});
  await until(() => s3.held() > 0, 'a part is on its way');
  await until(async () => (await find(id)).done > 0, 'progress can be seen');
  const seen = await find(id);
  expect(seen).toMatchObject({ status: 'running', total: RECEIPTS });
  expect(seen.done).toBeLessThanOrEqual(RECEIPTS);
  doomed.kill('SIGKILL');
  await doomed.exited;
  expect(objectOf(id)).toBeUndefined();
  s3.release();

  await builderAtWork();
  await letRunsFallSilent();
  await untilReady(id);
  const record = await find(id);
  const pack = objectOf(id)!;
  expect([pack.length, hash('sha256', pack)]).toEqual([record.sizeBytes, record.sha256]);
  expect(s3.uploads.size).toBe(0);
  await registry.delete(ORG, id, actor);
});

it('an export that is cancelled is given up within a second, and leaves nothing', async () => {
  s3.holdParts();
  const builder = await builderAtWork();
  const { id } = await create({});
  await until(() => s3.held() > 0, 'a part is on its way');
  expect(await registry.delete(ORG, id, actor)).toBe(true);
  s3.release();
  await until(() => builder.logs().some(({ event }) => event === 'export_stopped'), 'it stops');
  await until(() => s3.uploads.size === 0, 'the upload is aborted');
  await until(() => objectOf(id) === undefined, 'nothing is left');
  const { rows } = await database.pool.query(
    'select status, removed_at from export where id = $1',
    [id],
  );
  expect(rows[0]).toMatchObject({ status: expect.stringMatching(/queued|running/) });
});

it('an export is handed back when its process is told to stop, and that counts as no attempt', async () => {
  s3.holdParts();
  const builder = await builderAtWork();
  const { id } = await create({});
  await until(() => s3.held() > 0, 'a part is on its way');
  const stopping = builder.stop();
  s3.release();
  expect(await stopping).toBe(0);
  const { rows } = await database.pool.query(
    'select status, runs, run_id from export where id = $1',
    [id],
  );
  expect(rows[0]).toEqual({ status: 'queued', runs: 0, run_id: null });
  running = undefined;
  await builderAtWork();
  await untilReady(id);
});

it('an export expires: its pack is deleted, and its record says so', async () => {
  await builderAtWork();
  const { id } = await create({ firstIndex: 0, lastIndex: 9 });
  await untilReady(id);
  expect(objectOf(id)).toBeDefined();
  await database.pool.query(`update export set expires_at = now() where id = $1`, [id]);
  await until(async () => (await find(id)).status === 'expired', 'it expires');
  await until(() => objectOf(id) === undefined, 'the pack is deleted');
});

it('exports that two processes run at the same time come out once, and right', async () => {
  const [, second] = await Promise.all([builderAtWork(), start()]);
  const made = await Promise.all(
    [1, 2, 3, 4].map((i) => create({ firstIndex: i, lastIndex: 100 })),
  );
  for (const { id } of made) {
    await untilReady(id);
    expect(hash('sha256', objectOf(id)!)).toBe((await find(id)).sha256);
  }
  await second.stop();
});

it('an export that cannot be built fails with a reason that its owner sees', async () => {
  await builderAtWork();
  const size = RECEIPTS;
  const { id } = await create({ firstIndex: size - 5 });
  // The signed head that the export names is gone: the database was tampered with.
  await untilReady(id);
  const { rows } = await database.pool.query<{ id: string }>(
    `insert into export (id, org_id, first_index, last_index, checkpoint_size)
     values ('exp_01JD0A8N5K3M7Q2T9VXB4C6DEF', $1, 0, 5, 7) returning id`,
    [ORG],
  );
  await until(async () => (await find(rows[0]!.id)).status === 'failed', 'it fails');
  expect((await find(rows[0]!.id)).error).toMatchObject({ code: 'checkpoint_missing' });
});

it('exports wait for an object store that is away', async () => {
  const builder = await builderAtWork();
  s3.away = true;
  const { id } = await create({ firstIndex: 0, lastIndex: 5 });
  await until(() => builder.logs().some(({ event }) => event === 'export_held'), 'it stumbles');
  expect((await find(id)).status).toBe('queued');
  s3.away = false;
  await database.pool.query('update export set not_before = now()');
  await untilReady(id);
});
