import { beforeAll, describe, expect, it } from 'vitest';
import type { Environment } from '#shared/config/config.ts';
import type { Role } from '#shared/config/settings.ts';
import { isDeep } from '#test/support/depth.ts';
import { runDocket } from '#test/support/docket-cli.ts';
import { post } from '#test/support/http.ts';
import { sendLoad } from '#test/support/load.ts';
import { integrated } from '#test/support/receipts.ts';
import { type Product, startSystem, type System } from '#test/support/system.ts';
import { until } from '#test/support/until.ts';

/** While a process is killed, and while one is stopped. */
const KILLED_REQUESTS = isDeep ? 500 : 200;
const STOPPED_REQUESTS = isDeep ? 200 : 100;

let system: System;

beforeAll(async () => {
  system = await startSystem({ replicas: { api: 2, inference: 2, receipts: 2, ledger: 2 } });
});

/**
 * Two of the role, one of which is killed without warning while requests run, and started again a little later as an
 * orchestrator would. Every request that was answered must be in the ledger exactly once.
 */
describe('SIGKILL of one of two processes', () => {
  // An api process that comes back has another port: it is the last.
  it.each(['inference', 'receipts', 'ledger', 'api'] as Role[])(
    'every answered request has exactly one receipt and one ledger entry, without a gap, when a process is killed: %s [codes.worker_lost, survives.api, survives.inference-worker, survives.receipts-worker, survives.ledger-worker]',
    async (role) => {
      const [victim] = system.processes(role);
      let restarted: Promise<unknown> | undefined;
      const seen = await sendLoad(system, {
        requests: KILLED_REQUESTS,
        concurrency: 24,
        onProgress: (finished) => {
          if (finished === KILLED_REQUESTS / 5) victim!.kill('SIGKILL');
          if (finished === KILLED_REQUESTS * 0.3) restarted = system.start(role);
        },
      });
      await restarted;

      const answered = seen.filter(({ answered: whole }) => whole);
      // An api process takes its own connections with it; nothing else may cost a client its answer,
      // but for streams that had begun on a killed inference worker: those end with an error frame.
      if (role === 'receipts' || role === 'ledger') expect(answered).toHaveLength(KILLED_REQUESTS);
      else expect(answered.length).toBeGreaterThan(KILLED_REQUESTS / 4);

      const totals = await integrated(system);
      expect(totals.gaps).toBe(0);
      expect(totals.distinct).toBe(totals.receipts);
      const { rows } = await system.database.pool.query<{ missing: string }>(
        `SELECT count(*) AS missing FROM unnest($1::text[]) AS wanted (id)
       WHERE (SELECT count(*) FROM ledger_entry e WHERE e.entry_id = wanted.id) <> 1`,
        [answered.map(({ receiptId }) => receiptId)],
      );
      expect(Number(rows[0]!.missing)).toBe(0);
      const fsck = await runDocket(['ledger', 'fsck', '--json'], {
        DATABASE_URL: system.database.url,
        REDIS_URL: system.redis.url,
      });
      expect(fsck, fsck.stdout).toMatchObject({ code: 0 });
    },
  );
});

/** The product as callers of one api process see it. */
function asCalledAt(baseUrl: string): Product {
  return { ...system, root: baseUrl.replace(/\/v1$/, ''), baseUrl, baseUrls: [baseUrl] };
}

describe('SIGTERM to one of two processes', () => {
  it.each(['inference', 'receipts', 'ledger'] as Role[])(
    'a process that is stopped costs no client its answer and no answer its receipt: %s [codes.internal]',
    async (role) => {
      const product = asCalledAt(system.baseUrls[1]!);
      // The first was killed.
      const leaving = system.processes(role).at(-1);
      const before = await integrated(system);
      let code: Promise<number | null> | undefined;
      const seen = await sendLoad(product, {
        requests: STOPPED_REQUESTS,
        concurrency: 16,
        onProgress: (finished) => {
          if (finished === STOPPED_REQUESTS / 4) code = leaving!.stop();
        },
      });
      expect(await code).toBe(0);
      expect(seen.filter(({ answered, signed }) => !answered || !signed)).toEqual([]);
      const totals = await integrated(system);
      expect(totals.receipts).toBe(before.receipts + STOPPED_REQUESTS);
      expect(totals).toMatchObject({ gaps: 0, distinct: totals.receipts });
    },
  );
});

/** One more api process, and the product as its callers see it. */
async function startApi(env: Environment) {
  const api = await system.start('api', env);
  return { api, product: asCalledAt(`http://127.0.0.1:${api.port}/v1`) };
}

describe('SIGTERM to an api process', () => {
  it('an api process that is stopped is not ready, takes no new connection, and lets open streams end [survives.stop]', async () => {
    const { api, product } = await startApi({});
    const body = JSON.stringify({
      model: 'llama-3.1-8b',
      messages: [{ role: 'user', content: 'Tell me about the lighthouse.' }],
      max_tokens: 60,
      ignore_eos: true,
      stream: true,
      sandbox_fault: 'pace=30',
    });
    const stream = await post(product, '/chat/completions', body);
    const stopped = api.stop();
    await until(async () => {
      const ready = await fetch(`http://127.0.0.1:${api.metricsPort}/readyz`).catch(() => null);
      return ready !== null && ready.status === 503;
    }, 'the process is not ready any more');
    await until(
      async () => (await fetch(`${product.baseUrl}/models`).catch(() => null)) === null,
      'new connections are refused',
    );
    const text = await stream.text();
    expect(text.endsWith('data: [DONE]\n\n')).toBe(true);
    expect(text).toContain('"proofValue"');
    expect(await stopped).toBe(0);
  });

  it('an api process that is stopped answers what still comes in its lame-duck time, and each answer closes its connection [survives.stop]', async () => {
    const { api, product } = await startApi({ LAME_DUCK_MS: '6000' });
    const before = await fetch(`${product.root}/.well-known/jwks.json`);
    expect(before.headers.get('connection')).toBe('keep-alive');
    const stopped = api.stop();
    await until(async () => {
      const ready = await fetch(`http://127.0.0.1:${api.metricsPort}/readyz`);
      return ready.status === 503;
    }, 'the process is not ready any more');
    // Few, so that they are answered within that time on a machine that does much else.
    const seen = await sendLoad(product, { requests: 8, concurrency: 4 });
    expect(seen.filter(({ answered, signed }) => !answered || !signed)).toEqual([]);
    const late = await fetch(`${product.root}/.well-known/jwks.json`);
    expect([late.status, late.headers.get('connection')]).toEqual([200, 'close']);
    expect(await stopped).toBe(0);
  });

  it('a stream that is still open at the deadline ends with an error frame [survives.stop]', async () => {
    const { api, product } = await startApi({ SHUTDOWN_MS: '500' });
    const body = JSON.stringify({
      model: 'llama-3.1-8b',
      messages: [{ role: 'user', content: 'Tell me about the lighthouse.' }],
      max_tokens: 2_000,
      ignore_eos: true,
      stream: true,
      sandbox_fault: 'pace=20',
    });
    const stream = await post(product, '/chat/completions', body);
    const stopped = api.stop();
    const text = await stream.text();
    expect(text).toMatch(/data: \{"error":\{"code":"dispatch_unavailable".*\}\}\n\n$/);
    expect(text).not.toContain('[DONE]');
    expect(await stopped).toBe(0);
  });
});
