import type { Pool } from 'pg';
import { queryRows, statement } from '#shared/kernel/postgres/statement.ts';
import { answerKey } from '../answer-key.ts';
import type { ReceiptDocument } from '../document.ts';

/** An upstream that repeats its ids is not helped by more, and hashes of eight bytes do not meet. */
const CANDIDATES_MAX = 8;

const FIND = statement(
  { entry_id: 'text', body: 'text' },
  `SELECT entry_id, convert_from(body, 'UTF8') AS body FROM ledger_body
   WHERE answer_key = $1 AND org_id = $2 ORDER BY entry_id DESC LIMIT ${CANDIDATES_MAX}`,
);

/**
 * The id of the receipt of an answer of this organisation, by the `id` in the answer (`chatcmpl-…`); null when there is
 * none. Where an upstream has given one id twice, the newest.
 */
export async function receiptOfAnswer(
  pool: Pool,
  orgId: string,
  answerId: string,
): Promise<string | null> {
  const rows = await queryRows(pool, FIND, [answerKey(orgId, answerId), orgId]);
  const found = rows.find(({ body }) => {
    const { credentialSubject } = JSON.parse(body) as ReceiptDocument;
    return 'answerId' in credentialSubject && credentialSubject.answerId === answerId;
  });
  return found?.entry_id ?? null;
}
