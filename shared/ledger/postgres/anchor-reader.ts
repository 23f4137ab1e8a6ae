import type { Pool } from 'pg';
import { formatAnchorEntry } from '../anchor-entries.ts';
import { type AnchorProof, type AnchorTimestamp, checkAnchorProof } from '../anchor-proof.ts';
import { type HeadsTree, saltOf } from '../heads-tree.ts';
import { ANCHOR_LOG } from '../origins.ts';
import { formatProof } from '../proof-text.ts';
import { inclusionRanges } from '../proofs.ts';
import { rangeHash } from '../tiles.ts';
import type { AnchorChoice, AnchorReader, ProvenKeyEvent } from '../port-anchor.ts';
import type { Queryable } from '#shared/kernel/postgres/transaction.ts';
import { headsTreeOf, readHeadsAt } from './anchor-heads.ts';
import { readKeyEvents } from './anchor-keys.ts';
import { loadTiles } from './hashes.ts';
import { readTile, wantedTiles } from './tiles.ts';

/** Everyone asks about the newest tree, and a tree never changes; one of a thousand organisations takes a megabyte. */
const TREES_KEPT = 4;

/** The anchor log in PostgreSQL, for any role that may select its tables. */
export function createAnchorReader(pool: Pool): AnchorReader {
  const trees = keepingTrees(pool);
  return {
    proof: (orgId, choice = {}) => proveHead(pool, trees, orgId, choice),
    keyEvents: (choice = {}) => proveKeyEvents(pool, choice),
    checkpoint: async () => (await chooseCheckpoint(pool, {}))?.note ?? null,
    tile: (tile) => readTile(pool, ANCHOR_LOG, tile),
  };
}

/** A checkpoint of the anchor log, its note with the cosignatures that there are by now. */
interface AnchorCheckpoint {
  size: number;
  note: string;
}

async function chooseCheckpoint(
  db: Queryable,
  { anchorSize, attested }: Pick<AnchorChoice, 'anchorSize' | 'attested'>,
): Promise<AnchorCheckpoint | null> {
  const { rows } = await db.query<{ size: string; note: string }>(
    `select c.size, c.note || coalesce((
       select string_agg(s.line || e'\\n', '' order by s.witness) from anchor_cosignature s where s.size = c.size), '') as note
     from ledger_checkpoint c
     where c.org_id = $1 and ($2::bigint is null or c.size = $2)
       and (not $3 or c.size = greatest(
         (select max(t.size) from anchor_timestamp t), (select max(s.size) from anchor_cosignature s)))
     order by c.size desc limit 1`,
    [ANCHOR_LOG, anchorSize ?? null, attested ?? false],
  );
  return rows[0] === undefined ? null : { size: Number(rows[0].size), note: rows[0].note };
}

async function readTimestamps(db: Queryable, size: number): Promise<AnchorTimestamp[]> {
  const { rows } = await db.query<{ authority: string; time: Date; response: Buffer }>(
    'select authority, time, response from anchor_timestamp where size = $1 order by authority',
    [size],
  );
  return rows.map(({ authority, time, response }) => {
    return { authority, time: time.toISOString(), response };
  });
}

/** A heads entry, and the checkpoint of one organisation that is in it. */
interface AnchoredRow {
  index: string;
  secret: Buffer;
  entry: string;
  slot: number;
  note: string;
}

/** The newest heads entry below `end` whose tree has a checkpoint of this organisation that is not too large. */
async function chooseHead(
  db: Queryable,
  orgId: string,
  end: number,
  sizeMax: number | undefined,
): Promise<AnchoredRow | null> {
  const { rows } = await db.query<AnchoredRow>(
    `select p.index, p.secret, convert_from(b.body, 'UTF8') as entry, s.slot, c.note
     from anchor_slot s
     cross join lateral (
       select a.index, a.size from anchor_head a
       where a.org_id = s.org_id and a.index < $2 and ($3::bigint is null or a.size <= $3)
       order by a.index desc limit 1) a
     -- It stands in every tree up to the one with its successor.
     cross join lateral (
       select p.index, p.secret from anchor_epoch p
       where p.index < least($2, coalesce(
         (select n.index from anchor_head n where n.org_id = s.org_id and n.index > a.index order by n.index limit 1), $2))
       order by p.index desc limit 1) p
     join anchor_entry b on b.index = p.index
     join ledger_checkpoint c on c.org_id = s.org_id and c.size = a.size
     where s.org_id = $1`,
    [orgId, end, sizeMax ?? null],
  );
  return rows[0] ?? null;
}

type Trees = (index: number, secret: Uint8Array) => Promise<HeadsTree>;

function keepingTrees(db: Queryable): Trees {
  const kept = new Map<number, HeadsTree>();
  return async (index, secret) => {
    const known = kept.get(index);
    if (known !== undefined) return known;
    const tree = headsTreeOf(secret, await readHeadsAt(db, index));
    kept.set(index, tree);
    for (const oldest of kept.keys()) if (kept.size > TREES_KEPT) kept.delete(oldest);
    return tree;
  };
}

async function proveHead(
  pool: Pool,
  trees: Trees,
  orgId: string,
  choice: AnchorChoice,
): Promise<AnchorProof | null> {
  const checkpoint = await chooseCheckpoint(pool, choice);
  if (checkpoint === null) return null;
  const end = Math.min(checkpoint.size, choice.before ?? checkpoint.size);
  const row = await chooseHead(pool, orgId, end, choice.headSizeMax);
  if (row === null) return null;
  const index = Number(row.index);
  const { slot, note, entry, secret } = row;
  const proof: AnchorProof = {
    checkpoint: note,
    slot,
    salt: saltOf(secret, slot),
    path: (await trees(index, secret)).path(slot),
    entry,
    proof: await proveEntry(pool, index, checkpoint),
    timestamps: await readTimestamps(pool, checkpoint.size),
  };
  // What does not hold must never be handed out; it throws here, and fsck says what is wrong.
  checkAnchorProof(proof);
  return proof;
}

async function proveEntry(
  db: Queryable,
  index: number,
  { size, note }: AnchorCheckpoint,
): Promise<string> {
  const ranges = inclusionRanges(index, size);
  const tiles = await loadTiles(db, wantedTiles(ANCHOR_LOG, ranges, size));
  const hashes = ranges.map((range) => rangeHash(range, tiles(ANCHOR_LOG)));
  return formatProof({ index, hashes, checkpoint: note });
}

async function proveKeyEvents(
  pool: Pool,
  { anchorSize }: Pick<AnchorChoice, 'anchorSize'>,
): Promise<ProvenKeyEvent[]> {
  const events = await readKeyEvents(pool);
  const checkpoint = await chooseCheckpoint(pool, anchorSize === undefined ? {} : { anchorSize });
  const proven: ProvenKeyEvent[] = [];
  for (const { index, event } of events) {
    if (anchorSize !== undefined && index >= anchorSize) break;
    const covered = checkpoint !== null && index < checkpoint.size;
    const proof = covered ? await proveEntry(pool, index, checkpoint) : null;
    proven.push({ index, event, entry: formatAnchorEntry(event), proof });
  }
  return proven;
}
