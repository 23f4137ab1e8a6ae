import { decodeBytes, sha256, encodeBytes } from '#primitives';
import { sameHash } from './hashing.ts';

/** C2SP signed-note: readers accept at least 16 signatures, the largest known (post-quantum) being nearly 5 kB. */
export const NOTE_BYTES_MAX = 131_072;
const NOTE_SIGNATURES_MAX = 64;

/** Types of signatures (C2SP signed-note): of a note by Ed25519, as logs sign. */
export const NOTE_TYPE = 0x01;
/** Cosignature with a time by a witness (C2SP tlog-cosignature), by Ed25519. */
export const COSIGNATURE_TYPE = 0x04;
/** The same by ML-DSA-44. */
export const ML_DSA_44_TYPE = 0x06;

/** A fault of a note, checkpoint or proof that was handed to us. `code` is stable, the message is for people. */
export class MalformedLedgerText extends Error {
  readonly code: string;
  constructor(code: string, message: string) {
    super(message);
    this.name = 'MalformedLedgerText';
    this.code = code;
  }
}

export interface NoteSignature {
  name: string;
  /** Four bytes that tell which key of that name signed. */
  keyHash: Uint8Array;
  signature: Uint8Array;
}

export interface SignedNote {
  /** The text that is signed, its last newline included. */
  text: string;
  signatures: readonly NoteSignature[];
}

const SIGNATURE_LINE = /^— ([^\p{White_Space}+]+) ([A-Za-z0-9+/]+={0,2})$/u;
// eslint-disable-next-line no-control-regex -- the format forbids exactly these
const CONTROL = /[\u0000-\u0009\u000b-\u001f]/;
/** Of a key. */
export const KEY_NAME = /^[^\p{White_Space}+]+$/u;

/** First four bytes of SHA-256(name || newline || type || key): which key a signature line claims to be of. */
export function noteKeyHash(
  name: string,
  publicKey: Uint8Array,
  type: number = NOTE_TYPE,
): Uint8Array {
  const prefix = new TextEncoder().encode(`${name}\n`);
  const bytes = new Uint8Array(prefix.length + 1 + publicKey.length);
  bytes.set(prefix);
  bytes[prefix.length] = type;
  bytes.set(publicKey, prefix.length + 1);
  return Uint8Array.from(sha256(bytes).subarray(0, 4));
}

/** Writes a signed note. Throws `MalformedLedgerText` when the parts would not read back. */
export function formatNote(note: SignedNote): string {
  if (!note.text.endsWith('\n') || CONTROL.test(note.text) || !note.text.isWellFormed()) {
    throw new MalformedLedgerText('note_text', 'A note is text that ends in a newline.');
  }
  return `${note.text}\n${note.signatures.map(formatSignature).join('')}`;
}

/** One line: em dash, name, base64 of key hash and signature. */
export function formatSignature(line: NoteSignature): string {
  if (!KEY_NAME.test(line.name))
    throw new MalformedLedgerText('note_name', 'A key name has no spaces and no plus.');
  return `— ${line.name} ${encodeBase64(Uint8Array.from([...line.keyHash, ...line.signature]))}\n`;
}

/** Reads a signed note from anyone, strictly. Throws `MalformedLedgerText`; verifies nothing. */
export function parseNote(source: string | Uint8Array): SignedNote {
  const all = decodeText(source);
  // The last empty line parts text and signatures: the text may hold empty lines itself.
  const blank = all.lastIndexOf('\n\n');
  if (blank < 0)
    throw new MalformedLedgerText('note_blank_line', 'No empty line before the signatures.');
  const lines = all.slice(blank + 2);
  if (lines === '' || !lines.endsWith('\n')) {
    throw new MalformedLedgerText('note_signatures', 'A note ends in signature lines.');
  }
  const signatures = lines.slice(0, -1).split('\n');
  if (signatures.length > NOTE_SIGNATURES_MAX) {
    throw new MalformedLedgerText('note_signatures', 'Too many signatures.');
  }
  return { text: all.slice(0, blank + 1), signatures: signatures.map(parseSignature) };
}

/** Reads one signature line without its newline. Throws `MalformedLedgerText`. */
export function parseSignature(line: string): NoteSignature {
  const match = SIGNATURE_LINE.exec(line);
  const bytes = match === null ? null : decodeBase64(match[2]!);
  if (match === null || bytes === null || bytes.length < 5) {
    throw new MalformedLedgerText('note_signature', 'A signature line cannot be read.');
  }
  return { name: match[1]!, keyHash: bytes.subarray(0, 4), signature: bytes.subarray(4) };
}

/** Checks Ed25519 signatures; injected, because the domain holds no keys. */
export interface SignatureCheck {
  publicKeys: readonly Uint8Array[];
  verify: (publicKey: Uint8Array, text: Uint8Array, signature: Uint8Array) => boolean;
}

/** Which of these keys has signed the note under its log's name, which is its first line. Null when none has. */
export function signerOf(
  { text, signatures }: SignedNote,
  { publicKeys, verify }: SignatureCheck,
): Uint8Array | null {
  const bytes = new TextEncoder().encode(text);
  const origin = text.slice(0, text.indexOf('\n'));
  const signs = (publicKey: Uint8Array): boolean => {
    const claimed = noteKeyHash(origin, publicKey);
    return signatures.some(({ name, keyHash, signature }) => {
      return name === origin && sameHash(keyHash, claimed) && verify(publicKey, bytes, signature);
    });
  };
  return publicKeys.find(signs) ?? null;
}

/** Bytes or text within the bound, valid UTF-8, without control characters but newline. Throws `MalformedLedgerText`. */
export function decodeText(source: string | Uint8Array): string {
  if (source.length > NOTE_BYTES_MAX || bytesIn(source) > NOTE_BYTES_MAX)
    throw new MalformedLedgerText('too_long', 'Longer than any such text.');
  let text: string;
  try {
    text =
      typeof source === 'string'
        ? source
        : new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(source);
  } catch {
    throw new MalformedLedgerText('not_utf8', 'Not UTF-8.');
  }
  if (!text.isWellFormed() || CONTROL.test(text)) {
    throw new MalformedLedgerText('not_utf8', 'Not UTF-8, or with control characters.');
  }
  return text;
}

function bytesIn(source: string | Uint8Array): number {
  return typeof source === 'string' ? new TextEncoder().encode(source).length : source.length;
}

/** Standard base64 with padding. */
export function encodeBase64(bytes: Uint8Array): string {
  return encodeBytes(bytes, 'base64');
}

/** Strict: null unless `text` is the one base64 form of its bytes. */
export function decodeBase64(text: string): Uint8Array | null {
  const bytes = decodeBytes(text, 'base64');
  return encodeBytes(bytes, 'base64') === text ? bytes : null;
}

/** A decimal without leading zeroes, up to 2^53 - 1; null otherwise. */
export function parseDecimal(text: string): number | null {
  if (!/^(?:0|[1-9][0-9]{0,15})$/.test(text)) return null;
  const value = Number(text);
  return Number.isSafeInteger(value) ? value : null;
}
