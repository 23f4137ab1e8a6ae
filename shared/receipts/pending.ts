import { receiptIdOf } from '#shared/kernel/ids.ts';
import type { ReceiptIssuer } from './issuer.ts';

/**
 * What an answer carries while its receipt is late: the id that the receipt will have, and where it can be fetched. Not a
 * receipt: it is not signed, proves nothing, is stored nowhere, and says nothing of the request.
 */
export interface PendingReceipt {
  id: string;
  type: readonly ['PendingReceipt'];
  tier: 'pending';
  explanation: string;
  retrieve: string;
}

const TYPE = ['PendingReceipt'] as const;
const EXPLANATION =
  'The answer came before its receipt. The signed receipt is issued under this id and can be fetched shortly.';

/** The announcement of a request's receipt. */
export function pendingReceipt(issuer: ReceiptIssuer, requestId: string): PendingReceipt {
  const id = receiptIdOf(requestId);
  return {
    id: issuer.receipts + id,
    type: TYPE,
    tier: 'pending',
    explanation: EXPLANATION,
    retrieve: `${issuer.publicUrl}/v1/receipts/${id}`,
  };
}

/** No announcement is larger; what is goes to the reader of receipts, which has bounds of its own. */
const PENDING_CHARS_MAX = 4_096;

/** Whether this text is the announcement of a receipt. */
export function isPendingReceipt(text: string): boolean {
  if (text.length > PENDING_CHARS_MAX || !text.includes('"PendingReceipt"')) return false;
  try {
    const { type } = JSON.parse(text) as Partial<PendingReceipt>;
    return Array.isArray(type) && type.length === 1 && type[0] === 'PendingReceipt';
  } catch {
    return false;
  }
}
