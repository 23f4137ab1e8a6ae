import { Fault } from '#shared/kernel/errors.ts';
import { receiptIdOf } from '#shared/kernel/ids.ts';
import { refusalMessage } from '#shared/screening/refusal.ts';
import type { Verdict } from '#shared/screening/screen.ts';
import type { ReceiptEntry } from '#shared/lanes/messages.ts';
import { receiptEntryOf } from '#shared/lanes/receipt-entry.ts';
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
  const handed = receiptEntryOf(entry, 1, {
    outcome: 'refused',
    endedAt: deps.now(),
    usage: { inputTokens: 0, cachedInputTokens: 0, outputTokens: 0, source: 'counted' },
    calls: 0,
    policy: { version: verdict.policyVersion, rule: verdict.rule },
  });
  await deps.hand(entry.shard, handed).catch(deps.onError);
  const message = refusalMessage({
    code: verdict.code,
    supportEmail: deps.supportEmail,
    requestId: entry.id,
  });
  return new Fault(verdict.code, message, { headers: { 'x-receipt-id': receiptIdOf(entry.id) } });
}
