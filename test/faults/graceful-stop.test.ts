import { describe, expect, it } from 'vitest';
import type { Environment } from '#shared/config/config.ts';
import type { Role } from '#shared/config/settings.ts';
import { post } from '#test/support/http.ts';
import { sendLoad } from '#test/support/load.ts';
import { integrated } from '#test/support/receipts.ts';
import { isDeep } from '#test/support/depth.ts';
import { startSystem } from '#test/support/system.ts';
import { until } from '#test/support/until.ts';

const REQUESTS = isDeep ? 200 : 100;

const product = await startSystem({ replicas: { inference: 2, receipts: 2, ledger: 2 } });
/** One more api process, and the product as callers of that one see it. */
async function startApi(env: Environment) {
  const api = await product.start('api', env);
  const root = `http://127.0.0.1:${api.port}`;
  return { api, system: { ...product, root, baseUrl: `${root}/v1`, baseUrls: [`${root}/v1`] } };
}

describe('SIGTERM to one of two processes', () => {
  let receipts = 0;

  it.each(['inference', 'receipts', 'ledger'] as Role[])(
    'a process that is stopped costs no client its answer and no answer its receipt: %s',
    { tags: ['codes.internal'] },
    async (role) => {
      const [leaving] = product.processes(role);
      let code: Promise<number | null> | undefined;
      const seen = await sendLoad(product, {
        requests: REQUESTS,
        concurrency: 16,
        onProgress: (finished) => {
          if (finished === REQUESTS / 4) code = leaving!.stop();
        },
      });
      receipts += REQUESTS;
      expect(await code).toBe(0);
      expect(seen.filter(({ answered, signed }) => !answered || !signed)).toEqual([]);
      const totals = await integrated(product);
      expect(totals).toMatchObject({ gaps: 0, distinct: totals.receipts, receipts });
    },
  );
});

describe('SIGTERM to an api process', () => {
  it(
    'an api process that is stopped is not ready, takes no new connection, and lets open streams end',
    { tags: ['survives.stop'] },
    async () => {
      const { api, system } = await startApi({});
      const body = JSON.stringify({
        model: 'llama-3.1-8b',
        messages: [{ role: 'user', content: 'Tell me about the lighthouse.' }],
        max_tokens: 60,
        ignore_eos: true,
        stream: true,
        sandbox_fault: 'pace=30',
      });
      const stream = await post(system, '/chat/completions', body);
      const stopped = api.stop();
      await until(async () => {
        const ready = await fetch(`http://127.0.0.1:${api.metricsPort}/readyz`).catch(() => null);
        return ready !== null && ready.status === 503;
      }, 'the process is not ready any more');
      await until(
        async () => (await fetch(`${system.baseUrl}/models`).catch(() => null)) === null,
        'new connections are refused',
      );
      const text = await stream.text();
      expect(text.endsWith('data: [DONE]\n\n')).toBe(true);
      expect(text).toContain('"proofValue"');
      expect(await stopped).toBe(0);
    },
  );

  it(
    'an api process that is stopped answers what still comes in its lame-duck time, and each answer closes its connection',
    { tags: ['survives.stop'] },
    async () => {
      const { api, system } = await startApi({ LAME_DUCK_MS: '6000' });
      const before = await fetch(`${system.root}/.well-known/jwks.json`);
      expect(before.headers.get('connection')).toBe('keep-alive');
      const stopped = api.stop();
      await until(async () => {
        const ready = await fetch(`http://127.0.0.1:${api.metricsPort}/readyz`);
        return ready.status === 503;
      }, 'the process is not ready any more');
      // Few, so that they are answered within that time on a machine that does much else.
      const seen = await sendLoad(system, { requests: 8, concurrency: 4 });
      expect(seen.filter(({ answered, signed }) => !answered || !signed)).toEqual([]);
      const late = await fetch(`${system.root}/.well-known/jwks.json`);
      expect([late.status, late.headers.get('connection')]).toEqual([200, 'close']);
      expect(await stopped).toBe(0);
    },
  );

  it(
    'a stream that is still open at the deadline ends with an error frame',
    { tags: ['survives.stop'] },
    async () => {
      const { api, system } = await startApi({ SHUTDOWN_MS: '500' });
      const body = JSON.stringify({
        model: 'llama-3.1-8b',
        messages: [{ role: 'user', content: 'Tell me about the lighthouse.' }],
        max_tokens: 2_000,
        ignore_eos: true,
        stream: true,
        sandbox_fault: 'pace=20',
      });
      const stream = await post(system, '/chat/completions', body);
      const stopped = api.stop();
      const text = await stream.text();
      expect(text).toMatch(/data: \{"error":\{"code":"dispatch_unavailable".*\}\}\n\n$/);
      expect(text).not.toContain('[DONE]');
      expect(await stopped).toBe(0);
    },
  );
});
