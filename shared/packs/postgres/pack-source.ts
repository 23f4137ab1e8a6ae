import type { Pool } from 'pg';
import { NotThereYet, primaryAlone, type Reads } from '#shared/kernel/postgres/replica.ts';
import { firstReceiptIdAt } from '#shared/kernel/ids.ts';
import { queriesOn } from '#shared/kernel/postgres/queries.ts';
import { queryRow, queryRows, type Row, statement } from '#shared/kernel/postgres/statement.ts';
import { type AnchorProof, checkAnchorProof } from '#shared/ledger/anchor-proof.ts';
import { HASH_BYTES, type Hash } from '#shared/ledger/hashing.ts';
import type { LossStatement } from '#shared/ledger/losses.ts';
import { endOfKey, keyIntervals } from '#shared/ledger/key-events.ts';
import { parseNote } from '#shared/ledger/notes.ts';
import { ANCHOR_LOG } from '#shared/ledger/origins.ts';
import {
  type AnchorChoice,
  type AnchorReader,
  createAnchorReader,
} from '#shared/ledger/postgres/anchor-reader.ts';
import { DamagedArchive } from '#shared/ledger/body-archive.ts';
import { type BodyArchive, createBodyArchive } from '#shared/ledger/postgres/body-archive.ts';
import { declaredLosses } from '#shared/ledger/postgres/losses.ts';
import { publishedSize } from '#shared/ledger/postgres/published.ts';
import { hashesOfRanges } from '#shared/ledger/postgres/tiles.ts';
import { consistencyRanges, inclusionRanges } from '#shared/ledger/proofs.ts';
import { perfectNodes } from '#shared/ledger/tiles.ts';
import { readDerivations } from '#shared/receipts/postgres/derivations.ts';
import {
  type AnchorCandidate,
  type AskedAttestation,
  type Attestation,
  bestAnchor,
  isWhole,
  lacking,
} from '../attestation.ts';
import type { PackRange } from '../layout.ts';
import { EARLIER_PACKS_MAX, type EarlierPack, earlierPack } from '../report/statement.ts';
import type { TotalsDocument } from '../seal-format.ts';

/** An entry of the ledger with what a pack says of it. */
export interface PackEntry {
  index: number;
  receiptId: string;
  leafHash: Hash;
  /** Epoch milliseconds. */
  integratedAt: number;
  /** The exact bytes, as text; null when they are gone. */
  body: string | null;
  /** Index of the entry that revises it, below the checkpoint's size. */
  supersededBy: number | null;
}

/** A signed tree head. */
export interface PackCheckpoint {
  size: number;
  root: Hash;
  note: string;
  /** Epoch milliseconds. */
  signedAt: number;
}

/** A head of the organisation's log that is anchored, with the way from it to the pack's checkpoint. */
export interface AnchoredHeadFile {
  proof: AnchorProof;
  /** RFC 6962 consistency proof. */
  consistency: readonly Hash[];
}

/** A loss that was declared, with the way from what was kept to a later head. */
export interface PackLoss {
  /** The signed statement. */
  note: string;
  statement: LossStatement;
  /** RFC 6962 consistency proof; empty where nothing was kept. */
  consistency: readonly Hash[];
}

/** What the anchor log says, all of it as of one of its checkpoints. */
export interface PackAnchor {
  /** Everything that happened to signing keys, with the exact texts and proofs. */
  events: readonly { index: number; entry: string; proof: string }[];
  /** The newest anchored head that is not beyond the pack's checkpoint. */
  head: AnchoredHeadFile | null;
  /** For keys that may not sign any more: the newest head that was anchored while they might. */
  keys: ReadonlyMap<string, AnchoredHeadFile>;
  /** Of the anchor log itself. */
  losses: readonly PackLoss[];
  /** What the service asks others to attest, and they have not. */
  lacks: readonly string[];
}

/**
 * Entries with their bodies. Those come as text: they are UTF-8, and a text travels at half the size of a bytea. Hashing
 * them finds out when they are not what was logged.
 */
const entriesWhere = (condition: string) =>
  statement(
    {
      index: 'int8',
      entry_id: 'text',
      leaf_hash: 'bytea',
      integrated_at: 'timestamptz',
      body: 'text?',
      superseded_by: 'int8?',
    },
    `select e.index, e.entry_id, e.leaf_hash, e.integrated_at, convert_from(b.body, 'UTF8') as body, s.index as superseded_by
     from ledger_entry e
     left join lateral (
       select b.body from ledger_body b where b.entry_id = e.entry_id and b.org_id = e.org_id limit 1) b on true
     left join lateral (
       select s.index from receipt_revision r join ledger_entry s on s.entry_id = r.revision_id
       where r.original_id = e.entry_id and s.org_id = e.org_id and s.index < $2 limit 1) s on true
     where e.org_id = $1 and ${condition} order by e.index`,
  );
const ENTRIES_OF_RANGE = entriesWhere('e.index >= $3 and e.index < $4');
const ENTRIES_AT = entriesWhere('e.index = any($3::bigint[])');

const REVISIONS_AFTER = statement(
  { index: 'int8', revises: 'int8' },
  `select e.index, p.index as revises from ledger_entry e
   join ledger_entry p on p.entry_id = e.supersedes and p.org_id = e.org_id
   where e.org_id = $1 and e.kind in ('recalculated', 'restated') and e.index > $2 and e.index < $3
   order by e.index limit $4`,
);

const CHECKPOINTS = statement(
  { size: 'int8', root: 'bytea', note: 'text', signed_at: 'timestamptz' },
  `select size, root, note, signed_at from ledger_checkpoint
   where org_id = $1 and size > $2 and size <= $3 order by size limit $4`,
);

/** How many requests from before a moment have entries in this part of a log. */
const PENDING = statement(
  { pending: 'int8' },
  `select count(*) as pending from ledger_entry
   where org_id = $1 and index > $2 and index < $3 and supersedes is null and entry_id < $4`,
);

export type PackSource = ReturnType<typeof createPackSource>;

/** A party as reports name it. */
export interface NamedParty {
  name: string;
  identifier: string | null;
}

const ORGANISATION = statement(
  { name: 'text', identifier: 'text?' },
  'select name, identifier from account where id = $1',
);

const EARLIER = statement(
  {
    seal: 'text',
    name: 'text',
    first_index: 'int8',
    last_index: 'int8',
    checkpoint_size: 'int8',
    totals: 'text',
  },
  `select seal, name, first_index, last_index, checkpoint_size, totals from sealed_pack
   where org_id = $1 and generation = $2 and last_index < $3 and ($4::timestamptz is null or sealed_at < $4)
   order by last_index desc, first_index, checkpoint_size desc, sealed_at desc, seal limit 1`,
);

/**
 * All that a pack is made of. Each call is a short read along a primary key, outside any transaction: entries and
 * checkpoints never change. What lies below a checkpoint is read by `reads`, where the checkpoint itself has come: it was
 * committed after all that it covers, so a replica that has it lacks nothing of that.
 */
export function createPackSource(
  pool: Pool,
  reads: Reads = primaryAlone(pool),
  archive: BodyArchive = createBodyArchive(undefined),
) {
  const below = <T>(orgId: string, size: number, work: (db: Pool) => Promise<T>): Promise<T> =>
    reads.run(async (db) => {
      if (db === pool) return work(db);
      const covers = await queryRow(db, CHECKPOINTS, [orgId, size - 1, size, 1]);
      if (covers === undefined) throw new NotThereYet();
      return work(db);
    });
  /** With the bodies of those that have moved. @throws DamagedArchive for one that is not there, or not as it was */
  const withBodies = async (
    orgId: string,
    rows: readonly Row<typeof ENTRIES_AT>[],
  ): Promise<PackEntry[]> => {
    const wanted = rows.filter(({ body }) => body === null);
    const moved = await archive.find(
      pool,
      wanted.map((row) => ({ ...row, org_id: orgId })),
    );
    return rows.map((row) => {
      const body = moved.get(row.entry_id);
      if (body === null) throw new DamagedArchive(row.entry_id);
      return { ...entryOf(row), body: row.body ?? body?.toString('utf8') ?? null };
    });
  };
  return {
    async checkpoint(orgId: string, size: number): Promise<PackCheckpoint | null> {
      const row = await queryRow(pool, CHECKPOINTS, [orgId, size - 1, size, 1]);
      return row === undefined ? null : checkpointOf(row);
    },
    /** Derivation records as they are stored, by digest. */
    derivations: (digests: readonly string[]): Promise<Map<string, string>> =>
      readDerivations(pool, digests),
    /** Entries `from` to `to` (excluded), in order. */
    async entries(orgId: string, from: number, to: number, size: number): Promise<PackEntry[]> {
      const values = [orgId, size, from, to];
      const rows = await below(orgId, size, (db) => queryRows(db, ENTRIES_OF_RANGE, values));
      return withBodies(orgId, rows);
    },
    /** The name of an organisation and its identifier, for people; null where there is no account. */
    organisation: async (orgId: string): Promise<NamedParty | null> =>
      (await queryRow(pool, ORGANISATION, [orgId])) ?? null,
    /**
     * Packs that were sealed before a moment and end before the range, nearest first: of several that end with one entry the
     * longest, and before it the next.
     */
    async earlierPacks(
      orgId: string,
      { firstIndex, generation = 1 }: PackRange,
      before: number | undefined,
    ): Promise<EarlierPack[]> {
      const [packs, until]: [EarlierPack[], Date | null] = [
        [],
        before === undefined ? null : new Date(before),
      ];
      let first = firstIndex;
      while (packs.length < EARLIER_PACKS_MAX) {
        const row = await queryRow(pool, EARLIER, [orgId, generation, first, until]);
        if (row === undefined) break;
        first = Number(row.first_index);
        packs.push(earlierOf(row));
      }
      return packs;
    },
    /** The entries with these indexes, in order. */
    async entriesAt(orgId: string, indexes: readonly number[], size: number): Promise<PackEntry[]> {
      const values = [orgId, size, indexes];
      const rows = await below(orgId, size, (db) => queryRows(db, ENTRIES_AT, values));
      return withBodies(orgId, rows);
    },
    /** Requests from before a moment whose receipts lie after the range, below the checkpoint. */
    async pending(orgId: string, range: PackRange, before: number): Promise<number> {
      const { lastIndex, checkpointSize } = range;
      const values = [orgId, lastIndex, checkpointSize, firstReceiptIdAt(before)];
      const row = await below(orgId, checkpointSize, (db) => queryRow(db, PENDING, values));
      return Number(row!.pending);
    },
    /** Revisions after index `after` and below `size`, with what they revise, in order. */
    async revisionsAfter(
      orgId: string,
      after: number,
      size: number,
      limit: number,
    ): Promise<{ index: number; revises: number }[]> {
      const values = [orgId, after, size, limit];
      const rows = await below(orgId, size, (db) => queryRows(db, REVISIONS_AFTER, values));
      return rows.map((row) => ({ index: Number(row.index), revises: Number(row.revises) }));
    },
    /** Checkpoints of more than `above` and at most `size` entries, smallest first. */
    async checkpoints(
      orgId: string,
      above: number,
      size: number,
      limit: number,
    ): Promise<PackCheckpoint[]> {
      const values = [orgId, above, size, limit];
      const rows = await below(orgId, size, (db) => queryRows(db, CHECKPOINTS, values));
      return rows.map(checkpointOf);
    },
    /** Roots of the perfect subtrees of the first `size` entries, largest first. */
    frontier(orgId: string, size: number): Promise<Hash[]> {
      const nodes = perfectNodes({ start: 0, end: size });
      const ranges = nodes.map(({ height, index }) => {
        return { start: index * 2 ** height, end: (index + 1) * 2 ** height };
      });
      return below(orgId, size, (db) => hashesOfRanges(db, orgId, size, ranges));
    },
    consistency: (orgId: string, oldSize: number, newSize: number): Promise<Hash[]> =>
      below(orgId, newSize, (db) =>
        hashesOfRanges(db, orgId, newSize, consistencyRanges(oldSize, newSize)),
      ),
    /** What was declared lost of the log before this checkpoint, oldest first. */
    losses: (orgId: string, size: number): Promise<PackLoss[]> =>
      below(orgId, size, (db) => readLosses(db, orgId, size)),
    /** Null when nothing is anchored. The same for one checkpoint until others have attested a better one. */
    anchor: (
      orgId: string,
      range: PackRange,
      asked: AskedAttestation,
    ): Promise<PackAnchor | null> => readPackAnchor(pool, orgId, range, asked),
    /** Whether there is an anchor over the range by now with all that is asked for. */
    async isAttested(orgId: string, range: PackRange, asked: AskedAttestation): Promise<boolean> {
      const pinned = await readPin(pool, orgId, range.checkpointSize);
      return isWhole(asked, await anchorCandidate(pool, orgId, range, { asked, pinned }));
    },
    /** RFC 6962 paths of these entries in the tree of `size`. */
    async inclusion(orgId: string, indexes: readonly number[], size: number): Promise<Hash[][]> {
      const paths = indexes.map((index) => inclusionRanges(index, size));
      const hashes = await below(orgId, size, (db) =>
        hashesOfRanges(db, orgId, size, paths.flat()),
      );
      let at = 0;
      return paths.map((path) => hashes.slice(at, (at += path.length)));
    },
  };
}

function entryOf(row: Row<typeof ENTRIES_AT>): PackEntry {
  return {
    index: Number(row.index),
    receiptId: row.entry_id,
    leafHash: row.leaf_hash.subarray(0, HASH_BYTES),
    integratedAt: row.integrated_at.getTime(),
    body: row.body,
    supersededBy: row.superseded_by === null ? null : Number(row.superseded_by),
  };
}

function checkpointOf(row: Row<typeof CHECKPOINTS>): PackCheckpoint {
  return {
    size: Number(row.size),
    root: row.root,
    note: row.note,
    signedAt: row.signed_at.getTime(),
  };
}

async function readLosses(db: Pool, logId: string, size: number): Promise<PackLoss[]> {
  const before = (await declaredLosses(db, logId)).filter(
    ({ statement: { kept } }) => kept.size < size,
  );
  return Promise.all(
    before.map(async ({ note, statement: loss }) => {
      const ranges = loss.kept.size === 0 ? [] : consistencyRanges(loss.kept.size, size);
      const consistency = await hashesOfRanges(db, logId, size, ranges);
      return { note, statement: loss, consistency };
    }),
  );
}

/**
 * What the anchor log says about an organisation's log up to a checkpoint, and about the keys: as of one checkpoint of
 * the anchor. Null when there is no anchor.
 */
async function readPackAnchor(
  pool: Pool,
  orgId: string,
  range: PackRange,
  asked: AskedAttestation,
): Promise<PackAnchor | null> {
  const reader = createAnchorReader(pool);
  const anchorSize = await pinAnchor(pool, orgId, range, asked);
  if (anchorSize === 0) return null;
  const headSizeMax = range.checkpointSize;
  const choose = (more: AnchorChoice): Promise<AnchoredHeadFile | null> =>
    anchoredHead(pool, reader, orgId, { headSizeMax, anchorSize, ...more });
  const events = (await reader.keyEvents({ anchorSize })).flatMap(
    ({ index, event, entry, proof }) => (proof === null ? [] : [{ index, event, entry, proof }]),
  );
  const keys = new Map<string, AnchoredHeadFile>();
  for (const interval of keyIntervals(events).values()) {
    // Seals are not anchored, and the anchor's own heads stand by their size.
    const logged = interval.purpose === 'receipts' || interval.purpose === 'checkpoints';
    const before = logged ? endOfKey(interval) : null;
    const head = before === null ? null : await choose({ before });
    if (head !== null) keys.set(interval.key, head);
  }
  const head = await choose({});
  const losses = await readLosses(pool, ANCHOR_LOG, anchorSize);
  const anchor = withOneNote({ events, head, keys, losses });
  return { ...anchor, lacks: lacking(asked, attestationOf(anchor)) };
}

/** What the files of a pack have of it, with what came while they were read. */
function attestationOf({ events, head }: Pick<PackAnchor, 'events' | 'head'>): Attestation {
  const { proof } = events[0]!;
  const { signatures } = parseNote(proof.slice(proof.indexOf('\n\n') + 2));
  const names = signatures.map(({ name }) => name);
  return { timestamps: head?.proof.timestamps.length ?? 0, witnesses: names };
}

/**
 * A witness may cosign while this is read. All proofs get the signatures of the last that was read, which has those of the
 * others: verifiers refuse a pack whose proofs say different things of witnesses.
 */
function withOneNote({
  events,
  head,
  keys,
  losses,
}: Omit<PackAnchor, 'lacks'>): Omit<PackAnchor, 'lacks'> {
  const noteIn = (proof: string): string => proof.slice(proof.indexOf('\n\n') + 2);
  const proofs = [
    ...events.map(({ proof }) => proof),
    ...[...keys.values(), ...(head === null ? [] : [head])].map(({ proof }) => proof.proof),
  ];
  const [note = ''] = proofs.map(noteIn).toSorted((one, other) => other.length - one.length);
  const renewed = (proof: string): string => proof.slice(0, proof.indexOf('\n\n') + 2) + note;
  const renewedHead = (file: AnchoredHeadFile): AnchoredHeadFile => {
    return { ...file, proof: { ...file.proof, proof: renewed(file.proof.proof) } };
  };
  return {
    events: events.map((event) => ({ ...event, proof: renewed(event.proof) })),
    head: head === null ? null : renewedHead(head),
    keys: new Map([...keys].map(([key, file]) => [key, renewedHead(file)])),
    losses,
  };
}

function earlierOf(row: Row<typeof EARLIER>): EarlierPack {
  const pack = {
    checkpointSize: Number(row.checkpoint_size),
    firstIndex: Number(row.first_index),
    lastIndex: Number(row.last_index),
    name: row.name,
    seal: row.seal,
  };
  return earlierPack(pack, JSON.parse(row.totals) as TotalsDocument);
}

async function anchoredHead(
  pool: Pool,
  reader: AnchorReader,
  orgId: string,
  choice: AnchorChoice & { headSizeMax: number },
): Promise<AnchoredHeadFile | null> {
  const proof = await reader.proof(orgId, choice);
  if (proof === null) return null;
  const { size } = checkAnchorProof(proof).head;
  const { headSizeMax } = choice;
  const ranges = consistencyRanges(size, headSizeMax);
  return { proof, consistency: await hashesOfRanges(pool, orgId, headSizeMax, ranges) };
}

/** Of each kind of attestation that many of the newest are looked at: of timestamps an hour, of cosignatures some minutes. */
const ATTESTED_MAX = 64;

/** Checkpoints of the anchor log that a pack may lead to: the newest, the pinned, and those that others have attested. */
const CANDIDATES = statement(
  { size: 'int8', covers: 'bool', timestamps: 'int4', witnesses: 'text' },
  `with covering as (
     select min(index) as index from anchor_head where org_id = $1 and size > $2 and size <= $3
   ), sizes as (
     select $4::bigint as size
     union select $5::bigint
     union (select size from anchor_timestamp order by size desc limit ${ATTESTED_MAX})
     union (select distinct size from anchor_cosignature order by size desc limit ${ATTESTED_MAX})
   )
   select s.size, coalesce(s.size > c.index, false) as covers,
     (select count(*) from anchor_timestamp t where t.size = s.size)::int as timestamps,
     coalesce((select string_agg(w.witness, ' ' order by w.witness) from anchor_cosignature w where w.size = s.size), '') as witnesses
   from sizes s cross join covering c where s.size is not null`,
);

async function anchorCandidate(
  pool: Pool,
  orgId: string,
  { lastIndex, checkpointSize }: PackRange,
  { asked, pinned }: { asked: AskedAttestation; pinned: number | null },
): Promise<AnchorCandidate> {
  const newest = await publishedSize(pool, ANCHOR_LOG);
  const values = [orgId, lastIndex, checkpointSize, newest, pinned];
  const rows = await queryRows(pool, CANDIDATES, values);
  const candidates = rows.map(({ size, witnesses, ...row }) => {
    return { ...row, size: Number(size), witnesses: witnesses.split(' ').filter(Boolean) };
  });
  return bestAnchor(candidates, { asked, pinned })!;
}

/**
 * The anchor checkpoint of a pack. What was decided holds for every export of a range at this checkpoint until there is a
 * better one.
 */
async function pinAnchor(
  pool: Pool,
  orgId: string,
  range: PackRange,
  asked: AskedAttestation,
): Promise<number> {
  const { checkpointSize } = range;
  const pinned = await readPin(pool, orgId, checkpointSize);
  const { size } = await anchorCandidate(pool, orgId, range, { asked, pinned });
  if (size === pinned) return size;
  await queriesOn(pool)
    .insertInto('export_anchor')
    .values({ org_id: orgId, checkpoint_size: checkpointSize, anchor_size: size })
    .onConflict((conflict) =>
      conflict
        .columns(['org_id', 'checkpoint_size'])
        .doUpdateSet({ anchor_size: size })
        .where(
          'export_anchor.anchor_size',
          'is not distinct from',
          pinned === null ? null : String(pinned),
        ),
    )
    .execute();
  // Another run may have been faster: what it decided holds.
  return (await readPin(pool, orgId, checkpointSize))!;
}

async function readPin(pool: Pool, orgId: string, checkpointSize: number): Promise<number | null> {
  const pin = await queriesOn(pool)
    .selectFrom('export_anchor')
    .select('anchor_size')
    .where('org_id', '=', orgId)
    .where('checkpoint_size', '=', String(checkpointSize))
    .executeTakeFirst();
  return pin === undefined ? null : Number(pin.anchor_size);
}
