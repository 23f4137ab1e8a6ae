import { beforeAll, describe, expect, it } from 'vitest';
import { chatBody, payloadsIn, post } from '#test/support/calls.ts';
import { integrated } from '#test/support/receipts.ts';
import { startSystem, type System } from '#test/support/system.ts';

const PACED = chatBody({ stream: true, max_tokens: 40, sandbox_fault: 'pace=20' });

let system: System;

beforeAll(async () => {
  system = await startSystem({ replicas: { api: 2 } });
});

/** Reads until something of the answer has come; the rest is read by the one who is returned. */
async function begun(key: string): Promise<() => Promise<string>> {
  const response = await post(system, '/chat/completions', PACED, {
    headers: { 'idempotency-key': key },
  });
  expect(response.status).toBe(200);
  const reader = response.body!.pipeThrough(new TextDecoderStream()).getReader();
  let text = (await reader.read()).value ?? '';
  return async () => {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return text;
      text += value;
    }
  };
}

const again = (key: string): Promise<Response> =>
  post(system, '/chat/completions', PACED, {
    headers: { 'idempotency-key': key },
    baseUrl: system.baseUrls[1]!,
  });

/** Receipts of complete answers to these requests. */
async function completeReceipts(): Promise<number> {
  await integrated(system);
  const { rows } = await system.database.pool.query<{ body: Buffer }>(
    'select body from ledger_body',
  );
  return rows.filter(({ body }) => body.toString().includes('"outcome":"complete"')).length;
}

describe('a stream with an Idempotency-Key', () => {
  it('whose api process is stopped goes on when it wakes; meanwhile a retry elsewhere gets the same answer', async () => {
    const before = await completeReceipts();
    const rest = await begun('stopped');
    const [holder] = system.processes('api');
    process.kill(holder!.pid, 'SIGSTOP');
    const retried = await again('stopped');
    const text = await retried.text();
    process.kill(holder!.pid, 'SIGCONT');
    expect(retried.headers.get('idempotent-replayed')).toBe('true');
    const first = await rest();
    expect(payloadsIn(text)).toEqual(payloadsIn(first));
    expect(payloadsIn(first).at(-1)).toBe('[DONE]');
    expect(await completeReceipts()).toBe(before + 1);
  });

  it('whose api process is killed is not run again: a retry gets its answer and the one receipt', async () => {
    const before = await completeReceipts();
    const rest = await begun('killed');
    const [holder] = system.processes('api');
    holder!.kill('SIGKILL');
    await expect(rest()).rejects.toThrow();
    const retried = await again('killed');
    const payloads = payloadsIn(await retried.text());
    expect(retried.headers.get('idempotent-replayed')).toBe('true');
    expect(payloads.at(-1)).toBe('[DONE]');
    expect(payloads.join('')).toContain('"proofValue"');
    expect(await completeReceipts()).toBe(before + 1);
  });
});
