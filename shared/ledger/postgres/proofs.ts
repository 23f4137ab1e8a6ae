import type { Pool } from 'pg';
import { formatProof } from '../proof-text.ts';
import { inclusionRanges, verifyInclusion } from '../proofs.ts';
import { rangeHash } from '../tiles.ts';
import { loadTiles } from './hashes.ts';
import { wantedTiles } from './tiles.ts';
import type { CheckpointRow, EntryRow } from './schema.ts';

/** An entry with the newest checkpoint of its log. */
type ProvableRow = Pick<EntryRow, 'index' | 'leaf_hash'> &
  Pick<CheckpointRow, 'size' | 'root' | 'note'>;

/** The proof that a receipt is in its organisation's log, as C2SP tlog-proof. Null until a checkpoint covers it. */
export async function proveInclusion(
  pool: Pool,
  orgId: string,
  receiptId: string,
): Promise<string | null> {
  const { rows } = await pool.query<ProvableRow>(
    `select e.index, e.leaf_hash, c.size, c.root, c.note
     from ledger_entry e cross join lateral (
       select c.size, c.root, c.note from ledger_checkpoint c
       where c.org_id = e.org_id order by c.size desc limit 1) c
     where e.entry_id = $2 and e.org_id = $1 and e.index < c.size`,
    [orgId, receiptId],
  );
  const row = rows[0];
  if (row === undefined) return null;
  const index = Number(row.index);
  const size = Number(row.size);
  const ranges = inclusionRanges(index, size);
  const tiles = await loadTiles(pool, wantedTiles(orgId, ranges, size));
  const hashes = ranges.map((range) => rangeHash(range, tiles(orgId)));
  // A proof that does not hold would say that we removed the receipt; it must never be handed out.
  if (!verifyInclusion({ index, size, leaf: row.leaf_hash, proof: hashes, root: row.root })) {
    throw new Error(`the log of ${orgId} is damaged at entry ${index}; run docket ledger fsck`);
  }
  return formatProof({ index, hashes, checkpoint: row.note });
}
