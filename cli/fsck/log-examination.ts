import { type Checkpoint, parseCheckpoint } from '#shared/ledger/checkpoints.ts';
import { type CoseSignature, signsCoseRoot } from '#shared/ledger/cose-receipts.ts';
import { finding, type Finding } from './findings.ts';
import {
  append,
  EMPTY_FRONTIER,
  encodeFrontier,
  frontierRoot,
  type Frontier,
} from '#shared/ledger/frontier.ts';
import {
  HASH_BYTES,
  joinHashes,
  leafHash,
  sameHash,
  splitHashes,
  type Hash,
} from '#shared/ledger/hashing.ts';
import {
  MalformedLedgerText,
  type SignatureCheck,
  type SignedNote,
  signerOf,
} from '#shared/ledger/notes.ts';
import { generationAt, type LossStatement } from '#shared/ledger/losses.ts';
import { ANCHOR_LOG, treeOrigin } from '#shared/ledger/origins.ts';
import { formatTilePath, TILE_WIDTH } from '#shared/ledger/tiles.ts';

/** Everything that is stored about one leaf. Up to four copies of its hash, which must agree. */
export interface StoredLeaf {
  index: number;
  receiptId: string;
  /** In `ledger_entry`; null when the entry is missing. */
  leaf: Hash | null;
  /** In the full tile that covers it. */
  tiled: Hash | null;
  /** Beside the body. */
  promised: Hash | null;
  body: Uint8Array | null;
  /** It has moved to the archive. */
  archived: boolean;
  /** Retention has dropped bodies of that time. */
  expired: boolean;
}

export interface StoredHead {
  size: number;
  root: Hash;
  frontier: Uint8Array;
  checkpointSize: number;
}

export interface StoredCheckpoint {
  size: number;
  root: Hash;
  note: string;
  /** Of its root, for COSE receipts; null where it was not signed for them. */
  cose: CoseSignature | null;
}

/** A tile that must be stored, with what it must hold. */
export interface ExpectedTile {
  level: number;
  index: number;
  root: Hash;
  hashes: Uint8Array;
}

/**
 * Rebuilds one log from its bodies, leaf by leaf, in constant memory, and says what in the store
 * differs. Leaves must come in order without gaps; checkpoints when the log has just reached their size.
 */
export class LogExamination {
  readonly #orgId: string;
  readonly #losses: readonly LossStatement[];
  #frontier: Frontier = EMPTY_FRONTIER;
  /** Hashes since the last full tile, by level. */
  readonly #open: Hash[][] = [];
  #expired = 0;
  #lastCheckpoint = 0;

  /** @param losses what was declared of it, oldest first: heads are of the tree of their time */
  constructor(orgId: string, losses: readonly LossStatement[] = []) {
    this.#orgId = orgId;
    this.#losses = losses;
  }

  get size(): number {
    return this.#frontier.size;
  }

  /** Number of bodies that retention has dropped so far. */
  get expired(): number {
    return this.#expired;
  }

  /**
   * Takes the next leaf. Its copies vote, so that one altered copy is named and does not make everything
   * above it look wrong. Null when no copy is left: then nothing above can be rebuilt.
   */
  addLeaf(stored: StoredLeaf): { findings: Finding[]; tiles: ExpectedTile[] } | null {
    const computed = stored.body === null ? null : leafHash(stored.body);
    const truth = majority([computed, stored.promised, stored.leaf, stored.tiled]);
    if (truth === null) return null;
    const findings = this.#judge(stored, computed, truth);
    const { frontier, completed } = append(this.#frontier, [truth]);
    this.#frontier = frontier;
    this.#hold(0, truth);
    const tiles: ExpectedTile[] = [];
    for (const { level, index, root } of completed) {
      tiles.push({ level, index, root, hashes: joinHashes(this.#open[level]!) });
      this.#open[level] = [];
      this.#hold(level + 1, root);
    }
    return { findings, tiles };
  }

  #hold(level: number, hash: Hash): void {
    (this.#open[level] ??= []).push(hash);
  }

  #judge(stored: StoredLeaf, computed: Hash | null, truth: Hash): Finding[] {
    const findings: Finding[] = [];
    const subject = `entry ${stored.index} (${stored.receiptId})`;
    const report = (kind: Finding['kind'], detail: string): void => {
      findings.push(finding(kind, this.#orgId, subject, detail));
    };
    if (stored.leaf === null)
      report('entry_missing', 'The entry is gone; its hash is known from elsewhere.');
    else if (!sameHash(stored.leaf, truth))
      report('leaf_altered', 'The entry’s leaf hash was altered.');
    if (computed === null) {
      if (stored.archived)
        report('body_altered', 'The archive does not have the body, or not as it was.');
      else if (stored.expired) this.#expired += 1;
      else if (stored.leaf !== null)
        report('body_missing', 'The body is gone, and not by retention.');
    } else if (!sameHash(computed, truth)) {
      report('body_altered', 'The body’s bytes do not hash to the leaf.');
    }
    if (stored.promised !== null && !sameHash(stored.promised, truth)) {
      report('body_altered', 'The leaf hash that is stored beside the body was altered.');
    }
    return findings;
  }

  /** Compares a tile with what is stored under its name. */
  checkTile(
    expected: ExpectedTile,
    stored: { root: Hash; hashes: Uint8Array } | null,
  ): Finding | null {
    const subject = `tile ${formatTilePath({ ...expected, width: TILE_WIDTH })}`;
    if (stored === null)
      return finding('tile_missing', this.#orgId, subject, 'The tile is not stored.');
    const at = firstDifference(splitHashes(expected.hashes), stored.hashes);
    if (at !== null) {
      return finding('tile_altered', this.#orgId, subject, `Hash ${at} of the tile was altered.`);
    }
    if (!sameHash(expected.root, stored.root)) {
      return finding('tile_altered', this.#orgId, subject, 'The root of the tile was altered.');
    }
    return null;
  }

  /** Compares a checkpoint with the tree as it is now: call it at the checkpoint's size. */
  checkCheckpoint(stored: StoredCheckpoint, signatures: SignatureCheck | null): Finding | null {
    this.#lastCheckpoint = stored.size;
    const problem = checkpointProblem(
      treeOrigin(
        this.#orgId === ANCHOR_LOG ? '/anchor' : `/log/${this.#orgId}`,
        generationAt(this.#losses, stored.size),
      ),
      stored,
      frontierRoot(this.#frontier),
      signatures,
    );
    if (problem === null) return null;
    return finding('checkpoint_wrong', this.#orgId, `checkpoint of ${stored.size}`, problem);
  }

  /** Compares the head with the whole tree; call it last. */
  checkHead(head: StoredHead): Finding[] {
    const problems: string[] = [];
    if (!sameHash(head.root, frontierRoot(this.#frontier))) problems.push('The root was altered.');
    if (!sameHash(head.frontier, encodeFrontier(this.#frontier)))
      problems.push('The frontier was altered.');
    if (head.checkpointSize !== this.#lastCheckpoint) {
      problems.push(
        `The head says that ${head.checkpointSize} entries were published, the last checkpoint has ${this.#lastCheckpoint}.`,
      );
    }
    return problems.map((detail) =>
      finding('head_wrong', this.#orgId, `head at ${head.size}`, detail),
    );
  }
}

/** The hash that most copies have; of equally many the first: the body itself speaks before its copies. */
function majority(copies: readonly (Hash | null)[]): Hash | null {
  let best: Hash | null = null;
  let most = 0;
  for (const copy of copies) {
    if (copy === null) continue;
    const votes = copies.filter((other) => other !== null && sameHash(copy, other)).length;
    if (votes > most) [best, most] = [copy, votes];
  }
  return best;
}

/** Position of the first hash that differs; null when all are equal. */
function firstDifference(expected: readonly Hash[], stored: Uint8Array): number | null {
  const at = expected.findIndex((hash, i) => {
    return !sameHash(hash, stored.subarray(i * HASH_BYTES, (i + 1) * HASH_BYTES));
  });
  return at < 0 ? null : at;
}

/** @param name how the origin must end */
function checkpointProblem(
  name: string,
  stored: StoredCheckpoint,
  root: Hash,
  signatures: SignatureCheck | null,
): string | null {
  let note: SignedNote;
  let head: Checkpoint;
  try {
    const parsed = parseCheckpoint(stored.note);
    note = parsed.note;
    head = parsed.checkpoint;
    if (!parsed.checkpoint.origin.endsWith(name)) return 'The note is about another log.';
    if (parsed.checkpoint.size !== stored.size) return 'The note has another size.';
    if (!sameHash(parsed.checkpoint.root, root))
      return 'The note’s root is not that of the entries.';
  } catch (error) {
    if (error instanceof MalformedLedgerText) return `The note cannot be read: ${error.message}`;
    throw error;
  }
  if (!sameHash(stored.root, root)) return 'The stored root is not that of the entries.';
  const signer = signatures === null ? null : signerOf(note, signatures);
  if (signatures !== null && signer === null) return 'No known key has signed the note.';
  return coseProblem(stored.cose, head, (data, signature) => {
    return signatures === null || signatures.verify(signer!, data, signature);
  });
}

/** The key that has signed the note must have signed its head for COSE receipts too. */
function coseProblem(
  cose: CoseSignature | null,
  head: Checkpoint,
  verify: Parameters<typeof signsCoseRoot>[2],
): string | null {
  try {
    if (cose === null || signsCoseRoot(cose, head, verify)) return null;
    return 'What was signed for COSE receipts is not this checkpoint.';
  } catch (error) {
    if (!(error instanceof MalformedLedgerText)) throw error;
    return `What was signed for COSE receipts cannot be read: ${error.message}`;
  }
}
