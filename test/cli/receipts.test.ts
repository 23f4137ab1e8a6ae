import { describe, expect, it } from 'vitest';
import type { InferenceRecord } from '#shared/kernel/inference.ts';
import { createTestDatabase } from '#test/support/database.ts';
import { runDocket } from '#test/support/docket-cli.ts';
import {
  inferenceRecord,
  issueReceipts,
  makeReceiptSigner,
  receiptPools,
} from '#test/support/issuing.ts';

const database = await createTestDatabase();
const { signer } = makeReceiptSigner();
const docket = (args: readonly string[]) => runDocket(args, { DATABASE_URL: database.url });
const issue = async (record: InferenceRecord): Promise<string> => {
  const pools = receiptPools(database);
  const [id] = await issueReceipts(pools, signer, [record]);
  return id!;
};

describe('docket receipts show', () => {
  it('tells support whose a request was, when and what came of it, by the id that the caller saw', async () => {
    const record = inferenceRecord();
    const receiptId = await issue(record);
    const { code, stdout } = await docket(['receipts', 'show', record.requestId, '--json']);
    expect(code).toBe(0);
    expect(JSON.parse(stdout)).toMatchObject({
      request_id: record.requestId,
      receipt_id: receiptId,
      org_id: 'org_a',
      key_id: 'key_a',
      outcome: 'complete',
      refusal_rule: null,
      output_tokens: 13,
      ledger_index: 0,
    });
    const ulid = receiptId.slice('rcpt_'.length);
    const address = `https://docket.example/receipts/${receiptId}`;
    for (const id of [receiptId, `chatcmpl-${ulid}`, `resp_${ulid}`, address])
      expect((await docket(['receipts', 'show', id])).stdout).toContain(record.requestId);
  });

  it('names the screening rule that blocked a request, which no receipt does', async () => {
    const { responseDigest: _, ...rest } = inferenceRecord({
      outcome: 'refused',
      policy: { version: '2026-11-01', rule: 'dual-use/nuclear' },
    });
    const receiptId = await issue(rest);
    const { stdout } = await docket(['receipts', 'show', receiptId, '--json']);
    expect(JSON.parse(stdout)).toMatchObject({
      outcome: 'refused',
      refusal_rule: 'dual-use/nuclear',
    });
    const { rows } = await database.pool.query<{ body: string }>(
      `select convert_from(body, 'UTF8') as body from ledger_body where entry_id = $1`,
      [receiptId],
    );
    expect(rows[0]!.body).not.toContain('dual-use/nuclear');
  });

  it('says in one line that nothing is on record of an id, and fails', async () => {
    for (const id of ['req_01M7W53ZF4Z6X0T8WB5N2K9MVC', 'nonsense']) {
      const { code, stderr } = await docket(['receipts', 'show', id]);
      expect(code).toBe(1);
      expect(stderr).toMatch(/^docket: Nothing is on record of .*\n$/);
    }
  });
});
