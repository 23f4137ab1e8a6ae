import { randomUUID } from 'node:crypto';
import { beforeAll, describe, expect, it } from 'vitest';
import { aliveKey } from '#shared/lanes/keys.ts';
import { chatBody, payloadsIn } from '#test/support/calls.ts';
import { post } from '#test/support/http.ts';
import { connectTo } from '#test/support/lanes.ts';
import type { StartedProcess } from '#test/support/processes.ts';
import { digestOf, expectSigned, integrated, type Receipt } from '#test/support/receipts.ts';
import { startSystem, type System } from '#test/support/system.ts';
import { until } from '#test/support/until.ts';

const STREAMS = 30;
/** Longer than a sign of life lasts, which is five seconds. */
const DEAD_MS = 5_200;
let system: System;
let redis: ReturnType<typeof connectTo>;

beforeAll(async () => {
  system = await startSystem({ replicas: { inference: 2, receipts: 2 } });
  redis = connectTo(system.redis.url);
});

/** One stream as its client sees it while it comes. */
interface Stream {
  receiptId: string;
  text: () => string;
  /** Resolves with everything, once the connection has ended. */
  ended: Promise<string>;
}

/** Opens a stream of `tokens`, one each `paceMs`; returns once its first bytes are there. */
async function open(tokens: number, paceMs: number, key?: string): Promise<Stream> {
  const body = chatBody({ max_tokens: tokens, stream: true, sandbox_fault: `pace=${paceMs}` });
  const headers: Record<string, string> = key === undefined ? {} : { 'idempotency-key': key };
  const response = await post(system, '/chat/completions', JSON.stringify(body), headers);
  expect(response.status).toBe(200);
  let text = '';
  const read = async (): Promise<string> => {
    const decoder = new TextDecoder();
    for await (const bytes of response.body!) text += decoder.decode(bytes, { stream: true });
    return text;
  };
  return { receiptId: response.headers.get('x-receipt-id')!, text: () => text, ended: read() };
}

async function openMany(tokens: number, paceMs: number): Promise<Stream[]> {
  const streams = await Promise.all(Array.from({ length: STREAMS }, () => open(tokens, paceMs)));
  await until(() => streams.every(({ text }) => payloadsIn(text()).length > 3), 'all stream');
  return streams;
}

/** The stored receipt, once it is issued. */
async function receiptOf(receiptId: string): Promise<Receipt> {
  let receipt: Receipt | undefined;
  await until(async () => {
    const response = await fetch(`${system.baseUrl}/receipts/${receiptId}`, {
      headers: { authorization: `Bearer ${system.key}` },
    });
    if (response.status === 200) receipt = (await response.json()) as Receipt;
    return receipt !== undefined;
  }, `${receiptId} is issued`);
  return receipt!;
}

/** Payloads of a stream that broke off, without its error frame. */
function payloadsBefore(text: string): string[] {
  const payloads = payloadsIn(text);
  expect(JSON.parse(payloads.at(-1)!)).toMatchObject({ error: { code: 'worker_lost' } });
  return payloads.slice(0, -1);
}

/** How many of the payloads the receipt's digest is over; undefined when it is of no prefix of them. */
function coveredBy(receipt: Receipt, payloads: readonly string[]): number | undefined {
  for (let count = payloads.length; count > 0; count -= 1) {
    const digest = digestOf(receipt, payloads.slice(0, count).join(''));
    if (digest === receipt.credentialSubject.responseDigest) return count;
  }
  return undefined;
}

async function consumerOf(pid: number): Promise<string> {
  const alive = await redis.keys(aliveKey('*'));
  return alive.find((name) => name.includes(`-${pid}-`))!.slice(aliveKey('').length);
}

function signal(workers: readonly StartedProcess[], name: 'SIGSTOP' | 'SIGCONT'): void {
  for (const { pid } of workers) process.kill(pid, name);
}

const staleIn = (one: StartedProcess): Record<string, unknown>[] =>
  one.logs().filter(({ event }) => event === 'outcome_stale');

describe('streams in flight', () => {
  it(
    'streams go on to their end when all inference workers were stopped for as long as makes one dead',
    { tags: ['survives.stalled-together'] },
    async () => {
      const workers = system.processes('inference');
      const streams = await openMany(170, 40);
      const names = await Promise.all(workers.map(({ pid }) => consumerOf(pid)));
      signal(workers, 'SIGSTOP');
      await until(
        async () => (await redis.exists(...names.map(aliveKey))) === 0,
        'both are silent',
      );
      signal(workers, 'SIGCONT');
      const texts = await Promise.all(streams.map(({ ended }) => ended));
      expect(texts.filter((text) => !text.endsWith('data: [DONE]\n\n'))).toEqual([]);
      expect(workers.flatMap(staleIn)).toEqual([]);
    },
  );

  it(
    'streams go on to their end when Redis was frozen for as long as makes workers dead',
    { tags: ['survives.stalled-together'] },
    async () => {
      const streams = await openMany(170, 40);
      process.kill(system.redis.pid, 'SIGSTOP');
      const deadAt = performance.now() + DEAD_MS;
      await until(() => performance.now() > deadAt, 'no sign of life is left');
      process.kill(system.redis.pid, 'SIGCONT');
      const texts = await Promise.all(streams.map(({ ended }) => ended));
      expect(texts.filter((text) => !text.endsWith('data: [DONE]\n\n'))).toEqual([]);
    },
  );

  it(
    'a worker that wakes after its streams were taken over writes nothing: each has one receipt, truncated, of what its client got',
    { tags: ['survives.stopped-worker'] },
    async () => {
      const before = await integrated(system);
      const [stopped] = system.processes('inference');
      const streams = await openMany(150, 40);
      const answer = chatBody({ sandbox_fault: 'stall=1500' });
      const keys = Array.from({ length: STREAMS }, () => randomUUID());
      const ask = async (key: string) => {
        const response = await post(system, '/chat/completions', JSON.stringify(answer), {
          'idempotency-key': key,
        });
        return { status: response.status, text: await response.text() };
      };
      const asked = keys.map(ask);
      signal([stopped!], 'SIGSTOP');
      const texts = await Promise.all(streams.map(({ ended }) => ended));
      const first = await Promise.all(asked);
      signal([stopped!], 'SIGCONT');
      await until(() => staleIn(stopped!).length > 0, 'the woken worker finds itself replaced');

      const broken = texts.filter((text) => !text.endsWith('data: [DONE]\n\n'));
      expect(broken.length).toBeGreaterThan(0);
      for (const [i, text] of texts.entries()) {
        const receipt = await receiptOf(streams[i]!.receiptId);
        await expectSigned(system, receipt);
        const whole = text.endsWith('data: [DONE]\n\n');
        expect(receipt.credentialSubject.outcome).toBe(whole ? 'complete' : 'truncated');
        if (!whole) expect(coveredBy(receipt, payloadsBefore(text))).toBeGreaterThan(0);
      }
      expect(first.map(({ status }) => status)).toEqual(keys.map(() => 200));
      const again = await Promise.all(keys.map(ask));
      expect(again).toEqual(first);
      const after = await integrated(system);
      expect(after.receipts - before.receipts).toBe(2 * STREAMS);
    },
  );

  it(
    'streams of a killed worker end with an error frame and a signed receipt whose digest is over a prefix of what their clients got',
    { tags: ['survives.inference-worker', 'codes.worker_lost'] },
    async () => {
      const streams = await openMany(400, 40);
      const workers = system.processes('inference');
      for (const worker of workers) worker.kill('SIGKILL');
      await system.start('inference');
      const texts = await Promise.all(streams.map(({ ended }) => ended));
      const covered = await Promise.all(
        texts.map(async (text, i) => {
          const receipt = await receiptOf(streams[i]!.receiptId);
          await expectSigned(system, receipt);
          expect(receipt.credentialSubject.outcome).toBe('truncated');
          const payloads = payloadsBefore(text);
          const count = coveredBy(receipt, payloads);
          // At most the payloads of one interval between two notes are missing, and what was on its way.
          expect(payloads.length - count!).toBeLessThan(20);
          return count;
        }),
      );
      expect(covered.every((count) => count !== undefined && count > 0)).toBe(true);
    },
  );
});
