import { sameHash, type Hash } from './hashing.ts';
import {
  COSIGNATURE_TYPE,
  decodeText,
  encodeBase64,
  MalformedLedgerText,
  noteKeyHash,
  type NoteSignature,
  parseDecimal,
  parseSignature,
} from './notes.ts';
import { parseVerifierKey } from './verifier-keys.ts';

/** A witness, which signs the tree heads that it has seen, only if each continues the one before. */
export interface Witness {
  name: string;
  /** 32 bytes, Ed25519. */
  publicKey: Uint8Array;
}

/** A witness's word: which tree head it saw, and when. */
export interface Cosignature {
  line: NoteSignature;
  /** Seconds since 1970, by the witness's clock. */
  time: number;
}

/** Eight bytes of time and an Ed25519 signature. */
const SIGNATURE_BYTES = 72;
/** A witness may answer with a line for each key it has. */
const LINES_MAX = 16;

/**
 * Reads a C2SP verifier key, `<name>+<key id>+<base64 of type and key>`, of type 0x04.
 * Throws `MalformedLedgerText`.
 */
export function parseWitnessKey(vkey: string): Witness {
  const { name, type, publicKey } = parseVerifierKey(vkey);
  if (type === COSIGNATURE_TYPE) return { name, publicKey };
  throw new MalformedLedgerText('verifier_key', 'Not the key of a witness (Ed25519, 0x04).');
}

/** The message that a witness signs (C2SP tlog-cosignature, Ed25519). `text` is the checkpoint without its signatures. */
export function cosignedMessage(text: string, time: number): Uint8Array {
  return new TextEncoder().encode(`cosignature/v1\ntime ${time}\n${text}`);
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
  return { line, time: checkCosignature(line, text, witness, verify) };
}

/** Whether a signature line says that it is by this witness's key. */
export function isOf({ name, publicKey }: Witness): (line: NoteSignature) => boolean {
  const keyHash = noteKeyHash(name, publicKey, COSIGNATURE_TYPE);
  return (line) => line.name === name && sameHash(line.keyHash, keyHash);
}

/** Checks an Ed25519 signature by a key of 32 bytes. */
export type CosignatureCheck = (
  publicKey: Uint8Array,
  message: Uint8Array,
  signature: Uint8Array,
) => boolean;

/**
 * Checks a line that says that it is by this witness's key. Returns its time, in seconds since 1970.
 * Throws `MalformedLedgerText` when it is not a cosignature of this text.
 */
export function checkCosignature(
  { signature }: NoteSignature,
  text: string,
  { publicKey }: Witness,
  verify: CosignatureCheck,
): number {
  if (signature.length !== SIGNATURE_BYTES) {
    throw new MalformedLedgerText('cosignature_wrong', 'It has not the length of a cosignature.');
  }
  const time = timeOf(signature);
  if (verify(publicKey, cosignedMessage(text, time), signature.subarray(8))) return time;
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
