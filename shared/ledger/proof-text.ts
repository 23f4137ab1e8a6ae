import { parseCheckpoint, type Checkpoint } from './checkpoints.ts';
import { HASH_BYTES, type Hash } from './hashing.ts';
import {
  decodeBase64,
  decodeText,
  encodeBase64,
  MalformedLedgerText,
  parseDecimal,
  type SignedNote,
} from './notes.ts';
import { PROOF_HASHES_MAX, verifyInclusion } from './proofs.ts';

const HEADER = 'c2sp.org/tlog-proof@v1';

/** A proof that stands alone: entry number, path, and the signed checkpoint it leads to (C2SP tlog-proof). */
export interface TlogProof {
  index: number;
  hashes: readonly Hash[];
  /** The signed note, as the log issued it. */
  checkpoint: string;
  /** Opaque, and not covered by any signature. */
  extra?: Uint8Array;
}

/** The text of a proof. */
export function formatProof(proof: TlogProof): string {
  const extra = proof.extra === undefined ? '' : `extra ${encodeBase64(proof.extra)}\n`;
  const path = proof.hashes.map((hash) => `${encodeBase64(hash)}\n`).join('');
  return `${HEADER}\n${extra}index ${proof.index}\n${path}\n${proof.checkpoint}`;
}

/** A proof's text in its parts, its checkpoint read too. */
export interface ParsedProof extends TlogProof {
  note: SignedNote;
  tree: Checkpoint;
}

/** Reads a proof from anyone, strictly. Throws `MalformedLedgerText`; verifies nothing. */
export function parseProof(source: string | Uint8Array): ParsedProof {
  const text = decodeText(source);
  // Proof lines are never empty, so the first empty line is where the checkpoint begins.
  const blank = text.indexOf('\n\n');
  const lines = text.slice(0, Math.max(blank, 0)).split('\n');
  if (blank < 0 || lines.shift() !== HEADER) {
    throw new MalformedLedgerText('proof_header', `A proof begins with ${HEADER}.`);
  }
  const extra =
    lines[0]?.startsWith('extra ') === true ? decodeBase64(lines.shift()!.slice(6)) : undefined;
  const indexLine = lines.shift() ?? '';
  const index = indexLine.startsWith('index ') ? parseDecimal(indexLine.slice(6)) : null;
  if (index === null || extra === null) {
    throw new MalformedLedgerText('proof_index', 'The index or the extra data cannot be read.');
  }
  const checkpoint = text.slice(blank + 2);
  const { note, checkpoint: tree } = parseCheckpoint(checkpoint);
  return {
    index,
    hashes: parseHashes(lines),
    checkpoint,
    note,
    tree,
    ...(extra === undefined ? {} : { extra }),
  };
}

/** True when the proof's path leads from this leaf to the root of its checkpoint. Who signed the checkpoint is another question. */
export function proofHolds(proof: ParsedProof, leaf: Hash): boolean {
  const { index, hashes, tree } = proof;
  return verifyInclusion({ index, size: tree.size, leaf, proof: hashes, root: tree.root });
}

function parseHashes(lines: readonly string[]): Hash[] {
  if (lines.length > PROOF_HASHES_MAX)
    throw new MalformedLedgerText('proof_path', 'The path is too long.');
  return lines.map((line) => {
    const hash = decodeBase64(line);
    if (hash?.length !== HASH_BYTES) {
      throw new MalformedLedgerText(
        'proof_path',
        'A line of the path is not the base64 of 32 bytes.',
      );
    }
    return hash;
  });
}
