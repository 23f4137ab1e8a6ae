import type { InferenceRecord, Outcome } from '#shared/kernel/inference.ts';
import type { InferenceEntry, ReceiptEntry } from './messages.ts';

/** How a request ended: what is known of it beyond its own entry. */
export interface Ending extends Pick<InferenceRecord, 'outcome' | 'endedAt' | 'usage'>, Known {
  outcome: Outcome;
  /** Calls made to upstreams, failed ones included. */
  calls: number;
}

/** What of a record is there only where it is known. */
type Known = Pick<InferenceRecord, (typeof KNOWN)[number]>;

const KNOWN = [
  'meteredEndpoint',
  'policy',
  'queuedMs',
  'relayedPayloads',
  'relayedTokens',
  'responseDigest',
  'upstreamAnswerId',
  'upstreamModel',
  'upstreamMs',
] as const satisfies readonly (keyof InferenceRecord)[];

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
  for (const field of KNOWN)
    if (ending[field] !== undefined) Object.assign(record, { [field]: ending[field] });
  return record;
}
