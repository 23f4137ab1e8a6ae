import { Fault } from '#shared/kernel/errors.ts';
import { receiptIdOf } from '#shared/kernel/ids.ts';
import { appendMember } from '#shared/kernel/json-text.ts';
import type { PendingReceipts } from '#shared/lanes/redis/pending-receipts.ts';
import type { InferenceEntry } from '#shared/lanes/messages.ts';
import type { Admitted } from './admit/admitted.ts';
import type { ReceiptIssuer } from '#shared/receipts/issuer.ts';
import { pendingReceipt } from '#shared/receipts/pending.ts';
import type { ApiEvents } from '#api/events.ts';
import { idHeaders } from '#api/plugins/error-envelope.ts';

export interface AnswerDeps {
  issuer: ReceiptIssuer;
  pendingReceipts: Pick<PendingReceipts, 'note'>;
  events: Pick<ApiEvents, 'receiptLate' | 'storeFailed'>;
  /** Epoch milliseconds. */
  now: () => number;
}

/** The headers of an answer: its own, its region where that is known, and what was known when it was admitted. */
export function answerHeaders(
  { now }: Pick<AnswerDeps, 'now'>,
  { entry: { id, route, startedAt }, headers }: Pick<Admitted, 'entry' | 'headers'>,
  region: string | null,
): Record<string, string> {
  return {
    'x-receipt-id': receiptIdOf(id),
    ...idHeaders(id, route === 'messages'),
    'openai-processing-ms': String(now() - startedAt),
    ...headers,
    ...(region === null ? {} : { 'x-region': region }),
  };
}

/** The headers of a failure after admission: no receipt's id, unless there is one or will be. */
export function failureHeaders(
  deps: Pick<AnswerDeps, 'now'>,
  admitted: Pick<Admitted, 'entry' | 'headers'>,
  region: string | null,
  { hasReceipt }: Fault,
): Record<string, string> {
  const headers = answerHeaders(deps, admitted, region);
  delete headers['idempotent-replayed'];
  if (!hasReceipt) delete headers['x-receipt-id'];
  return headers;
}

/** Joins an answer and its receipt, both as they are. */
export function withReceipt(answer: string, receipt: string): string {
  return appendMember(answer, 'receipt', receipt);
}

/**
 * The answer with its receipt. In the place of one that is late (null) stands the announcement that it will come, or, for a
 * request that takes none of those, a Fault.
 */
export function joinReceipt(
  { issuer, pendingReceipts, events }: AnswerDeps,
  entry: Readonly<InferenceEntry>,
  answer: string,
  receipt: string | null,
): string | Fault {
  if (receipt !== null) return withReceipt(answer, receipt);
  events.receiptLate(entry);
  // A caller who asks for it before it is there is told so; without the note it is not found, for as long.
  pendingReceipts.note(entry.orgId, receiptIdOf(entry.id)).catch(events.storeFailed);
  if (entry.receipt === 'required') return RECEIPT_LATE;
  return withReceipt(answer, JSON.stringify(pendingReceipt(issuer, entry.id)));
}

const RECEIPT_LATE = new Fault('receipt_generation_failed', {
  hasReceipt: true,
  message:
    'The receipt for this request did not come in time. It will be issued under the same id.',
});
