import type { Pool } from 'pg';
import { execute, queryRow, queryRows, statement } from '#shared/kernel/postgres/statement.ts';
import { inTransaction, type Queryable } from '#shared/kernel/postgres/transaction.ts';
import {
  type Checkpoint,
  type CheckpointMemory,
  type CheckpointSigner,
  formatCheckpoint,
  type PublishedHead,
} from '../checkpoints.ts';
import { type CoseIssuer, type CoseSignature, signCoseRoot } from '../cose-receipts.ts';
import { EMPTY_ROOT, sameHash, type Hash } from '../hashing.ts';
import { formatNote, noteKeyHash } from '../notes.ts';
import { type LossStatement, type Outside, outsideOf } from '../losses.ts';
import { ANCHOR_LOG, treeOrigin } from '../origins.ts';
import { partialTiles, rangeHash } from '../tiles.ts';
import { haltLogs, planByIndex } from './append.ts';
import { newestLosses } from './losses.ts';
import { type LoadedTiles, loadTiles, type WantedTile } from './tiles.ts';

export interface PublisherOptions {
  signer: CheckpointSigner;
  memory: CheckpointMemory;
  /** Name of a log: `<host>/log/<organisation>`, which that of a tree and of its key is made from. */
  originOf: (orgId: string) => string;
  /** `anchor` for the anchor log alone, which has a key of its own; the organisations' logs when absent. */
  only?: typeof ANCHOR_LOG;
  /** Under which names roots are signed for COSE receipts too; they are not when absent. */
  cose?: CoseIssuer;
  /** Logs per call: a few hundred signatures take some ten milliseconds. */
  limit: number;
  /** A log is signed at most once in this time, by all workers together. */
  intervalMs: number;
}

export interface PublicationResult {
  signed: { orgId: string; size: number }[];
  /** Logs that were not signed because they contradict what was published, and why. */
  halted: { orgId: string; reason: string }[];
}

interface DueHead {
  orgId: string;
  size: number;
  root: Hash;
  checkpointSize: number;
}

/** Everything that a new checkpoint must be a continuation of. */
interface Past {
  published: ReadonlyMap<string, PublishedHead>;
  /** What was published outside, as far as no declared loss settles it. */
  outside: ReadonlyMap<string, Outside>;
  losses: ReadonlyMap<string, LossStatement | null>;
}

async function pastOf(
  db: Queryable,
  memory: Pick<CheckpointMemory, 'recall'>,
  orgIds: readonly string[],
): Promise<Past> {
  const published = await lastCheckpoints(db, orgIds);
  const losses = await newestLosses(db, orgIds);
  const remembered = await memory.recall(orgIds);
  const outside = orgIds.map(
    (orgId) => [orgId, outsideOf(remembered.get(orgId), losses.get(orgId))] as const,
  );
  return { published, losses, outside: new Map(outside) };
}

/**
 * Signs the heads of logs that have grown. Before that it computes each root anew from what is stored,
 * at the head's size and at the sizes that were published, in here and outside. A log for which one of
 * them differs, or that has become smaller, is halted instead.
 */
export async function publishCheckpoints(
  pool: Pool,
  options: PublisherOptions,
): Promise<PublicationResult> {
  // Most looks find nothing, and one statement says so.
  if ((await queryRow(pool, ANY_DUE_HEAD, dueValues({ ...options, limit: 1 }))) === undefined) {
    return { signed: [], halted: [] };
  }
  return inTransaction(pool, async (client) => {
    await planByIndex(client);
    const due = await lockDueHeads(client, options);
    if (due.length === 0) return { signed: [], halted: [] };
    const orgIds = due.map((head) => head.orgId);
    const past = await pastOf(client, options.memory, orgIds);
    const tiles = await loadTiles(
      client,
      due.flatMap((head) => edgesOf(head, past)),
    );
    const halted = new Map<string, string>();
    for (const head of due) {
      const reason = contradictionOf(head, past, tiles);
      if (reason !== null) halted.set(head.orgId, reason);
    }
    const good = due.filter((head) => !halted.has(head.orgId));
    await sign(client, good, past, options);
    await haltLogs(client, halted);
    return {
      signed: good.map(({ orgId, size }) => ({ orgId, size })),
      halted: [...halted].map(([orgId, reason]) => ({ orgId, reason })),
    };
  });
}

/** Logs that have grown, given how many to find, the seconds between two checkpoints of one, and which logs. */
const DUE_HEADS = `select org_id, size, root, checkpoint_size from ledger_head
   where size > checkpoint_size and halted_at is null and (org_id = $3) = $4
     and (checkpoint_at is null or checkpoint_at <= now() - make_interval(secs => $2))
   order by org_id limit $1`;
const DUE_HEAD_COLUMNS = {
  org_id: 'text',
  size: 'int8',
  root: 'bytea',
  checkpoint_size: 'int8',
} as const;

const ANY_DUE_HEAD = statement(DUE_HEAD_COLUMNS, DUE_HEADS);

/** The lock keeps the head still until its checkpoint is stored; a second signer then finds nothing due. */
const LOCK_DUE_HEADS = statement(DUE_HEAD_COLUMNS, `${DUE_HEADS} for update`);

async function lockDueHeads(client: Queryable, options: PublisherOptions): Promise<DueHead[]> {
  const rows = await queryRows(client, LOCK_DUE_HEADS, dueValues(options));
  return rows.map((row) => ({
    orgId: row.org_id,
    size: Number(row.size),
    root: row.root,
    checkpointSize: Number(row.checkpoint_size),
  }));
}

function dueValues({ limit, intervalMs, only }: PublisherOptions): unknown[] {
  return [limit, intervalMs / 1_000, ANCHOR_LOG, only === ANCHOR_LOG];
}

const LAST_CHECKPOINTS = statement(
  { org_id: 'text', size: 'int8', root: 'bytea' },
  `select c.org_id, c.size, c.root from unnest($1::text[]) as o (org_id)
   cross join lateral (
     select * from ledger_checkpoint c where c.org_id = o.org_id order by c.size desc limit 1) c`,
);

async function lastCheckpoints(
  client: Queryable,
  orgIds: readonly string[],
): Promise<Map<string, PublishedHead>> {
  const rows = await queryRows(client, LAST_CHECKPOINTS, [orgIds]);
  return new Map(rows.map((row) => [row.org_id, { size: Number(row.size), root: row.root }]));
}

const HEAD = statement(
  { org_id: 'text', size: 'int8', root: 'bytea', checkpoint_size: 'int8' },
  `select org_id, size, root, checkpoint_size from ledger_head where org_id = $1`,
);

/**
 * Why a log must not go on, or null: what is stored of it contradicts what was published, by the last checkpoint or by
 * the memory outside of the database. After the restore of an older database a log is sound in itself and contradicts
 * that memory alone.
 */
export async function contradictionWithPublished(
  db: Queryable,
  memory: Pick<CheckpointMemory, 'recall'>,
  orgId: string,
): Promise<string | null> {
  const past = await pastOf(db, memory, [orgId]);
  const row = await queryRow(db, HEAD, [orgId]);
  const head: DueHead = {
    orgId,
    size: Number(row?.size ?? 0),
    root: row?.root ?? EMPTY_ROOT,
    checkpointSize: Number(row?.checkpoint_size ?? 0),
  };
  return contradictionOf(head, past, await loadTiles(db, edgesOf(head, past)));
}

/** The root of the first `size` entries of a log by what is stored; null when there are fewer, or a part is missing. */
export async function storedRootAt(
  db: Queryable,
  orgId: string,
  size: number,
): Promise<Hash | null> {
  const edge = partialTiles(size).map((tile) => ({ ...tile, orgId }));
  return storedRoot(size, orgId, await loadTiles(db, edge));
}

/** The partial tiles at the right edge of each tree whose root is to be computed. */
function edgesOf({ orgId, size }: DueHead, past: Past): WantedTile[] {
  const sizes = [size, past.published.get(orgId)?.size, past.outside.get(orgId)?.head?.size];
  // A size beyond the head has no edge, and needs none: it is a contradiction by itself.
  const known = sizes.filter((each) => each !== undefined && each <= size) as number[];
  return known.flatMap((each) => partialTiles(each).map((tile) => ({ ...tile, orgId })));
}

/** Why this head must not be signed, or null. */
function contradictionOf(head: DueHead, past: Past, tiles: LoadedTiles): string | null {
  const published = past.published.get(head.orgId);
  if ((published?.size ?? 0) !== head.checkpointSize) {
    return `the last checkpoint has ${published?.size ?? 0} entries, the head says ${head.checkpointSize}`;
  }
  const outside = past.outside.get(head.orgId);
  if (outside?.contradiction) return outside.contradiction;
  const known: [string, PublishedHead | null | undefined][] = [
    ['the head', head],
    ['the last checkpoint', published],
    ['what was published before', outside?.head],
  ];
  for (const [what, expected] of known) {
    if (expected === null || expected === undefined) continue;
    if (expected.size > head.size) {
      return `${what} has ${expected.size} entries, the log only ${head.size}`;
    }
    const root = storedRoot(expected.size, head.orgId, tiles);
    if (root === null) return `hashes below ${what} (${expected.size} entries) are missing`;
    if (!sameHash(root, expected.root)) {
      return `the stored hashes do not give the root of ${what} (${expected.size} entries)`;
    }
  }
  return null;
}

/** Root of the first `size` entries by what is stored; null when a part of it is missing. */
function storedRoot(size: number, orgId: string, tiles: LoadedTiles): Hash | null {
  if (size === 0) return EMPTY_ROOT;
  try {
    return rangeHash({ start: 0, end: size }, tiles(orgId));
  } catch (error) {
    if (error instanceof RangeError) return null;
    throw error;
  }
}

const STORE_CHECKPOINTS = statement(
  {},
  `insert into ledger_checkpoint (org_id, size, root, note, cose_protected, cose_signature, signed_at)
   select *, now() from unnest($1::text[], $2::bigint[], $3::bytea[], $4::text[], $5::bytea[], $6::bytea[])`,
);

const NOTE_CHECKPOINTS = statement(
  {},
  `update ledger_head h set checkpoint_size = n.size, checkpoint_at = now()
   from unnest($1::text[], $2::bigint[]) as n (org_id, size) where h.org_id = n.org_id`,
);

/** Signs and stores. What will be visible is remembered outside first: a crash in between forgets nothing. */
async function sign(
  client: Queryable,
  due: readonly DueHead[],
  { losses }: Past,
  options: PublisherOptions,
): Promise<void> {
  if (due.length === 0) return;
  const heads = due.map((head) => {
    const generation = losses.get(head.orgId)?.generation ?? 1;
    return { ...head, generation, origin: treeOrigin(options.originOf(head.orgId), generation) };
  });
  await options.memory.remember(
    new Map(heads.map(({ orgId, size, root, generation }) => [orgId, { size, root, generation }])),
  );
  const [orgIds, sizes] = [heads.map(({ orgId }) => orgId), heads.map(({ size }) => size)];
  const [roots, notes] = [
    heads.map(({ root }) => root),
    heads.map((head) => noteOf(head, options)),
  ];
  const cose = heads.map((head) => coseOf(head, options));
  const headers = cose.map((signed) => signed?.protectedHeader ?? null);
  const signatures = cose.map((signed) => signed?.signature ?? null);
  const values = [orgIds, sizes, roots, notes, headers, signatures];
  await execute(client, STORE_CHECKPOINTS, values);
  await execute(client, NOTE_CHECKPOINTS, [orgIds, sizes]);
}

type NamedHead = Pick<Checkpoint, 'origin' | 'size' | 'root'>;

function noteOf({ origin, size, root }: NamedHead, { signer }: PublisherOptions): string {
  return signedNote({ origin, size, root, extensions: [] }, signer);
}

function coseOf(
  { origin, size, root }: NamedHead,
  { signer, cose }: PublisherOptions,
): CoseSignature | undefined {
  return cose && signCoseRoot({ origin, size, root }, cose, signer);
}

/** A checkpoint as it is handed out, signed under the name of its log. */
export function signedNote(checkpoint: Checkpoint, signer: CheckpointSigner): string {
  const text = formatCheckpoint(checkpoint);
  const signature = signer.sign(new TextEncoder().encode(text));
  const keyHash = noteKeyHash(checkpoint.origin, signer.publicKey);
  return formatNote({ text, signatures: [{ name: checkpoint.origin, keyHash, signature }] });
}
