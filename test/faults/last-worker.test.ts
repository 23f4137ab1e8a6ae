import { beforeAll, expect, it } from 'vitest';
import { chatBody, post } from '#test/support/calls.ts';
import { integrated } from '#test/support/receipts.ts';
import { startSystem, type System } from '#test/support/system.ts';
import { until } from '#test/support/until.ts';

/** What a worker said of itself is believed for ten seconds; the rest is the look of the api, and a busy machine. */
const KNOWN_DEAD_MS = 13_000;

let system: System;

beforeAll(async () => {
  system = await startSystem();
});

it(
  'a region whose last worker died is degraded within seconds, keeps nobody waiting, and answers what it had taken once one is back',
  { tags: ['codes.region_degraded', 'survives.inference-worker'] },
  async () => {
    const ask = (): Promise<Response> => post(system, '/chat/completions', chatBody());
    expect((await ask()).status).toBe(200);
    const [last] = system.processes('inference');
    last!.kill('SIGKILL');
    await last!.exited;
    const diedAt = performance.now();
    // Taken before its death is known: it waits for a worker, and is not lost.
    const waiting = ask();
    let refused: Response | undefined;
    await until(async () => {
      const response = await post(system, '/chat/completions', chatBody(), {
        signal: AbortSignal.timeout(500),
      }).catch(() => undefined);
      if (response?.status === 503) refused = response;
      return refused !== undefined;
    }, 'a request is refused');
    expect(performance.now() - diedAt).toBeLessThan(KNOWN_DEAD_MS);
    expect(await refused!.json()).toMatchObject({
      error: { type: 'region_unavailable', code: 'region_degraded' },
    });
    expect(Number(refused!.headers.get('retry-after'))).toBeGreaterThan(0);
    const askedAt = performance.now();
    expect((await ask()).status).toBe(503);
    expect(performance.now() - askedAt).toBeLessThan(1_000);

    await system.start('inference');
    expect((await waiting).status).toBe(200);
    expect((await ask()).status).toBe(200);
    expect(await integrated(system)).toMatchObject({ gaps: 0 });
  },
);
