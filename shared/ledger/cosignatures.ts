import { ed25519Verifier, mlDsa44Holds } from '#primitives';
import { parseCheckpointText } from './checkpoints.ts';
import { sameHash, type Hash } from './hashing.ts';
import {
  COSIGNATURE_TYPE,
  decodeText,
  encodeBase64,
  MalformedLedgerText,
  ML_DSA_44_TYPE,
  noteKeyHash,
  type NoteSignature,
  parseDecimal,
  parseSignature,
} from './notes.ts';
import { parseVerifierKey, type VerifierKey } from './verifier-keys.ts';

/** A witness, which signs the tree heads that it has seen, only if each continues the one before. */
export type Witness = Pick<VerifierKey, 'name' | 'type' | 'publicKey'>;

/** A witness's word: which tree head it saw, and when. */
export interface Cosignature {
  line: NoteSignature;
  /** Seconds since 1970, by the witness's clock. */
  time: number;
}

/** Eight bytes of time and a signature, by the type of the key. */
const SIGNATURE_BYTES: Readonly<Record<number, number>> = {
  [COSIGNATURE_TYPE]: 72,
  [ML_DSA_44_TYPE]: 2_428,
};
/** C2SP tlog-cosignature: their length stands in one byte. */
const NAME_BYTES_MAX = 255;
/** A witness may answer with a line for each key it has. */
const LINES_MAX = 16;

/**
 * Reads a C2SP verifier key, `<name>+<key id>+<base64 of type and key>`, of type 0x04 (Ed25519) or 0x06 (ML-DSA-44).
 * Throws `MalformedLedgerText`.
 */
export function parseWitnessKey(vkey: string): Witness {
  const key = parseVerifierKey(vkey);
  if (key.type in SIGNATURE_BYTES) return key;
  throw new MalformedLedgerText(
    'verifier_key',
    'Not the key of a witness (Ed25519, 0x04, or ML-DSA-44, 0x06).',
  );
}

/** The message that a witness signs (C2SP tlog-cosignature, Ed25519). `text` is the checkpoint without its signatures. */
export function cosignedMessage(text: string, time: number): Uint8Array {
  return new TextEncoder().encode(`cosignature/v1\ntime ${time}\n${text}`);
}

/**
 * The same for ML-DSA-44, over the tree and not the text: null where the text says more than a tree, or a name is too long.
 * Throws `MalformedLedgerText` for a text that is no checkpoint.
 */
export function cosignedTree(witness: string, text: string, time: number): Uint8Array | null {
  const { origin, size, root, extensions } = parseCheckpointText(text);
  const names = [witness, origin].map((name) => new TextEncoder().encode(name));
  if (extensions.length > 0 || names.some(({ length }) => length > NAME_BYTES_MAX)) return null;
  const [name, log] = names.map((bytes) => Uint8Array.of(bytes.length, ...bytes));
  const label = new TextEncoder().encode('subtree/v1\n\0');
  const parts = [label, name!, bigEndian(time), log!, bigEndian(0), bigEndian(size), root];
  return Uint8Array.from(parts.flatMap((bytes) => [...bytes]));
}

function bigEndian(value: number): Uint8Array {
  const bytes = new Uint8Array(8);
  new DataView(bytes.buffer).setBigUint64(0, BigInt(value));
  return bytes;
}

/** The body of `add-checkpoint` (C2SP tlog-witness). */
export function formatAddCheckpoint(
  oldSize: number,
  proof: readonly Hash[],
  checkpoint: string,
): string {
  const lines = proof.map((hash) => `${encodeBase64(hash)}\n`).join('');
  return `old ${oldSize}\n${lines}\n${checkpoint}`;
}

/**
 * Picks the witness's own cosignature out of its answer and checks it; lines of other keys are passed
 * over. Throws `MalformedLedgerText` when there is none, or it does not fit.
 */
export function readCosignature(
  answer: string | Uint8Array,
  text: string,
  witness: Witness,
  verify: CosignatureCheck,
): Cosignature {
  const lines = decodeText(answer).split('\n');
  if (lines.pop() !== '' || lines.length > LINES_MAX) {
    throw new MalformedLedgerText('cosignature_lines', 'The answer is not a few signature lines.');
  }
  const line = lines.map(parseSignature).find(isOf(witness));
  if (line === undefined) {
    throw new MalformedLedgerText(
      'cosignature_missing',
      'No cosignature of the witness’s own key.',
    );
  }
  const time = checkCosignature(line, text, witness, verify);
  if (time !== null) return { line, time };
  throw new MalformedLedgerText(
    'cosignature_unverified',
    'The kind of the witness’s key cannot be verified here.',
  );
}

/** Whether a signature line says that it is by this witness's key. */
function isOf({ name, type, publicKey }: Witness): (line: NoteSignature) => boolean {
  const keyHash = noteKeyHash(name, publicKey, type);
  return (line) => line.name === name && sameHash(line.keyHash, keyHash);
}

/** Checks a signature by a key of its type; null where keys of that type cannot be checked. */
export type CosignatureCheck = (
  key: Pick<VerifierKey, 'type' | 'publicKey'>,
  message: Uint8Array,
  signature: Uint8Array,
) => boolean | null;

/** With what this machine has. */
export const verifyCosignature: CosignatureCheck = ({ type, publicKey }, message, signature) => {
  if (type === ML_DSA_44_TYPE) return mlDsa44Holds(publicKey, message, signature);
  return ed25519Verifier(publicKey)(message, signature);
};

/**
 * Checks a line that says that it is by this witness's key. Returns its time, in seconds since 1970; null where keys of its
 * type cannot be checked. Throws `MalformedLedgerText` when it is not a cosignature of this text.
 */
export function checkCosignature(
  { signature }: NoteSignature,
  text: string,
  { name, type, publicKey }: Witness,
  verify: CosignatureCheck,
): number | null {
  if (!(type in SIGNATURE_BYTES)) return null;
  if (signature.length !== SIGNATURE_BYTES[type]) {
    throw new MalformedLedgerText('cosignature_wrong', 'It has not the length of a cosignature.');
  }
  const time = timeOf(signature);
  const isTree = type === ML_DSA_44_TYPE;
  const message = isTree ? cosignedTree(name, text, time) : cosignedMessage(text, time);
  const holds = message !== null && verify({ type, publicKey }, message, signature.subarray(8));
  if (holds !== false) return holds === null ? null : time;
  throw new MalformedLedgerText('cosignature_wrong', 'The cosignature does not verify.');
}

function timeOf(signature: Uint8Array): number {
  const view = new DataView(signature.buffer, signature.byteOffset, signature.length);
  const time = Number(view.getBigUint64(0));
  if (Number.isSafeInteger(time)) return time;
  throw new MalformedLedgerText('cosignature_time', 'The time of the cosignature makes no sense.');
}

/** What a witness answers with 409: the size that it has seen. Null when it says something else. */
export function parseTreeSize(answer: string): number | null {
  return answer.endsWith('\n') ? parseDecimal(answer.slice(0, -1)) : null;
}
