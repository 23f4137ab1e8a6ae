import { expect, onTestFinished } from 'vitest';
import { receiptIdOf } from '#shared/kernel/ids.ts';
import { chatBody } from './calls.ts';
import { post } from './http.ts';
import { integrated } from './receipts.ts';
import type { Product } from './system.ts';
import { until } from './until.ts';

const SENDERS = 6;
/** Four senders of an organisation stay below the fifty requests a second of the smallest plan, however fast they are told. */
const PACE_MS = 100;
const BODY = JSON.stringify(chatBody());

export interface Told {
  /** From the request to its whole answer, and when that was. */
  tookMs: number;
  at: number;
  requestId: string;
  status: number;
  code: string | null;
  retryAfter: string | null;
}

/** Asks a short question, and reads the whole answer. */
export async function ask(system: Product, key: string): Promise<Told> {
  const startedAt = performance.now();
  const response = await post(system, '/chat/completions', BODY, {
    authorization: `Bearer ${key}`,
  });
  const { error } = (await response.json()) as { error?: { code: string } };
  const at = performance.now();
  return {
    tookMs: Math.round(at - startedAt),
    at,
    requestId: response.headers.get('x-request-id')!,
    status: response.status,
    code: error?.code ?? null,
    retryAfter: response.headers.get('retry-after'),
  };
}

/** Sends for every organisation in turn until it is stopped; returns what was told, to these callers and those before. */
export function sendOn(
  system: Product,
  told: Told[] = [],
): { told: Told[]; stop: () => Promise<void> } {
  const keys = Object.values(system.demo.keys);
  const ending = { stopped: false };
  const senders = Promise.all(
    Array.from({ length: SENDERS }, async (_, i) => {
      while (!ending.stopped) {
        const next = performance.now() + PACE_MS;
        told.push(await ask(system, keys[i % keys.length]!));
        await until(() => performance.now() >= next);
      }
    }),
  );
  // The one who stops them hears of it.
  senders.catch(() => {});
  const stop = async (): Promise<void> => {
    ending.stopped = true;
    await senders;
  };
  // Also when the test has failed before: the processes that answer are stopped after it.
  onTestFinished(() => stop().catch(() => {}));
  return { told, stop };
}

/** What was told, for a person: second by second, how many times which status, and the longest wait. */
export function timeline(told: readonly Told[], since: number): string {
  const lines = new Map<string, { count: number; longestMs: number }>();
  for (const { at, status, tookMs } of told) {
    const line = `${Math.floor((at - since) / 1_000)} s: ${status}`;
    const { count, longestMs } = lines.get(line) ?? { count: 0, longestMs: 0 };
    lines.set(line, { count: count + 1, longestMs: Math.max(longestMs, tookMs) });
  }
  return [...lines]
    .map(([line, { count, longestMs }]) => `${line} ${count} times, in up to ${longestMs} ms`)
    .join('\n');
}

/** What a caller may be told while a store is away. What was admitted, and is lost with its server, is told the second. */
const AWAY = ['503 store_unavailable', '503 dispatch_unavailable'];

/**
 * Expects that each caller who was refused was told to try again, and that each answer has its receipt in the ledger.
 * @param trouble shown where a refusal is another
 * @returns what was refused
 */
export async function expectKept(
  system: Product,
  told: readonly Told[],
  trouble = '',
): Promise<Told[]> {
  const refused = told.filter(({ status }) => status !== 200);
  const others = refused.filter(({ status, code }) => !AWAY.includes(`${status} ${code}`));
  expect(others, trouble).toEqual([]);
  expect(refused.filter(({ retryAfter }) => !(Number(retryAfter) >= 1))).toEqual([]);
  const answered = told.filter(({ status }) => status === 200);
  const ids = answered.map(({ requestId }) => receiptIdOf(requestId));
  await until(async () => {
    const { rows } = await system.database.pool.query<{ count: number }>(
      'select count(*)::int as count from ledger_entry where entry_id = any($1)',
      [ids],
    );
    return rows[0]!.count === ids.length;
  }, 'every answer has its receipt');
  expect(await integrated(system)).toMatchObject({ gaps: 0 });
  return refused;
}
