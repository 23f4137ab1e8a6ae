import { encodeBytes } from '#primitives';
import { multihashOf } from '#shared/kernel/multihash.ts';
import { type Checkpoint, parseCheckpoint } from '#shared/ledger/checkpoints.ts';
import { append, type Frontier, frontierRoot } from '#shared/ledger/frontier.ts';
import { type Hash, HASH_BYTES, sameHash, splitHashes } from '#shared/ledger/hashing.ts';
import {
  decodeBase64,
  MalformedLedgerText,
  noteKeyHash,
  type SignedNote,
} from '#shared/ledger/notes.ts';
import { generationAt, type LossStatement } from '#shared/ledger/losses.ts';
import { logOfTree, treeOrigin } from '#shared/ledger/origins.ts';
import { verifyConsistency, verifyInclusion } from '#shared/ledger/proofs.ts';
import {
  CHECKPOINT,
  CHECKPOINTS,
  CONSISTENCY,
  LEFT_FRONTIER,
  LOSSES,
  REVISION_PROOFS,
  REVISIONS,
  shardPath,
} from '#shared/packs/layout.ts';
import { PackProblem } from '#shared/packs/problem.ts';
import type { TrustedKeys } from '#shared/receipts/verify.ts';
import type { Bag } from './bag.ts';
import type { KeyStanding } from './key-standing.ts';
import { checkKept, invalid, type PackedLoss, readLosses } from './losses.ts';
import { linesOf, numberIn, objectsOf, textOf } from './lines.ts';

const utf8 = new TextEncoder();

/**
 * Rebuilds the tree over the range from left to right and compares it with every signed head on the way, and at its end
 * with the one that the seal names.
 */
export class LedgerWalk {
  readonly #bag: Bag;
  readonly #keys: TrustedKeys;
  readonly #standing: Pick<KeyStanding, 'check'>;
  readonly #checkpoint: Checkpoint;
  /** What was declared lost of the ledger, oldest first. */
  readonly losses: readonly LossStatement[];
  readonly #history: Iterator<{ checkpoint: Checkpoint; place: string }>;
  #next: IteratorResult<{ checkpoint: Checkpoint; place: string }>;
  #tree: Frontier;
  /** Signed heads within the range that were compared. */
  heads = 0;

  /** @throws PackProblem `checkpoint_invalid` */
  constructor(bag: Bag, keys: TrustedKeys, standing: Pick<KeyStanding, 'check'>) {
    this.#standing = standing;
    this.#bag = bag;
    this.#keys = keys;
    const { checkpoint, range } = bag.seal.credentialSubject;
    const losses = readLosses(bag, LOSSES, checkpoint.log);
    this.losses = losses.map(({ statement }) => statement);
    this.#checkpoint = this.#read(bag.read(CHECKPOINT), CHECKPOINT);
    const root = multihashOf(encodeBytes(this.#checkpoint.root, 'base64url'));
    if (this.#checkpoint.size !== checkpoint.size || root !== checkpoint.root) {
      throw new PackProblem(
        'seal_contradiction',
        CHECKPOINT,
        'It is not the one that the seal names.',
      );
    }
    for (const loss of losses) this.#checkLoss(loss);
    const hashes = hashesOf(bag, LEFT_FRONTIER);
    if (hashes.length !== bitsOf(range.firstIndex)) {
      throw new PackProblem('root_mismatch', LEFT_FRONTIER, 'It is not the left of this range.');
    }
    this.#tree = { size: range.firstIndex, hashes };
    this.#history = this.#readHistory();
    this.#next = this.#history.next();
  }

  /** Entries so far. */
  get size(): number {
    return this.#tree.size;
  }

  /** Takes the next leaves, one after the other. @throws PackProblem `root_mismatch` */
  take(leafHashes: Uint8Array): void {
    const leaves = splitHashes(leafHashes);
    for (let at = 0; at < leaves.length;) {
      const due = this.#next.done === true ? Infinity : this.#next.value.checkpoint.size;
      const until = Math.min(leaves.length, at + due - this.#tree.size);
      this.#tree = append(this.#tree, leaves.slice(at, until)).frontier;
      at = until;
      if (this.#tree.size === due) this.#compare();
    }
  }

  /** The rest of the way to the checkpoint. @throws PackProblem `root_mismatch` */
  finish(): void {
    const { size, root } = this.#checkpoint;
    const proof = hashesOf(this.#bag, CONSISTENCY);
    const holds = verifyConsistency({
      oldSize: this.#tree.size,
      newSize: size,
      oldRoot: frontierRoot(this.#tree),
      newRoot: root,
      proof,
    });
    if (!holds) {
      throw new PackProblem(
        'root_mismatch',
        CHECKPOINT,
        'The receipts do not give the root that was signed: one of them was changed, added, removed or moved.',
      );
    }
    if (this.#next.done !== true) {
      throw new PackProblem(
        'root_mismatch',
        this.#next.value.place,
        'A signed head lies outside the range.',
      );
    }
  }

  /** Paths of a shard of revisions, which lead from their leaves to the checkpoint. */
  proofsOf(path: string): { indexes: Float64Array; check: (leafHashes: Uint8Array) => void } {
    const file = path.replace(/^.*\//, `${REVISION_PROOFS}/`);
    const proofs = [...objectsOf(this.#bag.read(file), file, ['index', 'path'])].map((line) => ({
      index: numberIn(line, 'index', file),
      path: pathOf(line['path'], file),
    }));
    if (proofs[0] === undefined || path !== shardPath(REVISIONS, proofs[0].index)) {
      throw new PackProblem('wrong_count', path, 'A shard is not named by its first line.');
    }
    const { size, root } = this.#checkpoint;
    const check = (leafHashes: Uint8Array): void => {
      const leaves = splitHashes(leafHashes);
      if (leaves.length !== proofs.length) {
        throw new PackProblem('wrong_count', file, 'There is not one proof for each revision.');
      }
      proofs.forEach(({ index, path: proof }, i) => {
        if (verifyInclusion({ index, size, leaf: leaves[i]!, proof, root })) return;
        throw new PackProblem(
          'root_mismatch',
          `entry ${index}`,
          'The proof of a revision does not hold.',
        );
      });
    };
    return { indexes: Float64Array.from(proofs, ({ index }) => index), check };
  }

  #compare(): void {
    const { checkpoint, place } = this.#next.value as { checkpoint: Checkpoint; place: string };
    if (!sameHash(checkpoint.root, frontierRoot(this.#tree))) {
      throw new PackProblem(
        'root_mismatch',
        place,
        `The first ${checkpoint.size} entries do not give the root that was signed then.`,
      );
    }
    this.heads += 1;
    this.#next = this.#history.next();
  }

  *#readHistory(): Generator<{ checkpoint: Checkpoint; place: string }> {
    const { firstIndex } = this.#bag.seal.credentialSubject.range;
    const paths = [...this.#bag.manifest.keys()].filter((path) =>
      path.startsWith(`${CHECKPOINTS}/`),
    );
    let last = firstIndex;
    for (const path of paths.toSorted()) {
      let isFirst = true;
      for (const line of objectsOf(this.#bag.read(path), path, ['note', 'size'])) {
        const checkpoint = this.#read(utf8.encode(String(line['note'])), path);
        const isNamed = !isFirst || path === shardPath(CHECKPOINTS, checkpoint.size);
        isFirst = false;
        if (checkpoint.size <= last || checkpoint.size !== line['size'] || !isNamed) {
          throw new PackProblem('checkpoint_invalid', path, 'Signed heads are not in their order.');
        }
        last = checkpoint.size;
        yield { checkpoint, place: `${path}, size ${checkpoint.size}` };
      }
    }
  }

  /** Signed as heads are, before the first entry of the successor. */
  #checkLoss(loss: PackedLoss): void {
    const { log, kept } = loss.statement;
    checkKept(loss, this.#checkpoint, LOSSES);
    if (loss.note.signatures.length !== 1) throw invalid(LOSSES, 'It has not one signature.');
    try {
      this.#checkSignature(loss.note, `${log}/loss`, kept.size, LOSSES);
    } catch (error) {
      if (!(error instanceof PackProblem) || error.code !== 'checkpoint_invalid') throw error;
      throw invalid(LOSSES, error.message);
    }
  }

  /** A head of this log, signed by a key that is trusted and signs no receipts. */
  #read(bytes: Uint8Array, place: string): Checkpoint {
    const { log } = logOfTree(this.#bag.seal.credentialSubject.checkpoint.log);
    try {
      const { note, checkpoint } = parseCheckpoint(bytes);
      if (note.signatures.length !== 1) {
        throw new PackProblem('checkpoint_invalid', place, 'It has not one signature.');
      }
      if (checkpoint.extensions.length > 0) {
        throw new PackProblem('checkpoint_invalid', place, 'It has more than three lines.');
      }
      const tree = treeOrigin(log, generationAt(this.losses, checkpoint.size));
      if (checkpoint.origin !== tree) {
        throw new PackProblem('checkpoint_invalid', place, 'It is the head of another log.');
      }
      this.#checkSignature(note, tree, checkpoint.size - 1, place);
      return checkpoint;
    } catch (error) {
      if (!(error instanceof MalformedLedgerText)) throw error;
      throw new PackProblem('checkpoint_invalid', place, `It cannot be read: ${error.message}`);
    }
  }

  /** @param lastIndex of the entries that it is about */
  #checkSignature(note: SignedNote, signer: string, lastIndex: number, place: string): void {
    const text = utf8.encode(note.text);
    let revoked = false;
    for (const { name, keyHash, signature } of note.signatures) {
      if (name !== signer) continue;
      for (const [kid, key] of this.#keys) {
        // Keys that may sign receipts are others: one that leaks cannot vouch for both.
        if (key.mayAssert || key.controller !== this.#bag.seal.issuer) continue;
        if (!sameHash(keyHash, noteKeyHash(signer, key.publicKey))) continue;
        if (!key.verify(text, signature)) continue;
        if (!key.revoked) return this.#standing.check(kid, 'checkpoints', lastIndex, place);
        revoked = true;
      }
    }
    if (revoked) throw new PackProblem('key_revoked', place, 'The key that signed it was revoked.');
    throw new PackProblem('checkpoint_invalid', place, 'No trusted key has signed it.');
  }
}

function hashesOf(bag: Bag, path: string): Hash[] {
  return [...linesOf(bag.read(path), path)].map((line) => hashIn(textOf(line, path), path));
}

function pathOf(value: unknown, place: string): Hash[] {
  if (Array.isArray(value)) return value.map((hash) => hashIn(String(hash), place));
  throw new PackProblem('malformed_line', place, 'A line has no path.');
}

function hashIn(text: string, place: string): Hash {
  const hash = decodeBase64(text);
  if (hash?.length === HASH_BYTES) return hash;
  throw new PackProblem('malformed_line', place, 'It is not the base64 of 32 bytes.');
}

function bitsOf(size: number): number {
  return size.toString(2).replaceAll('0', '').length;
}
