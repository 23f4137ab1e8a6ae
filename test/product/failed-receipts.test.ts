import { beforeAll, describe, expect, it } from 'vitest';
import { chatBody, post as send } from '#test/support/calls.ts';
import { newOrganisation } from '#test/support/organisations.ts';
import { joinProduct } from '#test/support/product.ts';
import { expectSigned, issuedReceipt } from '#test/support/receipts.ts';
import type { Product } from '#test/support/system.ts';
import { until } from '#test/support/until.ts';

const text = 'Tell me about the lighthouse.';
const model = 'llama-3.1-8b';
const EMBEDS = 'qwen3-embedding-8b';
/** Enough for each worker to have some. */
const OTHERS = 32;
const messages = [{ role: 'user', content: text }];

let system: Product;
beforeAll(async () => {
  const product = await joinProduct({ faults: true });
  // One organisation opens no circuit for another whose requests every worker has answered lately.
  const embedded = { model: EMBEDS, input: text };
  await Promise.all(
    Array.from({ length: OTHERS }, (_, i) =>
      i === 0
        ? post(product, '/embeddings', embedded)
        : post(product, '/chat/completions', chatBody()),
    ),
  );
  const org = await newOrganisation(product, {});
  system = { ...product, key: await org.newKey() };
});

/** Where one region fails a request that is not pinned, others are asked. */
const post = (product: Product, path: string, body: object, headers = {}): Promise<Response> =>
  send(product, path, body, { headers: { 'x-region': 'eu-west', ...headers } });

const requestIdOf = ({ headers }: Response): string => headers.get('x-request-id')!;

const read = async (path: string, accept = 'application/json'): Promise<Response> =>
  fetch(`${system.baseUrl}${path}`, {
    headers: { authorization: `Bearer ${system.key}`, accept },
  });

/** What is in the ledger of a request that its error names. */
async function receiptOf(response: Response) {
  const receiptId = response.headers.get('x-receipt-id');
  expect(receiptId).toBe(requestIdOf(response).replace('req_', 'rcpt_'));
  // It is announced before its client hears of it.
  const first = await read(`/receipts/${receiptId!}`);
  expect([200, 409]).toContain(first.status);
  const receipt = await issuedReceipt(system, receiptId!);
  await expectSigned(system, receipt);
  return { id: receiptId!, receipt };
}

describe('a request whose upstream was called and failed', () => {
  it.each([
    ['/chat/completions', { model, messages }],
    ['/chat/completions', { model, messages, stream: true }],
    ['/completions', { model, prompt: text }],
    ['/completions', { model, prompt: text, stream: true }],
    ['/embeddings', { model: EMBEDS, input: text }],
    ['/responses', { model, input: text }],
    ['/responses', { model, input: text, stream: true }],
    ['/messages', { model, messages, max_tokens: 9 }],
    ['/messages', { model, messages, max_tokens: 9, stream: true }],
  ] as const)('has a receipt that its error names: %s %j [receipts.failed]', async (path, body) => {
    const response = await post(system, path, { ...body, sandbox_fault: 'status=500' });
    expect(response.status).toBe(502);
    const { receipt } = await receiptOf(response);
    const { credentialSubject: subject } = receipt;
    expect(subject).toMatchObject({ outcome: 'failed', failure: 'upstream_error' });
    // A call that found its connection closed by an idle server is one more.
    expect([2, 3]).toContain(subject['attempts']);
    for (const absent of ['usageSource', 'inputTokens', 'outputTokens', 'responseDigest'])
      expect(subject).not.toHaveProperty(absent);
    expect(receipt).not.toHaveProperty('measurement');
    expect(receipt.tier).toBe('enterprise');
  });

  it('has none where the upstream refused it, and its error names none [receipts.failed]', async () => {
    for (const fault of ['status=400', 'status=401', 'status=404', 'status=429']) {
      const refused = await post(system, '/chat/completions', chatBody({ sandbox_fault: fault }));
      expect(refused.status, fault).toBeGreaterThanOrEqual(400);
      expect(refused.headers.get('x-receipt-id'), fault).toBeNull();
      const id = requestIdOf(refused).replace('req_', 'rcpt_');
      expect((await read(`/receipts/${id}`)).status, fault).toBe(404);
    }
  });

  it('leaves its Idempotency-Key free: each attempt has a receipt of its own, and the one that goes well is replayed', async () => {
    const key = { 'idempotency-key': 'one that fails' };
    // A request calls twice, and on a machine that others use a third time.
    const body = chatBody({ sandbox_fault: 'status=500; fail-first=6; id=failed-receipts' });
    const ask = async (): Promise<Response> => post(system, '/chat/completions', body, key);
    const failed: string[] = [];
    let well = await ask();
    for (; well.status !== 200 && failed.length < 4; well = await ask()) {
      failed.push((await receiptOf(well)).id);
    }
    expect(well.status).toBe(200);
    expect(new Set(failed).size).toBeGreaterThanOrEqual(2);
    const replay = await ask();
    expect(replay.headers.get('x-receipt-id')).toBe(well.headers.get('x-receipt-id'));
    const { rows } = await system.database.pool.query<{ outcome: string }>(
      'select outcome from ledger_body where entry_id = any ($1) order by entry_id',
      [[...failed, well.headers.get('x-receipt-id')]],
    );
    expect(rows.map(({ outcome }) => outcome)).toEqual([...failed.map(() => 'failed'), 'complete']);
  });

  it('is in lists, usage, its table and the record of requests [receipts.failed]', async () => {
    const org = await newOrganisation(system, {});
    system = { ...system, key: await org.newKey() };
    const body = chatBody({ sandbox_fault: 'status=503' });
    const failed = await post(system, '/chat/completions', body);
    const well = await post(system, '/chat/completions', chatBody());
    const { id, receipt } = await receiptOf(failed);
    expect(well.status).toBe(200);
    const ids = async (filter: string): Promise<string[]> => {
      const { data } = (await (await read(`/receipts?${filter}`)).json()) as {
        data: { id: string }[];
      };
      return data.map((one) => one.id.slice(one.id.lastIndexOf('/') + 1));
    };
    expect(await ids('outcome=failed')).toEqual([id]);
    expect(await ids('kind=failed')).toEqual([id]);
    await until(async () => {
      const { total } = (await (await read('/usage?group_by=model')).json()) as {
        total: { requests: number };
      };
      return total.requests === 2;
    }, 'both are in the ledger');
    const usage = (await (await read('/usage?group_by=model')).json()) as {
      total: object;
      data: object[];
    };
    const again = await post(system, `/receipts/${id}/recalculate`, {});
    expect([again.status, await again.json()]).toMatchObject([
      409,
      { error: { code: 'not_degraded' } },
    ]);
    const counts = { requests: 2, refused: 0, failed: 1, covered: 1, uncovered: 0 };
    expect(usage.total).toMatchObject({ ...counts, coverage: 1, coverage_with_failed: 0.5 });
    expect(usage.data).toMatchObject([{ group: model, ...counts }]);
    const [header, line] = (await (await read('/usage?group_by=model', 'text/csv')).text()).split(
      '\r\n',
    );
    const at = header!.split(',').indexOf('failed');
    expect(line!.split(',')[at]).toBe('1');
    await until(
      async () => (await read(`/requests/${requestIdOf(failed)}`)).status === 200,
      'the request is on record',
    );
    expect(await (await read(`/requests/${requestIdOf(failed)}`)).json()).toMatchObject({
      status: 502,
      code: 'upstream_error',
      receipt_id: id,
      upstream_calls: receipt.credentialSubject.attempts,
      input_tokens: null,
    });
  });
});
