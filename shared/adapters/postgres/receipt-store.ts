import type { Pool } from 'pg';
import {
  type ReceiptRow,
  type ReceiptStore,
  UnstorableReceipt,
} from '../../ports/receipt-store.ts';

/**
 * One statement, so one transaction: the bodies and the promises to integrate them. The primary key on `entry_id` is the
 * guard against a receipt being issued twice, however often the lane delivers. All bodies travel as one binary parameter
 * and are cut apart in the database: as an array each would be written as hexadecimal text, at twice the size.
 */
const COMMIT = `
  WITH given AS (
    SELECT * FROM unnest(
      $1::text[], $2::text[], $3::text[], $4::text[], $5::text[], $6::text[], $7::text[], $8::text[], $9::text[],
      $10::float8[], $11::bigint[], $12::bigint[], $13::bigint[],
      $14::float8[], $15::float8[], $16::float8[], $17::float8[], $18::float8[],
      $19::int[], $20::int[], $21::int[]
    ) AS t (entry_id, org_id, kind, key_id, model, region, tier, route, outcome,
      issued_ms, input_tokens, cached_input_tokens, output_tokens,
      energy_kwh, gwp_kgco2e, water_l, adpe_kgsbe, adpf_mj,
      position, body_from, body_size)
  ), body AS (
    INSERT INTO ledger_body (entry_id, org_id, kind, key_id, model, region, tier, route, outcome,
      issued_at, input_tokens, cached_input_tokens, output_tokens,
      energy_kwh, gwp_kgco2e, water_l, adpe_kgsbe, adpf_mj, leaf_hash, body)
    SELECT entry_id, org_id, kind, key_id, model, region, tier, route, outcome,
      to_timestamp(issued_ms / 1000), input_tokens, cached_input_tokens, output_tokens,
      energy_kwh, gwp_kgco2e, water_l, adpe_kgsbe, adpf_mj,
      substring($22::bytea FROM position * 32 + 1 FOR 32), substring($23::bytea FROM body_from FOR body_size)
    FROM given
    ON CONFLICT (entry_id) DO NOTHING
    RETURNING entry_id, org_id, kind, leaf_hash
  )
  INSERT INTO receipt_pending (entry_id, org_id, kind, leaf_hash)
  SELECT entry_id, org_id, kind, leaf_hash FROM body
  RETURNING entry_id`;

const READ = `SELECT entry_id, convert_from(body, 'UTF8') AS body FROM ledger_body WHERE entry_id = ANY ($1::text[])`;

/** Receipts in PostgreSQL, written by the role `docket_receipts`. */
export class PostgresReceiptStore implements ReceiptStore {
  readonly #pool: Pool;

  constructor(pool: Pool) {
    this.#pool = pool;
  }

  async commit(rows: readonly ReceiptRow[]): Promise<string[]> {
    const { rows: written } = await this.#pool
      .query<{ entry_id: string }>({
        name: 'commit-receipts',
        text: COMMIT,
        values: columnsOf(rows),
      })
      .catch((error: unknown) => {
        throw isAboutData(error) ? new UnstorableReceipt(error) : error;
      });
    if (written.length === rows.length) return [];
    const fresh = new Set(written.map(({ entry_id }) => entry_id));
    return rows.filter(({ receiptId }) => !fresh.has(receiptId)).map(({ receiptId }) => receiptId);
  }

  async read(receiptIds: readonly string[]): Promise<Map<string, string>> {
    if (receiptIds.length === 0) return new Map();
    const { rows } = await this.#pool.query<{ entry_id: string; body: string }>({
      name: 'read-receipts',
      text: READ,
      values: [receiptIds],
    });
    return new Map(rows.map(({ entry_id, body }) => [entry_id, body]));
  }
}

/** SQLSTATE class 22 (data exception) and 23 (constraint violation) concern the rows, not the server. */
function isAboutData(error: unknown): boolean {
  const { code } = error as { code?: unknown };
  return typeof code === 'string' && (code.startsWith('22') || code.startsWith('23'));
}

function columnsOf(rows: readonly ReceiptRow[]): unknown[] {
  const column = <K extends keyof ReceiptRow>(key: K): ReceiptRow[K][] =>
    rows.map((row) => row[key]);
  let from = 1;
  const starts = rows.map(({ bytes }) => {
    const start = from;
    from += bytes.length;
    return start;
  });
  return [
    column('receiptId'),
    column('organisationId'),
    column('kind'),
    column('keyId'),
    column('model'),
    column('region'),
    column('tier'),
    column('route'),
    column('outcome'),
    column('issuedAt'),
    column('inputTokens'),
    column('cachedInputTokens'),
    column('outputTokens'),
    column('energy'),
    column('gwp'),
    column('water'),
    column('adpe'),
    column('adpf'),
    rows.map((_, index) => index),
    starts,
    rows.map(({ bytes }) => bytes.length),
    Buffer.concat(column('leafHash')),
    Buffer.concat(column('bytes')),
  ];
}
