import { rmSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { beforeAll, expect, it } from 'vitest';
import { createLaneKey, loadLaneKeys } from '#shared/lanes/files/lane-keys.ts';
import { inferenceLane, shardOf } from '#shared/lanes/keys.ts';
import { chatBody, post } from '#test/support/calls.ts';
import { connectTo } from '#test/support/lanes.ts';
import { runDocket } from '#test/support/docket-cli.ts';
import { integrated } from '#test/support/receipts.ts';
import { MAIN_ROLES, startSystem, type System } from '#test/support/system.ts';
import { until } from '#test/support/until.ts';

const SHARDS = 1;

/** Sealed with the key that is lost and waiting when it is: plain, streamed, and with an Idempotency-Key. */
const IN_FLIGHT = [
  { body: chatBody(), headers: {} },
  { body: chatBody({ stream: true }), headers: {} },
  { body: chatBody(), headers: { 'idempotency-key': 'in flight' } },
];

let system: System;
let laneKeys: string;

beforeAll(async () => {
  system = await startSystem({ replicas: {}, env: { SHARDS: `${SHARDS}` } });
  laneKeys = join(dirname(system.signingKeysDir), 'lane-keys');
});

const chat = (body: object, headers: Record<string, string> = {}): Promise<Response> =>
  post(system, '/chat/completions', body, { headers });

/** What waits for an inference worker, as it lies in Redis. */
async function onLanes(): Promise<Buffer[]> {
  const redis = connectTo(system.redis.url);
  const lanes = await redis.keys('{s*}:lane:inference:*');
  const entries = await Promise.all(lanes.map((lane) => redis.xrangeBuffer(lane, '-', '+')));
  redis.disconnect();
  return entries.flat().map(([, fields]) => Buffer.concat(fields));
}

it('a request that Redis has lost is refused within seconds, as one that can be sent again [survives.empty-redis]', async () => {
  const ask = (): Promise<Response> => chat(chatBody());
  expect((await ask()).status).toBe(200);
  const [worker] = system.processes('inference');
  worker!.kill('SIGSTOP');
  const client = connectTo(system.redis.url);
  const lane = inferenceLane(shardOf(system.orgId, SHARDS), 'eu-west');
  const waiting = ask();
  await until(async () => (await client.xlen(lane)) === 1, 'it is admitted');
  // As a Redis does that comes back without the last second of its append-only file.
  await client.del(lane);
  client.disconnect();

  const refused = await waiting;
  worker!.kill('SIGCONT');
  expect(refused.status).toBe(503);
  expect(Number(refused.headers.get('retry-after'))).toBeGreaterThanOrEqual(1);
  expect(await refused.json()).toMatchObject({ error: { code: 'dispatch_unavailable' } });
  await until(async () => (await ask()).status === 200, 'it answers again');
});

it('a lane key that is lost fails what it had sealed, each with an envelope and a clear line, and nothing else [codes.internal, errors.internal]', async () => {
  const stored = { 'idempotency-key': 'stored' };
  const first = await chat(chatBody(), stored);
  const { receipt } = (await first.json()) as { receipt: { id: string } };
  const [worker] = system.processes('inference');
  process.kill(worker!.pid, 'SIGSTOP');
  const lost = IN_FLIGHT.map(({ body, headers }) => chat(body, headers));
  await until(async () => (await onLanes()).length === IN_FLIGHT.length, 'all are on the lane');

  const [old] = loadLaneKeys(laneKeys);
  createLaneKey(laneKeys, Date.now() - 1_000);
  rmSync(old!.path);
  worker!.kill('SIGKILL');
  await worker!.exited;
  await system.start('inference');

  for (const response of await Promise.all(lost)) {
    const text = await response.text();
    expect(text).toContain('"code":"internal_error"');
    expect(text).toContain('"type":"internal_error"');
    expect(text).not.toContain('LANE_KEYS_DIR');
  }
  // New requests go on, each with its receipt.
  for (const { body } of IN_FLIGHT) {
    const response = await chat(body);
    expect(response.status).toBe(200);
    expect(await response.text()).toContain('"proofValue"');
  }
  // What is stored cannot be given back, and says so; its receipt can.
  const again = await chat(chatBody(), stored);
  expect(again.status).toBe(500);
  expect(await again.json()).toMatchObject({ error: { code: 'internal_error' } });
  const kept = await fetch(`${system.baseUrl}/receipts/${receipt.id.split('/').at(-1)}`, {
    headers: { authorization: `Bearer ${system.key}` },
  });
  expect(kept.status).toBe(200);
  // The key of a request that failed is free again.
  expect((await chat(chatBody(), { 'idempotency-key': 'in flight' })).status).toBe(200);

  // One line of each process that met it; further ones are counted.
  const told = MAIN_ROLES.filter((role) =>
    system
      .processes(role)
      .some((one) => one.output().includes('The lane key') && !one.output().includes('lighthouse')),
  );
  expect(told).toEqual(['inference', 'api']);
  for (const role of told) {
    const lines = system.processes(role).flatMap((one) => one.logs());
    const clear = lines.filter((line) =>
      /"The lane key \w+ is not in LANE_KEYS_DIR\."/.test(JSON.stringify(line)),
    );
    expect(
      clear.filter((line) => line['repeated'] === undefined),
      role,
    ).toHaveLength(1);
  }
  expect(await integrated(system)).toMatchObject({ gaps: 0 });
});

it('a lane key is rotated while requests wait that the one before it sealed: each is answered, as are those after it [survives.key-rotation]', async () => {
  const stored = { 'idempotency-key': 'before the rotation' };
  const receiptOf = async (): Promise<string> => {
    const answer = (await (await chat(chatBody(), stored)).json()) as { receipt: { id: string } };
    return answer.receipt.id;
  };
  const first = await receiptOf();
  const worker = system.processes('inference').at(-1);
  worker!.kill('SIGSTOP');
  const waiting = IN_FLIGHT.map(({ body }) => chat(body));
  await until(async () => (await onLanes()).length === IN_FLIGHT.length, 'all are on the lane');

  const { code, stdout } = await runDocket(['keys', 'rotate-lane', '--in', '0', '--json'], {
    LANE_KEYS_DIR: laneKeys,
    DATABASE_URL: system.database.url,
  });
  expect(code).toBe(0);
  const idBytes = Buffer.from((JSON.parse(stdout) as { id: string }).id, 'hex');
  worker!.kill('SIGCONT');
  for (const response of await Promise.all(waiting)) {
    expect(response.status).toBe(200);
    expect(await response.text()).toContain('"proofValue"');
  }
  const sealedByIt = async (): Promise<boolean> => {
    worker!.kill('SIGSTOP');
    const probe = chat(chatBody());
    let entry: Buffer | undefined;
    await until(async () => {
      entry = (await onLanes()).at(-1);
      return entry !== undefined;
    }, 'it is on the lane');
    worker!.kill('SIGCONT');
    expect((await probe).status).toBe(200);
    return Buffer.from(entry!.toString().split('!').at(-1)!, 'base64').includes(idBytes);
  };
  await until(sealedByIt, 'new requests are sealed by the new key');
  expect(await receiptOf()).toBe(first);
  expect(await integrated(system)).toMatchObject({ gaps: 0 });
});
