import { beforeAll, expect, it } from 'vitest';
import { chatBody, post } from '#test/support/calls.ts';
import { measured, tookMs } from '#test/support/control.ts';
import { integrated } from '#test/support/receipts.ts';
import { startSystem, type System } from '#test/support/system.ts';
import { until } from '#test/support/until.ts';

/** What a worker said of itself is believed for ten seconds, and the api looks once a second; the rest is the machine's. */
const KNOWN_DEAD_MS = 13_000;
const SLACK_MS = KNOWN_DEAD_MS - 11_000;

let system: System;

beforeAll(async () => {
  system = await startSystem({ replicas: {} });
});

it('a region whose last worker died is degraded within seconds, keeps no caller waiting, and answers what it had taken once one is back [codes.region_degraded, survives.inference-worker]', async () => {
  const ask = (): Promise<Response> => post(system, '/chat/completions', chatBody());
  expect((await ask()).status).toBe(200);
  const waiting: Promise<Response>[] = [];
  const die = async (): Promise<{ tookMs: number; refused: Response }> => {
    // Another took the place of the one that died in a window before.
    if (waiting.length > 0) {
      await system.start('inference');
      await until(async () => (await ask()).status === 200, 'requests are answered again');
    }
    const last = system.processes('inference').at(-1)!;
    last.kill('SIGKILL');
    await last.exited;
    const diedAt = performance.now();
    // Taken before its death is known: it waits for a worker, and is not lost.
    waiting.push(ask());
    let refused: Response | undefined;
    await until(async () => {
      const response = await post(system, '/chat/completions', chatBody(), {
        signal: AbortSignal.timeout(500),
      }).catch(() => undefined);
      if (response?.status === 503) refused = response;
      return refused !== undefined;
    }, 'a request is refused');
    return { tookMs: performance.now() - diedAt, refused: refused! };
  };
  const { tookMs: knownMs, refused } = await measured(
    SLACK_MS,
    die,
    (found) => found.tookMs < KNOWN_DEAD_MS,
  );
  expect(knownMs).toBeLessThan(KNOWN_DEAD_MS);
  expect(await refused.json()).toMatchObject({
    error: { type: 'region_unavailable', code: 'region_degraded' },
  });
  expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(0);
  const refuse = async (): Promise<number> => {
    const askedAt = performance.now();
    expect((await ask()).status).toBe(503);
    return performance.now() - askedAt;
  };
  expect(await tookMs(1_000, refuse)).toBeLessThan(1_000);

  await system.start('inference');
  for (const answer of waiting) expect((await answer).status).toBe(200);
  expect((await ask()).status).toBe(200);
  expect(await integrated(system)).toMatchObject({ gaps: 0 });
});
