import type { Pool } from 'pg';
import { queryRow, queryRows, statement } from '#shared/kernel/postgres/statement.ts';
import type { Queryable } from '#shared/kernel/postgres/transaction.ts';
import { formatAnchorEntry } from '../anchor-entries.ts';
import { type AnchorProof, type AnchorTimestamp, checkAnchorProof } from '../anchor-proof.ts';
import { type HeadsTree, headsTreeOf, saltOf } from '../heads-tree.ts';
import type { PlacedKeyEvent } from '../key-events.ts';
import { ANCHOR_LOG } from '../origins.ts';
import { formatProof } from '../proof-text.ts';
import { inclusionRanges } from '../proofs.ts';
import type { TileRequest } from '../tiles.ts';
import { readKeyEvents } from './anchor-keys.ts';
import { ANCHORED_CHECKPOINT } from './anchored-heads.ts';
import { publishedSize, readTile } from './published.ts';
import { hashesOfRanges } from './tiles.ts';

/** Which of an organisation's anchored checkpoints, and which checkpoint of the anchor log it leads to. */
export interface AnchorChoice {
  /** The newest anchored checkpoint with at most so many entries; the newest of all when absent. */
  headSizeMax?: number;
  /** Only what was anchored below this index of the anchor log: for keys that are good up to there. */
  before?: number;
  /** Lead to the anchor checkpoint of exactly this size, so that a proof can be made again as it was. */
  anchorSize?: number;
  /** Lead to the newest anchor checkpoint that has a timestamp or a cosignature. */
  attested?: boolean;
}

/** A key event as it is handed out: with its exact text and the proof that the anchor log holds it. */
export interface ProvenKeyEvent extends PlacedKeyEvent {
  /** The exact text of the entry. */
  entry: string;
  /** C2SP tlog-proof; null while no checkpoint covers it. */
  proof: string | null;
}

/** Everyone asks about the newest tree, and a tree never changes; one of a thousand organisations takes a megabyte. */
const TREES_KEPT = 4;

export type AnchorReader = ReturnType<typeof createAnchorReader>;

/** What is read of the anchor log, for any role that may select its tables. Apart from `proof`, it is for everyone. */
export function createAnchorReader(pool: Pool) {
  const trees = keepingTrees(pool);
  return {
    /** One organisation's own proof, or that of its audit log (`auditLogOf`); null when nothing of it is anchored as chosen. */
    proof: (orgId: string, choice: AnchorChoice = {}) => proveHead(pool, trees, orgId, choice),
    /** Everything that happened to signing keys, in the order of the log; up to a checkpoint of this size, if it is named. */
    keyEvents: (choice: Pick<AnchorChoice, 'anchorSize'> = {}) => proveKeyEvents(pool, choice),
    /** The newest checkpoint, with what witnesses have said; null before the first. */
    checkpoint: async (): Promise<string | null> =>
      (await chooseCheckpoint(pool, {}))?.note ?? null,
    /** The size of the newest checkpoint; 0 before the first. */
    size: (): Promise<number> => publishedSize(pool, ANCHOR_LOG),
    /** Bytes of a tile or an entry bundle; null when a checkpoint of this size does not cover it. */
    tile: (tile: TileRequest, size: number): Promise<Uint8Array | null> =>
      readTile(pool, ANCHOR_LOG, size, tile),
  };
}

/** A checkpoint of the anchor log, its note with the cosignatures that there are by now. */
interface AnchorCheckpoint {
  size: number;
  note: string;
}

const CHOSEN_CHECKPOINT = statement(
  { size: 'int8', note: 'text' },
  `select c.size, c.note || coalesce((
     select string_agg(s.line || e'\\n', '' order by s.witness) from anchor_cosignature s where s.size = c.size), '') as note
   from ledger_checkpoint c
   where c.org_id = $1 and ($2::bigint is null or c.size = $2)
     and (not $3 or c.size = greatest(
       (select max(t.size) from anchor_timestamp t), (select max(s.size) from anchor_cosignature s)))
   order by c.size desc limit 1`,
);

async function chooseCheckpoint(
  db: Queryable,
  { anchorSize, attested }: Pick<AnchorChoice, 'anchorSize' | 'attested'>,
): Promise<AnchorCheckpoint | null> {
  const values = [ANCHOR_LOG, anchorSize ?? null, attested ?? false];
  const row = await queryRow(db, CHOSEN_CHECKPOINT, values);
  return row === undefined ? null : { size: Number(row.size), note: row.note };
}

const TIMESTAMPS = statement(
  { authority: 'text', time: 'timestamptz', response: 'bytea' },
  'select authority, time, response from anchor_timestamp where size = $1 order by authority',
);

async function readTimestamps(db: Queryable, size: number): Promise<AnchorTimestamp[]> {
  const rows = await queryRows(db, TIMESTAMPS, [size]);
  return rows.map((row) => ({ ...row, time: row.time.toISOString() }));
}

/** The newest heads entry below an end whose tree has a checkpoint of this organisation that is not too large. */
const CHOSEN_HEAD = statement(
  { index: 'int8', secret: 'bytea', entry: 'text', slot: 'int4', note: 'text' },
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
   join ${ANCHORED_CHECKPOINT} c on c.org_id = s.org_id and c.size = a.size
   where s.org_id = $1`,
);

/** What the heads tree of an entry was made of. */
const HEADS_AT = statement(
  { slot: 'int4', note: 'text' },
  `select s.slot, c.note from anchor_slot s
   cross join lateral (
     select a.size from anchor_head a where a.org_id = s.org_id and a.index <= $1
     order by a.index desc limit 1) a
   join ${ANCHORED_CHECKPOINT} c on c.org_id = s.org_id and c.size = a.size`,
);

type Trees = (index: number, secret: Uint8Array) => Promise<HeadsTree>;

function keepingTrees(db: Queryable): Trees {
  const kept = new Map<number, HeadsTree>();
  return async (index, secret) => {
    const known = kept.get(index);
    if (known !== undefined) return known;
    const tree = headsTreeOf(secret, await queryRows(db, HEADS_AT, [index]));
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
  const row = await queryRow(pool, CHOSEN_HEAD, [orgId, end, choice.headSizeMax ?? null]);
  if (row === undefined) return null;
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
  const hashes = await hashesOfRanges(db, ANCHOR_LOG, size, inclusionRanges(index, size));
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
