import { encodeBytes } from '#primitives';
import {
  COSIGNATURE_TYPE,
  decodeBase64,
  encodeBase64,
  KEY_NAME,
  MalformedLedgerText,
  ML_DSA_44_TYPE,
  NOTE_TYPE,
  noteKeyHash,
} from './notes.ts';

/** A key as C2SP signed-note hands it out: `<name>+<key id>+<base64 of type and key>`. */
export interface VerifierKey {
  name: string;
  /** How it signs: `NOTE_TYPE`, `COSIGNATURE_TYPE`, `ML_DSA_44_TYPE`, or another that is not known here. */
  type: number;
  publicKey: Uint8Array;
  /** Eight hexadecimal digits: the four bytes with which its signatures begin. */
  id: string;
}

/** Bytes of a key, of the types whose ids are computed as C2SP says. */
const KEY_BYTES: Readonly<Record<number, number>> = {
  [NOTE_TYPE]: 32,
  [COSIGNATURE_TYPE]: 32,
  [ML_DSA_44_TYPE]: 1_312,
};

/** Reads a verifier key of any type. Throws `MalformedLedgerText`. */
export function parseVerifierKey(text: string): VerifierKey {
  const [name = '', id = '', ...rest] = text.split('+');
  // Base64 may hold a plus itself.
  const [type, ...key] = decodeBase64(rest.join('+')) ?? [];
  if (!KEY_NAME.test(name) || !/^[0-9a-f]{8}$/.test(id) || type === undefined) {
    throw malformed('It is no verifier key, <name>+<id>+<base64 of type and key>.');
  }
  const publicKey = Uint8Array.from(key);
  const bytes = KEY_BYTES[type];
  if (bytes !== undefined && publicKey.length !== bytes) {
    throw malformed(`A key of its type has ${bytes} bytes.`);
  }
  if (bytes !== undefined && idOf(name, type, publicKey) !== id) {
    throw malformed('The id of the verifier key is not that of the key.');
  }
  return { name, type, publicKey, id };
}

/** Writes the verifier key of a key. */
export function formatVerifierKey(name: string, type: number, publicKey: Uint8Array): string {
  const key = encodeBase64(Uint8Array.from([type, ...publicKey]));
  return `${name}+${idOf(name, type, publicKey)}+${key}`;
}

function idOf(name: string, type: number, publicKey: Uint8Array): string {
  return encodeBytes(noteKeyHash(name, publicKey, type), 'hex');
}

function malformed(message: string): MalformedLedgerText {
  return new MalformedLedgerText('verifier_key', message);
}
