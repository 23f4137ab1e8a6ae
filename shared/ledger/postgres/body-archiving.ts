import { createHash } from 'node:crypto';
import type { Pool } from 'pg';
import type { ObjectStore } from '#shared/kernel/object-store.ts';
import {
  execute,
  queryRow,
  queryRows,
  type Row,
  statement,
} from '#shared/kernel/postgres/statement.ts';
import {
  BLOCK_BODY_BYTES_MAX,
  BLOCK_RECEIPTS_MAX,
  leafKey,
  packBlock,
  unpackBlock,
} from '../body-archive.ts';
import { leafHash, sameHash } from '../hashing.ts';
import { readBlock } from './body-archive.ts';

/**
 * An object is held in memory until its name, the hash of its bytes, is known. A month of an organisation with more, which
 * is some 80,000 receipts, has several.
 */
const OBJECT_BYTES_MAX = 33_554_432;
/** Bodies read at once: some 3 MB. */
const PAGE = 1_000;
/** Organisations that one statement looks at, in some 15 ms. */
const NEXT_MAX = 500;
/** Read back at once: each read has some seconds. */
const READ_BYTES = 4_194_304;
/** Rows that one statement copies, in about a second. */
const COPIED_MAX = 10_000;

/** A month of receipts, by their ids: `firstId` included, `endId` excluded. */
interface Month {
  /** Its first moment. */
  first: Date;
  firstId: string;
  endId: string;
}

/** What archiving has done, for the log. */
export type ArchivingStep =
  /** An object is in the store, and nothing says so yet. */
  | { step: 'written'; orgId: string; object: string }
  /** It was read back and found whole, and is recorded. */
  | { step: 'recorded'; orgId: string; object: string; receipts: number; bytes: number }
  /** So many rows of a month at most were copied without what the archive has. */
  | { step: 'copied'; month: Date }
  /** The copy has taken the month's place. */
  | { step: 'removed'; month: Date }
  /** The rest of an organisation's month stays where it is, for a reason that a person must look into. */
  | { step: 'refused'; orgId: string; month: Date; reason: string };

export interface ArchivingOptions {
  store: ObjectStore;
  /** Months that were over then are moved. */
  before: Date;
  signal: AbortSignal;
  /** Told of each step when it is done. */
  observe: (step: ArchivingStep) => void;
  objectBytesMax?: number;
}

/** Of the partitions, which are one for each month: those that are over, oldest first. */
const MONTHS = statement(
  { first: 'timestamptz', first_id: 'text', end_id: 'text' },
  `select m.first, receipt_id_at(m.first) as first_id, receipt_id_at(m.after) as end_id
   from pg_inherits i join pg_class c on c.oid = i.inhrelid
   cross join lateral (
     select to_date(substr(c.relname, 13), 'YYYY_MM')::timestamp at time zone 'utc' as first,
       (to_date(substr(c.relname, 13), 'YYYY_MM')::timestamp + interval '1 month') at time zone 'utc' as after) m
   where i.inhparent = 'ledger_body'::regclass and c.relname ~ '^ledger_body_\\d{4}_\\d\\d$' and m.after <= $1
   order by m.first`,
);

/**
 * The next organisations with receipts of the month, in the order of ids, and whether the archive lacks some of them, all
 * integrated. One whose receipts wait, or stand in quarantine, keeps its month until they do not.
 */
const NEXT = statement(
  { org_id: 'text', after_id: 'text', is_due: 'bool' },
  `with recursive hop as (
     (select org_id, 1 as number from ledger_body
      where entry_id >= $1 and entry_id < $2 and org_id > $3 order by org_id limit 1)
     union all
     select (select b.org_id from ledger_body b
       where b.entry_id >= $1 and b.entry_id < $2 and b.org_id > h.org_id order by b.org_id limit 1), h.number + 1
     from hop h where h.org_id is not null and h.number < $4
   )
   select h.org_id, a.after_id,
     exists (select from ledger_body b
       where b.org_id = h.org_id and b.entry_id > a.after_id and b.entry_id < $2)
     and not exists (select from account o where o.id = h.org_id and o.legal_hold)
     and not exists (select from receipt_pending p where p.org_id = h.org_id and p.entry_id >= $1 and p.entry_id < $2)
     and not exists (select from ledger_quarantine q where q.org_id = h.org_id and q.entry_id >= $1 and q.entry_id < $2)
     as is_due
   from hop h
   cross join lateral (
     select coalesce(max(a.last_id), $1) as after_id from ledger_archive a
     where a.org_id = h.org_id and a.first_id >= $1 and a.first_id < $2) a
   where h.org_id is not null
   order by h.org_id`,
);

const BODIES = statement(
  { entry_id: 'text', leaf_hash: 'bytea', logged: 'bytea?', body: 'bytea?' },
  `select b.entry_id, b.leaf_hash, e.leaf_hash as logged, b.body
   from ledger_body b left join ledger_entry e on e.entry_id = b.entry_id and e.org_id = b.org_id
   where b.org_id = $1 and b.entry_id > $2 and b.entry_id < $3 order by b.entry_id limit $4`,
);

/** The object and where its blocks lie. A month that is being copied is copied anew, without these bodies too. */
const RECORD = statement(
  {},
  `with block as (
     insert into ledger_archive_block (org_id, first_id, last_id, receipts, object, start, bytes)
     select $1, first_id, last_id, receipts, $2, start, bytes
     from unnest($3::text[], $4::text[], $5::int[], $6::bigint[], $7::int[]) as t (first_id, last_id, receipts, start, bytes)
     returning *
   ), anew as (delete from ledger_rewrite)
   insert into ledger_archive (org_id, first_id, last_id, receipts, object, bytes)
   select $1, min(first_id), max(last_id), sum(receipts), $2, sum(bytes) from block`,
);

/** What is under a legal hold is removed when that ends. */
const UNREMOVED = statement(
  {},
  `select from ledger_archive r where first_id >= $1 and first_id < $2 and removed_at is null
     and not exists (select from account a where a.id = r.org_id and a.legal_hold) limit 1`,
);

/** The first byte of two objects that the archive should have. */
const RECORDED = statement(
  { object: 'text', start: 'int8', bytes: 'int4' },
  `select object, 0::bigint as start, 1 as bytes from (
     (select object from ledger_archive where dropped_at is null order by org_id, first_id limit 1)
     union (select object from ledger_archive where dropped_at is null order by org_id desc, first_id desc limit 1)) r`,
);

const REWRITE = statement({ done: 'bool' }, 'select rewrite_ledger_month($1, $2) as done');

/**
 * Moves bodies to the archive, month by month and one organisation after the other, with the rights of
 * `docket_housekeeping`. Each step can end with the process: an object that is not recorded is written again under its name,
 * and bodies are removed, a month at a time, only once they are read back from the store and recorded.
 * @throws Error when the store has nothing of what is recorded: it is another, or a volume that is not mounted
 */
export async function archiveBodies(pool: Pool, options: ArchivingOptions): Promise<void> {
  const { store, before, signal, observe } = options;
  await refuseAnother(pool, store);
  for (const row of await queryRows(pool, MONTHS, [before])) {
    const month = { first: row.first, firstId: row.first_id, endId: row.end_id };
    await archiveMonth(pool, month, options);
    const range = [month.firstId, month.endId];
    let left = (await queryRow(pool, UNREMOVED, range)) !== undefined;
    while (left && !signal.aborted) {
      const { done } = (await queryRow(pool, REWRITE, [month.first, COPIED_MAX]))!;
      left = !done;
      observe({ step: done ? 'removed' : 'copied', month: month.first });
    }
    if (signal.aborted) return;
  }
}

/** What moved to another store than the one that readers have would be lost to them. */
async function refuseAnother(pool: Pool, store: ObjectStore): Promise<void> {
  const recorded = await queryRows(pool, RECORDED);
  const found = await Promise.all(recorded.map((place) => readBlock(store, place)));
  if (found.length === 0 || found.some((bytes) => bytes !== null)) return;
  const objects = recorded.map(({ object }) => object).join(' and ');
  throw new Error(
    `RECEIPT_ARCHIVE does not have ${objects}, which moved to it before: nothing more moves until it names the archive that has`,
  );
}

async function archiveMonth(pool: Pool, month: Month, options: ArchivingOptions): Promise<void> {
  const { signal, observe } = options;
  const { firstId, endId } = month;
  for (let done: string | undefined = ''; done !== undefined;) {
    const next: Row<typeof NEXT>[] = await queryRows(pool, NEXT, [firstId, endId, done, NEXT_MAX]);
    for (const { org_id: orgId, after_id, is_due } of next) {
      try {
        let afterId = is_due ? after_id : undefined;
        while (afterId !== undefined && !signal.aborted) {
          afterId = await archiveNext(pool, { orgId, afterId, endId }, options);
        }
      } catch (error) {
        if (!(error instanceof Unarchivable)) throw error;
        observe({ step: 'refused', orgId, month: month.first, reason: error.message });
      }
    }
    done = signal.aborted ? undefined : next.at(-1)?.org_id;
  }
}

/** What is in the store, or should go there, is not what the ledger has. */
class Unarchivable extends Error {}

interface Block extends Row<typeof BODIES> {
  body: Buffer;
}

/** A block of an object that is being made. */
interface PackedBlock {
  firstId: string;
  lastId: string;
  start: number;
  packed: Buffer;
  leaves: Uint8Array[];
}

/**
 * Moves receipts after `afterId`, as many as one object takes.
 * @returns after which one to go on; undefined at the end of the month
 */
async function archiveNext(
  pool: Pool,
  range: { orgId: string; afterId: string; endId: string },
  { store, observe, objectBytesMax = OBJECT_BYTES_MAX }: ArchivingOptions,
): Promise<string | undefined> {
  const { orgId } = range;
  const blocks: PackedBlock[] = [];
  let size = 0;
  for await (const receipts of blocksOf(pool, range)) {
    const packed = await packBlock(receipts.map(({ body }) => body));
    blocks.push({
      firstId: receipts[0]!.entry_id,
      lastId: receipts.at(-1)!.entry_id,
      start: size,
      packed,
      leaves: receipts.map((each) => each.leaf_hash),
    });
    size += packed.length;
    if (size >= objectBytesMax) break;
  }
  if (blocks.length === 0) return undefined;
  const object = hashOf(blocks.map(({ packed }) => packed));
  await write(store, object, blocks);
  observe({ step: 'written', orgId, object });
  await verify(store, object, blocks);
  const column = <T>(of: (block: PackedBlock) => T): T[] => blocks.map(of);
  await execute(pool, RECORD, [
    orgId,
    object,
    column((block) => block.firstId),
    column((block) => block.lastId),
    column((block) => block.leaves.length),
    column((block) => block.start),
    column((block) => block.packed.length),
  ]);
  const receipts = blocks.reduce((sum, { leaves }) => sum + leaves.length, 0);
  observe({ step: 'recorded', orgId, object, receipts, bytes: size });
  return size < objectBytesMax ? undefined : blocks.at(-1)!.lastId;
}

/** The receipts of a range in blocks, each compared with its hash in the ledger. */
async function* blocksOf(
  pool: Pool,
  { orgId, afterId, endId }: { orgId: string; afterId: string; endId: string },
): AsyncGenerator<Block[]> {
  let [block, bytes, after]: [Block[], number, string] = [[], 0, afterId];
  for (;;) {
    const page = await queryRows(pool, BODIES, [orgId, after, endId, PAGE]);
    for (const row of page) {
      const receipt = checked(row);
      const isFull = bytes + receipt.body.length > BLOCK_BODY_BYTES_MAX;
      if (block.length > 0 && (isFull || block.length === BLOCK_RECEIPTS_MAX)) {
        yield block;
        [block, bytes] = [[], 0];
      }
      block.push(receipt);
      bytes += receipt.body.length;
      after = row.entry_id;
    }
    if (page.length < PAGE) break;
  }
  if (block.length > 0) yield block;
}

function checked(row: Row<typeof BODIES>): Block {
  const { entry_id: id, leaf_hash: hash, logged, body } = row;
  if (logged === null) throw new Unarchivable(`${id} is not in its log`);
  if (body === null || !sameHash(leafHash(body), hash) || !sameHash(hash, logged)) {
    throw new Unarchivable(`the body of ${id} is not what was logged; run docket ledger fsck`);
  }
  return { ...row, body };
}

function hashOf(parts: readonly Uint8Array[]): string {
  const hash = createHash('sha256');
  for (const part of parts) hash.update(part);
  return hash.digest('hex');
}

async function write(store: ObjectStore, object: string, blocks: readonly PackedBlock[]) {
  const upload = await store.create(object, 0);
  try {
    for (const { packed } of blocks) await upload.write(packed);
    await upload.commit();
  } catch (error) {
    await upload.abort().catch(() => {});
    throw error;
  }
}

/** Reads an object back as it is read later, and finds every body of it by its leaf hash. */
async function verify(store: ObjectStore, object: string, blocks: readonly PackedBlock[]) {
  const { start, packed } = blocks.at(-1)!;
  const size = start + packed.length;
  const read: Buffer[] = [];
  for (let at = 0; at < size; at += READ_BYTES) {
    const place = { object, start: String(at), bytes: Math.min(READ_BYTES, size - at) };
    read.push((await readBlock(store, place)) ?? Buffer.alloc(0));
  }
  const whole = Buffer.concat(read);
  let sound = hashOf([whole]) === object;
  for (const block of blocks) {
    const end = block.start + block.packed.length;
    const bodies = await unpackBlock(whole.subarray(block.start, end));
    sound &&= block.leaves.every((leaf) => bodies.has(leafKey(leaf)));
  }
  if (!sound) {
    throw new Unarchivable(`the object ${object} did not come back from the archive as it was`);
  }
}
