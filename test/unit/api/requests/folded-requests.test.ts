import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { timeOfId } from '#shared/kernel/ids.ts';
import type { RequestRow } from '#shared/requests/row.ts';
import { ALONE_MAX, FoldedRequests, WINDOW_MS } from '#api/requests/folded-requests.ts';
import { runs } from '#test/support/depth.ts';
import { forAll } from '#test/support/for-all.ts';
import { refusedRow, requestRow } from '#test/support/requests.ts';

const START = Date.UTC(2026, 10, 20);

describe('requests alike that follow each other [requests.folded]', () => {
  it('beyond ten a minute of one key and code one row stands for the rest, from the first to the last of them', () => {
    const folded = new FoldedRequests();
    const rows = Array.from({ length: 100 }, (_, i) =>
      refusedRow({ orgId: 'org_a', at: START + i * 100, route: i < 50 ? 'POST /a' : 'POST /b' }),
    );
    const alone = rows.flatMap((row) => folded.take(row, timeOfId(row.id)));
    expect(alone).toEqual(rows.slice(0, ALONE_MAX));
    expect(folded.due(START + WINDOW_MS - 1)).toEqual([]);
    const rest = { ...rows[ALONE_MAX]!, route: null, requests: 90, lastMs: 89 * 100 };
    expect(folded.due(START + WINDOW_MS)).toEqual([rest]);
    expect(folded.areWaiting).toBe(false);
    // The next minute begins anew.
    const next = refusedRow({ orgId: 'org_a', at: START + WINDOW_MS });
    expect(folded.take(next, START + WINDOW_MS)).toEqual([next]);
  });

  it('what is read without end is a row a minute, apart by route and status, and so is what is answered again', () => {
    const folded = new FoldedRequests();
    const read = { model: null, streamed: null, hasReceipt: false, inputTokens: null } as const;
    const take = (row: Partial<RequestRow>): RequestRow[] =>
      folded.take(requestRow({ orgId: 'org_a', at: START, ...row }), START);
    for (let i = 0; i < 1_000; i += 1) take({ route: 'GET /v1/requests', ...read });
    expect(take({ route: 'GET /v1/requests', status: 499, ...read })).toHaveLength(1);
    expect(take({ route: 'GET /v1/models', ...read })).toHaveLength(1);
    for (let i = 0; i < 1_000; i += 1) take({ replayOf: `req_${i % 2}`, inputTokens: i % 2 });
    expect(folded.due()).toEqual([
      expect.objectContaining({ route: 'GET /v1/requests', requests: 990, hasReceipt: false }),
      // It is true of each that it was answered again, and of none what its receipt was.
      expect.objectContaining({
        requests: 990,
        replayOf: 'req_0',
        hasReceipt: false,
        inputTokens: null,
      }),
    ]);
  });

  it('a row says nothing that is not true of each: refusals have receipts of their own, and are not what was answered again', () => {
    const folded = new FoldedRequests();
    const take = (row: Partial<RequestRow>): RequestRow[] =>
      folded.take(refusedRow({ orgId: 'org_a', at: START, code: 'policy_error', ...row }), START);
    for (let i = 0; i < 20; i += 1) {
      take({ status: 400, hasReceipt: true });
      take({ status: 400, hasReceipt: true, replayOf: 'req_1' });
      take({ status: 200, hasReceipt: true, replayOf: 'req_1' });
    }
    expect(
      folded.due().map(({ status, replayOf, hasReceipt }) => [status, replayOf, hasReceipt]),
    ).toEqual([
      [400, null, false],
      [400, 'req_1', true],
      [200, 'req_1', true],
    ]);
  });

  it('codes that callers make up are counted together, and other keys and codes apart', () => {
    const folded = new FoldedRequests();
    const take = (keyId: string, code: string): RequestRow[] =>
      folded.take(refusedRow({ orgId: 'org_a', at: START, keyId, code }), START);
    for (let i = 0; i < 30; i += 1) take('key_a', `invalid_made_up_${i}`);
    expect(take('key_b', 'invalid_made_up_0')).toHaveLength(1);
    expect(take('key_a', 'invalid_model')).toHaveLength(1);
    expect(folded.due()).toEqual([
      expect.objectContaining({ code: 'invalid_other', requests: 20 }),
    ]);
  });

  it('however many come of several keys, each is counted once, and memory has a bound', () => {
    const refusals = fc.array(
      fc.record({
        key: fc.constantFrom('a', 'b', 'c'),
        code: fc.constantFrom('invalid_model', 'daily_budget_exceeded', null),
        waitMs: fc.nat(20_000),
      }),
      { maxLength: 200 },
    );
    forAll([refusals], { numRuns: runs(500) }, (all) => {
      const folded = new FoldedRequests();
      let now = START;
      const written = all.flatMap(({ key, code, waitMs }) => {
        now += waitMs;
        return folded.take(refusedRow({ orgId: 'org_a', at: now, keyId: key, code }), now);
      });
      written.push(...folded.due());
      const sum = written.reduce((total, { requests }) => total + requests, 0);
      return sum === all.length && !folded.areWaiting && folded.due().length === 0;
    });
    const folded = new FoldedRequests();
    for (let i = 0; i < 10_000; i += 1)
      folded.take(refusedRow({ orgId: 'org_a', keyId: `key_${i}` }), START);
    const beyond = Array.from({ length: 20 }, () => refusedRow({ orgId: 'org_a', keyId: 'more' }));
    expect(beyond.flatMap((row) => folded.take(row, START))).toEqual(beyond);
    expect(beyond.flatMap((row) => folded.take(row, START + WINDOW_MS))).toHaveLength(ALONE_MAX);
  });
});
