import type { ChainFault } from '#shared/accounts/audit/chain.ts';
import { queryRows, statement } from '#shared/kernel/postgres/statement.ts';
import type { Queryable } from '#shared/kernel/postgres/transaction.ts';
import { parseCheckpoint } from '#shared/ledger/checkpoints.ts';
import { sameHash } from '#shared/ledger/hashing.ts';
import { MalformedLedgerText, type SignatureCheck, signerOf } from '#shared/ledger/notes.ts';
import { auditLogOf, logOfTree } from '#shared/ledger/origins.ts';

/** One every ten seconds in which something happened; their notes are short. */
const PAGE = 1_000;

const SIGNED_HEADS = statement(
  { size: 'int8', hash: 'bytea', note: 'text', entry: 'bytea?' },
  `select c.size, c.hash, c.note, l.hash as entry from audit_checkpoint c
   left join audit_log l on l.org_id = $1 and l.sequence = c.size - 1
   where c.log_id = $2 and c.size > $3 order by c.size limit ${PAGE}`,
);

/**
 * Compares every signed head of a chain with the entries, whose hashes were found sound before.
 * @param signatures by the keys for checkpoints; null where this machine has none
 */
export async function faultOfSignedHeads(
  db: Queryable,
  orgId: string,
  signatures: SignatureCheck | null,
): Promise<ChainFault | null> {
  for (let after = 0; ;) {
    const rows = await queryRows(db, SIGNED_HEADS, [orgId, auditLogOf(orgId), after]);
    for (const { size, hash, note, entry } of rows) {
      const sequence = Number(size) - 1;
      const agrees = entry !== null && sameHash(entry, hash);
      if (!agrees || !says(note, { orgId, size: Number(size), hash }, signatures)) {
        return { sequence, problem: 'signed_head_mismatch' };
      }
    }
    if (rows.length < PAGE) return null;
    after = Number(rows.at(-1)!.size);
  }
}

function says(
  text: string,
  expected: { orgId: string; size: number; hash: Uint8Array },
  signatures: SignatureCheck | null,
): boolean {
  try {
    const { note, checkpoint } = parseCheckpoint(text);
    return (
      logOfTree(checkpoint.origin).log.endsWith(`/${auditLogOf(expected.orgId)}`) &&
      checkpoint.size === expected.size &&
      sameHash(checkpoint.root, expected.hash) &&
      (signatures === null || signerOf(note, signatures) !== null)
    );
  } catch (error) {
    if (error instanceof MalformedLedgerText) return false;
    throw error;
  }
}
