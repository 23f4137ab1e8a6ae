import { describe, expect, it, vi } from 'vitest';
import type { Answered } from '#api/plugins/answered.ts';
import { FLUSH_MS, RequestRecorder } from '#api/requests/recorder.ts';
import { WINDOW_MS } from '#api/requests/folded-requests.ts';
import { rowOfAnswer } from '#api/requests/row-of-answer.ts';
import { newId } from '#shared/kernel/system/new-id.ts';
import type { RequestRow } from '#shared/requests/row.ts';

const answered = (facts: Partial<Answered> = {}): Answered => ({
  requestId: newId('req'),
  orgId: 'org_a',
  keyId: 'key_a',
  method: 'POST',
  route: '/v1/chat/completions',
  status: 200,
  hasReceipt: true,
  isFree: false,
  ms: 12,
  ...facts,
});
const refused: Partial<Answered> = {
  status: 429,
  code: 'daily_budget_exceeded',
  isFree: true,
  hasReceipt: false,
};

/** A recorder, and what it has written and told. */
function recording(rowsMax?: number) {
  const written: RequestRow[][] = [];
  const told = { unwritten: 0, unrecorded: 0 };
  const store: { error?: Error } = {};
  const recorder = new RequestRecorder({
    write: async (rows) => {
      if (store.error !== undefined) throw store.error;
      written.push([...rows]);
    },
    events: {
      requestsUnwritten: () => (told.unwritten += 1),
      requestsUnrecorded: (rows) => (told.unrecorded += rows),
    },
    ...(rowsMax === undefined ? {} : { rowsMax }),
  });
  return { recorder, written, told, store };
}

const AWAY = Object.assign(new Error('connect'), { code: 'ECONNREFUSED' });

describe('a row from an answer [requests.record]', () => {
  it('has what is known of it; what a caller made up is cut, and what no column holds is bounded', () => {
    const row = rowOfAnswer(
      answered({
        model: 'llama',
        requestedModel: `a\u0000b\u202e${'x'.repeat(500)}`,
        code: `invalid_${'x'.repeat(500)}`,
        inputTokens: 1e12,
        calls: 1e6,
        replayOf: 'req_other',
      }),
    );
    expect(row).toMatchObject({
      route: 'POST /v1/chat/completions',
      model: 'llama',
      inputTokens: 2_147_483_647,
      outputTokens: null,
      upstreamCalls: 32_767,
      replayOf: 'req_other',
      streamed: null,
    });
    // A proxy that is trusted may pass on what its caller made up.
    for (const [address, network] of [
      ['2001:db8:1:2:3:4:5:6', '2001:db8:1:2::/64'],
      ['203.0.113.7:4711', '203.0.113.7'],
      ['unknown', null],
      [`a${'1'.repeat(200)}`, null],
    ] as const)
      expect(rowOfAnswer(answered({ address }))).toMatchObject({ network });
    expect(row!.requestedModel).toMatch(/^a b x+$/);
    expect(row!.requestedModel!.length).toBeLessThanOrEqual(128);
    expect(row!.code).toHaveLength(128);
    expect(rowOfAnswer(answered({ model: 'llama', requestedModel: 'llama' }))).toMatchObject({
      requestedModel: null,
    });
  });

  it('there is none of a request without a valid key', () => {
    const { orgId: _orgId, keyId: _keyId, ...nameless } = answered();
    expect(rowOfAnswer(nameless)).toBeUndefined();
  });
});

describe('rows that wait to be written [requests.folded]', () => {
  it('are written together within a second, in statements of bounded size, and a process without requests does nothing', async () => {
    vi.useFakeTimers();
    try {
      const { recorder, written } = recording();
      expect(vi.getTimerCount()).toBe(0);
      for (let i = 0; i < 600; i += 1) recorder.note(answered());
      await vi.advanceTimersByTimeAsync(FLUSH_MS);
      expect(written.map(({ length }) => length)).toEqual([250, 250, 100]);
      expect(vi.getTimerCount()).toBe(0);
      for (let i = 0; i < 600; i += 1) recorder.note(answered(refused));
      await vi.advanceTimersByTimeAsync(WINDOW_MS + FLUSH_MS);
      expect(
        written
          .slice(3)
          .flat()
          .map(({ requests }) => requests),
      ).toEqual([...Array.from({ length: 10 }, () => 1), 590]);
      expect(vi.getTimerCount()).toBe(0);
    } finally {
      vi.useRealTimers();
    }
  });

  it('wait while the store is away, the oldest give way, and how many is counted; that is told once', async () => {
    const { recorder, written, told, store } = recording(100);
    store.error = AWAY;
    const all = Array.from({ length: 150 }, () => answered());
    for (const [i, one] of all.entries()) {
      recorder.note(one);
      if (i % 40 === 0) await recorder.flush();
    }
    expect(told).toEqual({ unwritten: 1, unrecorded: 50 });
    delete store.error;
    await recorder.close();
    expect(written.flat().map(({ id }) => id)).toEqual(
      all.slice(50).map(({ requestId }) => requestId),
    );
  });

  it('a row that the store refuses holds no other up', async () => {
    const { recorder, written, told, store } = recording();
    store.error = new Error('a row is not as it must be');
    recorder.note(answered());
    await recorder.flush();
    expect(told).toEqual({ unwritten: 1, unrecorded: 1 });
    delete store.error;
    recorder.note(answered());
    await recorder.flush();
    expect(written.flat()).toHaveLength(1);
  });

  it('are written when the process stops, counts of a minute that is not over too; what cannot be is counted', async () => {
    const { recorder, written } = recording();
    for (let i = 0; i < 12; i += 1) recorder.note(answered(refused));
    await recorder.close();
    expect(written.flat().map(({ requests }) => requests)).toEqual([
      ...Array<number>(10).fill(1),
      2,
    ]);
    const stopped = recording();
    stopped.store.error = AWAY;
    stopped.recorder.note(answered());
    await stopped.recorder.close();
    expect(stopped.told).toEqual({ unwritten: 1, unrecorded: 1 });
  });
});
