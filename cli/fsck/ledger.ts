import type { Pool, PoolClient } from 'pg';
import { inTransaction, type Queryable } from '#shared/kernel/postgres/transaction.ts';
import { LogExamination, type StoredCheckpoint, type StoredHead } from './log-examination.ts';
import { finding, type Finding } from './findings.ts';
import { HASH_BYTES } from '#shared/ledger/hashing.ts';
import { KeyExamination } from './key-examination.ts';
import type { SignatureCheck } from '#shared/ledger/notes.ts';
import { SERVICE_CHAIN } from '#shared/accounts/audit/entry.ts';
import { ANCHOR_LOG, auditLogOf } from '#shared/ledger/origins.ts';
import { TILE_WIDTH } from '#shared/ledger/tiles.ts';
import { type AttestationCheck, examineAttestations } from './anchor-attestations.ts';
import { examineAnchor, readAnchoredSizes } from './anchor.ts';
import { KeyHistory } from './key-history.ts';
import {
  findOutsiders,
  findWaiting,
  readCheckpoints,
  readFullTile,
  readHead,
  readLeaves,
  readLevelZero,
  readLogs,
} from './ledger-reads.ts';
import { type ExaminedLosses, examineLosses } from './losses.ts';
import { examineUsage } from './usage.ts';
import { type BodyArchive, createBodyArchive } from '#shared/ledger/postgres/body-archive.ts';
import { planByIndex } from '#shared/ledger/postgres/append.ts';

export interface FsckOptions {
  /** One log; all when absent. */
  orgId?: string;
  /** By the keys for checkpoints. Null leaves signatures unchecked, and says so. */
  signatures: SignatureCheck | null;
  /** The same for checkpoints of the anchor log. */
  anchorSignatures?: SignatureCheck | null;
  /** Attestations of the anchor log's checkpoints. When it is absent they are not checked, and fsck says so. */
  attestations?: AttestationCheck;
  /** Where bodies are that have moved. */
  archive?: BodyArchive;
  /** Told how many entries of how many were rebuilt. */
  onProgress?: (done: number, total: number) => void;
}

/** Entries at a time: four tiles, about 3.5 MB of bodies, for a log of any size. */
const PAGE = 4 * TILE_WIDTH;

/**
 * Rebuilds logs from their bodies and yields everything that is not as it should be. Integration may go
 * on meanwhile: a log is examined up to the size it had when its turn came, and nothing below that changes.
 */
export async function* examineLedger(pool: Pool, options: FsckOptions): AsyncGenerator<Finding> {
  yield* examineLogs(plannedByIndex(pool), options);
}

/** Each statement is a transaction of its own, which ends with its planner's settings: no connection keeps them. */
function plannedByIndex(pool: Pool): Queryable {
  const query = (...args: Parameters<PoolClient['query']>): Promise<unknown> =>
    inTransaction(pool, async (client) => {
      await planByIndex(client);
      return client.query(...args);
    });
  // The driver's own type has nine overloads; this passes its arguments through.
  return { query: query as unknown as Queryable['query'] };
}

async function* examineLogs(db: Queryable, options: FsckOptions): AsyncGenerator<Finding> {
  const logs = await readLogs(db, options.orgId);
  const total = logs.reduce((sum, log) => sum + log.size, 0);
  const history = new KeyHistory();
  let done = 0;
  for (const { orgId, size, hasEntries } of logs) {
    const head = await readHead(db, orgId);
    if (head !== null) {
      const log = await openLog(db, { orgId, head }, history, options);
      let isDamaged = false;
      for await (const found of examineLog(log, (entries) => {
        options.onProgress?.(done + Math.min(entries, size), total);
      })) {
        isDamaged ||= found.severity === 'damage';
        yield found;
      }
      // What is summed up of a log that is damaged itself is as wrong as that.
      if (!isDamaged && orgId !== ANCHOR_LOG) yield* examineUsage(db, orgId);
    } else if (hasEntries) {
      // Receipts that were promised a moment ago make no log yet; entries without a head are a loss.
      yield finding('head_missing', orgId, 'head', 'The log has entries, but no head.');
    }
    yield* findOutsiders(db, orgId);
    const chain = orgId === ANCHOR_LOG ? SERVICE_CHAIN : orgId;
    yield* (await examineLosses(db, auditLogOf(chain), options.signatures)).findings;
    done += size;
  }
  if (options.signatures === null && logs.length > 0) {
    const detail = 'Without keys, signatures were not checked.';
    yield finding('signatures_unchecked', '-', 'checkpoints', detail);
  }
  yield* findWaiting(db, options.orgId);
}

/** A log under examination. */
interface OpenLog {
  db: Queryable;
  orgId: string;
  head: StoredHead;
  examination: LogExamination;
  keys: KeyExamination;
  history: KeyHistory;
  losses: ExaminedLosses;
  signatures: SignatureCheck | null;
  attestations: AttestationCheck | undefined;
  archive: BodyArchive;
}

async function openLog(
  db: Queryable,
  { orgId, head }: Pick<OpenLog, 'orgId' | 'head'>,
  history: KeyHistory,
  options: FsckOptions,
): Promise<OpenLog> {
  const isAnchor = orgId === ANCHOR_LOG;
  // Anchored things first: the log knows all their keys by the time they are read.
  const anchored = await readAnchoredSizes(db, orgId);
  const intervals = await history.readOn(db);
  const signatures = isAnchor ? (options.anchorSignatures ?? null) : options.signatures;
  // A history of keys that contradicts itself is reported as such, and nothing is judged by it.
  const keys = new KeyExamination(intervals, history.problem === null ? anchored : []);
  const losses = await examineLosses(db, orgId, signatures);
  const examination = new LogExamination(orgId, losses.statements);
  const { attestations, archive = createBodyArchive(undefined) } = options;
  return { db, orgId, head, examination, keys, history, losses, signatures, attestations, archive };
}

async function* examineLog(
  log: OpenLog,
  onProgress: (entries: number) => void,
): AsyncGenerator<Finding> {
  const { db, orgId, head, examination, keys } = log;
  let complete = true;
  while (complete && examination.size < head.size) {
    complete = yield* examinePage(log);
    onProgress(examination.size);
  }
  if (complete) yield* examination.checkHead(head);
  yield* log.losses.findings;
  yield* keys.findings(orgId);
  if (examination.expired > 0) {
    const detail = `${examination.expired} bodies were dropped by retention; their hashes were used.`;
    yield finding('bodies_expired', orgId, 'bodies', detail);
  }
  if (orgId !== ANCHOR_LOG) return;
  if (log.history.problem !== null) yield log.history.problem;
  yield* examineAnchor(db, head.size);
  yield* examineAttestations(db, log.attestations);
}

/** Returns false when a leaf is lost altogether: nothing beyond it can be rebuilt. */
async function* examinePage(log: OpenLog): AsyncGenerator<Finding, boolean> {
  const { db, orgId, head, examination } = log;
  const from = examination.size;
  const to = Math.min(from + PAGE, head.size);
  const leaves = await readLeaves(db, { orgId, from, to, archive: log.archive });
  const tiles = await readLevelZero(db, orgId, from, to);
  // Those that the head knew of when it was read: further ones may have been signed since.
  const published = Math.max(from, Math.min(to, head.checkpointSize));
  const checkpoints = await readCheckpoints(db, orgId, from, published);
  for (const leaf of leaves) {
    const tile = tiles.get(Math.floor(leaf.index / TILE_WIDTH));
    const offset = (leaf.index % TILE_WIDTH) * HASH_BYTES;
    const tiled = tile?.hashes.subarray(offset, offset + HASH_BYTES) ?? null;
    const added = examination.addLeaf({ ...leaf, tiled });
    if (added === null) {
      const detail = 'The entry is gone without a trace; what follows cannot be rebuilt.';
      yield finding('entry_missing', orgId, `entry ${leaf.index}`, detail);
      return false;
    }
    yield* added.findings;
    if (leaf.body !== null && orgId !== ANCHOR_LOG) log.keys.addReceipt(leaf.index, leaf.body);
    for (const expected of added.tiles) {
      const { level, index } = expected;
      const stored = level === 0 ? tiles.get(index) : await readFullTile(db, orgId, level, index);
      const problem = examination.checkTile(expected, stored ?? null);
      if (problem !== null) yield problem;
    }
    while (checkpoints[0]?.size === examination.size) {
      yield* examineCheckpoint(log, checkpoints.shift()!);
    }
  }
  return true;
}

function* examineCheckpoint(log: OpenLog, checkpoint: StoredCheckpoint): Generator<Finding> {
  const { orgId, examination, keys, signatures } = log;
  const problem = examination.checkCheckpoint(checkpoint, signatures);
  if (problem !== null) yield problem;
  const { size, note } = checkpoint;
  if (orgId === ANCHOR_LOG) keys.addAnchorCheckpoint(size, note);
  else keys.addCheckpoint(size, note);
}
