import fc from 'fast-check';
import { Pool } from 'undici';
import { expect, it } from 'vitest';
import type { ApiDescription } from '#test/support/api-description.ts';
import { isDeep, runs, SEED } from '#test/support/depth.ts';
import { type Answer, ask } from '#test/support/envelope.ts';
import { exchange } from '#test/support/raw-http.ts';
import type { System } from '#test/support/system.ts';
import { wireBytes } from '#test/api/fuzz/bytes.ts';
import { generators, type MadeRequest } from '#test/api/fuzz/requests.ts';

/** In quick runs a twentieth, which is the same each time. */
const REQUESTS = isDeep ? 19_000 : 950;
const CONNECTIONS = runs(1_000);
/** Enough to keep both processors busy. */
const CONCURRENCY = 24;
/** Nothing here takes a tenth of it. */
const PATIENCE_MS = 20_000;

/** Requests and connections that are drawn, and what is left after them. */
export function fuzz(system: () => System, api: () => ApiDescription): void {
  it(
    `${REQUESTS} requests of every kind get a proper answer, none a 5xx [errors.envelope]`,
    { timeout: 180_000 },
    async () => {
      const requests = generators(api()).flatMap(([share, arbitrary], i) =>
        fc.sample(arbitrary, { seed: SEED + i, numRuns: Math.ceil((share / SHARES) * REQUESTS) }),
      );
      const pool = new Pool(system().root, {
        connections: CONCURRENCY,
        headersTimeout: PATIENCE_MS,
        bodyTimeout: PATIENCE_MS,
      });
      const statuses = new Map<number, number>();
      await inParallel(requests, async (request, i) => {
        try {
          const answer = await send(pool, request);
          statuses.set(answer.status, (statuses.get(answer.status) ?? 0) + 1);
          expectProper(request.method, answer);
        } catch (error) {
          throw new Error(`request ${i} of seed ${SEED}: ${show(request)}`, { cause: error });
        }
      });
      await pool.close();
      // The generators reach both sides of the gate.
      expect(statuses.get(200)).toBeGreaterThan(REQUESTS / 38);
      expect(statuses.get(400)).toBeGreaterThan(REQUESTS / 3.8);
    },
  );

  it(`${CONNECTIONS} connections with anything on them are answered or closed [errors.envelope]`, async () => {
    const port = Number(new URL(system().root).port);
    const all = fc.sample(wireBytes(system().key), { seed: SEED, numRuns: CONNECTIONS });
    await inParallel(all, async (bytes, i) => {
      try {
        for (const answer of await exchange(port, [bytes], { hangUp: true })) {
          expectProper('GET', answer);
        }
      } catch (error) {
        throw new Error(
          `connection ${i} of seed ${SEED}: ${JSON.stringify(bytes.toString('latin1'))}`,
          { cause: error },
        );
      }
    });
  });

  it('the service is as well after all of this as before', async () => {
    for (const process of [
      ...system().processes('api'),
      ...system().processes('inference'),
      ...system().processes('receipts'),
    ]) {
      const bad = process.logs().filter(({ level }) => level === 'error' || level === 'fatal');
      expect(bad).toEqual([]);
    }
    const account = await ask(`${system().baseUrl}/account`, {
      headers: { authorization: `Bearer ${system().key}` },
    });
    expect(account.status).toBe(200);
  });

  /** The sum of the generators' shares. */
  const SHARES = 0.95;

  async function inParallel<T>(
    items: readonly T[],
    act: (item: T, i: number) => Promise<void>,
  ): Promise<void> {
    let next = 0;
    const worker = async (): Promise<void> => {
      for (let i = next++; i < items.length; i = next++) await act(items[i]!, i);
    };
    await Promise.all(Array.from({ length: CONCURRENCY }, worker));
  }

  async function send(pool: Pool, { method, path, headers, body }: MadeRequest): Promise<Answer> {
    const answer = await pool.request({
      method,
      path,
      headers: { authorization: `Bearer ${system().key}`, ...headers },
      ...(body === undefined ? {} : { body }),
    });
    const text = await answer.body.text();
    return { status: answer.statusCode, headers: new Headers(flat(answer.headers)), text };
  }

  const flat = (headers: Record<string, string | string[] | undefined>): [string, string][] =>
    Object.entries(headers).map(([name, value]) => [name, String(value)]);

  /** The last frame of a stream that is whole: `[DONE]`, for responses the event that holds them, for messages the last. */
  const STREAM_END =
    /(?:data: \[DONE\]|event: (?:response\.(?:completed|incomplete)|message_stop)\ndata: \{[^\n]*\})\n\n$/;

  function expectProper(method: string, { status, headers, text }: Answer): void {
    expect(status, text.slice(0, 500)).toBeLessThan(500);
    expect(headers.get('x-request-id')).toMatch(/^req_/);
    if (status < 400) {
      if (headers.get('content-type')?.startsWith('text/event-stream') !== true) return;
      expect(text, text.slice(-500)).toMatch(STREAM_END);
      return;
    }
    expect(headers.get('x-should-retry')).toMatch(/^(true|false)$/);
    expect(headers.get('content-type')).toBe('application/json; charset=utf-8');
    if (method === 'HEAD') return;
    const { type, error } = JSON.parse(text) as { type?: string; error: Record<string, unknown> };
    // Anthropic's envelope has another type inside, and ours beside it.
    const { docket_type: ours, ...common } = error;
    expect(typeof ours).toBe(type === 'error' ? 'string' : 'undefined');
    expect(Object.keys(common).toSorted()).toEqual(['code', 'message', 'param', 'type']);
    expect(typeof error['code']).toBe('string');
    expect(typeof error['message']).toBe('string');
    expect(error['param'] === null || typeof error['param'] === 'string').toBe(true);
  }

  function show({ kind, method, path, headers, body }: MadeRequest): string {
    const text = body?.toString('latin1').slice(0, 2_000);
    return JSON.stringify({ kind, method, path: path.slice(0, 300), headers, body: text });
  }
}
