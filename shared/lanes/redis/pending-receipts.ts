import { pendingReceiptKey, shardOf } from '../keys.ts';
import type { RedisClient } from './connect.ts';

/** As long as what is owed to an answer may reasonably wait on the receipts lane; then an id is unknown again. */
const REMEMBERED_S = 86_400;

/** Receipts that callers were told are on their way, for when they ask for them before they are there. */
export interface PendingReceipts {
  note(orgId: string, receiptId: string): Promise<void>;
  /** Whether the receipt was announced. It may be there by now: that is asked first. */
  isPending(orgId: string, receiptId: string): Promise<boolean>;
}

export function createPendingReceipts(
  client: Pick<RedisClient, 'set' | 'exists'>,
  shards: number,
): PendingReceipts {
  const keyOf = (orgId: string, receiptId: string): string =>
    pendingReceiptKey(shardOf(orgId, shards), orgId, receiptId);
  return {
    note: async (orgId, receiptId) => {
      await client.set(keyOf(orgId, receiptId), '1', 'EX', REMEMBERED_S);
    },
    isPending: async (orgId, receiptId) => (await client.exists(keyOf(orgId, receiptId))) === 1,
  };
}
