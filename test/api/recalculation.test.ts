import { describe, expect, it } from 'vitest';
import { createTestDatabase } from '#test/support/database.ts';
import {
  commitReceipts,
  inferenceRecord,
  makeReceiptSigner,
  UNSIZED,
} from '#test/support/issuing.ts';
import { openEdge } from '#test/support/app.ts';

const database = await createTestDatabase();
const { signer } = makeReceiptSigner();
const edge = await openEdge(database.poolAs('docket_api', 2));
const READ = edge.keyFor('org_a');

const issue = async (more = {}): Promise<string> => {
  const [id] = await commitReceipts(database.poolAs('docket_receipts', 1), signer, [
    inferenceRecord(more),
  ]);
  return id!;
};
const flag = async (id: string, key: string | null = READ) => {
  const answer = await edge.ask('POST', `/v1/receipts/${id}/recalculate`, key);
  return { status: answer.status, body: answer.json() as object };
};

describe('POST /receipts/{id}/recalculate', () => {
  it(
    'POST /receipts/{id}/recalculate 202 for a degraded receipt, and 409 while that is pending',
    { tags: ['codes.receipts'] },
    async () => {
      const id = await issue({ model: UNSIZED });
      expect(await flag(id)).toEqual({
        status: 202,
        body: { object: 'recalculation', receipt_id: id, status: 'pending' },
      });
      expect(await flag(id)).toMatchObject({
        status: 409,
        body: { error: { code: 'recalculation_pending', type: 'validation_error', param: 'id' } },
      });
    },
  );

  it(
    'POST /receipts/{id}/recalculate 409 for a receipt that is not degraded',
    { tags: ['codes.receipts'] },
    async () => {
      expect(await flag(await issue())).toMatchObject({
        status: 409,
        body: { error: { code: 'not_degraded' } },
      });
    },
  );

  it('POST /receipts/{id}/recalculate 404 for a receipt of another organisation, and for none', async () => {
    const foreign = await issue({ model: UNSIZED, orgId: 'org_b' });
    for (const id of [foreign, 'rcpt_01JD4Z7Q3RZ6X0T8WB5N2K9MVC', 'x']) {
      expect(await flag(id)).toMatchObject({
        status: 404,
        body: { error: { code: 'receipt_not_found' } },
      });
    }
  });

  it('POST /receipts/{id}/recalculate 401 without a key, 403 without the scope', async () => {
    const id = await issue({ model: UNSIZED });
    expect((await flag(id, null)).status).toBe(401);
    expect(await flag(id, edge.keyFor('org_a', ['inference:write']))).toMatchObject({
      status: 403,
      body: { error: { code: 'insufficient_scope' } },
    });
  });
});
