import type { Checkpoint } from '#shared/ledger/checkpoints.ts';
import { EMPTY_ROOT, type Hash, HASH_BYTES, sameHash } from '#shared/ledger/hashing.ts';
import { checkSuccession, type LossStatement, parseLoss } from '#shared/ledger/losses.ts';
import { decodeBase64, MalformedLedgerText, type SignedNote } from '#shared/ledger/notes.ts';
import { logOfTree } from '#shared/ledger/origins.ts';
import { verifyConsistency } from '#shared/ledger/proofs.ts';
import { PackProblem } from '#shared/packs/problem.ts';
import type { Bag } from './bag.ts';
import { objectsOf } from './lines.ts';

/** A loss as a pack has it, in its form; signature and proof are another question. */
export interface PackedLoss {
  note: SignedNote;
  statement: LossStatement;
  consistency: readonly Hash[];
}

/** More than any log has: each is declared by a person, after a disaster. */
const LOSSES_MAX = 1_000;

/**
 * The losses that a pack says were declared of a log, which lead from its first tree to the one of this name without a gap:
 * a tree that no statement has opened would be a second one beside the first.
 * @throws PackProblem `loss_invalid`
 */
export function readLosses(bag: Bag, path: string, origin: string): PackedLoss[] {
  const { log, generation } = logOfTree(origin);
  try {
    const losses = bag.manifest.has(path) ? [...linesIn(bag, path)] : [];
    const statements = losses.map(({ statement }) => statement);
    checkSuccession(statements, log, generation);
    return losses;
  } catch (error) {
    if (error instanceof MalformedLedgerText) throw invalid(path, error.message);
    throw error;
  }
}

function* linesIn(bag: Bag, path: string): Generator<PackedLoss> {
  let lines = 0;
  for (const { consistency, note } of objectsOf(bag.read(path), path, ['consistency', 'note'])) {
    lines += 1;
    if (lines > LOSSES_MAX) throw invalid(path, 'No log has so many.');
    if (!Array.isArray(consistency)) throw invalid(path, 'A line has no proof.');
    const hashes = consistency.map((text) => decodeBase64(String(text)));
    if (!hashes.every((hash) => hash?.length === HASH_BYTES)) {
      throw invalid(path, 'A proof is none.');
    }
    yield { ...parseLoss(String(note)), consistency: hashes as Hash[] };
  }
}

/**
 * Whether what was kept is a beginning of the tree that all leads to.
 * @throws PackProblem `loss_invalid`
 */
export function checkKept(
  { statement: { kept }, consistency }: PackedLoss,
  { size, root }: Pick<Checkpoint, 'size' | 'root'>,
  path: string,
): void {
  const holds =
    kept.size === 0
      ? sameHash(kept.root, EMPTY_ROOT) && consistency.length === 0 && size > 0
      : kept.size < size &&
        verifyConsistency({
          oldSize: kept.size,
          newSize: size,
          oldRoot: kept.root,
          newRoot: root,
          proof: consistency,
        });
  if (!holds) throw invalid(path, 'The successor does not begin with the entries that were kept.');
}

export function invalid(path: string, why: string): PackProblem {
  return new PackProblem('loss_invalid', path, `A declared loss does not hold. ${why}`);
}
