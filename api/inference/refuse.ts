import { Fault } from '#shared/kernel/errors.ts';
import { receiptIdOf } from '#shared/kernel/ids.ts';
import type { InferenceRecord } from '#shared/kernel/inference.ts';
import { refusalMessage } from '#shared/screening/refusal.ts';
import type { Verdict } from '#shared/screening/screen.ts';
import type { ReceiptEntry } from '#shared/lanes/messages.ts';
import type { Prepared } from './prepare.ts';

export interface RefuseDeps {
  /** Hands an outcome to the receipts lane of a shard; rejects when Redis cannot be reached. */
  hand: (shard: number, entry: ReceiptEntry) => Promise<void>;
  supportEmail: string;
  now: () => number;
  onError: (error: unknown) => void;
}

/**
 * Refuses a request that screening has blocked: a `refused` receipt with the policy's version and rule and salted digests,
 * never the text, and a message that says whom to write to. The refusal stands even when it cannot be recorded.
 */
export async function refuse(
  deps: RefuseDeps,
  prepared: Prepared,
  verdict: Verdict,
): Promise<Fault> {
  const { entry } = prepared;
  const record: InferenceRecord = {
    requestId: entry.id,
    orgId: entry.orgId,
    keyId: entry.keyId,
    route: entry.route,
    model: entry.model,
    region: entry.region,
    tier: entry.tier,
    startedAt: entry.startedAt,
    endedAt: deps.now(),
    usage: { inputTokens: 0, cachedInputTokens: 0, outputTokens: 0, source: 'counted' },
    attempts: 0,
    salt: entry.salt,
    requestDigest: entry.requestDigest,
    outcome: 'refused',
    policy: { version: verdict.policyVersion, rule: verdict.rule },
  };
  const handed: ReceiptEntry = { record, inbox: entry.inbox, attempt: 1, receipt: 'best_effort' };
  await deps.hand(entry.shard, handed).catch(deps.onError);
  const message = refusalMessage({
    code: verdict.code,
    supportEmail: deps.supportEmail,
    requestId: entry.id,
  });
  return new Fault(verdict.code, message, { headers: { 'x-receipt-id': receiptIdOf(entry.id) } });
}
