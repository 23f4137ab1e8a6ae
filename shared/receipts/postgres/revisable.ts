/** A receipt that is to be revised: its exact bytes, and its place in its log, which a revision names. */
export interface RevisableReceipt {
  receiptId: string;
  orgId: string;
  /** On no receipt; null on one that was committed without. */
  keyId: string | null;
  leafIndex: number;
  bytes: Uint8Array;
}

interface RevisableRow {
  entry_id: string;
  org_id: string;
  key_id: string | null;
  index: string;
  body: Buffer;
}

/** As its row in `ledger_body` and its place in `ledger_entry` say. */
export function revisableOf(row: RevisableRow): RevisableReceipt {
  return {
    receiptId: row.entry_id,
    orgId: row.org_id,
    keyId: row.key_id,
    leafIndex: Number(row.index),
    bytes: row.body,
  };
}

/** Those that are in the ledger: a revision names the leaf that it revises, so the others wait. */
export function revisableAmong(
  rows: readonly (Omit<RevisableRow, 'index'> & { index: string | null })[],
): RevisableReceipt[] {
  return rows.flatMap(({ index, ...row }) =>
    index === null ? [] : [revisableOf({ ...row, index })],
  );
}

/** The newest receipt of a chain, by id, of the columns that hold its organisation and its first receipt. */
export function newestOfChain(orgId: string, firstId: string): string {
  return `coalesce((select v.revision_id from receipt_revision v
       where v.org_id = ${orgId} and v.first_id = ${firstId}
         and not exists (select from receipt_revision w where w.original_id = v.revision_id)), ${firstId})`;
}
