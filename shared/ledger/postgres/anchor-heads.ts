import { headLeaf, HEADS_SLOTS, HeadsTree, saltOf } from '../heads-tree.ts';
import type { Hash } from '../hashing.ts';
import { parseNote } from '../notes.ts';
import { ANCHOR_LOG } from '../origins.ts';
import type { Queryable } from '#shared/kernel/postgres/transaction.ts';

/** An organisation's checkpoint as it goes into a heads tree. */
export interface SlottedHead {
  orgId: string;
  slot: number;
  size: number;
  /** The signed note. */
  note: string;
}

/** An organisation's newest checkpoint, and what the newest heads tree has of it. */
export interface NewestHead extends Omit<SlottedHead, 'slot'> {
  slot: number | null;
  anchoredSize: number;
}

/** Whether a checkpoint is newer than what is anchored of its organisation. */
export async function hasNewHeads(db: Queryable): Promise<boolean> {
  const { rows } = await db.query<{ grown: boolean }>(
    `select exists (
       select from ledger_head h where h.org_id <> $1 and h.checkpoint_size > coalesce(
         (select a.size from anchor_head a where a.org_id = h.org_id order by a.index desc limit 1), 0)) as grown`,
    [ANCHOR_LOG],
  );
  return rows[0]!.grown;
}

/** The newest checkpoint of every organisation that has one. */
export async function readNewestHeads(db: Queryable): Promise<NewestHead[]> {
  const { rows } = await db.query<{
    org_id: string;
    slot: number | null;
    size: string;
    note: string;
    anchored: string | null;
  }>(
    `select h.org_id, s.slot, c.size, c.note, a.size as anchored
     from ledger_head h
     cross join lateral (
       select c.size, c.note from ledger_checkpoint c where c.org_id = h.org_id order by c.size desc limit 1) c
     left join anchor_slot s on s.org_id = h.org_id
     left join lateral (
       select a.size from anchor_head a where a.org_id = h.org_id order by a.index desc limit 1) a on true
     where h.org_id <> $1 order by h.org_id`,
    [ANCHOR_LOG],
  );
  return rows.map((row) => ({
    orgId: row.org_id,
    slot: row.slot,
    size: Number(row.size),
    note: row.note,
    anchoredSize: Number(row.anchored ?? 0),
  }));
}

/** What the heads tree of entry `index` was made of. */
export async function readHeadsAt(db: Queryable, index: number): Promise<SlottedHead[]> {
  const { rows } = await db.query<{ org_id: string; slot: number; size: string; note: string }>(
    `select s.org_id, s.slot, a.size, c.note from anchor_slot s
     cross join lateral (
       select a.size from anchor_head a where a.org_id = s.org_id and a.index <= $1
       order by a.index desc limit 1) a
     join ledger_checkpoint c on c.org_id = s.org_id and c.size = a.size`,
    [index],
  );
  return rows.map(({ org_id: orgId, slot, size, note }) => {
    return { orgId, slot, size: Number(size), note };
  });
}

/** The tree over these checkpoints. */
export function headsTreeOf(
  secret: Uint8Array,
  heads: readonly Pick<SlottedHead, 'slot' | 'note'>[],
): HeadsTree {
  return headsTreeOfTexts(
    secret,
    heads.map(({ slot, note }) => ({ slot, text: parseNote(note).text })),
  );
}

/** The same from what the checkpoints sign. */
export function headsTreeOfTexts(
  secret: Uint8Array,
  heads: Iterable<{ slot: number; text: string }>,
): HeadsTree {
  const leaves = new Map<number, Hash>();
  for (const { slot, text } of heads) leaves.set(slot, headLeaf(saltOf(secret, slot), text));
  return new HeadsTree(secret, leaves);
}

/** Beyond half of the slots, drawing a free one would take ever longer, and a tree of another height is needed. */
const ORGANISATIONS_MAX = HEADS_SLOTS / 2;
/** With at most half of the slots taken, a draw that fails this often in a row is no accident. */
const DRAWS_MAX = 64;

/**
 * Gives each of these organisations a slot of its own, drawn at random: its number tells nothing about
 * how many there are or who came when. The caller holds the anchor log's head.
 */
export async function assignSlots(
  db: Queryable,
  orgIds: readonly string[],
  randomBytes: (size: number) => Uint8Array,
): Promise<Map<string, number>> {
  const assigned = new Map<string, number>();
  let waiting = [...orgIds];
  for (let draw = 0; waiting.length > 0; draw += 1) {
    if (draw === DRAWS_MAX) throw new Error('no free slot in the heads tree was found');
    const { rows } = await db.query<{ org_id: string; slot: number }>(
      `insert into anchor_slot (org_id, slot)
       select * from unnest($1::text[], $2::int[]) where (select count(*) from anchor_slot) < $3
       on conflict (slot) do nothing returning org_id, slot`,
      [waiting, waiting.map(() => drawSlot(randomBytes)), ORGANISATIONS_MAX],
    );
    for (const { org_id: orgId, slot } of rows) assigned.set(orgId, slot);
    waiting = waiting.filter((orgId) => !assigned.has(orgId));
  }
  return assigned;
}

/** Uniform: the number of slots divides 2^32. */
function drawSlot(randomBytes: (size: number) => Uint8Array): number {
  return Buffer.from(randomBytes(4)).readUInt32BE() % HEADS_SLOTS;
}
