import { randomUUID } from 'node:crypto';
import { beforeAll, describe, expect, it } from 'vitest';
import { receiptIdOf } from '#shared/kernel/ids.ts';
import { aliveKey } from '#shared/lanes/keys.ts';
import { chatBody, requestIdOf, upstreamCalls } from '#test/support/calls.ts';
import { post } from '#test/support/http.ts';
import { connectTo } from '#test/support/lanes.ts';
import { openStreams } from '#test/support/open-streams.ts';
import { integrated } from '#test/support/receipts.ts';
import { startSystem, type System } from '#test/support/system.ts';
import { until } from '#test/support/until.ts';

/** Callers that send one request after the other. */
const CALLERS = 16;
/**
 * How long an upstream thinks about what is asked. About what Redis may have admitted when it froze so long that also an api
 * that has much to do then is in time to stop it.
 */
const [THINKING_MS, STOPPABLE_MS] = [100, 2_000];
/** Longer than a sign of life lasts, which is five seconds. */
const DEAD_MS = 5_200;
let system: System;
let redis: ReturnType<typeof connectTo>;

beforeAll(async () => {
  system = await startSystem({ replicas: { api: 2, inference: 2 } });
  redis = connectTo(system.redis.url);
});

async function consumerOf(pid: number): Promise<string> {
  const alive = await redis.keys(aliveKey('*'));
  return alive.find((name) => name.includes(`-${pid}-`))!.slice(aliveKey('').length);
}

describe('all that is stopped for as long as makes workers dead', () => {
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
});

describe('Redis frozen under load', () => {
  it('what was refused while Redis was frozen does not run to its end afterwards, and what ran has one receipt [survives.frozen-redis]', async () => {
    const seen: { id: string; status: number; receiptId: string | null }[] = [];
    const load = new AbortController();
    /** Sent since what is asked takes long. */
    const inHand = new Set<string>();
    let thinkingMs = THINKING_MS;
    const call = async (i: number): Promise<void> => {
      while (!load.signal.aborted) {
        const id = randomUUID();
        const body = JSON.stringify(
          chatBody({ stream: i % 2 === 0, sandbox_fault: `id=${id}; stall=${thinkingMs}` }),
        );
        if (thinkingMs === STOPPABLE_MS) inHand.add(id);
        const response = await post(system, '/chat/completions', body);
        await response.text();
        const receiptId = response.headers.get('x-receipt-id');
        seen.push({ id, status: response.status, receiptId });
      }
    };
    const some = () => Array.from({ length: CALLERS }, (_, i) => call(i));
    const callers = some();
    await until(() => seen.length > 4 * CALLERS, 'requests are answered');
    thinkingMs = STOPPABLE_MS;
    await until(() => inHand.size === CALLERS, 'each caller asks what takes long');
    const refusals = () => seen.filter(({ status }) => status !== 200);
    // Redis has some of these, and has said so of some.
    callers.push(...some());
    await fetch(`${new URL(system.baseUrl).origin}/health`);
    process.kill(system.redis.pid, 'SIGSTOP');
    callers.push(...some());
    await until(() => refusals().length > 4 * CALLERS, 'those who asked meanwhile are refused');
    thinkingMs = THINKING_MS;
    const goesOnAt = Date.now();
    process.kill(system.redis.pid, 'SIGCONT');
    const before = seen.length;
    await until(() => seen.length > before + 4 * CALLERS, 'requests are answered again');
    load.abort();
    await Promise.all(callers);

    const refused = refusals();
    expect(new Set(refused.map(({ status }) => status))).toEqual(new Set([503]));
    const totals = await integrated(system);
    expect(totals).toMatchObject({ gaps: 0, distinct: totals.receipts });
    const ran = await Promise.all(refused.map(({ id }) => upstreamCalls(system, id)));
    // What Redis had admitted when it froze, with the word of that still unsent, is stopped as soon as the word comes.
    expect(ran.flat().length).toBeLessThan(CALLERS);
    const finished = ran.flat().filter(({ state }) => state === 'finished');
    expect(finished.filter(({ started_at: at }) => at >= goesOnAt)).toEqual([]);
    // A worker that had word of it before the api ran it while neither could be told: that has its receipt.
    for (const one of finished) {
      const found = await fetch(`${system.baseUrl}/receipts/${receiptIdOf(requestIdOf(one))}`, {
        headers: { authorization: `Bearer ${system.key}` },
      });
      expect(found.status).toBe(200);
    }
  });
});
