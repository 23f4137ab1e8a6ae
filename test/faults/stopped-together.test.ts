import { beforeAll, expect, it } from 'vitest';
import { aliveKey } from '#shared/lanes/keys.ts';
import { connectTo } from '#test/support/lanes.ts';
import { openStreams } from '#test/support/open-streams.ts';
import { startSystem, type System } from '#test/support/system.ts';
import { until } from '#test/support/until.ts';

/** Longer than a sign of life lasts, which is five seconds. */
const DEAD_MS = 5_200;
let system: System;
let redis: ReturnType<typeof connectTo>;

beforeAll(async () => {
  system = await startSystem({ replicas: { inference: 2 } });
  redis = connectTo(system.redis.url);
});

async function consumerOf(pid: number): Promise<string> {
  const alive = await redis.keys(aliveKey('*'));
  return alive.find((name) => name.includes(`-${pid}-`))!.slice(aliveKey('').length);
}

it('streams go on to their end when all inference workers were stopped for as long as makes one dead [survives.stalled-together]', async () => {
  const workers = system.processes('inference');
  const streams = await openStreams(system, 170);
  const names = await Promise.all(workers.map(({ pid }) => consumerOf(pid)));
  for (const { pid } of workers) process.kill(pid, 'SIGSTOP');
  await until(async () => (await redis.exists(...names.map(aliveKey))) === 0, 'both are silent');
  for (const { pid } of workers) process.kill(pid, 'SIGCONT');
  const texts = await Promise.all(streams.map(({ ended }) => ended));
  expect(texts.filter((text) => !text.endsWith('data: [DONE]\n\n'))).toEqual([]);
  const stale = workers.flatMap((one) =>
    one.logs().filter(({ event }) => event === 'outcome_stale'),
  );
  expect(stale).toEqual([]);
});

it('streams go on to their end when Redis was frozen for as long as makes workers dead [survives.stalled-together]', async () => {
  const streams = await openStreams(system, 170);
  process.kill(system.redis.pid, 'SIGSTOP');
  const deadAt = performance.now() + DEAD_MS;
  await until(() => performance.now() > deadAt, 'no sign of life is left');
  process.kill(system.redis.pid, 'SIGCONT');
  const texts = await Promise.all(streams.map(({ ended }) => ended));
  expect(texts.filter((text) => !text.endsWith('data: [DONE]\n\n'))).toEqual([]);
});
