import { sameHash, type Hash } from './hashing.ts';
import {
  decodeBase64,
  decodeText,
  encodeBase64,
  MalformedLedgerText,
  noteKeyHash,
  type NoteSignature,
  parseDecimal,
  parseSignature,
} from './notes.ts';

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

/** Signature type of an Ed25519 cosignature in a verifier key. */
const COSIGNATURE_TYPE = 0x04;
/** Eight bytes of time and an Ed25519 signature. */
const SIGNATURE_BYTES = 72;
/** A witness may answer with a line for each key it has. */
const LINES_MAX = 16;

/**
 * Reads a C2SP verifier key, `<name>+<key id>+<base64 of type and key>`, of type 0x04.
 * Throws `MalformedLedgerText`.
 */
export function parseWitnessKey(vkey: string): Witness {
  const [name = '', idText = '', keyText = '', ...rest] = vkey.split('+');
  // Base64 may hold a plus itself.
  const bytes = decodeBase64([keyText, ...rest].join('+'));
  if (bytes?.length !== 33 || bytes[0] !== COSIGNATURE_TYPE || !/^[!-*,-~]+$/.test(name)) {
    throw new MalformedLedgerText(
      'witness_key',
      'Not a verifier key of a witness (Ed25519, 0x04).',
    );
  }
  const publicKey = bytes.subarray(1);
  const id = Buffer.from(noteKeyHash(name, publicKey, 'cosignature')).toString('hex');
  if (id !== idText) {
    throw new MalformedLedgerText(
      'witness_key',
      'The id of the verifier key is not that of the key.',
    );
  }
  return { name, publicKey };
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
  verify: (publicKey: Uint8Array, message: Uint8Array, signature: Uint8Array) => boolean,
): Cosignature {
  const lines = decodeText(answer).split('\n');
  if (lines.pop() !== '' || lines.length > LINES_MAX) {
    throw new MalformedLedgerText('cosignature_lines', 'The answer is not a few signature lines.');
  }
  const keyHash = noteKeyHash(witness.name, witness.publicKey, 'cosignature');
  const line = lines
    .map(parseSignature)
    .find((each) => each.name === witness.name && sameHash(each.keyHash, keyHash));
  if (line?.signature.length !== SIGNATURE_BYTES) {
    throw new MalformedLedgerText(
      'cosignature_missing',
      'No cosignature of the witness’s own key.',
    );
  }
  const time = timeOf(line.signature);
  const message = cosignedMessage(text, time);
  if (!verify(witness.publicKey, message, line.signature.subarray(8))) {
    throw new MalformedLedgerText('cosignature_wrong', 'The cosignature does not verify.');
  }
  return { line, time };
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
