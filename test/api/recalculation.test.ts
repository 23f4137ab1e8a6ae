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
const PENDING = 'rcpt_01M7W53ZF4Z6X0T8WB5N2K9MVP';
const edge = await openEdge(database.poolAs('docket_api', 2), {
  pendingReceipts: {
    isPending: (orgId, id) => Promise.resolve(orgId === 'org_a' && id === PENDING),
  },
});
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

const flagBecause = async (id: string, reason: string) => {
  const reply = await edge.app.inject({
    method: 'POST',
    url: `/v1/receipts/${id}/recalculate`,
    headers: { authorization: `Bearer ${READ}`, 'content-type': 'application/json' },
    payload: JSON.stringify({ reason }),
  });
  return { status: reply.statusCode, error: reply.json<{ error?: object }>().error };
};

describe('POST /receipts/{id}/recalculate', () => {
  it('POST /receipts/{id}/recalculate 202 for a degraded receipt, and 409 while that is pending [codes.receipts]', async () => {
    const id = await issue({ model: UNSIZED });
    expect(await flag(id)).toEqual({
      status: 202,
      body: { object: 'recalculation', receipt_id: id, status: 'pending' },
    });
    expect(await flag(id)).toMatchObject({
      status: 409,
      body: { error: { code: 'recalculation_pending', type: 'validation_error', param: 'id' } },
    });
  });

  it('POST /receipts/{id}/recalculate 409 for a receipt that is not degraded [codes.receipts]', async () => {
    expect(await flag(await issue())).toMatchObject({
      status: 409,
      body: { error: { code: 'not_degraded' } },
    });
  });

  it('POST /receipts/{id}/recalculate 404 for a receipt of another organisation, and for none', async () => {
    const foreign = await issue({ model: UNSIZED, orgId: 'org_b' });
    for (const id of [foreign, 'rcpt_01M7W53ZF4Z6X0T8WB5N2K9MVC', 'x']) {
      expect(await flag(id)).toMatchObject({
        status: 404,
        body: { error: { code: 'receipt_not_found' } },
      });
    }
  });

  it('POST /receipts/{id}/recalculate 409 for a receipt that is pending, which GET says too [codes.receipts]', async () => {
    const pending = {
      status: 409,
      body: { error: { code: 'receipt_pending', type: 'validation_error', param: 'id' } },
    };
    expect(await flag(PENDING)).toMatchObject(pending);
    const got = await edge.get(`/receipts/${PENDING}`, READ);
    expect({ status: got.status, body: got.json() as object }).toMatchObject(pending);
    expect(got.headers).toMatchObject({ 'x-should-retry': 'false', 'retry-after': '2' });
    // Of another organisation it says nothing.
    const foreign = await edge.get(`/receipts/${PENDING}`, edge.keyFor('org_b'));
    expect(foreign.status).toBe(404);
  });

  it('POST /receipts/{id}/recalculate 401 without a key, 403 without the scope', async () => {
    const id = await issue({ model: UNSIZED });
    expect((await flag(id, null)).status).toBe(401);
    expect(await flag(id, edge.keyFor('org_a', ['inference:write']))).toMatchObject({
      status: 403,
      body: { error: { code: 'insufficient_scope' } },
    });
  });

  it('POST /receipts/{id}/recalculate keeps the reason and who gave it', async () => {
    const id = await issue({ model: UNSIZED });
    expect((await flagBecause(id, 'The size is published now')).status).toBe(202);
    const { rows } = await database.pool.query(
      `select actor_kind, reason from audit_log where action = 'receipt.recalculation_requested' and subject = $1`,
      [id],
    );
    expect(rows).toEqual([{ actor_kind: 'key', reason: 'The size is published now' }]);
  });

  it.each([
    ['too long', 'a'.repeat(501)],
    ['with a NUL, which no store holds', 'a\u0000b'],
    ['with a line break, which forges log lines', 'a\nb'],
    ['with a mark that turns text on the pages that show it', 'a\u202eb'],
    ['with half a surrogate pair, which is stored as another text than was hashed', 'a\ud800b'],
  ])('POST /receipts/{id}/recalculate 400 for a reason %s', async (_, reason) => {
    const answer = await flagBecause(await issue({ model: UNSIZED }), reason);
    expect(answer.status).toBe(400);
    expect(answer.error).toMatchObject({ code: 'invalid_reason', param: 'reason' });
  });
});
