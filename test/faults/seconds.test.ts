import { randomUUID } from 'node:crypto';
import { Webhook } from 'standardwebhooks';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { createSanctionsStore } from '#shared/accounts/postgres/sanctions.ts';
import { openSanctionsFile } from '#shared/accounts/sanctions/files/read-list.ts';
import { connectRedis } from '#shared/lanes/redis/connect.ts';
import { JobQueues } from '#shared/jobs/redis/job-queues.ts';
import { createBudgetRegistry } from '#shared/budgets/postgres/budgets.ts';
import { systemSurroundings } from '#shared/kernel/system/surroundings.ts';
import { createWebhookRegistry } from '#shared/webhooks/postgres/endpoints.ts';
import { createSecretSeals } from '#shared/webhooks/secret-seals.ts';
import { createRegistries, declaration, newAccount, OPERATOR } from '#test/support/accounts.ts';
import { chatBody, payloadsIn, post, upstreamCalls } from '#test/support/calls.ts';
import { measured, tookMs } from '#test/support/control.ts';
import { createTestDatabase } from '#test/support/database.ts';
import { integrated } from '#test/support/receipts.ts';
import { newOrganisation } from '#test/support/organisations.ts';
import { startWebhookReceiver } from '#test/support/webhook-receiver.ts';
import { startSystem, type System } from '#test/support/system.ts';
import { until } from '#test/support/until.ts';

/** What a worker said of itself is believed for ten seconds, and the api looks once a second; the rest is the machine's. */
const KNOWN_DEAD_MS = 13_000;
const SLACK_MS = KNOWN_DEAD_MS - 11_000;

const database = await createTestDatabase();
let system: System;

/** A stream as it came. */
interface Pace {
  pieces: number;
  frames: number;
  totalMs: number;
  medianMs: number;
}

const WEBHOOKS_SECRET = 'a secret of webhooks, of this test alone';
const { receiver, origin } = await startWebhookReceiver();

beforeAll(async () => {
  system = await startSystem({
    replicas: {},
    database,
    env: { WEBHOOKS_SECRET, WEBHOOKS_INSIDE: origin },
  });
  await system.start('housekeeping');
});

describe('what the product promises in seconds', () => {
  it.each([
    ['in the middle of a stream', { stream: true }, 'pace=50', 3],
    ['before the first byte of a stream', { stream: true }, 'stall=60000', null],
    ['before an answer that is no stream', {}, 'stall=60000', null],
  ])(
    'a client that leaves %s stops the upstream within a second [survives.client]',
    async (_where, rest, fault, frames) => {
      const leave = async (): Promise<number> => {
        const id = randomUUID();
        const abort = new AbortController();
        const body = chatBody({ max_tokens: 10_000, sandbox_fault: `id=${id}; ${fault}`, ...rest });
        const answer = post(system, '/chat/completions', body, { signal: abort.signal });
        if (frames === null) {
          await until(async () => (await upstreamCalls(system, id)).length === 1);
        } else {
          const reader = (await answer).body!.getReader();
          for (let seen = 0; seen <= frames; seen += 1) await reader.read();
        }
        const leftAt = Date.now();
        abort.abort();
        await answer.catch(() => {});
        await until(async () => (await upstreamCalls(system, id))[0]?.state === 'aborted');
        const [call] = await upstreamCalls(system, id);
        return call!.ended_at! - leftAt;
      };
      expect(await tookMs(1_000, leave)).toBeLessThan(1_000);
    },
  );

  it('a paced stream keeps its pace through the gateway [clients.unbuffered]', async () => {
    const gapMs = 50;
    const tokens = 20;
    const read = async (): Promise<Pace> => {
      const response = await post(
        system,
        '/chat/completions',
        chatBody({ stream: true, max_tokens: tokens, sandbox_fault: `pace=${1_000 / gapMs}` }),
      );
      const seen: { at: number; text: string }[] = [];
      const decoder = new TextDecoder();
      for await (const chunk of response.body!) {
        seen.push({ at: performance.now(), text: decoder.decode(chunk as Uint8Array) });
      }
      const gaps = seen.slice(1).map(({ at }, i) => at - seen[i]!.at);
      return {
        pieces: seen.length,
        frames: payloadsIn(seen.map(({ text }) => text).join('')).length,
        totalMs: seen.at(-1)!.at - seen[0]!.at,
        medianMs: gaps.toSorted((a, b) => a - b)[Math.floor(gaps.length / 2)]!,
      };
    };
    const lost = ({ pieces, frames, totalMs, medianMs }: Pace): string[] =>
      [
        pieces <= frames * 0.7 && `${frames} frames came in ${pieces} pieces`,
        totalMs <= (tokens - 2) * gapMs * 0.8 && `all came in ${totalMs} ms`,
        totalMs >= tokens * gapMs + 1_500 && `all came in ${totalMs} ms`,
        medianMs <= gapMs * 0.6 && `${medianMs} ms are between two pieces`,
        medianMs >= gapMs * 1.6 && `${medianMs} ms are between two pieces`,
      ].filter((what) => what !== false);
    // A look that is late by a token has let two come together.
    const found = await measured(10 * gapMs, read, (pace) => lost(pace).length === 0);
    expect(lost(found)).toEqual([]);
  });

  it('a receipt can be proven within ten seconds of its answer [receipts.merge-delay]', async () => {
    const headers = { authorization: `Bearer ${system.key}` };
    const prove = async (): Promise<number> => {
      const response = await post(system, '/chat/completions', chatBody());
      await response.text();
      const answeredAt = performance.now();
      const proof = `${system.baseUrl}/receipts/${response.headers.get('x-receipt-id')}/proof`;
      await until(async () => (await fetch(proof, { headers })).status === 200);
      return performance.now() - answeredAt;
    };
    expect(await tookMs(10_000, prove)).toBeLessThan(10_000);
  });

  it('a budget at 80 % is with a receiver of the standard’s library, its signature checked, within ten seconds of the receipt’s integration [webhooks.prompt, webhooks.signed]', async () => {
    const budgets = createBudgetRegistry(database.poolAs('docket_api'), systemSurroundings);
    const webhooks = createWebhookRegistry(database.poolAs('docket_api'), systemSurroundings, {
      seals: createSecretSeals(WEBHOOKS_SECRET, systemSurroundings),
      inside: [origin],
    });
    const tell = async (): Promise<number> => {
      const org = await newOrganisation({ database });
      const key = await org.newKey();
      const asked = {
        address: `${origin}/${org.id}`,
        description: '',
        events: ['budget.reached'],
      };
      const { secret } = await webhooks.make(org.id, asked, OPERATOR);
      const budget = {
        name: 'Research',
        scope: 'organisation',
        target: null,
        measure: 'requests',
        period: 'month',
        mode: 'soft',
        limit: 5,
        shares: [80],
      } as const;
      await budgets.make(org.id, budget, OPERATOR);
      for (let i = 0; i < 4; i += 1) {
        expect((await post(system, '/chat/completions', chatBody(), { key })).status).toBe(200);
      }
      await until(async () => (await budgets.list(org.id))[0]!.used === 4);
      const integratedAt = performance.now();
      const got = () => receiver.received.find(({ path }) => path === `/${org.id}`);
      await until(() => got() !== undefined);
      const ms = performance.now() - integratedAt;
      const { body, headers } = got()!;
      expect(new Webhook(secret).verify(body, headers)).toMatchObject({
        type: 'budget.reached',
        data: { organisation: org.id, share: 80, used: 4 },
      });
      return ms;
    };
    const ms = await tookMs(10_000, tell);
    expect(ms).toBeLessThan(10_000);
  });

  it('an applicant is screened within a second of being asked for [accounts.screened-at-once]', async () => {
    const operator = database.poolAs('docket_operator');
    const { accounts, clock } = createRegistries(operator);
    const file = await openSanctionsFile(
      join(import.meta.dirname, '../fixtures/sanctions/ofac-sdn.xml'),
    );
    await createSanctionsStore(operator, clock).import(
      { ...file, entities: file.entities(), fileName: 'sdn.xml' },
      { kind: 'operator', id: 'ada' },
    );
    const connection = connectRedis({ url: system.redis.url, name: 'test', use: 'patient' });
    const queues = new JobQueues(connection);
    const screen = async (): Promise<number> => {
      const { id } = await accounts.create(newAccount(), OPERATOR);
      await accounts.declare(id, declaration(), OPERATOR);
      const askedAt = performance.now();
      await queues.add('screening', { orgId: id });
      await until(async () => (await accounts.get(id)).state === 'approved');
      return performance.now() - askedAt;
    };
    expect(await tookMs(1_000, screen)).toBeLessThan(1_000);
    await queues.close();
    connection.disconnect();
  });

  // It kills the worker: it is the last.
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
});
