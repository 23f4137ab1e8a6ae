import type { Queryable } from '#shared/kernel/postgres/transaction.ts';
import type { ArchivedReceipt, BodyArchive } from '#shared/ledger/postgres/body-archive.ts';

/** A receipt that is to be revised: its exact bytes, and its place in its log, which a revision names. */
export interface RevisableReceipt {
  receiptId: string;
  orgId: string;
  /** On no receipt; null on one that was committed without. */
  keyId: string | null;
  leafIndex: number;
  bytes: Uint8Array;
}

/** As a row of `ledger_body` and its place in `ledger_entry` say. */
interface RevisableRow extends ArchivedReceipt {
  key_id: string | null;
  /** Null of one that is not in the ledger. */
  index: string | null;
  /** Null where it has moved to the archive. */
  body: Buffer | null;
}

/** What statements return of a receipt that is to be revised, for `revisableAmong`. */
export const REVISABLE = {
  entry_id: 'text',
  org_id: 'text',
  key_id: 'text?',
  leaf_hash: 'bytea',
  body: 'bytea?',
} as const;

/** The same of `ledger_body` as `b`. */
export const REVISABLE_COLUMNS = 'b.entry_id, b.org_id, b.key_id, b.leaf_hash, b.body';

/**
 * Those that are in the ledger, wherever their bodies are: a revision names the leaf that it revises, so the others wait.
 * @throws Fault `store_unavailable` when the archive cannot be asked
 */
export async function revisableAmong(
  db: Queryable,
  archive: BodyArchive,
  rows: readonly RevisableRow[],
): Promise<RevisableReceipt[]> {
  const integrated = rows.filter(({ index }) => index !== null);
  return (await withBodies(db, archive, integrated)).map(revisableOf);
}

/**
 * Rows of receipts of any organisations with their bodies. Where the archive has lost one it is empty, which is no receipt:
 * who reads it says so of this one, and goes on with the others.
 * @throws Fault `store_unavailable` when the archive cannot be asked
 */
export async function withBodies<R extends RevisableRow>(
  db: Queryable,
  archive: BodyArchive,
  rows: readonly R[],
): Promise<(Omit<R, 'body'> & { body: Buffer })[]> {
  const moved = await archive.find(
    db,
    rows.filter(({ body }) => body === null),
  );
  return rows.map((row) => {
    return { ...row, body: row.body ?? moved.get(row.entry_id) ?? Buffer.alloc(0) };
  });
}

/** One with its body. */
export function revisableOf(
  row: Omit<RevisableRow, 'leaf_hash' | 'body'> & { body: Buffer },
): RevisableReceipt {
  return {
    receiptId: row.entry_id,
    orgId: row.org_id,
    keyId: row.key_id,
    leafIndex: Number(row.index),
    bytes: row.body,
  };
}

/** The newest receipt of a chain, by id, of the columns that hold its organisation and its first receipt. */
export function newestOfChain(orgId: string, firstId: string): string {
  return `coalesce((select v.revision_id from receipt_revision v
       where v.org_id = ${orgId} and v.first_id = ${firstId}
         and not exists (select from receipt_revision w where w.original_id = v.revision_id)), ${firstId})`;
}
