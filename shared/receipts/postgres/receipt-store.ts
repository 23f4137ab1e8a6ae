import type { Pool } from 'pg';
import { arraysOf, type GivenColumn, givenRows } from '#shared/kernel/postgres/given-rows.ts';
import { execute, queryRows, statement } from '#shared/kernel/postgres/statement.ts';
import { type MeteredRun, type ReceiptRow, UnstorableReceipt } from '../columns.ts';
import { addDerivations, DERIVATION_PARAMETERS, KnownDerivations } from './derivations.ts';
import { givenBodies } from './given-bodies.ts';

/** Tells what trying again cannot help from what it can. @throws UnstorableReceipt, or the error itself */
export function refuseBadData(error: unknown): never {
  throw isAboutData(error) ? new UnstorableReceipt(error) : error;
}

/** SQLSTATE class 22 (data exception) and 23 (constraint violation) concern the rows, not the server. */
function isAboutData(error: unknown): boolean {
  const { code } = error as { code?: unknown };
  return typeof code === 'string' && (code.startsWith('22') || code.startsWith('23'));
}

const BODIES = givenBodies<ReceiptRow>();

/** Of requests of the batch that ran on accelerators with a meter. */
const METERED: readonly GivenColumn<MeteredRun & { receiptId: string }>[] = [
  { name: 'entry_id', type: 'text', of: ({ receiptId }) => receiptId },
  { name: 'endpoint', type: 'text', of: ({ endpoint }) => endpoint },
  { name: 'began', type: 'float8', of: ({ beganAt }) => beganAt },
  { name: 'ended', type: 'float8', of: ({ endedAt }) => endedAt },
  { name: 'weight', type: 'bigint', of: ({ weight }) => weight },
];

/**
 * One statement, so one transaction: the bodies, the derivation records that no receipt named before, the promises to
 * integrate them, and the promises to estimate degraded ones again, unless what they used is not known. The primary key
 * on `entry_id` is the guard against a receipt being issued twice, however often the lane delivers.
 */
const commit = (name: string, more: string) =>
  statement(
    {},
    `WITH given AS (${BODIES.rows}
   ), body AS (
     INSERT INTO ledger_body (${BODIES.columns})
     SELECT ${BODIES.values} FROM given
     ON CONFLICT (entry_id) DO NOTHING
     RETURNING entry_id, org_id, kind, leaf_hash
   ), owed AS (
     INSERT INTO recalculation (receipt_id, org_id)
     SELECT b.entry_id, b.org_id FROM body b JOIN given g USING (entry_id)
     WHERE b.kind = 'degraded' AND g.input_tokens IS NOT NULL
   ), derived AS (${addDerivations(BODIES.next)}
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
     FROM body b JOIN ${givenRows(METERED, 'm', BODIES.next + DERIVATION_PARAMETERS)} USING (entry_id)
   )`,
);

/** The first one stays: what is in another is not counted. */
const COUNT_IN = statement(
  {},
  'INSERT INTO currency (code) SELECT unnest($1::text[]) LIMIT 1 ON CONFLICT DO NOTHING',
);

/**
 * Those that are asked for here are minutes old, or hours while a store was away: none has moved to the archive. It has no name:
 * a plan that is kept might be one for an empty table, which reads a full one from end to end.
 */
const READ = statement(
  { entry_id: 'text', body: 'text' },
  `SELECT entry_id, convert_from(body, 'UTF8') AS body FROM ledger_body
   WHERE entry_id = ANY ($1::text[]) AND body IS NOT NULL`,
);

export type ReceiptStore = ReturnType<typeof createReceiptStore>;

/** Where receipts become durable, before any caller sees them: PostgreSQL, written by the role `docket_receipts`. */
export function createReceiptStore(pool: Pool) {
  const known = new KnownDerivations();
  const currencies = new Set<string>();
  /** Before the first cost in a currency that this process has seen. */
  const countIn = async (rows: readonly ReceiptRow[]): Promise<void> => {
    const found = rows.flatMap(({ cost }) => (cost === null ? [] : [cost.slice(0, 3)]));
    const unseen = [...new Set(found)].filter((each) => !currencies.has(each));
    if (unseen.length === 0) return;
    await execute(pool, COUNT_IN, [unseen]);
    for (const each of unseen) currencies.add(each);
  };
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
        await countIn(rows);
        const values = [...BODIES.parameters(rows), ...derivations];
        const metered = rows.flatMap(({ receiptId, metered: run }) =>
          run === undefined ? [] : [{ receiptId, ...run }],
        );
        const written =
          metered.length === 0
            ? await execute(pool, COMMIT, values)
            : await execute(pool, COMMIT_METERED, [...values, ...arraysOf(METERED, metered)]);
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
