import { encodeBytes } from '#primitives';
import { parseAnchorEntry } from '#shared/ledger/anchor-entries.ts';
import { type AnchorProof, parseAnchorProof } from '#shared/ledger/anchor-proof.ts';
import { type Checkpoint, parseCheckpoint } from '#shared/ledger/checkpoints.ts';
import { leafHash, sameHash } from '#shared/ledger/hashing.ts';
import { headLeaf, HEADS_SLOTS } from '#shared/ledger/heads-tree.ts';
import { encodeBase64, MalformedLedgerText, type SignedNote } from '#shared/ledger/notes.ts';
import { anchorOf, logOfTree } from '#shared/ledger/origins.ts';
import { parseProof } from '#shared/ledger/proof-text.ts';
import { type InclusionClaim, inclusionRoot } from '#shared/ledger/proofs.ts';
import { count } from '#shared/methodology/readable.ts';
import type { ReceiptDocument } from '#shared/receipts/document.ts';
import { type TrustedKeys, verifyReceipt } from '#shared/receipts/verify.ts';
import { headSigner } from './head-signer.ts';

/** One step from a receipt to what outsiders keep, with what it was computed from. */
export interface ProofStep {
  title: string;
  /** Null of what is named here and not checked. */
  holds: boolean | null;
  /** What was done, and what came of it. */
  says: string;
  /** What it was done with, and the result, by name. */
  facts: Readonly<Record<string, string>>;
}

/** What a proof is followed through. */
export interface ProofFiles {
  /** The receipt, as it was signed. */
  receipt: string;
  /** C2SP tlog-proof of it. */
  proof: string;
  /** The anchor proof of the head that the proof leads to; without it the way ends at that head. */
  anchor?: string | undefined;
}

/**
 * Follows a receipt to a signed head of its ledger, and that head to the anchor log, step by step: each is computed here from
 * the files alone, and none after one that does not hold.
 * @param now epoch milliseconds
 */
export function proofSteps(files: ProofFiles, keys: TrustedKeys, now: number): ProofStep[] {
  const steps: ProofStep[] = [];
  try {
    for (const step of walk(files, keys, now)) {
      steps.push(step);
      if (step.holds === false) break;
    }
  } catch (error) {
    if (!(error instanceof MalformedLedgerText)) throw error;
    steps.push({ title: 'Reading the proof', holds: false, says: error.message, facts: {} });
  }
  return steps;
}

function* walk(
  { receipt, proof: proofText, anchor: anchorText }: ProofFiles,
  keys: TrustedKeys,
  now: number,
): Generator<ProofStep> {
  const { good, message, kid, canonical, document } = verifyReceipt(receipt, keys, now);
  yield {
    title: 'Signature of the receipt',
    holds: good,
    says: message,
    facts: kid === undefined ? {} : { 'signed by': kid },
  };
  if (canonical === undefined || document === undefined) return;
  const bytes = new TextEncoder().encode(canonical);
  const leaf = leafHash(bytes);
  yield {
    title: 'Leaf of the receipt',
    holds: true,
    says: 'SHA-256 of a zero byte and the exact bytes of the receipt.',
    facts: { bytes: count(bytes.length), leaf: encodeBase64(leaf) },
  };
  const proof = parseProof(proofText);
  const { index, hashes, tree, note } = proof;
  const inLedger = { index, size: tree.size, leaf, proof: hashes, root: tree.root };
  yield* path('the ledger', inLedger);
  const log = document.inclusionPromise?.log ?? tree.origin;
  yield signed('Signed head of the ledger', { note, tree, keys, document, log });
  if (anchorText === undefined) return;
  yield* toAnchor(parseAnchorProof(anchorText), { tree, keys, document });
}

function* toAnchor(anchor: AnchorProof, { tree, keys, document }: Signed): Generator<ProofStep> {
  const { note: headNote, checkpoint: head } = parseCheckpoint(anchor.checkpoint);
  const isSame =
    head.origin === tree.origin && head.size === tree.size && sameHash(head.root, tree.root);
  const leaf = headLeaf(anchor.salt, headNote.text);
  yield {
    title: 'Leaf of the signed head',
    holds: isSame,
    says: isSame
      ? 'SHA-256 of a zero byte, the salt and the text of the signed head, under which the anchor has it.'
      : 'The anchor is of another head of the ledger.',
    facts: { salt: encodeBase64(anchor.salt), leaf: encodeBase64(leaf) },
  };
  const entry = parseAnchorEntry(anchor.entry);
  if (entry.type !== 'heads') throw new MalformedLedgerText('anchor_proof', 'It has no heads.');
  const slot = { index: anchor.slot, size: HEADS_SLOTS, proof: anchor.path };
  yield* path('the heads of all ledgers', { ...slot, leaf, root: entry.root });
  const entryLeaf = leafHash(new TextEncoder().encode(anchor.entry));
  yield {
    title: 'Leaf of the anchor’s entry',
    holds: true,
    says: 'SHA-256 of a zero byte and the entry, which has the root of all heads.',
    facts: { entry: anchor.entry, leaf: encodeBase64(entryLeaf) },
  };
  const { index, hashes, tree: anchorTree, note } = parseProof(anchor.proof);
  const inAnchor = { index, size: anchorTree.size, proof: hashes, root: anchorTree.root };
  yield* path('the anchor log', { ...inAnchor, leaf: entryLeaf });
  yield signed('Signed head of the anchor log', {
    note,
    tree: anchorTree,
    keys,
    document,
    log: anchorOf(tree.origin),
  });
  const cosigned = note.signatures
    .map(({ name }) => name)
    .filter((name) => name !== anchorTree.origin);
  yield {
    title: 'Who else has seen it',
    holds: null,
    says: 'Named here, and not checked: docket verify checks witnesses by a policy, and timestamps by their authority.',
    facts: {
      witnesses: cosigned.join(', ') || 'none',
      timestamps:
        anchor.timestamps.map(({ authority, time }) => `${time} by ${authority}`).join(', ') ||
        'none',
    },
  };
}

/** From a leaf to the root of a tree, a step for each sibling and one for what they lead to. */
function* path(tree: string, { root, ...claim }: InclusionClaim): Generator<ProofStep> {
  const nodes: ProofStep[] = [];
  const reached = inclusionRoot(claim, (left, right, node) => {
    const isLeft = left === claim.proof[nodes.length];
    nodes.push({
      title: `Sibling ${nodes.length + 1} of ${claim.proof.length} in ${tree}`,
      holds: true,
      says: `SHA-256 of a one byte and both; the sibling is on the ${isLeft ? 'left' : 'right'}.`,
      facts: { left: encodeBase64(left), right: encodeBase64(right), together: encodeBase64(node) },
    });
  });
  yield* nodes;
  const holds = reached !== null && sameHash(reached, root);
  yield {
    title: `Root of ${tree}`,
    holds,
    says: holds
      ? `The path of entry ${count(claim.index)} leads to the root of ${count(claim.size)} entries that is stated.`
      : 'The path does not lead to the root that is stated.',
    facts: {
      computed: reached === null ? 'none' : encodeBase64(reached),
      stated: encodeBase64(root),
    },
  };
}

interface Signed {
  tree: Checkpoint;
  keys: TrustedKeys;
  document: ReceiptDocument;
}

/** Whether the issuer of the receipt has signed this head, by a key for heads, and as that of a tree of this log. */
function signed(
  title: string,
  { note, tree, keys, document, log }: Signed & { note: SignedNote; log: string },
): ProofStep {
  const signer = headSigner(
    note,
    keys,
    (_, key) => !key.revoked && key.controller === document.issuer,
  );
  const isOfLog = logOfTree(tree.origin).log === logOfTree(log).log;
  return {
    title,
    holds: signer !== undefined && isOfLog,
    says: isOfLog
      ? signer === undefined
        ? 'No key of the issuer that signs heads has signed it.'
        : 'A key of the issuer that signs heads has signed it.'
      : `It is a head of another log than ${log}.`,
    facts: {
      log: tree.origin,
      entries: count(tree.size),
      root: encodeBase64(tree.root),
      ...(signer === undefined
        ? {}
        : { 'signed by': signer[0], key: encodeBytes(signer[1].publicKey, 'hex') }),
    },
  };
}
