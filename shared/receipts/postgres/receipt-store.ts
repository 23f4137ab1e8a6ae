import { hash } from 'node:crypto';
import type { Pool } from 'pg';
import { execute, queryRows, statement } from '#shared/kernel/postgres/statement.ts';
import { HASH_BYTES } from '#shared/ledger/hashing.ts';
import { addDerivations, KnownDerivations } from './derivations.ts';
import { type ReceiptRow, type RevisionRow, UnstorableReceipt } from '../columns.ts';

/** The rows given as parameters 1 to 22, 25 and 26, one array per column. */
export const GIVEN_ROWS = `
  SELECT * FROM unnest(
    $1::text[], $2::text[], $3::text[], $4::text[], $5::text[], $6::text[], $7::text[], $8::text[], $9::text[],
    $10::float8[], $11::bigint[], $12::bigint[], $13::bigint[],
    $14::float8[], $15::float8[], $16::float8[], $17::float8[], $18::float8[],
    $19::int[], $20::int[], $21::int[], $22::text[], $25::text[], $26::text[]
  ) AS t (entry_id, org_id, kind, key_id, model, region, tier, route, outcome,
    issued_ms, input_tokens, cached_input_tokens, output_tokens,
    energy_kwh, gwp_kgco2e, water_l, adpe_kgsbe, adpf_mj,
    position, body_from, body_size, refusal_rule, bounds, data_quality)`;

/** The columns of `ledger_body` that `GIVEN_VALUES` fills. */
export const BODY_COLUMNS = `entry_id, org_id, kind, key_id, model, region, tier, route, outcome,
  issued_at, input_tokens, cached_input_tokens, output_tokens,
  energy_kwh, gwp_kgco2e, water_l, adpe_kgsbe, adpf_mj, refusal_rule, bounds, data_quality, leaf_hash, body`;

/**
 * The values of a given row. All bodies travel as one binary parameter and are cut apart in the database: as an array
 * each would be written as hexadecimal text, at twice the size.
 */
export const GIVEN_VALUES = `entry_id, org_id, kind, key_id, model, region, tier, route, outcome,
  to_timestamp(issued_ms / 1000), input_tokens, cached_input_tokens, output_tokens,
  energy_kwh, gwp_kgco2e, water_l, adpe_kgsbe, adpf_mj, refusal_rule, bounds::float8[], data_quality,
  substring($23::bytea FROM position * 32 + 1 FOR 32), substring($24::bytea FROM body_from FOR body_size)`;

/** Parameters 1 to 26. */
export function bodyParameters(rows: readonly (ReceiptRow | RevisionRow)[]): unknown[] {
  const column = (key: keyof ReceiptRow & keyof RevisionRow): unknown[] =>
    rows.map((row) => row[key]);
  const { bodies, starts, sizes, leafHashes } = layOut(rows);
  return [
    column('receiptId'),
    column('orgId'),
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
    sizes,
    column('refusalRule'),
    leafHashes,
    bodies,
    column('bounds'),
    column('dataQuality'),
  ];
}

/**
 * All bodies in one buffer, and their leaf hashes (RFC 6962) in another: a buffer for each receipt would be most of
 * what the worker leaves to the garbage collector. Before each body lies the zero byte with which its leaf is hashed.
 */
function layOut(rows: readonly (ReceiptRow | RevisionRow)[]): {
  bodies: Buffer;
  /** Where each body begins, counted from 1 as SQL does. */
  starts: number[];
  sizes: number[];
  leafHashes: Buffer;
} {
  const sizes = rows.map(({ text }) => Buffer.byteLength(text));
  const bodies = Buffer.alloc(sizes.reduce((sum, size) => sum + 1 + size, 0));
  const leafHashes = Buffer.alloc(rows.length * HASH_BYTES);
  let at = 0;
  const starts = rows.map(({ text }, row) => {
    const end = at + 1 + bodies.write(text, at + 1);
    const leafHash = hash('sha256', bodies.subarray(at, end), 'latin1');
    leafHashes.write(leafHash, row * HASH_BYTES, 'latin1');
    const start = at + 2;
    at = end;
    return start;
  });
  return { bodies, starts, sizes, leafHashes };
}

/** Tells what trying again cannot help from what it can. @throws UnstorableReceipt, or the error itself */
export function refuseBadData(error: unknown): never {
  throw isAboutData(error) ? new UnstorableReceipt(error) : error;
}

/** SQLSTATE class 22 (data exception) and 23 (constraint violation) concern the rows, not the server. */
function isAboutData(error: unknown): boolean {
  const { code } = error as { code?: unknown };
  return typeof code === 'string' && (code.startsWith('22') || code.startsWith('23'));
}

/**
 * One statement, so one transaction: the bodies, the derivation records that no receipt named before, the promises to
 * integrate them, and the promises to estimate degraded ones again, unless what they used is not known. The primary key on `entry_id` is the guard against a receipt being issued twice, however often the lane
 * delivers.
 */
const commit = (name: string, more: string) =>
  statement(
    {},
    `WITH given AS (${GIVEN_ROWS}
   ), body AS (
     INSERT INTO ledger_body (${BODY_COLUMNS})
     SELECT ${GIVEN_VALUES} FROM given
     ON CONFLICT (entry_id) DO NOTHING
     RETURNING entry_id, org_id, kind, leaf_hash
   ), owed AS (
     INSERT INTO recalculation (receipt_id, org_id)
     SELECT b.entry_id, b.org_id FROM body b JOIN given g USING (entry_id)
     WHERE b.kind = 'degraded' AND g.input_tokens IS NOT NULL
   ), derived AS (${addDerivations(27)}
   )${more}
   INSERT INTO receipt_pending (entry_id, org_id, kind, leaf_hash)
   SELECT entry_id, org_id, kind, leaf_hash FROM body`,
    { name },
  );

const COMMIT = commit('commit-receipts', '');

/** The same where some ran on accelerators with a meter: that they are owed a measurement is written with them. */
const COMMIT_METERED = commit(
  'commit-metered-receipts',
  `, metered AS (
     INSERT INTO metered_request (receipt_id, org_id, endpoint, began_at, ended_at, weight)
     SELECT b.entry_id, b.org_id, m.endpoint, to_timestamp(m.began / 1000), to_timestamp(m.ended / 1000), m.weight
     FROM body b JOIN unnest($29::text[], $30::text[], $31::float8[], $32::float8[], $33::bigint[])
       AS m (entry_id, endpoint, began, ended, weight) USING (entry_id)
   )`,
);

/** Parameters 29 to 33. */
function meteredParameters(rows: readonly ReceiptRow[]): unknown[] {
  const metered = rows.flatMap(({ receiptId, metered: run }) =>
    run ? [{ receiptId, ...run }] : [],
  );
  return [
    metered.map(({ receiptId }) => receiptId),
    metered.map(({ endpoint }) => endpoint),
    metered.map(({ beganAt }) => beganAt),
    metered.map(({ endedAt }) => endedAt),
    metered.map(({ weight }) => weight),
  ];
}

const READ = statement(
  { entry_id: 'text', body: 'text' },
  `SELECT entry_id, convert_from(body, 'UTF8') AS body FROM ledger_body WHERE entry_id = ANY ($1::text[])`,
  { name: 'read-receipts' },
);

export type ReceiptStore = ReturnType<typeof createReceiptStore>;

/** Where receipts become durable, before any caller sees them: PostgreSQL, written by the role `docket_receipts`. */
export function createReceiptStore(pool: Pool) {
  const known = new KnownDerivations();
  return {
    /**
     * Commits receipts, what they name, the promise to integrate them and what is owed to degraded ones, all or none. A
     * receipt that exists already is left as it is.
     * @returns whether all were new; if not, what is stored may differ from what was given
     * @throws UnstorableReceipt when trying again cannot help; any other error when it can
     */
    async commit(rows: readonly ReceiptRow[]): Promise<boolean> {
      const derivations = known.parameters(rows);
      try {
        const values = [...bodyParameters(rows), ...derivations];
        const written = rows.some(({ metered }) => metered !== undefined)
          ? await execute(pool, COMMIT_METERED, [...values, ...meteredParameters(rows)])
          : await execute(pool, COMMIT, values);
        known.committed(derivations[0]);
        return written === rows.length;
      } catch (error) {
        known.forget();
        return refuseBadData(error);
      }
    },
    /** The stored bytes of receipts, as text, by id. */
    async read(receiptIds: readonly string[]): Promise<Map<string, string>> {
      const rows = await queryRows(pool, READ, [receiptIds]);
      return new Map(rows.map(({ entry_id, body }) => [entry_id, body]));
    },
  };
}
