import type { Pool } from 'pg';
import type { ReceiptRow, ReceiptStore } from '../port-receipt-store.ts';
import {
  BODY_COLUMNS,
  bodyParameters,
  GIVEN_ROWS,
  GIVEN_VALUES,
  refuseBadData,
} from './receipt-columns.ts';

/**
 * One statement, so one transaction: the bodies, the promises to integrate them, and the promises to estimate degraded
 * ones again. The primary key on `entry_id` is the guard against a receipt being issued twice, however often the lane
 * delivers.
 */
const COMMIT = `
  WITH given AS (${GIVEN_ROWS}
  ), body AS (
    INSERT INTO ledger_body (${BODY_COLUMNS})
    SELECT ${GIVEN_VALUES} FROM given
    ON CONFLICT (entry_id) DO NOTHING
    RETURNING entry_id, org_id, kind, leaf_hash
  ), owed AS (
    INSERT INTO recalculation (receipt_id, org_id)
    SELECT entry_id, org_id FROM body WHERE kind = 'degraded'
  )
  INSERT INTO receipt_pending (entry_id, org_id, kind, leaf_hash)
  SELECT entry_id, org_id, kind, leaf_hash FROM body`;

const READ = `SELECT entry_id, convert_from(body, 'UTF8') AS body FROM ledger_body WHERE entry_id = ANY ($1::text[])`;

/** Receipts in PostgreSQL, written by the role `docket_receipts`. */
export class PostgresReceiptStore implements ReceiptStore {
  readonly #pool: Pool;

  constructor(pool: Pool) {
    this.#pool = pool;
  }

  async commit(rows: readonly ReceiptRow[]): Promise<boolean> {
    const { rowCount: written } = await this.#pool
      .query({ name: 'commit-receipts', text: COMMIT, values: bodyParameters(rows) })
      .catch(refuseBadData);
    return written === rows.length;
  }

  async read(receiptIds: readonly string[]): Promise<Map<string, string>> {
    const { rows } = await this.#pool.query<{ entry_id: string; body: string }>({
      name: 'read-receipts',
      text: READ,
      values: [receiptIds],
    });
    return new Map(rows.map(({ entry_id, body }) => [entry_id, body]));
  }
}
