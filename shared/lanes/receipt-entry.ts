import type { InferenceRecord, Outcome, Usage } from '#shared/kernel/inference.ts';
import type { InferenceEntry, ReceiptEntry } from './messages.ts';

/** How a request ended: what is known of it beyond its own entry. */
export interface Ending {
  outcome: Outcome;
  /** Epoch milliseconds. */
  endedAt: number;
  usage: Usage;
  /** Calls made to upstreams, failed ones included. */
  calls: number;
  /** Absent when nothing was answered, or when the bytes that were sent are not known any more. */
  responseDigest?: string;
  /** Of a stream that did not come to its end: payloads that were handed on. */
  relayedPayloads?: number;
  /** The upstream's name for the model, once one has answered. */
  upstreamModel?: string;
  /** For refused requests: which policy refused, and its rule. */
  policy?: { version: string; rule: string };
}

/** What the receipts lane is told of a request that ended in its `delivery`-th delivery. */
export function receiptEntryOf(
  entry: InferenceEntry,
  delivery: number,
  ending: Ending,
): ReceiptEntry {
  return {
    record: recordOf(entry, ending),
    inbox: entry.inbox,
    attempt: delivery,
    receipt: entry.receipt,
  };
}

function recordOf(entry: InferenceEntry, ending: Ending): InferenceRecord {
  const record: InferenceRecord = {
    requestId: entry.id,
    orgId: entry.orgId,
    keyId: entry.keyId,
    route: entry.route,
    model: entry.model,
    region: entry.region,
    tier: entry.tier,
    startedAt: entry.startedAt,
    endedAt: ending.endedAt,
    usage: ending.usage,
    attempts: ending.calls,
    salt: entry.salt,
    requestDigest: entry.requestDigest,
    outcome: ending.outcome,
  };
  if (ending.responseDigest !== undefined) record.responseDigest = ending.responseDigest;
  if (ending.relayedPayloads !== undefined) record.relayedPayloads = ending.relayedPayloads;
  if (ending.upstreamModel !== undefined) record.upstreamModel = ending.upstreamModel;
  if (ending.policy !== undefined) record.policy = ending.policy;
  return record;
}
