import { timeText } from '#shared/kernel/time.ts';
import { digestBytesIn } from '#shared/kernel/multihash.ts';
import { append, type Frontier, frontierRoot } from '#shared/ledger/frontier.ts';
import { type Hash, sameHash } from '#shared/ledger/hashing.ts';
import { encodeBase64 } from '#shared/ledger/notes.ts';
import { verifyConsistency } from '#shared/ledger/proofs.ts';
import {
  CHECKPOINTS,
  CONSISTENCY,
  LEFT_FRONTIER,
  RECEIPTS,
  REVISION_PROOFS,
  REVISIONS,
  SHARD_LINES_MAX,
  shardPath,
} from '#shared/packs/layout.ts';
import { derivationKey } from '#shared/lineage/derivation-key.ts';
import { reportedEntry } from '#shared/packs/report/facts.ts';
import { receiptRow } from '#shared/packs/tables.ts';
import { countedReceipt } from '#shared/packs/totals.ts';
import { wholeMeasurement } from '#shared/receipts/derivation.ts';
import type { ReceiptDocument } from '#shared/receipts/document.ts';
import type { PackEntry } from '#shared/packs/postgres/pack-source.ts';
import { PackFailure } from './failure.ts';
import type { PackInProgress } from './pack-in-progress.ts';
import type { PackFile, ShardBuffer } from './shard.ts';

/**
 * Entries of one page: some 400 kB, 7 MB at worst. Read ahead while others are hashed, larger pages grow old before they
 * are done with, and pile up: of 500, peak memory is 85 MB higher, and not a receipt a second is gained.
 */
const PAGE = 100;
/** Links of revisions and checkpoints are small. */
const SMALL_PAGE = 2_000;

/** One entry into the shard, the totals, the links and lineage. Its leaf hash is that of the ledger. */
function take(
  progress: PackInProgress,
  shard: ShardBuffer,
  { entry, body, document }: ReadEntry,
): Taken {
  const { index, supersededBy } = entry;
  const { leafHash, digest } = shard.add(index, body);
  if (!sameHash(leafHash, entry.leafHash))
    throw damaged(`entry ${index} does not hash to its leaf`);
  const revised = document.wasRevisionOf;
  const measurement =
    document.measurement && wholeMeasurement(document.measurement, progress.derivations.find);
  progress.citations.note(document, measurement);
  const counts = progress.links.take({
    index,
    supersededBy,
    digest,
    revises:
      revised === undefined
        ? null
        : { leafIndex: revised.leafIndex, digest: digestBytesIn(revised.digest) },
  });
  const counted = countedReceipt(document);
  if (counts) progress.totals.add(counted);
  const derivation = measurement && derivationKey(measurement);
  progress.report.take(reportedEntry(document, counted, derivation), counts);
  const integratedAt = timeText(entry.integratedAt);
  shard.row(`${integratedAt},${counts ? 1 : 0},${receiptRow(document, index, supersededBy)}`);
  if (supersededBy !== null) {
    shard.superseded(index, supersededBy);
    progress.supersededCount += 1;
  }
  const lineage = progress.lineage.take(index, body, document, derivation);
  if (lineage !== undefined)
    progress.report.explain(derivation!, Buffer.from(lineage.bytes).toString());
  return { leafHash, lineage };
}

interface ReadEntry {
  entry: PackEntry;
  body: string;
  document: ReceiptDocument;
}

/** The receipts of a page, with what they name at hand. @throws PackFailure where retention has dropped one */
async function readPage(
  progress: PackInProgress,
  page: readonly PackEntry[],
): Promise<ReadEntry[]> {
  const read = page.map((entry) => {
    const { index, body } = entry;
    if (body === null) {
      throw new PackFailure(
        'receipts_expired',
        `Retention has deleted the receipt of entry ${index}; only its hash is kept. Ask for a later range.`,
      );
    }
    return { entry, body, document: JSON.parse(body) as ReceiptDocument };
  });
  await progress.derivations.fetch(read.map(({ document }) => document));
  return read;
}

interface Taken {
  leafHash: Hash;
  /** The document of a derivation that no entry before had. */
  lineage: PackFile | undefined;
}

/** The receipts of the range. Rebuilds the root as an auditor will: a pack that does not verify is never handed out. */
export async function addReceipts(progress: PackInProgress, shard: ShardBuffer): Promise<void> {
  const { source, orgId, firstIndex, lastIndex, checkpointSize } = progress.build;
  const end = lastIndex + 1;
  const pageAt = (from: number): Promise<PackEntry[]> =>
    source.entries(orgId, from, Math.min(from + PAGE, end), checkpointSize);
  const left = await source.frontier(orgId, firstIndex);
  let tree: Frontier = { size: firstIndex, hashes: left };
  shard.start(RECEIPTS);
  let next = pageAt(firstIndex);
  while (tree.size < end) {
    const page = await next;
    const complete = page.length === Math.min(PAGE, end - tree.size);
    if (!complete || page.some(({ index }, i) => index !== tree.size + i)) {
      throw damaged(`entries from ${tree.size} on are missing`);
    }
    const after = tree.size + page.length;
    // The next page is on its way while this one is hashed. Its failure is seen when it is awaited.
    next = after < end ? pageAt(after) : Promise.resolve([]);
    next.catch(() => {});
    const leaves: Hash[] = [];
    for (const entry of await readPage(progress, page)) {
      if (shard.isFullFor(entry.body)) await flush(progress, shard, RECEIPTS);
      const { leafHash, lineage } = take(progress, shard, entry);
      leaves.push(leafHash);
      if (lineage !== undefined) await progress.add(lineage);
    }
    tree = append(tree, leaves).frontier;
    await progress.advance(page.length);
  }
  await flush(progress, shard, RECEIPTS);
  await addProofOfRange(progress, left, frontierRoot(tree));
}

async function flush(progress: PackInProgress, shard: ShardBuffer, folder: string): Promise<void> {
  for (const file of shard.isEmpty ? [] : shard.files()) await progress.add(file);
  shard.start(folder);
}

/** What stands left of the range, and the way from its end to the checkpoint. */
async function addProofOfRange(
  progress: PackInProgress,
  left: readonly Hash[],
  root: Hash,
): Promise<void> {
  const { source, orgId, lastIndex, checkpointSize } = progress.build;
  const { checkpoint } = progress;
  const end = lastIndex + 1;
  const proof = await source.consistency(orgId, end, checkpointSize);
  const holds = verifyConsistency({
    oldSize: end,
    newSize: checkpointSize,
    oldRoot: root,
    newRoot: checkpoint.root,
    proof,
  });
  if (!holds) throw damaged('the entries do not lead to the checkpoint');
  await progress.add({ path: LEFT_FRONTIER, bytes: hashLines(left) });
  await progress.add({ path: CONSISTENCY, bytes: hashLines(proof) });
}

/** The signed heads within the range, so that an auditor sees that none contradicts the entries. */
export async function addCheckpoints(progress: PackInProgress): Promise<void> {
  const { source, orgId, firstIndex, lastIndex } = progress.build;
  let lines: string[] = [];
  let shardStart = 0;
  let above = firstIndex;
  const write = async (): Promise<void> => {
    const bytes = Buffer.from(lines.join(''));
    if (lines.length > 0) await progress.add({ path: shardPath(CHECKPOINTS, shardStart), bytes });
    lines = [];
  };
  for (;;) {
    const page = await source.checkpoints(orgId, above, lastIndex + 1, SMALL_PAGE);
    for (const { size, note } of page) {
      if (lines.length === 0) shardStart = size;
      lines.push(`${JSON.stringify({ note, size })}\n`);
      if (lines.length === SHARD_LINES_MAX) await write();
    }
    progress.signedHeads += page.length;
    await progress.advance(0);
    above = page.at(-1)?.size ?? above;
    if (page.length < SMALL_PAGE) return write();
  }
}

/** Revisions of the pack's receipts that lie after the range, each with the path that proves its place. */
export async function addRevisions(progress: PackInProgress, shard: ShardBuffer): Promise<void> {
  const { source, orgId, lastIndex, checkpointSize } = progress.build;
  let proofs: string[] = [];
  let proofsStart = 0;
  const write = async (): Promise<void> => {
    const bytes = Buffer.from(proofs.join(''));
    if (proofs.length > 0)
      await progress.add({ path: shardPath(REVISION_PROOFS, proofsStart), bytes });
    proofs = [];
    await flush(progress, shard, REVISIONS);
  };
  shard.start(REVISIONS);
  let after = lastIndex;
  while (progress.links.open > 0) {
    const all = await source.revisionsAfter(orgId, after, checkpointSize, PAGE);
    // A revision may revise one of the same page, so they are looked at one by one, in order.
    const known = await source.entriesAt(orgId, wantedOf(progress, all), checkpointSize);
    const paths = await source.inclusion(
      orgId,
      known.map(({ index }) => index),
      checkpointSize,
    );
    for (const [i, read] of (await readPage(progress, known)).entries()) {
      const { entry } = read;
      if (shard.isFullFor(read.body)) await write();
      if (proofs.length === 0) proofsStart = entry.index;
      const { lineage } = take(progress, shard, read);
      if (lineage !== undefined) await progress.add(lineage);
      progress.revisionCount += 1;
      proofs.push(`${JSON.stringify({ index: entry.index, path: paths[i]!.map(encodeBase64) })}\n`);
    }
    await progress.advance(0);
    after = all.at(-1)?.index ?? checkpointSize;
    if (all.length < PAGE) break;
  }
  await write();
}

/** Those of a page that revise a receipt of the pack, or a revision of one. */
function wantedOf(
  { links }: PackInProgress,
  page: readonly { index: number; revises: number }[],
): number[] {
  const wanted = new Set<number>();
  for (const { index, revises } of page) {
    if (links.has(revises, index) || wanted.has(revises)) wanted.add(index);
  }
  return [...wanted];
}

function hashLines(hashes: readonly Hash[]): Uint8Array {
  return Buffer.from(hashes.map((hash) => `${encodeBase64(hash)}\n`).join(''));
}

export function damaged(what: string): PackFailure {
  return new PackFailure(
    'ledger_damaged',
    `The ledger does not add up: ${what}. An operator must run docket ledger fsck.`,
  );
}
