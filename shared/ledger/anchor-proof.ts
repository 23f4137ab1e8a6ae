import { type HeadsEntry, parseAnchorEntry } from './anchor-entries.ts';
import { type Checkpoint, parseCheckpoint } from './checkpoints.ts';
import { headLeaf, HEADS_HEIGHT, HEADS_SLOTS } from './heads-tree.ts';
import { isTimeText } from '#shared/kernel/time.ts';
import { type Hash, leafHash } from './hashing.ts';
import { decodeBase64, encodeBase64, MalformedLedgerText, type SignedNote } from './notes.ts';
import { parseProof, proofHolds } from './proof-text.ts';
import { verifyInclusion } from './proofs.ts';

/** An RFC 3161 timestamp of an anchor checkpoint: over its text up to the newline before the empty line. */
export interface AnchorTimestamp {
  /** Address of the authority, as URLs are written. */
  authority: string;
  /** The time by the authority's clock, to the millisecond. */
  time: string;
  /** DER of the TimeStampResp, as the authority sent it. */
  response: Uint8Array;
}

/** Everything that leads from one organisation's checkpoint to a checkpoint of the anchor log. */
export interface AnchorProof {
  /** The organisation's signed note. */
  checkpoint: string;
  slot: number;
  salt: Uint8Array;
  /** From the slot's leaf to the root of the heads tree. */
  path: readonly Hash[];
  /** The exact text of the heads entry. */
  entry: string;
  /** C2SP tlog-proof of that entry in the anchor log, its checkpoint with the cosignatures of witnesses. */
  proof: string;
  timestamps: readonly AnchorTimestamp[];
}

/** What a proof that holds shows. Who signed the two checkpoints is another question: see `signerOf`. */
export interface AnchoredHead {
  head: Checkpoint;
  headNote: SignedNote;
  slot: number;
  /** Place of the heads entry in the anchor log. */
  index: number;
  entry: HeadsEntry;
  anchor: Checkpoint;
  anchorNote: SignedNote;
}

/** Signed notes, twenty hashes, a proof and a few timestamps: far below this. */
const PROOF_CHARS_MAX = 1_048_576;
const SALT_BYTES = 32;

/** JSON with its fields in this order, so that one proof has one form. */
export function formatAnchorProof(proof: AnchorProof): string {
  const { checkpoint, slot, salt, path, entry, timestamps } = proof;
  const fields = {
    object: 'anchor_proof',
    checkpoint,
    slot,
    salt: encodeBase64(salt),
    path: path.map(encodeBase64),
    entry,
    proof: proof.proof,
    timestamps: timestamps.map(({ authority, time, response }) => {
      return { authority, time, response: encodeBase64(response) };
    }),
  };
  return `${JSON.stringify(fields, null, 2)}\n`;
}

/** Reads a proof from anyone. Throws `MalformedLedgerText`; verifies nothing. */
export function parseAnchorProof(text: string): AnchorProof {
  if (text.length > PROOF_CHARS_MAX) throw malformed('It is larger than any proof.');
  const fields = objectOf(parseJson(text));
  if (fields['object'] !== 'anchor_proof') throw malformed('It is not an anchor proof.');
  const slot = fields['slot'];
  if (!Number.isSafeInteger(slot)) throw malformed('The slot is not a number.');
  return {
    checkpoint: textOf(fields['checkpoint']),
    slot: slot as number,
    salt: bytesOf(fields['salt']),
    path: listOf(fields['path'], HEADS_HEIGHT).map(bytesOf),
    entry: textOf(fields['entry']),
    proof: textOf(fields['proof']),
    timestamps: timestampsOf(fields['timestamps']),
  };
}

const TIMESTAMPS_MAX = 16;
const ADDRESS = /^[!-~]{1,1024}$/;

/** One of each authority: the same response twice would look like two. */
function timestampsOf(value: unknown): AnchorTimestamp[] {
  const timestamps = listOf(value, TIMESTAMPS_MAX).map(timestampOf);
  const once = [
    timestamps.map(({ authority }) => authority),
    timestamps.map(({ response }) => encodeBase64(response)),
  ];
  if (once.every((each) => new Set(each).size === each.length)) return timestamps;
  throw malformed('A timestamp stands twice, or an authority does.');
}

function timestampOf(value: unknown): AnchorTimestamp {
  const fields = objectOf(value);
  const [authority, time] = [textOf(fields['authority']), textOf(fields['time'])];
  const response = bytesOf(fields['response']);
  if (!ADDRESS.test(authority) || !isTimeText(time) || response.length === 0) {
    throw malformed('A timestamp is not in its form.');
  }
  return { authority, time, response };
}

/**
 * Follows the proof from the organisation's checkpoint to the anchor's. Throws `MalformedLedgerText`
 * when a step does not hold. Signatures and timestamps are checked by those who know the keys.
 */
export function checkAnchorProof(proof: AnchorProof): AnchoredHead {
  const { note: headNote, checkpoint: head } = parseCheckpoint(proof.checkpoint);
  const entry = parseAnchorEntry(proof.entry);
  if (entry.type !== 'heads') throw malformed('The entry is not one of heads.');
  if (proof.salt.length !== SALT_BYTES) throw malformed('The salt has another length.');
  const included = verifyInclusion({
    index: proof.slot,
    size: HEADS_SLOTS,
    leaf: headLeaf(proof.salt, headNote.text),
    proof: proof.path,
    root: entry.root,
  });
  if (!included) throw malformed('The path does not lead from the checkpoint to the heads entry.');
  const inAnchor = parseProof(proof.proof);
  // Nothing covers it, so that it could say anything.
  if (inAnchor.extra !== undefined) throw malformed('The proof has extra data.');
  if (!proofHolds(inAnchor, leafHash(new TextEncoder().encode(proof.entry)))) {
    throw malformed('The heads entry is not in the anchor log.');
  }
  const { index, tree: anchor, note: anchorNote } = inAnchor;
  return { head, headNote, slot: proof.slot, index, entry, anchor, anchorNote };
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    throw malformed('It is not JSON.');
  }
}

function objectOf(value: unknown): Readonly<Record<string, unknown>> {
  if (typeof value === 'object' && value !== null) return value as Record<string, unknown>;
  throw malformed('A part of it is not an object.');
}

function listOf(value: unknown, lengthMax: number): unknown[] {
  if (Array.isArray(value) && value.length <= lengthMax) return value;
  throw malformed('A part of it is not a list, or too long.');
}

function textOf(value: unknown): string {
  if (typeof value === 'string') return value;
  throw malformed('A part of it is not a text.');
}

function bytesOf(value: unknown): Uint8Array {
  const bytes = decodeBase64(textOf(value));
  if (bytes !== null) return bytes;
  throw malformed('A part of it is not base64.');
}

function malformed(message: string): MalformedLedgerText {
  return new MalformedLedgerText('anchor_proof', message);
}
