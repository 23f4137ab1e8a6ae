import { type InferenceRecord, RECORD_FIELDS } from '#shared/kernel/inference.ts';
import type { InferenceEntry, ReceiptEntry } from './messages.ts';

/** How a request ended: what is known of it beyond its own entry. */
export interface Ending extends Omit<
  InferenceRecord,
  keyof InferenceEntry | 'requestId' | 'attempts'
> {
  /** Calls made to upstreams, failed ones included. */
  calls: number;
}

const FIELDS = Object.keys(RECORD_FIELDS) as (keyof InferenceRecord)[];

/**
 * What the receipts lane is told of a request that ended in its `delivery`-th delivery. `isTraced`: with the span that its
 * receipt belongs to.
 */
export function receiptEntryOf(
  entry: InferenceEntry,
  delivery: number,
  ending: Ending,
  isTraced: boolean = false,
): ReceiptEntry {
  const { traceparent } = entry;
  const told: ReceiptEntry = {
    record: recordOf(entry, ending),
    inbox: entry.inbox,
    attempt: delivery,
    receipt: entry.receipt,
  };
  if (isTraced && traceparent !== undefined) told.traceparent = traceparent;
  return told;
}

function recordOf(entry: InferenceEntry, ending: Ending): InferenceRecord {
  const known: InferenceRecord = {
    ...entry,
    ...ending,
    requestId: entry.id,
    attempts: ending.calls,
  };
  const record: Record<string, unknown> = {};
  for (const field of FIELDS) {
    const value = known[field];
    if (value !== undefined) record[field] = value;
  }
  return record as unknown as InferenceRecord;
}
