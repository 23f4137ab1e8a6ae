import type { ReceiptColumns } from './columns.ts';

/** One signed receipt as it goes into the store: the bytes, and what lists and totals need of them. */
export interface ReceiptRow extends ReceiptColumns {
  kind: 'inference' | 'degraded' | 'refused';
  tier: string;
  /** The exact bytes, as text. */
  text: string;
}

/** The store will never take these rows, however often they are offered. Nothing of the batch was written. */
export class UnstorableReceipt extends Error {
  constructor(cause: unknown) {
    super('the store refuses a receipt', { cause });
    this.name = 'UnstorableReceipt';
  }
}

/** Where receipts become durable, before any caller sees them. */
export interface ReceiptStore {
  /**
   * Commits receipts, the promise to integrate them and what is owed to degraded ones, all or none, in one statement. A
   * receipt that exists already is left as it is.
   * @returns whether all were new; if not, what is stored may differ from what was given
   * @throws UnstorableReceipt when trying again cannot help; any other error when it can
   */
  commit(rows: readonly ReceiptRow[]): Promise<boolean>;
  /** The stored bytes of receipts, as text, by id. */
  read(receiptIds: readonly string[]): Promise<Map<string, string>>;
}
