import { randomUUID } from 'node:crypto';
import { beforeAll, describe, expect, it } from 'vitest';
import { chatBody, upstreamCalls } from '#test/support/calls.ts';
import { post } from '#test/support/http.ts';
import { integrated } from '#test/support/receipts.ts';
import { startSystem, type System } from '#test/support/system.ts';
import { until } from '#test/support/until.ts';

/** Callers that send one request after the other. */
const CALLERS = 16;
let system: System;

beforeAll(async () => {
  system = await startSystem({ replicas: { api: 2, inference: 2 } });
});

describe('Redis frozen under load', () => {
  it(
    'what was refused while Redis was frozen never runs, and what was answered has one receipt',
    { tags: ['survives.frozen-redis'] },
    async () => {
      const seen: { id: string; status: number; receiptId: string | null }[] = [];
      const load = new AbortController();
      const call = async (i: number): Promise<void> => {
        while (!load.signal.aborted) {
          const id = randomUUID();
          const body = JSON.stringify(
            chatBody({ stream: i % 2 === 0, sandbox_fault: `id=${id}; stall=100` }),
          );
          const response = await post(system, '/chat/completions', body);
          await response.text();
          const receiptId = response.headers.get('x-receipt-id');
          seen.push({ id, status: response.status, receiptId });
        }
      };
      const some = () => Array.from({ length: CALLERS }, (_, i) => call(i));
      const callers = some();
      await until(() => seen.length > 4 * CALLERS, 'requests are answered');
      const refusals = () => seen.filter(({ status }) => status !== 200);
      process.kill(system.redis.pid, 'SIGSTOP');
      // The first ones wait for answers that are under way.
      callers.push(...some(), ...some());
      await until(() => refusals().length > 4 * CALLERS, 'those who asked meanwhile are refused');
      process.kill(system.redis.pid, 'SIGCONT');
      const before = seen.length;
      await until(() => seen.length > before + 4 * CALLERS, 'requests are answered again');
      load.abort();
      await Promise.all(callers);

      const refused = refusals();
      expect(new Set(refused.map(({ status }) => status))).toEqual(new Set([500]));
      const totals = await integrated(system);
      expect(totals).toMatchObject({ gaps: 0, distinct: totals.receipts });
      const ran = await Promise.all(refused.map(({ id }) => upstreamCalls(system, id)));
      // What Redis had admitted when it froze, with the word of that still unsent, is stopped as soon as the word comes.
      expect(ran.flat().filter(({ state }) => state === 'finished')).toEqual([]);
      expect(ran.flat().length).toBeLessThan(CALLERS);
    },
  );
});
