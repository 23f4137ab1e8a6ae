import { randomUUID } from 'node:crypto';
import { beforeAll, describe, expect, it } from 'vitest';
import { chatBody, payloadsIn, upstreamCalls } from '#test/support/calls.ts';
import { measured } from '#test/support/control.ts';
import { post } from '#test/support/http.ts';
import { openStreams, PACE_MS, STREAMS } from '#test/support/open-streams.ts';
import type { StartedProcess } from '#test/support/processes.ts';
import { digestOf, expectSigned, integrated, type Receipt } from '#test/support/receipts.ts';
import { startSystem, type System } from '#test/support/system.ts';
import { until } from '#test/support/until.ts';

/** Payloads that were handed on and not read yet when a worker was killed. */
const ON_THE_WAY = 5;
let system: System;

beforeAll(async () => {
  system = await startSystem({ replicas: { inference: 2, receipts: 2 } });
});

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

const staleIn = (one: StartedProcess): Record<string, unknown>[] =>
  one.logs().filter(({ event }) => event === 'outcome_stale');

describe('streams in flight', () => {
  it('a worker that wakes after its streams were taken over writes nothing: each has one receipt, truncated, of what its client got [survives.stopped-worker]', async () => {
    const before = await integrated(system);
    const [stopped] = system.processes('inference');
    const streams = await openStreams(system, 150);
    const answer = chatBody({ sandbox_fault: 'stall=1500' });
    const keys = Array.from({ length: STREAMS }, () => randomUUID());
    const ask = async (key: string) => {
      const response = await post(system, '/chat/completions', JSON.stringify(answer), {
        'idempotency-key': key,
      });
      return { status: response.status, text: await response.text() };
    };
    const asked = keys.map(ask);
    process.kill(stopped!.pid, 'SIGSTOP');
    const texts = await Promise.all(streams.map(({ ended }) => ended));
    const first = await Promise.all(asked);
    process.kill(stopped!.pid, 'SIGCONT');
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
  });
});

/** What came of streams and of a call that all inference workers were killed in. */
interface Struck {
  streams: { covered: number; missing: number }[];
  call: { response: Response; calls: number; receipt: Receipt };
  /** Those that came into the ledger for all of these. */
  receipts: number;
}

describe('what is in flight when all inference workers are killed', () => {
  // A second's payloads lie between two notes; those that were on their way come on top.
  const missingMax = 1_000 / PACE_MS + ON_THE_WAY;
  let struck: Struck;

  beforeAll(async () => {
    const strike = async (): Promise<Struck> => {
      const before = await integrated(system);
      const streams = await openStreams(system, 400);
      const id = `lost-call-${randomUUID()}`;
      const body = chatBody({ sandbox_fault: `id=${id}; stall=1500; status=400` });
      const asked = post(system, '/chat/completions', JSON.stringify(body));
      const calls = async (): Promise<number> => (await upstreamCalls(system, id)).length;
      await until(async () => (await calls()) === 1, 'the upstream is called');
      for (const worker of system.processes('inference')) worker.kill('SIGKILL');
      await system.start('inference');
      const texts = await Promise.all(streams.map(({ ended }) => ended));
      const response = await asked;
      const receipts = await Promise.all(streams.map(({ receiptId }) => receiptOf(receiptId)));
      for (const receipt of receipts) {
        await expectSigned(system, receipt);
        expect(receipt.credentialSubject.outcome).toBe('truncated');
      }
      const receipt = await receiptOf(response.headers.get('x-receipt-id')!);
      const after = await integrated(system);
      return {
        streams: texts.map((text, i) => {
          const payloads = payloadsBefore(text);
          const covered = coveredBy(receipts[i]!, payloads) ?? 0;
          return { covered, missing: payloads.length - covered };
        }),
        call: { response, calls: await calls(), receipt },
        receipts: after.receipts - before.receipts,
      };
    };
    // A worker that the machine has kept waiting relays in one turn what came meanwhile.
    struck = await measured(ON_THE_WAY * PACE_MS, strike, ({ streams }) =>
      streams.every(({ missing }) => missing < missingMax),
    );
  });

  it('streams of a killed worker end with an error frame and a signed receipt whose digest is over a prefix of what their clients got [survives.inference-worker, codes.worker_lost]', () => {
    expect(struck.streams).toHaveLength(STREAMS);
    for (const { covered, missing } of struck.streams) {
      expect(covered).toBeGreaterThan(0);
      expect(missing).toBeLessThan(missingMax);
    }
  });

  it('a request whose worker was killed in its call, and that comes to no answer, has one receipt that counts the lost call [receipts.failed, survives.inference-worker]', async () => {
    const { response, calls, receipt } = struck.call;
    expect([response.status, calls]).toEqual([400, 2]);
    await expectSigned(system, receipt);
    expect(receipt.credentialSubject).toMatchObject({
      outcome: 'failed',
      failure: 'worker_lost',
      attempts: 2,
    });
    expect(struck.receipts).toBe(STREAMS + 1);
  });
});
