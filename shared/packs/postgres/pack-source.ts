import type { Pool } from 'pg';
import { HASH_BYTES } from '#shared/ledger/hashing.ts';
import { consistencyRanges, inclusionRanges } from '#shared/ledger/proofs.ts';
import { perfectNodes } from '#shared/ledger/tiles.ts';
import type { PackCheckpoint, PackEntry, PackSource } from '../port-exports.ts';
import { hashesOfRanges } from '#shared/ledger/postgres/tiles.ts';
import { readPackAnchor } from './pack-anchor.ts';

interface EntryRow {
  index: string;
  entry_id: string;
  leaf_hash: Buffer;
  body: string | null;
  superseded_by: string | null;
}

interface CheckpointRow {
  size: string;
  root: Buffer;
  note: string;
  signed_at: Date;
}

/**
 * Bodies come as text: they are UTF-8, and a text travels at half the size of a bytea. Whoever hashes
 * them finds out when they are not what was logged.
 */
const ENTRIES = `select e.index, e.entry_id, e.leaf_hash, convert_from(b.body, 'UTF8') as body, s.index as superseded_by
  from ledger_entry e
  left join lateral (
    select b.body from ledger_body b where b.entry_id = e.entry_id and b.org_id = e.org_id limit 1) b on true
  left join lateral (
    select s.index from receipt_revision r join ledger_entry s on s.entry_id = r.revision_id
    where r.original_id = e.entry_id and s.org_id = e.org_id and s.index < $2 limit 1) s on true
  where e.org_id = $1`;

const CHECKPOINT = 'select size, root, note, signed_at from ledger_checkpoint where org_id = $1';

/** What packs are made of, from PostgreSQL: short statements along primary keys, no transaction. */
export function createPackSource(pool: Pool): PackSource {
  return {
    async checkpoint(orgId, size) {
      const { rows } = await pool.query<CheckpointRow>(`${CHECKPOINT} and size = $2`, [
        orgId,
        size,
      ]);
      return rows[0] === undefined ? null : checkpointOf(rows[0]);
    },
    async entries(orgId, from, to, size) {
      const { rows } = await pool.query<EntryRow>(
        `${ENTRIES} and e.index >= $3 and e.index < $4 order by e.index`,
        [orgId, size, from, to],
      );
      return rows.map(entryOf);
    },
    async entriesAt(orgId, indexes, size) {
      const { rows } = await pool.query<EntryRow>(
        `${ENTRIES} and e.index = any($3::bigint[]) order by e.index`,
        [orgId, size, indexes],
      );
      return rows.map(entryOf);
    },
    async revisionsAfter(orgId, after, size, limit) {
      const { rows } = await pool.query<{ index: string; revises: string }>(
        `select e.index, p.index as revises from ledger_entry e
         join ledger_entry p on p.entry_id = e.supersedes and p.org_id = e.org_id
         where e.org_id = $1 and e.kind in ('recalculated', 'restated') and e.index > $2 and e.index < $3
         order by e.index limit $4`,
        [orgId, after, size, limit],
      );
      return rows.map((row) => ({ index: Number(row.index), revises: Number(row.revises) }));
    },
    async checkpoints(orgId, above, size, limit) {
      const { rows } = await pool.query<CheckpointRow>(
        `${CHECKPOINT} and size > $2 and size <= $3 order by size limit $4`,
        [orgId, above, size, limit],
      );
      return rows.map(checkpointOf);
    },
    frontier: (orgId, size) => {
      const nodes = perfectNodes({ start: 0, end: size });
      const ranges = nodes.map(({ height, index }) => {
        return { start: index * 2 ** height, end: (index + 1) * 2 ** height };
      });
      return hashesOfRanges(pool, orgId, size, ranges);
    },
    consistency: (orgId, oldSize, newSize) =>
      hashesOfRanges(pool, orgId, newSize, consistencyRanges(oldSize, newSize)),
    anchor: (orgId, range) => readPackAnchor(pool, orgId, range),
    async inclusion(orgId, indexes, size) {
      const paths = indexes.map((index) => inclusionRanges(index, size));
      const hashes = await hashesOfRanges(pool, orgId, size, paths.flat());
      let at = 0;
      return paths.map((path) => hashes.slice(at, (at += path.length)));
    },
  };
}

function entryOf(row: EntryRow): PackEntry {
  return {
    index: Number(row.index),
    receiptId: row.entry_id,
    leafHash: row.leaf_hash.subarray(0, HASH_BYTES),
    body: row.body,
    supersededBy: row.superseded_by === null ? null : Number(row.superseded_by),
  };
}

function checkpointOf(row: CheckpointRow): PackCheckpoint {
  return {
    size: Number(row.size),
    root: row.root,
    note: row.note,
    signedAt: row.signed_at.getTime(),
  };
}
